package validate_test

import (
	"fmt"
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
	"github.com/seed-feabd252/randfeat/validate"
)

// rowwise applies f to the rows of a matrix.
func rowwise[T dense.Float](f func(x []T) []T) func(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return func(_, x dense.Matrix[T]) dense.Matrix[T] {
		y := f(x.Row(0))
		return dense.Of(1, len(y), y)
	}
}

// times returns x ↦ Wx.
func times[T dense.Float](w dense.Matrix[T]) func(x []T) []T {
	return func(x []T) []T {
		y := make([]T, w.Rows)
		for i := range y {
			for j, v := range w.Row(i) {
				y[i] += v * x[j]
			}
		}
		return y
	}
}

// each returns a function that applies f to every coordinate and always returns the same slice.
func each[T dense.Float](d int, f func(t float64) float64) func(x []T) []T {
	y := make([]T, d)
	return func(x []T) []T {
		for i, v := range x {
			y[i] = T(f(float64(v)))
		}
		return y
	}
}

func testLinear[T dense.Float](t *testing.T) {
	const d, trials = 6, 30
	for seed := range uint64(20) {
		got, err := validate.CheckLinear(rowwise(times(densetest.Gapped[T](seed, 9, d))), d, trials, exprand.NewSource(seed))
		require.NoError(t, err)
		require.True(t, got.OK(), "%v", got)
	}
	got, err := validate.CheckLinear(rowwise(each[T](d, func(t float64) float64 { return -3 * t })), d, trials, exprand.NewSource(1))
	require.NoError(t, err)
	assert.Equal(t, "linear in 30 trials", got.String())

	for name, f := range map[string]func(float64) float64{
		"offset":      func(t float64) float64 { return t + 1e-3 },
		"square":      func(t float64) float64 { return t * t },
		"relu":        func(t float64) float64 { return math.Max(t, 0) },
		"absolute":    math.Abs,
		"sine":        math.Sin,
		"cubed":       func(t float64) float64 { return t + 1e-4*t*t*t },
		"slight kink": func(t float64) float64 { return t + 0x1p12*epsilonOf[T]()*math.Abs(t) },
		"saturation":  func(t float64) float64 { return 1e2 * math.Tanh(t/1e2) },
		"NaN":         func(float64) float64 { return math.NaN() },
		"Inf":         func(float64) float64 { return math.Inf(1) },
		"NaN outside": func(t float64) float64 { return t + 0*math.Sqrt(100-t) },
	} {
		got, err := validate.CheckLinear(rowwise(each[T](d, f)), d, trials, exprand.NewSource(5))
		require.NoError(t, err, name)
		require.False(t, got.OK(), name)
		// Both sides of the equation, recomputed from the counterexample, differ.
		x, left, right := float64(got.X[got.Index]), 0.0, 0.0
		if got.Broken == "f(x + y) = f(x) + f(y)" {
			y := float64(got.Y[got.Index])
			left, right = f(float64(T(x+y))), f(x)+f(y)
			assert.Zero(t, got.C, name)
		} else {
			left, right = f(float64(got.C*T(x))), float64(got.C)*f(x)
			assert.Nil(t, got.Y, name)
		}
		assert.False(t, math.Abs(left-right) <= got.Tolerance/2, "%s: %v against %v", name, left, right)
		assert.Contains(t, got.String(), got.Broken, name)
	}
}

func TestLinear(t *testing.T) { densetest.Both(t, testLinear[float32], testLinear[float64]) }

// TestLinearNamesTheProperty: (Σ x_i³)^{1/3} is homogeneous but not additive.
func TestLinearNamesTheProperty(t *testing.T) {
	cubic := func(x []float64) []float64 {
		var s float64
		for _, v := range x {
			s += v * v * v
		}
		return []float64{math.Cbrt(s)}
	}
	got, err := validate.CheckLinear(rowwise(cubic), 2, 5, exprand.NewSource(2))
	require.NoError(t, err)
	assert.Equal(t, "f(x + y) = f(x) + f(y)", got.Broken)
	assert.Equal(t, 1, got.Trials)
	assert.Len(t, got.Y, 2)

}

// TestLinearHomogeneity checks a function that fails homogeneity alone. No such function of real
// numbers has a formula, so the test has a function that is wrong in every fourth call, the call
// f(c·x).
func TestLinearHomogeneity(t *testing.T) {
	calls := 0
	got, err := validate.CheckLinear(rowwise(func(x []float64) []float64 {
		calls++
		if calls%4 == 0 {
			return []float64{x[0] + 1}
		}
		return []float64{x[0]}
	}), 1, 3, exprand.NewSource(3))
	require.NoError(t, err)
	assert.Equal(t, "f(c·x) = c·f(x)", got.Broken)
	assert.Nil(t, got.Y)
	assert.InDelta(t, 1, got.Left[0]-got.Right[0], 1e-12)
	assert.Contains(t, got.String(), ", c = ")
}

// line is a map φ(x) = x.
type line[T dense.Float] struct{ d int }

func (l line[T]) Dims() (in, out int) { return l.d, l.d }

func (l line[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] { return dense.Copy(dst, x) }

func (l line[T]) Kernel() kernels.Kernel { return kernels.DotProduct{} }

// testLibrary: every projection is linear within the tolerance. Of the maps exactly the linear ones
// are.
func testLibrary[T dense.Float](t *testing.T) {
	for name, e := range map[string]orf.Ensemble{
		"iid": orf.IID{}, "gram-schmidt": orf.GramSchmidt{}, "hadamard": orf.Hadamard{}, "givens": orf.Givens{},
		"simplex": orf.Simplex{},
	} {
		w, err := orf.Draw[T](e, 70, 33, exprand.NewSource(1))
		require.NoError(t, err, name)
		got, err := validate.CheckLinear(w.Project, 33, 12, exprand.NewSource(2))
		require.NoError(t, err, name)
		assert.True(t, got.OK(), "%s: %v", name, got)
	}
	w, err := orf.Draw[T](orf.IID{}, 10, 4, exprand.NewSource(1))
	require.NoError(t, err)
	check := func(name string, m rff.Map[T], err error, want bool) {
		require.NoError(t, err, name)
		got, err := validate.CheckLinear(m.Transform, 4, 12, exprand.NewSource(2))
		require.NoError(t, err, name)
		assert.Equal(t, want, got.OK(), "%s: %v", name, got)
	}
	dot, err := rff.DotProduct(w)
	check("dot product", dot, err, true)
	identity, err := rff.Identity[T](4)
	check("identity", identity, err, true)
	gaussian, err := rff.Gaussian(w, 1)
	check("gaussian", gaussian, err, false)
	relu, err := rff.ArcCosine(w, 1)
	check("relu", relu, err, false)
}

func TestLinearOnTheLibrary(t *testing.T) {
	densetest.Both(t, testLibrary[float32], testLibrary[float64])
}

func TestLinearErrors(t *testing.T) {
	f := dense.Copy[float64, float64]
	src := exprand.NewSource(1)
	_, err := validate.CheckLinear[float64](nil, 1, 1, src)
	assert.EqualError(t, err, "validate: f is nil")
	_, err = validate.CheckLinear(f, 0, 1, src)
	assert.EqualError(t, err, "validate: d = 0, want at least 1")
	_, err = validate.CheckLinear(f, 1, 0, src)
	assert.EqualError(t, err, "validate: trials = 0, want at least 1")
	_, err = validate.CheckLinear(f, math.MaxInt, 1, src)
	assert.ErrorContains(t, err, fmt.Sprintf("validate: d = %d: ", math.MaxInt))
	_, err = validate.CheckLinear(f, 1, 1, nil)
	assert.EqualError(t, err, "validate: src is nil")
	calls := 0
	_, err = validate.CheckLinear(rowwise(func(x []float64) []float64 { calls++; return make([]float64, calls) }), 1, 1, src)
	assert.EqualError(t, err, "validate: f returns 1, 2, 3 and 4 coordinates, want the same number")
}
