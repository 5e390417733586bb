package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
)

// chiSquares are the kernels of histograms, which have no values for the points of the
// other tests.
var chiSquares = []kernels.Kernel{kernels.AdditiveChiSquare{}, kernels.SkewedChiSquare{}, kernels.SkewedChiSquare{C: 0.1}, kernels.Sum{kernels.AdditiveChiSquare{}, kernels.Gaussian{}}}

// histograms returns n points with coordinates of which a quarter are 0 and the others
// positive.
func histograms[T dense.Float](seed uint64, n, d int) dense.Matrix[T] {
	x := cloud[T](seed, n, d, 0, 1)
	for i := range n {
		for j, v := range x.Row(i) {
			x.Row(i)[j] = T(math.Abs(float64(v)))
			if (i+j)%4 == 0 {
				x.Row(i)[j] = 0
			}
		}
	}
	return x
}

// The kernel is the half sum of norms minus the χ² distance.
func TestAdditiveChiSquareIsADistance(t *testing.T) {
	x := histograms[float64](1, 20, 5)
	for i := range x.Rows {
		for j := range x.Rows {
			var norms, distance float64
			for l, u := range x.Row(i) {
				v := x.At(j, l)
				norms += u + v
				if u+v > 0 {
					distance += (u - v) * (u - v) / (u + v)
				}
			}
			assert.InDelta(t, (norms-distance)/2, kernels.AdditiveChiSquare{}.Eval(x.Row(i), x.Row(j)), 1e-14*norms)
			if i == j {
				assert.InEpsilon(t, norms/2, kernels.AdditiveChiSquare{}.Eval(x.Row(i), x.Row(i)), 1e-15)
				assert.InEpsilon(t, 1, kernels.SkewedChiSquare{}.Eval(x.Row(i), x.Row(i)), 1e-15)
			}
		}
	}
}

func testChiSquareGram[T dense.Float](t *testing.T) {
	x, y := histograms[T](1, 40, 6), histograms[T](2, 30, 6)
	for _, k := range chiSquares {
		g, one := kernels.Gram(dense.Matrix[T]{}, k, x, y), kernels.Gram(dense.Matrix[T]{}, k, x, dense.Matrix[T]{})
		for i := range x.Rows {
			for j := range y.Rows {
				want := eval(k, x.Row(i), y.Row(j))
				require.InEpsilon(t, want, float64(g.At(i, j)), 100*densetest.Roundoff[T](), "%v", k)
				require.Equal(t, want, eval(k, y.Row(j), x.Row(i)), "%v: symmetric", k)
			}
		}
		var eigen mat.EigenSym
		require.True(t, eigen.Factorize(mat.NewSymDense(one.Rows, dense.Copy(dense.Matrix[float64]{}, one).Data), false))
		values := eigen.Values(nil)
		assert.GreaterOrEqual(t, values[0], -16*40*2*densetest.Roundoff[T]()*values[39], "%v", k)
	}
}

func TestChiSquareGram(t *testing.T) {
	densetest.Both(t, testChiSquareGram[float32], testChiSquareGram[float64])
}

// What is no number or outside the domain gives no number.
func TestChiSquareOutsideTheDomain(t *testing.T) {
	for _, k := range []kernels.Kernel{kernels.AdditiveChiSquare{}, kernels.SkewedChiSquare{}, kernels.SkewedChiSquare{C: 0.1}} {
		for _, bad := range []float64{-1, -3, math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, y := range [][]float64{{1, 2}, {0, 0}, {bad, 1}, {math.Inf(1), 1}} {
				x := []float64{bad, 1}
				for _, v := range []float64{k.Eval(x, y), k.Eval(y, x)} {
					assert.True(t, math.IsNaN(v) || math.IsInf(v, 0), "%v at %v, %v: %v", k, x, y, v)
				}
			}
		}
		assert.PanicsWithValue(t, "kernels: x has length 3, y has length 2", func() { k.Eval(make([]float64, 3), make([]float64, 2)) })
	}
	assert.Zero(t, kernels.AdditiveChiSquare{}.Eval([]float64{0, 3}, []float64{0, 0}))
	assert.Equal(t, 1.0, kernels.SkewedChiSquare{}.Eval([]float64{0, 0}, []float64{0, 0}))
}

// Products neither overflow nor underflow on the way.
func TestChiSquareExtremes(t *testing.T) {
	for _, c := range []float64{1e-300, 1, 1e300} {
		assert.InEpsilon(t, 4*c/3, kernels.AdditiveChiSquare{}.Eval([]float64{c}, []float64{2 * c}), 1e-15)
		assert.InEpsilon(t, 2*math.Sqrt(6)/5, kernels.SkewedChiSquare{C: c}.Eval([]float64{c}, []float64{2 * c}), 1e-15)
	}
	for _, v := range []float64{math.SmallestNonzeroFloat64, math.MaxFloat64} {
		assert.Equal(t, v, kernels.AdditiveChiSquare{}.Eval([]float64{v}, []float64{v}))
	}
}

// E[f(wᵀx)f(wᵀy)] by quadrature over the plane of x and y, in polar coordinates for the
// kink of ReLU.
func TestGeneralisedIsItsExpectation(t *testing.T) {
	x, y := []float64{0.8, 0}, []float64{0.3, 0.5}
	for f, apply := range map[kernels.Nonlinearity]func(t float64) float64{
		kernels.ReLU: func(t float64) float64 { return math.Max(t, 0) }, kernels.Square: func(t float64) float64 { return t * t }, kernels.Exponential: math.Exp,
	} {
		for _, epsilon := range []float64{0, 0.7} {
			const step, angles = 0.01, 720
			var sum float64
			for r := step / 2; r < 12; r += step {
				weight := r * math.Exp(-r*r/2) * step / angles
				for a := range angles {
					sin, cos := math.Sincos(2 * math.Pi * (float64(a) + 0.5) / angles)
					sum += weight * (apply(r*(cos*x[0]+sin*x[1])) + epsilon) * (apply(r*(cos*y[0]+sin*y[1])) + epsilon)
				}
			}
			// Midpoints: the error is of second order in both steps.
			assert.InEpsilon(t, sum, kernels.Generalised{F: f, Epsilon: epsilon}.Eval(x, y), 1e-4, "%v, ε = %v", f, epsilon)
		}
	}
}
