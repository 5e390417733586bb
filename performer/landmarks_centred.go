package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Centred returns l with the vector b taken off queries and c off keys, which is made up for
// exactly: with κ(x, y) = exp(s·xᵀy) and z_i now of the centred keys,
//
//	Â_ij = κ(q_i−b, Z)·κ(Z, Z)⁻¹·κ(Z, k_j−c)·exp(s·q_iᵀc + s·bᵀk_j − s·bᵀc).
//
// It estimates the same attention, and errors are many times smaller where the means of queries and
// keys are far apart, as those of trained transformers are: Z lies among the keys, and a query far
// from them has a large residual ρ. b and c should be the means of queries and keys, which
// [rff.Centre] computes. But for rounding only b − c matters. A nil b or c stands for 0.
//
// b and c are constants, for gradients too. Were they means of the queries of a call, then an
// output would depend on other queries, on padding among them, and on how queries are cut into
// calls. Causal attention and a [State] take means of earlier tokens or other texts. Landmarks that
// are given stay the same points, near keys. If l has means already, b and c replace them.
//
// The cost is that of l and O((Lq+Lk)·d). The error reports a b or c that is neither nil nor of the
// length of the other and of the dimension of given landmarks, an element that is not finite, and a
// given landmark z with s·‖z − c‖²/2 out of the range of T.
func (l *Landmarks[T]) Centred(b, c []T) (*Landmarks[T], error) {
	l.checkMade()
	d := l.z.Cols
	if l.given == nil {
		d = max(len(b), len(c))
	}
	m := &landmarkMeans[T]{query: make([]T, d), key: make([]T, d), absolute: l.exact.Unnormalised || l.exact.Causal}
	for _, v := range []struct {
		name string
		from []T
		to   []T
	}{{"b", b, m.query}, {"c", c, m.key}} {
		if len(v.from) != 0 && len(v.from) != d {
			return nil, fmt.Errorf("performer: %s has length %d, want %d", v.name, len(v.from), d)
		}
		for j, x := range v.from {
			if x-x != 0 {
				return nil, fmt.Errorf("performer: %s[%d] = %v, want a finite number", v.name, j, x)
			}
		}
		copy(v.to, v.from)
	}
	if len(b) == 0 && len(c) == 0 {
		m = nil
	}
	to := &Landmarks[T]{exact: l.exact, n: l.n, seed: l.seed, z: l.z, d: d, sums: l.sums, means: m}
	if l.given != nil {
		set, err := givenLandmarks(l.exact.scale(d), l.z, m)
		if err != nil {
			return nil, err
		}
		to.give(set)
	}
	to.setDouble()
	return to, nil
}

// landmarkMeans are what Centred takes off queries and keys.
type landmarkMeans[T dense.Float] struct {
	query, key []T
	absolute   bool // the factor of a query does not cancel

	spaces pool.Of[centredRows[T]]
}

// logKeys writes log φ of keys with the logarithms of their factors into dst and returns dst; a
// zero dst is allocated.
func (l *landmarkSet[T]) logKeys(dst, k dense.Matrix[T]) dense.Matrix[T] {
	if m := l.means; m != nil {
		return l.logCentred(dst, k, m.key, m.query, 0)
	}
	return l.logTransform(dst, k)
}

// logQueries is logKeys for queries.
func (l *landmarkSet[T]) logQueries(dst, q dense.Matrix[T]) dense.Matrix[T] {
	switch m := l.means; {
	case m == nil:
		return l.logTransform(dst, q)
	case !m.absolute:
		return l.logCentred(dst, q, m.query, nil, 0)
	default:
		return l.logCentred(dst, q, m.query, m.key, l.scale*float64(vecmath.Dot(m.query, m.key)))
	}
}

// logCentred writes log φ(x − mean) + s·(x − mean)ᵀother + constant of the rows of x. A nil other
// stands for 0.
func (l *landmarkSet[T]) logCentred(dst, x dense.Matrix[T], mean, other []T, constant float64) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, len(l.offsets))
	s := l.means.spaces.Get()
	z := s.less(x, mean)
	matmul.MulPacked(T(l.scale), z, &l.packed, 0, dst, nil)
	for i := range dst.Rows {
		factor := constant
		if other != nil {
			factor += l.scale * float64(vecmath.Dot(z.Row(i), other))
		}
		vecmath.AffineEach(dst.Row(i), 1, l.offsets, T(factor))
	}
	l.means.spaces.Put(s)
	return dst
}

// centredRows is memory for centred points.
type centredRows[T dense.Float] struct{ rows scratch.Buffer[T] }

// less returns the rows of x less mean.
func (c *centredRows[T]) less(x dense.Matrix[T], mean []T) dense.Matrix[T] {
	c.rows.Shape(x.Rows, x.Cols)
	z := c.rows.Rows(x.Rows)
	for i := range z.Rows {
		copy(z.Row(i), x.Row(i))
		vecmath.AddScaled(z.Row(i), mean, -1)
	}
	return z
}

// centreKey writes k − c into dst, or k.
func (l *landmarkSet[T]) centreKey(dst, k []T) {
	copy(dst, k)
	if l.means != nil {
		vecmath.AddScaled(dst, l.means.key, -1)
	}
}

// logFactor returns s·bᵀ(k − c) for a centred key, or 0.
func (l *landmarkSet[T]) logFactor(centred []T) float64 {
	if l.means == nil {
		return 0
	}
	return l.scale * float64(vecmath.Dot(centred, l.means.query))
}

// pullFactors adds the gradients through the factors of points to dx, where slopes are the gradients with
// respect to log φ.
func (l *landmarkSet[T]) pullFactors(dx, slopes dense.Matrix[T], keys bool) {
	m := l.means
	if m == nil || !keys && !m.absolute {
		return
	}
	other := m.key
	if keys {
		other = m.query
	}
	for i := range dx.Rows {
		vecmath.AddScaled(dx.Row(i), other, T(l.scale)*vecmath.Sum(slopes.Row(i)))
	}
}
