package conformance_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/validate/conformance"
)

// cloud returns n normal points of R^d with the standard deviation ½.
func cloud[T dense.Float](n, d int) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(uint64(d)))
	x := dense.New[T](n, d)
	for i := range x.Data {
		x.Data[i] = T(0.5 * rng.NormFloat64())
	}
	return x
}

func TestKernels(t *testing.T) {
	check := func(k kernels.Kernel, x dense.Matrix[float64]) {
		assert.NoError(t, conformance.Kernel(k, x), "%v, d = %d", k, x.Cols)
		for j := range x.Cols {
			p := x.RowRange(0, 1).Clone()
			p.Set(0, j, math.Inf(1))
			for _, v := range []float64{k.Eval(p.Row(0), x.Row(1)), k.Eval(x.Row(1), p.Row(0)), k.Eval(p.Row(0), p.Row(0))} {
				assert.False(t, v-v == 0, "%v hides +Inf in coordinate %d: %v", k, j, v)
			}
		}
	}
	for _, d := range []int{1, 6} {
		for _, k := range []kernels.Kernel{
			kernels.Angular{}, kernels.ArcCosine{}, kernels.ArcCosine{Order: 1}, kernels.DotProduct{}, kernels.ELU{}, kernels.Gaussian{LengthScale: 2},
			kernels.Laplacian{}, kernels.Matern{Nu: 1.5}, kernels.Polynomial{Degree: 3, Offset: 1}, kernels.RationalQuadratic{}, kernels.Softmax{},
			kernels.Pullback{K: kernels.Gaussian{}, A: cloud[float64](3, d), Centre: make([]float64, d), Offset: []float64{1, 2, 3}},
			kernels.Sum{kernels.Gaussian{}, kernels.Scaled{K: kernels.DotProduct{}, By: 2}}, kernels.Product{kernels.Gaussian{}, kernels.Softmax{}},
		} {
			check(k, cloud[float64](30, d))
		}
	}
}
