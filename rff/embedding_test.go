package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
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
		f, err := rff.Nystroem(k, landmarks)
		require.NoError(t, err)
		assert.Equal(t, k, f.Kernel())
		assert.Less(t, f.Rank(), 40, "%v", k)
		if k == (kernels.DotProduct{}) {
			assert.Equal(t, 3, f.Rank())
		}
		phi, psi := wide(f.Transform(dense.Matrix[T]{}, landmarks)), wide(f.Transform(dense.Matrix[T]{}, others))
		own := wide(f.Points())
		for i := range landmarks.Rows {
			x := wide(landmarks).Row(i)
			for j := range others.Rows {
				y := wide(others).Row(j)
				want := k.Eval(x, y)
				size := floats.Norm(phi.Row(i), 2) * floats.Norm(psi.Row(j), 2)
				// What lies below the tolerance is left out: up to its root
				// between a landmark and another point, itself between landmarks.
				left := 4 * math.Sqrt(f.Tolerance()*math.Max(k.Eval(y, y), 1))
				require.InDelta(t, want, floats.Dot(phi.Row(i), psi.Row(j)), left+4*densetest.Roundoff[T]()*size, "%v (%d, %d)", k, i, j)
			}
			for j := range landmarks.Rows {
				want := k.Eval(x, wide(landmarks).Row(j))
				size := floats.Norm(phi.Row(i), 2) * floats.Norm(phi.Row(j), 2)
				require.InDelta(t, want, floats.Dot(phi.Row(i), phi.Row(j)), 40*f.Tolerance()+4*densetest.Roundoff[T]()*size, "%v landmarks %d, %d", k, i, j)
				require.InDelta(t, want, floats.Dot(own.Row(i), own.Row(j)), 40*f.Tolerance()+4*densetest.Roundoff[T]()*size, "%v points %d, %d", k, i, j)
			}
		}
		for j := range others.Rows {
			y := wide(others).Row(j)
			excess := floats.Dot(psi.Row(j), psi.Row(j)) - k.Eval(y, y)
			assert.LessOrEqual(t, excess, 4*densetest.Roundoff[T]()*k.Eval(y, y)+4*math.Sqrt(f.Tolerance()), "%v: a projection is no longer than what it projects", k)
		}
	}
}

// Points are the features of 150 landmarks in the order of the caller. Features after the rank are
// zero, and NaN in a point leads to NaN in all features.
func testNystroemOfManyLandmarks[T dense.Float](t *testing.T) {
	landmarks := points[T](1, 150, 3, 1)
	bad := points[T](2, 1, 3, 1)
	bad.Set(0, 1, T(math.NaN()))
	for k, rank := range map[kernels.Kernel]int{kernels.Laplacian{}: 150, kernels.DotProduct{}: 3} {
		f, err := rff.Nystroem(k, landmarks)
		require.NoError(t, err)
		assert.Equal(t, rank, f.Rank())
		own, phi := wide(f.Points()), wide(f.Transform(dense.Matrix[T]{}, landmarks))
		for i := range own.Rows {
			size := floats.Norm(own.Row(i), 2)
			for c, v := range own.Row(i) {
				// The condition numbers of these factors are below 20.
				require.InDelta(t, v, phi.At(i, c), (densetest.Roundoff[T]()+20*150*0x1p-53)*size, "%v (%d, %d)", k, i, c)
				if c >= rank {
					require.Zero(t, v)
				}
			}
		}
		for c, v := range f.Transform(dense.Matrix[T]{}, bad).Data {
			require.True(t, math.IsNaN(float64(v)), "%v feature %d = %v", k, c, v)
		}
	}
}

func TestNystroemOfManyLandmarks(t *testing.T) {
	densetest.Both(t, testNystroemOfManyLandmarks[float32], testNystroemOfManyLandmarks[float64])
}

func TestNystroemErrorFallsWithLandmarks(t *testing.T) {
	k := kernels.Gaussian{LengthScale: 2}
	x := points[float64](3, 100, 2, 1)
	last := math.Inf(1)
	for _, n := range []int{2, 5, 10, 20} {
		f, err := rff.Nystroem(k, x.RowRange(0, n))
		require.NoError(t, err)
		phi := f.Transform(dense.Matrix[float64]{}, x)
		gap := 0.0
		for i := range x.Rows {
			gap += 1 - floats.Dot(phi.Row(i), phi.Row(i))
		}
		assert.Less(t, gap, last, "n = %d", n)
		last = gap
	}
	assert.Less(t, last/100, 1e-3)
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
		f, err := rff.Spectral(k, x, rank)
		require.NoError(t, err)
		in, out := f.Dims()
		assert.Equal(t, []int{3, rank, rank}, []int{in, out, f.Rank()})
		assert.Equal(t, k, f.Kernel())
		own, phi := wide(f.Points()), wide(f.Transform(dense.Matrix[T]{}, x))
		residual := 0.0
		for i := range n {
			for c, v := range own.Row(i) {
				// |φ| ≤ 1, and the condition number of this Gram matrix is below 10³.
				require.InDelta(t, v, phi.At(i, c), 4*densetest.Roundoff[T]()+1e3*n*0x1p-52, "rank %d (%d, %d)", rank, i, c)
			}
			for j := range n {
				got := floats.Dot(own.Row(i), own.Row(j))
				if rank == n {
					require.InDelta(t, gram.At(i, j), got, 40*f.Tolerance()+8*densetest.Roundoff[T](), "(%d, %d)", i, j)
				}
				residual += math.Pow(gram.At(i, j)-got, 2)
			}
		}
		assert.Less(t, residual, last)
		last = residual
		for a := range rank {
			peak := 0.0
			for i := range n {
				if v := own.At(i, a); math.Abs(v) > math.Abs(peak) {
					peak = v
				}
			}
			assert.Positive(t, peak, "the sign of column %d", a)
			for b := range a {
				dot, norm := 0.0, 0.0
				for i := range n {
					dot += own.At(i, a) * own.At(i, b)
					norm += own.At(i, a) * own.At(i, a)
				}
				assert.InDelta(t, 0, dot, n*(4*densetest.Roundoff[T]()+n*0x1p-52), "columns %d and %d are orthogonal", a, b)
				if b == a-1 {
					assert.Less(t, norm, columnNorm(own, b)+1e-6, "eigenvalues descend")
				}
			}
		}
	}
}

func TestEmbeddingKeepsItsOwnPoints(t *testing.T) {
	x := points[float64](5, 6, 2, 1)
	f, err := rff.Nystroem(kernels.Gaussian{}, x)
	require.NoError(t, err)
	at := points[float64](6, 3, 2, 1)
	before := f.Transform(dense.Matrix[float64]{}, at)
	clear(x.Data)
	clear(f.Points().Data)
	assert.Equal(t, before, f.Transform(dense.Matrix[float64]{}, at))
	assert.NotZero(t, f.Points().At(0, 0))
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
