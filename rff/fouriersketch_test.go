package rff

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// uniform returns an r×c matrix of numbers between −1 and 1.
func uniform[T dense.Float](r, c int) dense.Matrix[T] {
	rng, x := rand.New(rand.NewPCG(3, 4)), dense.New[T](r, c)
	for i := range x.Data {
		x.Data[i] = T(2*rng.Float64() - 1)
	}
	return x
}

// Fourier transforms and the matrix that replaces them are one projection, there and back.
func TestFourierSketchIsAMatrix(t *testing.T) {
	densetest.Both(t, testFourierSketchIsAMatrix[float32], testFourierSketchIsAMatrix[float64])
}

func testFourierSketchIsAMatrix[T dense.Float](t *testing.T) {
	const d, n = 37, 5
	k := kernels.Polynomial{Degree: 2, Gamma: 0.25, Offset: 2}
	for _, m := range []int{1, 2, 3, 4, 5, 8, 12, 15, 31, 64, 97, 100, 121, 128} {
		for _, norm := range []float64{1, math.Sqrt(float64(m))} {
			c, err := drawCounts[T](m, d, d+1, k, rand.NewPCG(1, uint64(m)))
			require.NoError(t, err)
			s := &fourierSketch[T]{countSketch: c, norm: norm}
			w, err := orf.FromMatrix(s.Frequencies())
			require.NoError(t, err)
			one, two := s.gains()
			// Elements are at most 1, factors below 2, gains below √2, and sums have d + 1 or m
			// terms; waves of prime length come from a recurrence, whose error grows with m.
			tolerance := (d + 6 + float64(m)) * densetest.Roundoff[T]() * 2 * max(one, two)
			x, z := uniform[T](n, d+1), uniform[T](n, m)
			got, want := s.Project(dense.Matrix[T]{}, x), w.Project(dense.Matrix[T]{}, x)
			back, truth := s.ProjectTransposed(dense.Matrix[T]{}, z), orf.Transposed(w).ProjectTransposed(dense.Matrix[T]{}, z)
			for i := range n {
				for j, v := range want.Row(i) {
					require.InDelta(t, float64(v), float64(got.At(i, j)), tolerance*(d+1), "m = %d (%d, %d)", m, i, j)
				}
				for j, v := range truth.Row(i) {
					require.InDelta(t, float64(v), float64(back.At(i, j)), tolerance*float64(m), "m = %d (%d, %d)", m, i, j)
				}
			}
		}
	}
}

// The basis of the features is orthonormal: the sketch of as many coordinates in buckets of
// their own keeps inner products.
func TestFourierSketchIsOrthonormal(t *testing.T) {
	for _, m := range []int{1, 2, 3, 6, 16, 25} {
		s := &fourierSketch[float64]{countSketch: &countSketch[float64]{m: m}, norm: math.Sqrt(float64(m))}
		for b := range m {
			s.buckets, s.factors = append(s.buckets, b), append(s.factors, 1)
		}
		w := s.Frequencies()
		for i := range m {
			for j := range m {
				sum, want := 0.0, 0.0
				for l := range m {
					sum += w.At(i, l) * w.At(j, l)
				}
				if i == j {
					want = 1
				}
				assert.InDelta(t, want, sum, 1e-15*float64(m), "m = %d (%d, %d)", m, i, j)
			}
		}
	}
}

func TestTurn(t *testing.T) {
	for _, m := range []int{1, 2, 3, 4, 7, 8, 12, 360, 1021} {
		for j := range m {
			cosine, sine := turn(j, m)
			angle := 2 * math.Pi * float64(j) / float64(m)
			assert.InDelta(t, math.Cos(angle), cosine, 1e-15, "%d/%d", j, m)
			assert.InDelta(t, math.Sin(angle), sine, 1e-15, "%d/%d", j, m)
			if 4*j%m == 0 {
				assert.Equal(t, math.Round(cosine), cosine, "%d/%d", j, m)
				assert.Equal(t, math.Round(sine), sine, "%d/%d", j, m)
			}
		}
	}
}

// Many dimensions are left to Fourier transforms, few to a matrix; either way a map is
// unchanged but for rounding when its factors are made the other way, and so is its
// derivative.
func TestTensorSketchByEitherProjection(t *testing.T) {
	const m, n = 24, 70
	k := kernels.Polynomial{Degree: 3, Gamma: 0.5, Offset: 1}
	for _, d := range []int{9, 700} {
		made, err := TensorSketch[float64](m, d, k, rand.NewPCG(5, 6))
		require.NoError(t, err)
		f := made.(*sketch[float64])
		other := newSketch[float64](f.frame, f.parts)
		other.real, other.scale, other.constant = f.real, f.scale, f.constant
		for _, w := range f.factors {
			s, transforms := w.(*fourierSketch[float64])
			assert.Equal(t, d > matrixBelow[float64](m), transforms, "d = %d", d)
			if transforms {
				matrix, err := orf.FromMatrix(s.Frequencies())
				require.NoError(t, err)
				w = orf.Transposed(matrix)
			}
			other.factors = append(other.factors, w)
		}
		x, g := uniform[float64](n, d), uniform[float64](n, m)
		phi, dx := f.Transform(dense.Matrix[float64]{}, x), f.Backward(dense.Matrix[float64]{}, x, g)
		assert.InDeltaSlice(t, other.Transform(dense.Matrix[float64]{}, x).Data, phi.Data, 1e-13*math.Pow(float64(d), 1.5))
		assert.InDeltaSlice(t, other.Backward(dense.Matrix[float64]{}, x, g).Data, dx.Data, 1e-13*math.Pow(float64(d), 1.5))
		assert.Equal(t, phi.Row(65), f.Transform(dense.Matrix[float64]{}, x.RowRange(65, 66)).Row(0), "a row of its own")

		x.Set(3, d/2, math.Inf(-1))
		x.Set(4, 0, math.NaN())
		for i, row := 0, f.Transform(phi, x); i < 6; i++ {
			finite := true
			for _, v := range row.Row(i) {
				finite = finite && !math.IsNaN(v) && !math.IsInf(v, 0)
			}
			assert.Equal(t, i != 3 && i != 4, finite, "d = %d, row %d", d, i)
		}
	}
}

// The matrix stays small where the length of a transform is prime, and one bucket needs no
// transform in few dimensions.
func TestMatrixBelow(t *testing.T) {
	assert.Equal(t, 32, matrixBelow[float32](1))
	assert.Equal(t, 32*21, matrixBelow[float32](1024))
	assert.Equal(t, 16*21, matrixBelow[float64](1024))
	assert.Equal(t, 16*(1+2+2+5+5), matrixBelow[float64](100))
	assert.Equal(t, matrixAtMost, matrixBelow[float64](1021))
}
