package sums

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// mapped are the features of one map for queries and keys.
type mapped[T dense.Float] struct {
	rff.Map[T]
	transform func(dst, x dense.Matrix[T]) dense.Matrix[T]
}

func (m mapped[T]) Queries(dst, q dense.Matrix[T]) dense.Matrix[T] { return m.transform(dst, q) }
func (m mapped[T]) Keys(dst, k dense.Matrix[T]) dense.Matrix[T]    { return m.transform(dst, k) }
func (m mapped[T]) DirectQueries(dst, q dense.Matrix[T])           { m.Transform(dst, q) }
func (m mapped[T]) DirectKeys(dst, k dense.Matrix[T])              { m.Transform(dst, k) }
func (m mapped[T]) PullQueries(dq, q, slopes dense.Matrix[T])      { m.pull(dq, q, slopes) }
func (m mapped[T]) PullKeys(dk, k, slopes dense.Matrix[T])         { m.pull(dk, k, slopes) }

func (m mapped[T]) pull(dx, x, slopes dense.Matrix[T]) {
	if f, ok := m.Map.(rff.DifferentiableLog[T]); ok {
		f.LogBackward(dx, x, slopes)
	} else {
		m.Map.(rff.Differentiable[T]).Backward(dx, x, slopes)
	}
}

// engineOf returns the engine of causal attention with a map.
func engineOf[T dense.Float](m rff.Map[T], unnormalised bool) *Engine[T] {
	d, n := m.Dims()
	f := mapped[T]{m, m.Transform}
	o := Operator[T]{D: d, M: n, Features: f, Causal: true, Unnormalised: unnormalised}
	if log, ok := m.(rff.LogMap[T]); ok {
		o.Features, o.Logs = mapped[T]{m, log.LogTransform}, true
	}
	return New(o)
}

// elementwise are the features f(x) of each coordinate x of a point.
type elementwise[T dense.Float] struct {
	f     func(x T) T
	slope func(x T) T
}

func (m elementwise[T]) Queries(dst, x dense.Matrix[T]) dense.Matrix[T] {
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			dst.Row(i)[j] = m.f(v)
		}
	}
	return dst
}

func (m elementwise[T]) Keys(dst, x dense.Matrix[T]) dense.Matrix[T] { return m.Queries(dst, x) }

func (m elementwise[T]) PullQueries(dx, x, slopes dense.Matrix[T]) {
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			dx.Row(i)[j] = slopes.Row(i)[j] * m.slope(v)
		}
	}
}

func (m elementwise[T]) PullKeys(dx, x, slopes dense.Matrix[T]) { m.PullQueries(dx, x, slopes) }

// logarithmsOf returns the engine of causal attention whose log-features are the d coordinates of
// points, times a factor.
func logarithmsOf[T dense.Float](d int, factor T, unnormalised bool) *Engine[T] {
	times := elementwise[T]{func(x T) T { return factor * x }, func(T) T { return factor }}
	return New(Operator[T]{D: d, M: d, Features: times, Logs: true, Causal: true, Unnormalised: unnormalised})
}

// rectified returns the engine of causal attention with the features max(0, x), or their
// logarithms, many of which are zero.
func rectified[T dense.Float](d int, logs, unnormalised bool) *Engine[T] {
	f := func(x T) T {
		if x <= 0 {
			x = 0
		}
		if logs {
			return T(math.Log(float64(x)))
		}
		return x
	}
	return New(Operator[T]{D: d, M: d, Features: elementwise[T]{f: f}, Logs: logs, Causal: true, Unnormalised: unnormalised})
}

// named is an engine and what it has for features.
type named[T dense.Float] struct {
	name string
	*Engine[T]
}

// differentiable returns engines of causal attention that have gradients.
func differentiable[T dense.Float](d int, unnormalised bool) []named[T] {
	iid, w := frequencies[T](orf.IID{}, 32, d), frequencies[T](orf.GramSchmidt{}, 32, d)
	return []named[T]{
		{"positive iid", engineOf[T](must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 0.5}, iid)), unnormalised)},
		{"positive orf", engineOf[T](must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w)), unnormalised)},
		{"hyperbolic", engineOf[T](must.Have(rff.Draw(rff.SoftmaxHyperbolic{Scale: 1}, w)), unnormalised)},
		{"elu", engineOf[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), unnormalised)},
		{"gaussian", engineOf(must.Have(rff.Draw(rff.Gaussian{LengthScale: 4}, w)), unnormalised)},
	}
}

func frequencies[T dense.Float](of orf.Ensemble, m, d int) orf.Projection[T] {
	return must.Have(orf.Draw[T](of, m, d, rand.NewPCG(1, 2)))
}

// source returns the source of a test with this seed.
func source(seed uint64) rand.Source { return rand.NewPCG(seed, 0) }
