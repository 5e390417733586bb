package hypothesis_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hypothesis"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// p-values of independent columns are uniform, with all permutations and with rotations of cells.
func TestIndependenceUnderTheNull(t *testing.T) {
	t.Run("type=float32", testIndependenceNull[float32])
	t.Run("type=float64", testIndependenceNull[float64])
}

func testIndependenceNull[T dense.Float](t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		f, g law
		ties bool
	}{
		{"normal", 40, gauss, gauss, false},
		{"ties", 30, coin, coin, true},
		{"Cauchy and coins", 35, cauchy, coin, true},
		{"means of 10⁶ deviations", 30, far, far, false},
		{"4 rows", 4, gauss, gauss, true},
		{"rotations", 200, gauss, cauchy, false},
		{"rotations of 70 rows", 70, gauss, gauss, false},
	} {
		src := rand.NewPCG(21, 22)
		rng := rand.New(src)
		checkUniform(t, c.name, c.ties, func() float64 {
			x, y := sample[T](rng, c.n, 2, c.f), sample[T](rng, c.n, 1, c.g)
			return must.Have(hypothesis.Independence(t.Context(), usual(8, src, x), usual(6, src, y), x, y, hypothesis.Options{Draws: 49, Cells: 64}, src)).P
		})
	}
}

// direct returns the biased and the unbiased estimate of HSIC from Gram matrices [Gretton et al.
// 2005; Song et al. 2012].
func direct(k, l dense.Matrix[float64]) (biased, unbiased float64) {
	n := k.Rows
	size := float64(n)
	centred := func(a dense.Matrix[float64]) func(i, j int) float64 {
		rows, all := make([]float64, n), 0.0
		for i := range n {
			for j := range n {
				rows[i] += a.At(i, j) / size
				all += a.At(i, j) / (size * size)
			}
		}
		return func(i, j int) float64 { return a.At(i, j) - rows[i] - rows[j] + all }
	}
	hk, hl := centred(k), centred(l)
	trace, sumK, sumL, product := 0.0, 0.0, 0.0, 0.0
	for i := range n {
		rowK, rowL := 0.0, 0.0
		for j := range n {
			biased += hk(i, j) * hl(j, i) / (size * size)
			if i != j {
				trace += k.At(i, j) * l.At(i, j)
				rowK += k.At(i, j)
				rowL += l.At(i, j)
			}
		}
		sumK += rowK
		sumL += rowL
		product += rowK * rowL
	}
	return biased, (trace + sumK*sumL/((size-1)*(size-2)) - 2*product/(size-2)) / (size * (size - 3))
}

// Both estimates equal the estimates from the Gram matrices of the features, for permutations and
// for rotations.
func TestIndependenceEstimates(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testIndependenceEstimates[float32](t, 1e-5) })
	t.Run("type=float64", func(t *testing.T) { testIndependenceEstimates[float64](t, 1e-10) })
}

func testIndependenceEstimates[T dense.Float](t *testing.T, tolerance float64) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, n := range []int{4, 50, 64, 65, 150} {
		x, y := sample[T](rng, n, 3, gauss), sample[T](rng, n, 2, gauss)
		for i := range n {
			y.Set(i, 0, x.At(i, 0)*x.At(i, 0)+y.At(i, 0)+3)
		}
		phi, psi := must.Have(rff.Draw[T](rff.Quadratic{D: 3}, nil)), must.Have(rff.Draw[T](rff.Identity{D: 2}, nil))
		got := must.Have(hypothesis.Independence[T](t.Context(), phi, psi, x, y, hypothesis.Options{Draws: 99, Cells: 64}, rand.NewPCG(1, 2)))
		u, v := dense.Copy(dense.Matrix[float64]{}, x), dense.Copy(dense.Matrix[float64]{}, y)
		biased, unbiased := direct(kernels.Gram(dense.Matrix[float64]{}, phi.Kernel(), u, u), kernels.Gram(dense.Matrix[float64]{}, psi.Kernel(), v, v))
		assert.InDelta(t, biased, got.Statistic, tolerance*(1+biased), "n = %d", n)
		assert.InDelta(t, unbiased, got.Unbiased, tolerance*(1+biased), "n = %d", n)
		if n >= 50 {
			assert.LessOrEqual(t, got.P, 0.1, "n = %d", n)
		}
	}
}

// Rotations find a dependence without correlation among many rows nearly as often as permutations.
// Over 60 repetitions the counts have a standard deviation of at most 4, and may differ by 4·√2
// standard deviations. A shift of the rows of y removes the dependence.
func TestRotationsHavePower(t *testing.T) {
	const n, runs = 400, 60
	src := rand.NewPCG(41, 42)
	rng := rand.New(src)
	var found [3]int
	for range runs {
		x, y := sample[float64](rng, n, 1, gauss), sample[float64](rng, n, 1, gauss)
		for i := range n {
			y.Data[i] += 0.35 * math.Abs(x.Data[i])
		}
		phi, psi := gaussian[float64](12, 1, 1, src), gaussian[float64](12, 1, 1, src)
		for i, cells := range []int{1024, 100, 100} {
			if i == 2 {
				y = pool(y.RowRange(1, n), y.RowRange(0, 1))
			}
			got := must.Have(hypothesis.Independence(t.Context(), phi, psi, x, y, hypothesis.Options{Draws: 99, Cells: cells}, src))
			if got.P <= 0.05 {
				found[i]++
			}
		}
	}
	t.Logf("%v of %d", found, runs)
	assert.Greater(t, found[0], 20)
	assert.InDelta(t, found[0], found[1], 22)
	assert.Less(t, found[2], 15)
}
