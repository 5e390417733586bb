package nystroem

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Means are subtracted from queries and keys before their features are computed. A factor of each
// point compensates.
type Means[T dense.Float] struct {
	Query, Key []T
	Absolute   bool // the factor of a query does not cancel

	spaces pool.Of[scratch.Buffer[T]]
}

// Keys writes log φ of keys with the logarithms of their factors into dst and returns dst; a zero
// dst is allocated.
func (l *Set[T]) Keys(dst, k dense.Matrix[T]) dense.Matrix[T] {
	if m := l.Means; m != nil {
		return l.logCentred(dst, k, m.Key, m.Query, 0)
	}
	return l.logTransform(dst, k)
}

// Queries writes log φ of queries with the logarithms of their factors into dst and returns dst; a
// zero dst is allocated.
func (l *Set[T]) Queries(dst, q dense.Matrix[T]) dense.Matrix[T] {
	switch m := l.Means; {
	case m == nil:
		return l.logTransform(dst, q)
	case !m.Absolute:
		return l.logCentred(dst, q, m.Query, nil, 0)
	default:
		return l.logCentred(dst, q, m.Query, m.Key, l.Scale*float64(vecmath.Dot(m.Query, m.Key)))
	}
}

// logCentred writes log φ(x − mean) + s·(x − mean)ᵀother + constant of the rows of x. A nil other
// stands for 0.
func (l *Set[T]) logCentred(dst, x dense.Matrix[T], mean, other []T, constant float64) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, len(l.offsets))
	s := l.Means.spaces.Get()
	z := less(s, x, mean)
	matmul.MulPacked(T(l.Scale), z, &l.packed, 0, dst, nil)
	for i := range dst.Rows {
		factor := constant
		if other != nil {
			factor += l.Scale * float64(vecmath.Dot(z.Row(i), other))
		}
		vecmath.AffineEach(dst.Row(i), 1, l.offsets, T(factor))
	}
	l.Means.spaces.Put(s)
	return dst
}

// less returns the rows of x less mean in memory.
func less[T dense.Float](memory *scratch.Buffer[T], x dense.Matrix[T], mean []T) dense.Matrix[T] {
	memory.Shape(x.Rows, x.Cols)
	z := dense.Copy(memory.Rows(x.Rows), x)
	for i := range z.Rows {
		vecmath.AddScaled(z.Row(i), mean, -1)
	}
	return z
}

// centreKey writes k − c into dst, or k.
func (l *Set[T]) centreKey(dst, k []T) {
	copy(dst, k)
	if l.Means != nil {
		vecmath.AddScaled(dst, l.Means.Key, -1)
	}
}

// logFactor returns s·bᵀ(k − c) for a centred key, or 0.
func (l *Set[T]) logFactor(centred []T) float64 {
	if l.Means == nil {
		return 0
	}
	return l.Scale * float64(vecmath.Dot(centred, l.Means.Query))
}

// PullQueries writes s·slopes·Z into dq, and adds the gradients through the factors of queries.
func (l *Set[T]) PullQueries(dq, _, slopes dense.Matrix[T]) {
	l.pull(dq, slopes)
	if m := l.Means; m != nil && m.Absolute {
		l.pullFactors(dq, slopes, m.Key)
	}
}

// PullKeys writes s·slopes·Z into dk, and adds the gradients through the factors of keys.
func (l *Set[T]) PullKeys(dk, _, slopes dense.Matrix[T]) {
	l.pull(dk, slopes)
	if m := l.Means; m != nil {
		l.pullFactors(dk, slopes, m.Query)
	}
}

// pull writes s·slopes·Z into dx.
func (l *Set[T]) pull(dx, slopes dense.Matrix[T]) {
	matmul.Mul(T(l.Scale), slopes, l.points.Rows(len(l.offsets)), 0, dx)
}

// pullFactors adds the gradients through the factors exp(s·xᵀother) of centred points.
func (l *Set[T]) pullFactors(dx, slopes dense.Matrix[T], other []T) {
	for i := range dx.Rows {
		vecmath.AddScaled(dx.Row(i), other, T(l.Scale)*vecmath.Sum(slopes.Row(i)))
	}
}
