package landmarks_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/limittest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/rff"
)

// chooser is a way to choose n landmarks of x.
type chooser[T dense.Float] func(x dense.Matrix[T], n int, src rand.Source) (dense.Matrix[T], error)

func choosers[T dense.Float](k kernels.Kernel) map[string]chooser[T] {
	return map[string]chooser[T]{
		"uniform": landmarks.Uniform[T],
		"pivoted": func(x dense.Matrix[T], n int, src rand.Source) (dense.Matrix[T], error) {
			return landmarks.Pivoted(context.Background(), k, x, n, src)
		},
	}
}

func testLandmarks[T dense.Float](t *testing.T) {
	x := points[T](1, 700, 3, 1)
	rows := map[[3]T]int{}
	for i := range x.Rows {
		rows[[3]T(x.Row(i))] = i
	}
	for name, choose := range choosers[T](kernels.Gaussian{}) {
		for _, n := range []int{1, 20, 700} {
			l, err := choose(x, n, exprand.NewSource(3))
			require.NoError(t, err, name)
			require.Equal(t, [2]int{n, 3}, [2]int{l.Rows, l.Cols}, name)
			before := runtime.GOMAXPROCS(3)
			again, err := choose(x, n, exprand.NewSource(3))
			runtime.GOMAXPROCS(before)
			require.NoError(t, err)
			assert.Equal(t, l, again, "%s on three processors", name)
			seen := map[int]bool{}
			for i := range n {
				at, isRow := rows[[3]T(l.Row(i))]
				seen[at] = true
				assert.True(t, isRow, "%s %d: a row of x", name, i)
			}
			assert.Len(t, seen, n, "%s: rows are different", name)
		}
		f := must.Have(choose(x, 20, exprand.NewSource(4)))
		g := must.Have(choose(x, 20, exprand.NewSource(5)))
		assert.NotEqual(t, f, g, "%s: sources differ", name)
	}
}

func TestLandmarks(t *testing.T) {
	densetest.Both(t, testLandmarks[float32], testLandmarks[float64])
}

// All points are landmarks: k is exact between them, duplicates or not.
func TestNystroemOfAllPointsIsExact(t *testing.T) {
	x := points[float64](1, 60, 3, 1)
	for i := 40; i < 60; i++ {
		copy(x.Row(i), x.Row(i-40))
	}
	k := kernels.Gaussian{}
	for name, choose := range choosers[float64](k) {
		l, err := choose(x, 60, exprand.NewSource(1))
		require.NoError(t, err, name)
		f, err := rff.Nystroem(k, l)
		require.NoError(t, err, name)
		_, rank := f.Dims()
		assert.LessOrEqual(t, rank, 40, name)
		assert.Less(t, gramError(t, f, x), 1e-5, name)
	}
}

// Points that are all equal have no distances to draw by.
func TestLandmarksOfEqualPoints(t *testing.T) {
	x := dense.New[float64](30, 2)
	for i := range x.Data {
		x.Data[i] = 3
	}
	for name, choose := range choosers[float64](kernels.Gaussian{}) {
		l, err := choose(x, 5, exprand.NewSource(1))
		require.NoError(t, err, name)
		for _, v := range l.Data {
			assert.InDelta(t, 3, v, 1e-14, name)
		}
	}
}

// gramError returns ‖K − ΦΦᵀ‖_F/‖K‖_F on the rows of x.
func gramError(t *testing.T, f rff.Map[float64], x dense.Matrix[float64]) float64 {
	t.Helper()
	phi := gonum.ToMat(f.Transform(dense.Matrix[float64]{}, x))
	k := gonum.ToMat(kernels.Gram(dense.Matrix[float64]{}, f.Kernel(), x, dense.Matrix[float64]{}))
	var diff mat.Dense
	diff.Mul(phi, phi.T())
	diff.Sub(k, &diff)
	return mat.Norm(&diff, 2) / mat.Norm(k, 2)
}

// notFinite is NaN between points on different sides of 0, and minus is no kernel.
type (
	notFinite struct{}
	minus     struct{}
)

func (notFinite) Eval(x, y []float64) float64 {
	if x[0]*y[0] < 0 {
		return math.NaN()
	}
	return 1
}

func (minus) Eval(x, y []float64) float64 { return -1 }

func TestLandmarkErrors(t *testing.T) {
	x := points[float64](1, 50, 2, 1)
	bad := x.Clone()
	bad.Set(49, 1, math.Inf(1))
	for name, choose := range choosers[float64](kernels.Gaussian{}) {
		for want, f := range map[string]func() (dense.Matrix[float64], error){
			"landmarks: n = 51, want 1 to 50, the rows of x":   func() (dense.Matrix[float64], error) { return choose(x, 51, exprand.NewSource(1)) },
			"landmarks: n = 0, want 1 to 50, the rows of x":    func() (dense.Matrix[float64], error) { return choose(x, 0, exprand.NewSource(1)) },
			"landmarks: x is 0×0, want at least 1×1":           func() (dense.Matrix[float64], error) { return choose(dense.Matrix[float64]{}, 1, exprand.NewSource(1)) },
			"landmarks: src is nil":                            func() (dense.Matrix[float64], error) { return choose(x, 5, nil) },
			"landmarks: x[49][1] = +Inf, want a finite number": func() (dense.Matrix[float64], error) { return choose(bad, 5, exprand.NewSource(1)) },
		} {
			_, err := f()
			assert.EqualError(t, err, want, name)
		}
	}
}

// stopped ends its context with the first value of two different points, in the middle of a choice.
type stopped struct {
	kernels.Gaussian
	cancel func()
}

func (k stopped) Eval(x, y []float64) float64 {
	if x[0] != y[0] {
		k.cancel()
	}
	return k.Gaussian.Eval(x, y)
}

func TestContextOfLandmarks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := landmarks.Pivoted(ctx, stopped{cancel: cancel}, points[float64](1, 300, 2, 1), 100, exprand.NewSource(1))
	assert.ErrorIs(t, err, context.Canceled)
}

func TestPivotedLandmarkErrors(t *testing.T) {
	x := points[float64](1, 50, 2, 1)
	for want, k := range map[string]kernels.Kernel{
		"landmarks: kernels: k is nil": nil,
		"landmarks: kernels: Gaussian.LengthScale = -1, want a positive finite number, or 0 for 1": kernels.Gaussian{LengthScale: -1},
		"landmarks: k is not finite at some rows of x: scale the rows":                             notFinite{},
		"landmarks: k(x[0], x[0]) = +Inf, want a finite number: scale the rows":                    kernels.Scaled{K: kernels.Softmax{Gamma: 1e300}, By: 1},
		"landmarks: k(x[0], x[0]) = -1, want at least 0":                                           minus{},
	} {
		_, err := landmarks.Pivoted(t.Context(), k, x, 5, exprand.NewSource(1))
		assert.EqualError(t, err, want)
	}
	var none context.Context
	assert.PanicsWithValue(t, "landmarks: ctx is nil", func() { _, _ = landmarks.Pivoted(none, kernels.Gaussian{}, x, 5, exprand.NewSource(1)) })
}

// Twenty rare points far from 480 near ones: uniform landmarks miss most of them. The best map of
// the half the rank leaves the sum of the smaller eigenvalues of the Gram matrix, in trace norm.
// Pivoted landmarks leave less, and a fourth of what uniform ones leave.
func TestPivotedLandmarksAreNearTheBest(t *testing.T) {
	const n, draws = 40, 10
	x := points[float64](1, 500, 3, 0.3)
	for i := 480; i < 500; i++ {
		x.Set(i, 0, x.At(i, 0)+float64(5*(i-470)))
	}
	k := kernels.Gaussian{}
	best := must.Have(rff.Spectral(k, x, n/2))
	missing := func(f rff.Map[float64]) float64 {
		phi, sum := f.Transform(dense.Matrix[float64]{}, x), float64(x.Rows)
		for _, v := range phi.Data {
			sum -= v * v
		}
		return sum
	}
	mean := func(choose chooser[float64]) (sum float64) {
		src := exprand.NewSource(17)
		for range draws {
			sum += missing(must.Have(rff.Nystroem(k, must.Have(choose(x, n, src))))) / draws
		}
		return sum
	}
	all := choosers[float64](k)
	pivoted := mean(all["pivoted"])
	assert.Less(t, pivoted, missing(best))
	assert.Less(t, 4*pivoted, mean(all["uniform"]))
}

// Pivoted wants a Gram matrix of n columns.
func TestSizes(t *testing.T) {
	column := dense.New[float32](1<<22, 1)
	limittest.Memory(t, "landmarks")("n = 4194304, for the Gram matrix")(landmarks.Pivoted(t.Context(), kernels.Gaussian{}, column, 1<<22, exprand.NewSource(1)))
}

// points returns n normal points of R^d with the given standard deviation,
// rounded to float32 so that both types see the same.
func points[T dense.Float](seed uint64, n, d int, deviation float64) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(seed))
	x := dense.New[T](n, d)
	for i := range x.Data {
		x.Data[i] = T(float32(deviation * rng.NormFloat64()))
	}
	return x
}
