package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
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
