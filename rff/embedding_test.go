package rff_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

func TestNystroemIsExactOnLandmarks(t *testing.T) {
	densetest.Both(t, testNystroemIsExactOnLandmarks[float32], testNystroemIsExactOnLandmarks[float64])
}

func testNystroemIsExactOnLandmarks[T dense.Float](t *testing.T) {
	landmarks := points[T](1, 40, 3, 1)
	copy(landmarks.Row(7), landmarks.Row(3)) // a singular Gram matrix
	others := points[T](2, 70, 3, 1)
	for _, k := range []kernels.Kernel{
		kernels.Gaussian{LengthScale: 1.2}, kernels.DotProduct{}, kernels.ArcCosine{Order: 1},
		kernels.Sum{kernels.Laplacian{}, kernels.Polynomial{Degree: 2, Offset: 1}},
	} {
		f := must.Have(rff.Nystroem(k, landmarks))
		assert.Equal(t, k, f.Kernel())
		_, rank := f.Dims()
		assert.Less(t, rank, 40, "%v", k)
		if k == (kernels.DotProduct{}) {
			assert.Equal(t, 3, rank)
		}
		tolerance := toleranceOf(k, wide(landmarks))
		phi, psi := wide(f.Transform(dense.Matrix[T]{}, landmarks)), wide(f.Transform(dense.Matrix[T]{}, others))
		for i := range landmarks.Rows {
			x := wide(landmarks).Row(i)
			for j := range others.Rows {
				y := wide(others).Row(j)
				want := k.Eval(x, y)
				size := floats.Norm(phi.Row(i), 2) * floats.Norm(psi.Row(j), 2)
				// What lies below the tolerance is left out: up to its root
				// between a landmark and another point, itself between landmarks.
				left := 4 * math.Sqrt(tolerance*math.Max(k.Eval(y, y), 1))
				require.InDelta(t, want, floats.Dot(phi.Row(i), psi.Row(j)), left+4*densetest.Roundoff[T]()*size, "%v (%d, %d)", k, i, j)
			}
			for j := range landmarks.Rows {
				want := k.Eval(x, wide(landmarks).Row(j))
				size := floats.Norm(phi.Row(i), 2) * floats.Norm(phi.Row(j), 2)
				require.InDelta(t, want, floats.Dot(phi.Row(i), phi.Row(j)), 40*tolerance+4*densetest.Roundoff[T]()*size, "%v landmarks %d, %d", k, i, j)
			}
		}
		for j := range others.Rows {
			y := wide(others).Row(j)
			excess := floats.Dot(psi.Row(j), psi.Row(j)) - k.Eval(y, y)
			assert.LessOrEqual(t, excess, 4*densetest.Roundoff[T]()*k.Eval(y, y)+4*math.Sqrt(tolerance), "%v: a projection is no longer than what it projects", k)
		}
	}
}

// toleranceOf returns the largest residual of a landmark that a map leaves out.
func toleranceOf(k kernels.Kernel, x dense.Matrix[float64]) float64 {
	largest := 0.0
	for i := range x.Rows {
		largest = max(largest, k.Eval(x.Row(i), x.Row(i)))
	}
	return float64(x.Rows) * 0x1p-52 * largest
}

// A map has as many features as landmarks are independent, at least one, its file has no others,
// and NaN in a point leads to NaN in all features.
func testNystroemOfManyLandmarks[T dense.Float](t *testing.T) {
	landmarks := points[T](1, 150, 3, 1)
	bad := points[T](2, 1, 3, 1)
	bad.Set(0, 1, T(math.NaN()))
	for k, rank := range map[kernels.Kernel]int{kernels.Laplacian{}: 150, kernels.DotProduct{}: 3} {
		f := must.Have(rff.Nystroem(k, landmarks))
		_, out := f.Dims()
		assert.Equal(t, rank, out)
		var file bytes.Buffer
		require.NoError(t, rff.Write(&file, f))
		assert.Less(t, file.Len(), 2000+8*rank*3+4*rank*(rank+1))
		for c, v := range f.Transform(dense.Matrix[T]{}, bad).Data {
			require.True(t, math.IsNaN(float64(v)), "%v feature %d = %v", k, c, v)
		}
	}
	f := must.Have(rff.Nystroem(kernels.DotProduct{}, dense.New[T](4, 3)))
	assert.Equal(t, dense.New[T](150, 1), f.Transform(dense.Matrix[T]{}, landmarks))
}

func TestNystroemOfManyLandmarks(t *testing.T) {
	densetest.Both(t, testNystroemOfManyLandmarks[float32], testNystroemOfManyLandmarks[float64])
}

func TestSpectral(t *testing.T) {
	densetest.Both(t, testSpectral[float32], testSpectral[float64])
}

func testSpectral[T dense.Float](t *testing.T) {
	const n = 30
	x := points[T](4, n, 3, 1)
	k := kernels.Laplacian{LengthScale: 2}
	gram := kernels.Gram(dense.Matrix[float64]{}, k, wide(x), dense.Matrix[float64]{})
	last := math.Inf(1)
	for _, rank := range []int{1, 5, n} {
		f := must.Have(rff.Spectral(k, x, rank))
		in, out := f.Dims()
		assert.Equal(t, []int{3, rank}, []int{in, out})
		assert.Equal(t, k, f.Kernel())
		phi := wide(f.Transform(dense.Matrix[T]{}, x))
		residual := 0.0
		for i := range n {
			for j := range n {
				got := floats.Dot(phi.Row(i), phi.Row(j))
				if rank == n {
					require.InDelta(t, gram.At(i, j), got, 1e3*n*0x1p-52+8*densetest.Roundoff[T](), "(%d, %d)", i, j)
				}
				residual += math.Pow(gram.At(i, j)-got, 2)
			}
		}
		assert.Less(t, residual, last)
		last = residual
		for a := range rank {
			peak := 0.0
			for i := range n {
				if v := phi.At(i, a); math.Abs(v) > math.Abs(peak) {
					peak = v
				}
			}
			assert.Positive(t, peak, "the sign of column %d", a)
			for b := range a {
				dot, norm := 0.0, 0.0
				for i := range n {
					dot += phi.At(i, a) * phi.At(i, b)
					norm += phi.At(i, a) * phi.At(i, a)
				}
				assert.InDelta(t, 0, dot, n*(4*densetest.Roundoff[T]()+n*0x1p-52), "columns %d and %d are orthogonal", a, b)
				if b == a-1 {
					assert.Less(t, norm, columnNorm(phi, b)+1e-6, "eigenvalues descend")
				}
			}
		}
	}
}

func wide[T dense.Float](m dense.Matrix[T]) dense.Matrix[float64] {
	return dense.Copy(dense.Matrix[float64]{}, m)
}

func columnNorm(m dense.Matrix[float64], c int) float64 {
	s := 0.0
	for i := range m.Rows {
		s += m.At(i, c) * m.At(i, c)
	}
	return s
}
