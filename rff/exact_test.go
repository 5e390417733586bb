package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

func TestExactMapsEqualTheirKernels(t *testing.T) {
	densetest.Both(t, testExactMapsEqualTheirKernels[float32], testExactMapsEqualTheirKernels[float64])
}

func testExactMapsEqualTheirKernels[T dense.Float](t *testing.T) {
	for _, d := range []int{1, 2, 5, 131} {
		x := points[T](uint64(d), 20, d, 1/math.Sqrt(float64(d)))
		exact := dense.Copy(dense.Matrix[float64]{}, x)
		for name, f := range exactMaps[T](t, d) {
			phi := f.Transform(dense.Matrix[T]{}, x)
			wide := dense.Copy(dense.Matrix[float64]{}, phi)
			gram := kernels.Gram(dense.Matrix[float64]{}, f.Kernel(), exact, dense.Matrix[float64]{})
			for i := range x.Rows {
				for j := range x.Rows {
					sum, size := 0.0, 0.0
					for l, v := range wide.Row(i) {
						sum += v * wide.Row(j)[l]
						size += math.Abs(v * wide.Row(j)[l])
					}
					// Each feature has at most 4 rounding errors in T, e^t another
					// |t| < 8 of them; the sum and the kernel have theirs in float64.
					tolerance := (24*densetest.Roundoff[T]() + float64(len(wide.Row(i))+d+8)*0x1p-52) * size
					require.InDelta(t, gram.At(i, j), sum, tolerance, "%s d=%d (%d, %d)", name, d, i, j)
				}
			}
		}
	}
}

func TestExplicitFeatures(t *testing.T) {
	x := dense.Of(1, 3, []float64{2, -3, 5})
	quadratic := must.Have(rff.Draw[float64](rff.Quadratic{D: 3}, nil))
	assert.InDeltaSlice(t, []float64{4, 9, 25, -6 * math.Sqrt2, 10 * math.Sqrt2, -15 * math.Sqrt2},
		quadratic.Transform(dense.Matrix[float64]{}, x).Data, 1e-14)
	taylor := must.Have(rff.Draw[float64](rff.Taylor{D: 3, Scale: 4}, nil))
	assert.InDeltaSlice(t, []float64{1, 4, -6, 10, 4 * 4 / math.Sqrt2, 4 * 9 / math.Sqrt2, 4 * 25 / math.Sqrt2, -24, 40, -60},
		taylor.Transform(dense.Matrix[float64]{}, x).Data, 1e-13)
}

func TestELU(t *testing.T) {
	densetest.Both(t, testELU[float32], testELU[float64])
}

func testELU[T dense.Float](t *testing.T) {
	f := must.Have(rff.Draw[T](rff.ELU{D: 6}, nil))
	x := dense.Of(1, 6, []T{0, 2, -1, -30, -80, 1e-30})
	phi := f.Transform(dense.Matrix[T]{}, x)
	assert.Equal(t, []T{1, 3, T(math.Exp(-1)), T(math.Exp(-30)), T(math.Exp(-80)), 1}, phi.Data)
	log := logs(f).LogTransform(dense.Matrix[T]{}, x)
	assert.Equal(t, []T{0, T(math.Log1p(2)), -1, -30, -80, 1e-30}, log.Data)
}

func TestExactMapsInPlace(t *testing.T) {
	densetest.Both(t, testExactMapsInPlace[float32], testExactMapsInPlace[float64])
}

func testExactMapsInPlace[T dense.Float](t *testing.T) {
	x := points[T](4, 70, 131, 1)
	maps := exactMaps[T](t, 131)
	for _, name := range []string{"identity", "elu"} {
		want := maps[name].Transform(dense.Matrix[T]{}, x)
		in := x.Clone()
		assert.Equal(t, want, maps[name].Transform(in, in), name)
	}
	elu := logs(maps["elu"])
	want := elu.LogTransform(dense.Matrix[T]{}, x)
	in := x.Clone()
	assert.Equal(t, want, elu.LogTransform(in, in))
}
