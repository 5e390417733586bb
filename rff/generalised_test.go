package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// raisedKernels have features that are positive everywhere.
var raisedKernels = []kernels.Generalised{
	{F: kernels.ReLU, Epsilon: 0.1}, {F: kernels.Square, Epsilon: 0.2}, {F: kernels.Exponential, Epsilon: 0.3},
}

// nonlinearities are the functions themselves.
var nonlinearities = map[kernels.Nonlinearity]func(t float64) float64{
	kernels.ReLU:        func(t float64) float64 { return math.Max(t, 0) },
	kernels.Square:      func(t float64) float64 { return t * t },
	kernels.Exponential: math.Exp,
}

func TestGeneralisedIsTheGeneralScheme(t *testing.T) {
	densetest.Both(t, testGeneralisedIsTheGeneralScheme[float32], testGeneralisedIsTheGeneralScheme[float64])
}

func testGeneralisedIsTheGeneralScheme[T dense.Float](t *testing.T) {
	w, err := orf.Draw[T](orf.IID{}, 9, 4, exprand.NewSource(4))
	require.NoError(t, err)
	x := points[T](5, 66, 4, 0.5)
	for k, f := range nonlinearities {
		for _, epsilon := range []float64{0, 0.25} {
			named, err := rff.Generalised(w, kernels.Generalised{F: k, Epsilon: epsilon})
			require.NoError(t, err)
			want := newMap(w, nil, func(t T) T { return T(f(float64(t)) + epsilon) }).Transform(dense.Matrix[T]{}, x)
			logs := named.LogTransform(dense.Matrix[T]{}, x)
			for i, v := range named.Transform(dense.Matrix[T]{}, x).Data {
				// Logarithms are below 32 here, and so is their error in u.
				assert.InDelta(t, float64(want.Data[i]), float64(v), 32*densetest.Roundoff[T]()*math.Abs(float64(want.Data[i])), "%v", named)
				assert.InDelta(t, float64(want.Data[i]), math.Exp(float64(logs.Data[i])), 64*densetest.Roundoff[T]()*math.Abs(float64(want.Data[i])), "log %v", named)
			}
		}
	}
}

// Features that are 0 have the logarithm −Inf and no gradient; the others have that
// of their logarithm times themselves.
func TestGeneralisedGradients(t *testing.T) {
	const n, m, d = 20, 11, 4
	w, err := orf.Draw[float64](orf.IID{}, m, d, exprand.NewSource(4))
	require.NoError(t, err)
	x, dphi := points[float64](5, n, d, 0.5), points[float64](6, n, m, 1)
	clear(x.Row(3))
	for f := range nonlinearities {
		g, err := rff.Generalised(w, kernels.Generalised{F: f})
		require.NoError(t, err)
		phi, logs := g.Transform(dense.Matrix[float64]{}, x), g.LogTransform(dense.Matrix[float64]{}, x)
		dlog := dphi.Clone()
		for i, v := range phi.Data {
			dlog.Data[i] *= v
			assert.Equal(t, v == 0, math.IsInf(logs.Data[i], -1), "%v", g)
		}
		want, got := logSlopes(g).Backward(dense.Matrix[float64]{}, x, dphi), logSlopes(g).LogBackward(dense.Matrix[float64]{}, x, dlog)
		for i := range x.Rows {
			if i == 3 && f == kernels.ReLU {
				continue // at the kink, where φ has the subgradient ½ and its logarithm 0
			}
			assert.InDeltaSlice(t, want.Row(i), got.Row(i), 1e-12, "%v", g)
		}
		if f != kernels.Exponential {
			assert.Equal(t, make([]float64, d), got.Row(3), "%v", g)
		}
	}
}

// log φ is a number where φ overflows or underflows.
func TestGeneralisedLogarithmsOfExtremes(t *testing.T) {
	w, err := orf.FromMatrix(dense.Of(2, 1, []float32{1, -1}))
	require.NoError(t, err)
	x := dense.Of(1, 1, []float32{200})
	for epsilon, want := range map[float64][2]float64{0: {200, -200}, 0.5: {200, math.Log(0.5)}} {
		f, err := rff.Generalised(w, kernels.Generalised{F: kernels.Exponential, Epsilon: epsilon})
		require.NoError(t, err)
		logs := f.LogTransform(dense.Matrix[float32]{}, x)
		assert.InDelta(t, want[0]-math.Ln2/2, float64(logs.At(0, 0)), 2e-5)
		assert.InDelta(t, want[1]-math.Ln2/2, float64(logs.At(0, 1)), 2e-5)
		dx := logSlopes(f).LogBackward(dense.Matrix[float32]{}, x, dense.Of(1, 2, []float32{3, 0}))
		assert.Equal(t, []float32{3}, dx.Data, "the slope of the logarithm is 1")
	}
	square, err := rff.Generalised(w, kernels.Generalised{F: kernels.Square})
	require.NoError(t, err)
	tiny := dense.Of(1, 1, []float32{1e-30})
	assert.InDelta(t, 2*math.Log(1e-30)-math.Ln2/2, float64(square.LogTransform(dense.Matrix[float32]{}, tiny).At(0, 0)), 1e-4)
	assert.InEpsilon(t, 2e30, float64(logSlopes(square).LogBackward(dense.Matrix[float32]{}, tiny, dense.Of(1, 2, []float32{1, 0})).At(0, 0)), 1e-6)
}

// One frequency, of every sign, so that nothing else could show what is no number.
func TestGeneralisedDoesNotHideNaNAndInf(t *testing.T) {
	for _, epsilon := range []float64{0, 0.5} {
		for f := range nonlinearities {
			for _, sign := range []float64{1, -1} {
				w, err := orf.FromMatrix(dense.Of(1, 1, []float64{sign}))
				require.NoError(t, err)
				g, err := rff.Generalised(w, kernels.Generalised{F: f, Epsilon: epsilon})
				require.NoError(t, err)
				for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					x := dense.Of(1, 1, []float64{bad})
					phi, log := g.Transform(dense.Matrix[float64]{}, x).Data[0], g.LogTransform(dense.Matrix[float64]{}, x).Data[0]
					assert.True(t, math.IsNaN(phi) || math.IsInf(phi, 1), "%v at %v: %v", g, bad, phi)
					assert.True(t, math.IsNaN(log) || math.IsInf(log, 1), "log %v at %v: %v", g, bad, log)
				}
			}
		}
	}
}

func TestBadGeneralised(t *testing.T) {
	w, err := orf.Draw[float32](orf.IID{}, 4, 2, exprand.NewSource(1))
	require.NoError(t, err)
	_, err = rff.Generalised[float32](nil, kernels.Generalised{})
	assert.EqualError(t, err, "rff: w is nil, want a projection")
	_, err = rff.Generalised(w, kernels.Generalised{F: 3})
	assert.EqualError(t, err, "rff: k is out of range: kernels: Generalised.F = Nonlinearity(3), want ReLU, Square or Exponential")
	_, err = rff.Generalised(w, kernels.Generalised{Epsilon: -1})
	assert.EqualError(t, err, "rff: k is out of range: kernels: Generalised.Epsilon = -1, want a finite number, at least 0")
	_, err = rff.Generalised(w, kernels.Generalised{Epsilon: 1e-60})
	assert.EqualError(t, err, "rff: Generalised.Epsilon = 1e-60 is outside the range of float32")
}
