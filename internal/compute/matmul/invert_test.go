package matmul

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInvertTriangle multiplies triangles by their inverses. What is on the diagonal and above
// is NaN and must not be read, and what lies around must stay.
func TestInvertTriangle(t *testing.T) {
	bothOnEveryTier(t, func(t *testing.T) { testInvertTriangle[float32](t, 0x1p-24) }, func(t *testing.T) { testInvertTriangle[float64](t, 0x1p-53) })
}

func testInvertTriangle[T Float](t *testing.T, unit float64) {
	rng := rand.New(rand.NewPCG(19, 20))
	const left, right, guard = 3, 2, 12345
	for n := range MaxInvert + 1 {
		for _, diagonal := range []bool{false, true} {
			stride := left + n + right
			data := make([]T, (n+1)*stride)
			lower := make([][]float64, n)
			var diag []T
			for i := range data {
				data[i] = guard
			}
			for i := range n {
				lower[i] = make([]float64, n)
				lower[i][i] = 1
				if diagonal {
					diag = append(diag, T(1+rng.Float64()))
					lower[i][i] = float64(diag[i])
				}
				for j := range n {
					x := T(math.NaN())
					if j < i {
						x = T(rng.NormFloat64() / 2)
						lower[i][j] = float64(x)
					}
					data[i*stride+left+j] = x
				}
			}
			InvertTriangle(matrix[T]{Rows: n, Cols: n, Data: data[left:], Stride: stride}, diag)
			for i := range data {
				if r, c := i/stride, i%stride-left; r == n || c < 0 || c >= n {
					require.EqualValues(t, guard, data[i], "n = %d, around the triangle", n)
				} else if c > r {
					require.Zero(t, data[i], "n = %d, above the diagonal", n)
				}
			}
			for i := range n {
				for j := range i + 1 {
					// T·X = I, row by row: each sum is off by at most so many roundings of its
					// terms.
					sum, size := 0.0, 0.0
					for l := j; l <= i; l++ {
						term := lower[i][l] * float64(data[l*stride+left+j])
						sum += term
						size += math.Abs(term)
					}
					if i == j {
						sum--
					}
					require.LessOrEqual(t, math.Abs(sum), float64(n+4)*unit*size, "n = %d, element (%d, %d)", n, i, j)
				}
			}
		}
	}
}

// TestInvertTriangleKeepsNaN has an element that is not finite.
func TestInvertTriangleKeepsNaN(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			const n, row, col = 14, 12, 9
			x := matrix[float64]{Rows: n, Cols: n, Data: make([]float64, n*n), Stride: n}
			x.Data[row*n+col] = bad
			InvertTriangle(x, nil)
			got := x.Data[row*n+col]
			assert.True(t, math.IsNaN(got) || math.IsInf(got, -1), "%v", got)
		}
	})
}

func TestInvertTriangleShapes(t *testing.T) {
	square := func(n int) matrix[float32] {
		return matrix[float32]{Rows: n, Cols: n, Data: make([]float32, n*n), Stride: n}
	}
	for name, wrong := range map[string]func(){
		"order":      func() { InvertTriangle(square(MaxInvert+1), nil) },
		"diagonal":   func() { InvertTriangle(square(5), make([]float32, 4)) },
		"no square":  func() { InvertTriangle(matrix[float32]{Rows: 2, Cols: 3, Data: make([]float32, 6), Stride: 3}, nil) },
		"no element": func() { InvertTriangle(square(3), []float32{}) },
	} {
		assert.Panics(t, wrong, name)
	}
	x := square(MaxInvert)
	assert.Zero(t, int(testing.AllocsPerRun(100, func() { InvertTriangle(x, nil) })))
}
