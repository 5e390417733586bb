package performer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// generalised returns the maps of generalised attention on R^d, and those of polynomial
// attention.
func generalised[T dense.Float](d int) []namedMap[T] {
	w := maptest.Frequencies[T](32, d)
	var all []namedMap[T]
	for _, k := range []kernels.Generalised{
		{F: kernels.ReLU}, {F: kernels.ReLU, Epsilon: 0.1},
		{F: kernels.Square}, {F: kernels.Square, Epsilon: 0.1},
		{F: kernels.Exponential}, {F: kernels.Exponential, Epsilon: 0.1},
	} {
		all = append(all, namedMap[T]{k.String(), must.Have(rff.Generalised(w, k))})
	}
	k := kernels.Polynomial{Degree: 2, Offset: 1}
	return append(all,
		namedMap[T]{"polynomial sketch", must.Have(rff.PolynomialSketch[T](32, d, k, rff.ComplexRademacherWeights, densetest.Source(7)))},
		namedMap[T]{"tensor sketch", must.Have(rff.TensorSketch[T](32, d, k, densetest.Source(8)))})
}

// Outputs and gradients are those of the weights that features give, one by one.
func TestGeneralisedAttentionEqualsQuadratic(t *testing.T) {
	densetest.Both(t, testGeneralised[float32], testGeneralised[float64])
}

func testGeneralised[T dense.Float](t *testing.T) {
	const d, dv = 5, 3
	rng := rand.New(densetest.Source(310))
	for _, m := range generalised[T](d) {
		for _, n := range []int{1, 65} {
			points := func(columns int) dense.Matrix[T] { return densetest.Normal[T](rng, n, columns, 0.3, 0.1) }
			in := [3]dense.Matrix[T]{points(d), points(d), points(dv)}
			dout := densetest.Normal[T](rng, n, dv, 0, 1)
			by := newJacobians(attention(m.Map, performer.LinearOptions{}), in[0], in[1])
			for _, opts := range forms {
				a := attention(m.Map, opts)
				want, tol := newPairs(a, in[0], in[1]).attend(dense.Copy(dense.Matrix[float64]{}, in[2]))
				densetest.RequireClose(t, want, tol, a.Forward(dense.Matrix[T]{}, in[0], in[1], in[2]), "%s %+v L=%d", m.name, opts, n)
				if densetest.Roundoff[T]() < 0x1p-50 {
					require.Less(t, largest(tol), 1e-10, "the bound for %s is no looser than promised", m.name)
				}
				requireGradients(t, a, by, in, dout, "%s %+v L=%d", m.name, opts, n)
			}
		}
	}
}

// A query whose features are all 0 has weights that are all 0: its output is that of a
// row of weights that underflow, and others do not notice.
func TestReLUAttentionOfDeadQueries(t *testing.T) {
	w := densetest.Filled[float64](4, 2, 1)
	phi := must.Have(rff.Generalised(must.Have(orf.FromMatrix(w)), kernels.Generalised{}))
	a := attention[float64](phi, performer.LinearOptions{Unnormalised: true})
	q := dense.Of(2, 2, []float64{-1, -2, 1, 2})
	k, v := dense.Of(1, 2, []float64{2, 1}), dense.Of(1, 1, []float64{5})
	out := a.Forward(dense.Matrix[float64]{}, q, k, v)
	require.Zero(t, out.At(0, 0))
	require.InDelta(t, 3*3*5, out.At(1, 0), 1e-12)
}
