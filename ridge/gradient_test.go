package ridge_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// testGradient compares with central differences of the evidence, features being the points
// themselves.
func testGradient[T dense.Float](t *testing.T, tolerance float64) {
	const n, d, outputs, step = 150, 7, 2, 1e-4
	rng := rand.New(rand.NewPCG(1, 2))
	phi := must.Have(rff.Draw[T](rff.Identity{D: d}, nil))
	x, y := densetest.Normal[T](rng, n, d, 3, 1), densetest.Normal[T](rng, n, outputs, -20, 1)
	weights := make([]T, n)
	for i := range weights {
		weights[i] = T(i%4) / 2
		for j := range outputs {
			y.Row(i)[j] += x.At(i, j) - 2*x.At(i, j+1)
		}
	}
	wide, _ := rff.Draw[float64](rff.Identity{D: d}, nil)
	x64, y64 := dense.Copy(dense.Matrix[float64]{}, x), dense.Copy(dense.Matrix[float64]{}, y)
	weights64 := make([]float64, n)
	for i, w := range weights {
		weights64[i] = float64(w)
	}
	for _, o := range []ridge.Options{{Noise: 0.5, Prior: 2}, {Noise: 2, Prior: 0.1, NoIntercept: true}, {Ratio: 3}} {
		m := must.Have(sumOf(t, phi, x, y, weights).Fit(t.Context(), o))
		got := must.Have(m.Gradient(dense.Matrix[T]{}, x, y, weights))
		moved := func(i, j int, by float64) float64 {
			z := x64.Clone()
			z.Row(i)[j] += by
			m := must.Have(sumOf(t, wide, z, y64, weights64).Fit(t.Context(), o))
			return m.LogEvidence()
		}
		size := 0.0
		for _, v := range got.Data {
			size = max(size, math.Abs(float64(v)))
		}
		for _, i := range []int{0, 1, 2, 77, 127, 128, n - 1} {
			for j := range d {
				want := (8*(moved(i, j, step)-moved(i, j, -step)) - moved(i, j, 2*step) + moved(i, j, -2*step)) / (12 * step)
				assert.InDelta(t, want, float64(got.At(i, j)), tolerance*size, "(%d, %d) %+v", i, j, o)
			}
		}
	}
}

func TestGradientIsTheDerivativeOfTheEvidence(t *testing.T) {
	densetest.Both(t,
		func(t *testing.T) { testGradient[float32](t, 1e-5) },
		func(t *testing.T) { testGradient[float64](t, 1e-7) })
}

func testGradientOfParts[T dense.Float](t *testing.T) {
	x, y := friedman[T](300, 5, 1)
	m := must.Have(ridge.Fit(t.Context(), gaussian[T](t, 70, 5, 1, 1), ridge.Block[T]{X: x, Y: y}, ridge.Options{}))
	all := must.Have(m.Gradient(dense.Matrix[T]{}, x, y, nil))
	for _, processors := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(processors)
		again, err := m.Gradient(dense.Matrix[T]{}, x, y, nil)
		runtime.GOMAXPROCS(before)
		require.NoError(t, err)
		require.Equal(t, all.Data, again.Data, "%d processors", processors)
	}
	some := must.Have(m.Gradient(dense.New[T](45, 140), x.RowRange(128, 173), y.RowRange(128, 173), nil))
	for i := range some.Rows {
		require.Equal(t, all.Row(128+i), some.Row(i), "rows that are alone")
	}
}

func TestGradientDoesNotDependOnProcessors(t *testing.T) {
	densetest.Both(t, testGradientOfParts[float32], testGradientOfParts[float64])
}

// A row of weight 0 has the gradient 0 even where its features are infinite.
func TestGradientOfRowsWithoutWeight(t *testing.T) {
	phi := must.Have(rff.Draw[float32](rff.Quadratic{D: 2}, nil))
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := densetest.Normal[float32](rng, 20, 2, 0, 1), densetest.Normal[float32](rng, 20, 1, 0, 1)
	weights := make([]float32, 20)
	for i := range weights {
		weights[i] = 1
	}
	weights[3] = 0
	x.Set(3, 0, 1e30)
	m := must.Have(sumOf(t, phi, x, y, weights).Fit(t.Context(), ridge.Options{}))
	g := must.Have(m.Gradient(dense.Matrix[float32]{}, x, y, weights))
	assert.Equal(t, []float32{0, 0, 0}, g.Row(3))
	for _, v := range g.Data {
		assert.False(t, v != v)
	}
}
