package rff_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// sumParts are maps of R^3 of different widths, all Differentiable.
func sumParts[T dense.Float](t testing.TB) []rff.Map[T] {
	w := must.Have(orf.Draw[T](orf.Hadamard{}, 10, 3, exprand.NewSource(1)))
	gaussian := must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w))
	quadratic := must.Have(rff.Draw[T](rff.Quadratic{D: 3}, nil))
	identity := must.Have(rff.Draw[T](rff.Identity{D: 3}, nil))
	return []rff.Map[T]{gaussian, quadratic, identity}
}

// Features and gradients are those of the maps, to a rounding of √w and one of the product, and of
// a sum of K terms.
func testSum[T dense.Float](t *testing.T) {
	maps, weights := sumParts[T](t), []float64{0.3, 0, 1e4}
	m := must.Have(rff.Sum(maps, weights))
	in, out := m.Dims()
	assert.Equal(t, []int{3, 29}, []int{in, out})
	u := densetest.Roundoff[T]()
	for _, n := range []int{0, 1, 255, 256, 600} {
		x, g := points[T](2, n, 3, 1), points[T](3, n, 29, 1)
		wide := dense.New[T](n, 40)
		phi, dx := m.Transform(wide.ColRange(5, 34), x), slopes(m).Backward(dense.Matrix[T]{}, x, g)
		want := dense.New[float64](n, 3)
		size := dense.New[float64](n, 3)
		at := 0
		for k, part := range maps {
			_, each := part.Dims()
			own := part.Transform(dense.Matrix[T]{}, x)
			back := slopes(part).Backward(dense.Matrix[T]{}, x, g.ColRange(at, at+each))
			for i := range n {
				for j, v := range own.Row(i) {
					w := math.Sqrt(weights[k]) * float64(v)
					require.InDelta(t, w, float64(phi.At(i, at+j)), 3*u*math.Abs(w))
				}
				for j, v := range back.Row(i) {
					want.Row(i)[j] += math.Sqrt(weights[k]) * float64(v)
					size.Row(i)[j] += math.Sqrt(weights[k]) * math.Abs(float64(v))
				}
			}
			at += each
		}
		for i, v := range dx.Data {
			require.InDelta(t, want.Data[i], float64(v), 6*u*size.Data[i])
		}
		for i := range n {
			for j := range 5 {
				require.Zero(t, wide.At(i, j))
				require.Zero(t, wide.At(i, 34+j))
			}
		}
	}
	x, g := points[T](2, 70, 3, 1), points[T](3, 70, 29, 1)
	dst, back := dense.New[T](70, 29), dense.New[T](70, 3)
	assert.Zero(t, testing.AllocsPerRun(20, func() {
		m.Transform(dst, x)
		slopes(m).Backward(back, x, g)
	}))
}

func TestSum(t *testing.T) {
	densetest.Both(t, testSum[float32], testSum[float64])
}

// Exact maps have an exact sum: dot products are the kernel, whose terms leave out a weight of 0.
func TestSumIsExact(t *testing.T) {
	maps := sumParts[float64](t)
	weights := []float64{0, 0.25, 1}
	m := must.Have(rff.Sum(maps, weights))
	own := slices.Clone(maps)
	maps[1], weights[1] = nil, 7 // the sum has its own
	k := kernels.Sum{kernels.Scaled{K: own[1].Kernel(), By: 0.25}, kernels.DotProduct{}}
	assert.Equal(t, k, m.Kernel())
	x := points[float64](4, 9, 3, 2)
	phi := m.Transform(dense.Matrix[float64]{}, x)
	for i := range x.Rows {
		for j := range x.Rows {
			dot := 0.0
			for f, v := range phi.Row(i) {
				dot += v * phi.At(j, f)
			}
			want := k.Eval(x.Row(i), x.Row(j))
			// Norms are below 10, and so are 9 features of either map.
			assert.InDelta(t, want, dot, 1e-12)
		}
	}
	assert.Equal(t, "Sum(0·(Gaussian(lengthScale=1): R^3 → R^20) + 0.25·(Quadratic(): R^3 → R^6) + 1·(Identity(): R^3 → R^3)): R^3 → R^29", fmt.Sprint(m))
	w := must.Have(orf.Draw[float64](orf.IID{}, 4, 3, exprand.NewSource(2)))
	unknown := must.Have(rff.Sum([]rff.Map[float64]{own[0], newMap(w, nil, math.Abs)}, []float64{1, 1}))
	assert.Nil(t, unknown.Kernel())
	assert.EqualError(t, slopes(unknown).CanBackward(), "rff: maps[1]: rff: a map made by New has no derivatives")
	assert.Panics(t, func() { slopes(unknown).Backward(dense.Matrix[float64]{}, x, dense.New[float64](9, 24)) })
	nystroem := must.Have(rff.Nystroem(kernels.Gaussian{}, x))
	flat := must.Have(rff.Sum([]rff.Map[float64]{own[0], nystroem}, []float64{1, 1}))
	assert.Equal(t, [3]bool{}, optional(flat))
}
