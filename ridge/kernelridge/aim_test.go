package kernelridge_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

// leaver returns the sum of the squared errors at rows left out for the weights of an exact
// solution, and its standard error, for one target at a time and rows of weight 1.
func leaver(t *testing.T, k kernels.Kernel, x dense.Matrix[float64], ratio float64) func(a dense.Matrix[float64], target int) (sum, se float64) {
	n := x.Rows
	gram, inverse := kernels.Gram(dense.Matrix[float64]{}, k, x, dense.Matrix[float64]{}), dense.New[float64](n, n)
	for i := range n {
		gram.Row(i)[i] += ratio
		inverse.Set(i, i, 1)
	}
	must.Have(cholesky.New(context.Background(), gram)).Solve(inverse)
	u, whole := make([]float64, n), 0.0
	for i := range n {
		for _, v := range inverse.Row(i) {
			u[i] += v
		}
		whole += u[i]
	}
	return func(a dense.Matrix[float64], target int) (sum, se float64) {
		fourth := 0.0
		for i := range n {
			e := a.At(i, target) / (inverse.At(i, i) - u[i]*u[i]/whole)
			sum += e * e
			fourth += e * e * e * e
		}
		return sum, math.Sqrt(fourth - sum*sum/float64(n))
	}
}

// Without a Tolerance, Fit stops where the errors at rows left out are within a fifth of their
// standard error of those of the exact solution: for noise of all sizes, rows twice, λ = 10⁻⁶, and
// targets of different units and noise, of which each counts.
func TestStop(t *testing.T) {
	const n = 500
	for name, c := range map[string]struct {
		k      kernels.Kernel
		ratio  float64
		rank   int
		noise  []float64
		double bool
		fewer  bool // iterations than for a Tolerance of 10⁻⁴
	}{
		"gaussian":         {kernels.Gaussian{}, 0.1, 40, []float64{0.3}, false, true},
		"matern":           {kernels.Matern{Nu: 2.5}, 0.1, 40, []float64{0.3}, false, true},
		"much noise":       {kernels.Matern{Nu: 1.5}, 1, 20, []float64{2}, false, true},
		"targets":          {kernels.Gaussian{}, 0.1, 40, []float64{0.3, 1e-3, 10}, false, false},
		"rows twice":       {kernels.Gaussian{}, 0.1, 40, []float64{0.3}, true, true},
		"small λ":          {kernels.Gaussian{LengthScale: 2}, 1e-6, 200, []float64{1e-3}, false, false},
		"small λ, noise":   {kernels.Gaussian{LengthScale: 2}, 1e-6, 200, []float64{0.3}, false, false},
		"small λ, twice":   {kernels.Matern{Nu: 2.5, LengthScale: 2}, 1e-6, 400, []float64{0.1}, true, false},
		"without noise":    {kernels.Gaussian{LengthScale: 2}, 1e-6, 200, []float64{0}, false, false},
		"exact from start": {kernels.Gaussian{}, 0.1, n, []float64{0.3}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			b := ridge.Block[float64]{X: dense.New[float64](n, 3), Y: dense.New[float64](n, len(c.noise))}
			for i := range n {
				x := b.X.Row(i)
				for j := range x {
					x[j] = 4 * rng.Float64()
				}
				if c.double && i%2 == 1 {
					copy(x, b.X.Row(i-1))
				}
				for j, noise := range c.noise {
					f := math.Sin(float64(j+2)*x[0]) + math.Cos(2*x[1]+x[2])
					b.Y.Set(i, j, math.Pow(1000, float64(j))*(5+f+noise*rng.NormFloat64()))
				}
			}
			fit := func(tolerance float64) (dense.Matrix[float64], kernelridge.Progress) {
				var last kernelridge.Progress
				r, err := kernelridge.Fit(t.Context(), c.k, b, kernelridge.Options{
					Ratio: c.ratio, Rank: c.rank, Tolerance: tolerance, Src: rand.NewPCG(3, 4), Progress: func(p kernelridge.Progress) { last = p },
				})
				require.NoError(t, err)
				_, a := r.Model.Rows()
				return a, last
			}
			got, last := fit(0)
			assert.LessOrEqual(t, last.Residual, last.Tolerance)
			errors := leaver(t, c.k, b.X, c.ratio)
			exact, _ := direct(t, c.k, b, c.ratio, true)
			for j := range c.noise {
				want, se := errors(exact, j)
				sum, _ := errors(got, j)
				assert.InDelta(t, want, sum, 0.2*se, "target %d", j)
			}
			if _, fixed := fit(1e-4); c.fewer {
				assert.Less(t, last.Iterations, fixed.Iterations)
			}
		})
	}
}
