package rff_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func TestRowsDoNotDependOnTheBatch(t *testing.T) {
	densetest.Both(t, testRowsDoNotDependOnTheBatch[float32], testRowsDoNotDependOnTheBatch[float64])
}

func testRowsDoNotDependOnTheBatch[T dense.Float](t *testing.T) {
	x := points[T](1, 150, 5, 1)
	for name, f := range allMaps[T](t, 5) {
		all := f.Transform(dense.Matrix[T]{}, x)
		for _, i := range []int{0, 1, 63, 64, 149} {
			assert.Equal(t, all.Row(i), f.Transform(dense.Matrix[T]{}, x.RowRange(i, i+1)).Row(0), "%s row %d", name, i)
		}
		tail := f.Transform(dense.Matrix[T]{}, x.RowRange(37, 150))
		assert.Equal(t, all.Row(101), tail.Row(101-37), name)
		assert.Equal(t, 0, f.Transform(dense.Matrix[T]{}, x.RowRange(3, 3)).Rows, name)

		before := runtime.GOMAXPROCS(5)
		assert.Equal(t, all, f.Transform(dense.Matrix[T]{}, x), name)
		runtime.GOMAXPROCS(before)
	}
}

func TestViews(t *testing.T) {
	densetest.Both(t, testViews[float32], testViews[float64])
}

// Input and output are column blocks of larger matrices, whose other columns
// must be neither read nor written.
func testViews[T dense.Float](t *testing.T) {
	const n, d = 70, 4
	x := points[T](2, n, d, 1)
	wide := dense.New[T](n, d+3)
	for i := range wide.Data {
		wide.Data[i] = T(math.NaN())
	}
	dense.Copy(wide.ColRange(2, 2+d), x)
	for name, f := range allMaps[T](t, d) {
		_, out := f.Dims()
		into := dense.New[T](n, out+2)
		for i := range into.Data {
			into.Data[i] = -7
		}
		f.Transform(into.ColRange(1, 1+out), wide.ColRange(2, 2+d))
		assert.Equal(t, f.Transform(dense.Matrix[T]{}, x), into.ColRange(1, 1+out).Clone(), name)
		for i := range n {
			assert.EqualValues(t, -7, into.At(i, 0), name)
			assert.EqualValues(t, -7, into.At(i, out+1), name)
		}
	}
}

func TestNaNAndInfAreNotHidden(t *testing.T) {
	densetest.Both(t, testNaNAndInfAreNotHidden[float32], testNaNAndInfAreNotHidden[float64])
}

func testNaNAndInfAreNotHidden[T dense.Float](t *testing.T) {
	finite := func(row []T) bool {
		for _, v := range row {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return false
			}
		}
		return true
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := points[T](3, 3, 4, 1)
		x.Set(1, 2, T(bad))
		check := func(name string, phi dense.Matrix[T]) {
			assert.False(t, finite(phi.Row(1)), "%s of %v", name, bad)
			assert.True(t, finite(phi.Row(0)) && finite(phi.Row(2)), "%s beside %v", name, bad)
		}
		for name, f := range allMaps[T](t, 4) {
			check(name, f.Transform(dense.Matrix[T]{}, x))
			if l, ok := f.(rff.LogMap[T]); ok {
				check("log "+name, l.LogTransform(dense.Matrix[T]{}, x))
			}
		}
	}
}

// One frequency, of every sign, so that nothing else could show the infinity.
func TestFlatFunctionsDoNotHideInfinity(t *testing.T) {
	x := dense.Of(2, 1, []float64{math.Inf(1), math.Inf(-1)})
	for seed := range uint64(6) {
		w := must.Have(orf.Draw[float64](orf.IID{}, 1, 1, exprand.NewSource(seed)))
		angular := must.Have(rff.Draw(rff.Angular{}, w))
		step := must.Have(rff.Draw(rff.ArcCosine{Order: 0}, w))
		relu := must.Have(rff.Draw(rff.ArcCosine{Order: 1}, w))
		square := must.Have(rff.Draw(rff.ArcCosine{Order: 2}, w))
		positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
		for _, f := range []rff.Map[float64]{angular, step, relu, square, positive} {
			for _, v := range f.Transform(dense.Matrix[float64]{}, x).Data {
				assert.True(t, math.IsNaN(v) || math.IsInf(v, 1), "%v gives %v", f, v)
			}
		}
	}
}

func TestZeroVector(t *testing.T) {
	w := must.Have(orf.Draw[float64](orf.IID{}, 5, 3, exprand.NewSource(1)))
	x := dense.New[float64](1, 3)
	angular := must.Have(rff.Draw(rff.Angular{}, w))
	step := must.Have(rff.Draw(rff.ArcCosine{Order: 0}, w))
	for _, f := range []rff.Map[float64]{angular, step} {
		got := 0.0
		for _, v := range f.Transform(dense.Matrix[float64]{}, x).Data {
			got += v * v
		}
		assert.InDelta(t, f.Kernel().Eval(x.Row(0), x.Row(0)), got, 1e-15, "%v", f)
	}
}

// Lengths of trigonometric features are 1 (e^(s‖x‖²/2) for softmax) without
// sampling error.
func TestTrigonometricFeaturesAreExactOnTheDiagonal(t *testing.T) {
	x := points[float64](6, 10, 4, 0.6)
	maps := allMaps[float64](t, 4)
	for _, name := range []string{"gaussian", "laplacian", "softmax trig", "Matern{Nu: 1.5, LengthScale: 0.75}"} {
		require.Contains(t, maps, name)
		phi := maps[name].Transform(dense.Matrix[float64]{}, x)
		for i := range x.Rows {
			got := 0.0
			for _, v := range phi.Row(i) {
				got += v * v
			}
			assert.InEpsilon(t, maps[name].Kernel().Eval(x.Row(i), x.Row(i)), got, 1e-13, name)
		}
	}
}

func TestShapesPanic(t *testing.T) {
	for name, f := range allMaps[float64](t, 4) {
		_, out := f.Dims()
		assert.PanicsWithValue(t, "rff: x is 3×5, want 3×4", func() { f.Transform(dense.Matrix[float64]{}, dense.New[float64](3, 5)) }, name)
		assert.Panics(t, func() { f.Transform(dense.New[float64](2, out), dense.New[float64](3, 4)) }, name)
		if l, ok := f.(rff.LogMap[float64]); ok {
			assert.PanicsWithValue(t, "rff: x is 3×5, want 3×4", func() { l.LogTransform(dense.Matrix[float64]{}, dense.New[float64](3, 5)) }, name)
		}
	}
}

func testTransformAllocations[T dense.Float](t *testing.T) {
	if race.Detector {
		t.Skip("with the race detector a sync.Pool forgets at random")
	}
	x := points[T](1, 1100, 5, 0.3)
	for name, f := range allMaps[T](t, 5) {
		_, out := f.Dims()
		dst := dense.New[T](x.Rows, out)
		for _, g := range []rff.Map[T]{f, rff.Keys(f)} {
			g.Transform(dst, x)
			assert.Zero(t, testing.AllocsPerRun(5, func() { g.Transform(dst, x) }), name)
			if l, ok := g.(rff.LogMap[T]); ok {
				assert.Zero(t, testing.AllocsPerRun(5, func() { l.LogTransform(dst, x) }), name)
			}
		}
	}
}

func TestTransformDoesNotAllocate(t *testing.T) {
	densetest.Both(t, testTransformAllocations[float32], testTransformAllocations[float64])
}
