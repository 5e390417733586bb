package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"

	"github.com/seed-feabd252/randfeat/blas"
	"github.com/seed-feabd252/randfeat/dense"
)

// gemv is Sgemv or Dgemv.
type gemv[T dense.Float] func(tA gonum.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)

// TestGemv compares with gonum's routine. Both differ from the sum by at most
// (terms+3)·eps·Σ|terms|.
func TestGemv(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) {
		testGemv(t, blas.Implementation{}.Sgemv, reference.Implementation{}.Sgemv, 0x1p-24)
	})
	t.Run("type=float64", func(t *testing.T) {
		testGemv(t, blas.Implementation{}.Dgemv, reference.Implementation{}.Dgemv, 0x1p-53)
	})
}

func testGemv[T dense.Float](t *testing.T, ours, theirs gemv[T], eps float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shape := range [][2]int{{1, 1}, {0, 3}, {3, 0}, {7, 5}, {130, 140}, {300, 65}, {20, 1000}, {1030, 1040}} {
		m, n := shape[0], shape[1]
		for _, tA := range transposes {
			inputs, outputs := n, m
			if tA != gonum.NoTrans {
				inputs, outputs = m, n
			}
			for _, inc := range [][2]int{{1, 1}, {2, 1}, {1, -3}} {
				for _, factors := range [][2]T{{1, 0}, {0.75, 1}, {-2, -0.5}, {0, 0.5}} {
					a, lda := operand[T](rng, gonum.NoTrans, m, n)
					x, y := normal[T](rng, 2*inputs+1), normal[T](rng, 3*outputs+1)
					before, want := append([]T(nil), y...), append([]T(nil), y...)
					sizes := make([]T, len(y))
					for i, v := range y {
						sizes[i] = T(math.Abs(float64(v)))
					}
					theirs(tA, m, n, T(math.Abs(float64(factors[0]))), absolute(a), lda, absolute(x), inc[0], T(math.Abs(float64(factors[1]))), sizes, inc[1])
					theirs(tA, m, n, factors[0], a, lda, x, inc[0], factors[1], want, inc[1])
					ours(tA, m, n, factors[0], a, lda, x, inc[0], factors[1], y, inc[1])
					for at := range outputs {
						i := at * max(inc[1], -inc[1])
						require.InDelta(t, float64(want[i]), float64(y[i]), 2*float64(inputs+3)*eps*float64(sizes[i]), "%v, A %c, inc %v, factors %v, element %d", shape, tA, inc, factors, i)
					}
					// gonum's routine may clear element n
					if m*n >= 1<<20 && factors[0] != 0 && inc == [2]int{1, 1} {
						require.Equal(t, before[outputs:], y[outputs:])
					}
				}
			}
		}
	}
	const m, n = 1050, 1024
	a, x, y := normal[T](rng, m*n), normal[T](rng, m), normal[T](rng, m)
	for name, call := range map[string]func(f gemv[T]){
		"tA":    func(f gemv[T]) { f('X', m, n, 1, a, n, x, 1, 0, y, 1) },
		"m":     func(f gemv[T]) { f(gonum.NoTrans, -1, n, 1, a, n, x, 1, 0, y, 1) },
		"lda":   func(f gemv[T]) { f(gonum.NoTrans, m, n, 1, a, n-1, x, 1, 0, y, 1) },
		"a":     func(f gemv[T]) { f(gonum.NoTrans, m, n, 1, a[:m*n-1], n, x, 1, 0, y, 1) },
		"x":     func(f gemv[T]) { f(gonum.Trans, m, n, 1, a, n, x[:m-1], 1, 0, y, 1) },
		"y":     func(f gemv[T]) { f(gonum.NoTrans, m, n, 1, a, n, x, 1, 0, y[:m-1], 1) },
		"inc 0": func(f gemv[T]) { f(gonum.NoTrans, m, n, 1, a, n, x, 0, 0, y, 1) },
	} {
		want := message(func() { call(theirs) })
		require.NotNil(t, want, name)
		assert.Equal(t, want, message(func() { call(ours) }), name)
	}
	assert.Zero(t, testing.AllocsPerRun(10, func() { ours(gonum.NoTrans, m, n, 1, a, n, x, 1, 0, y, 1) }))
}

// absolute returns the sizes of the elements of x.
func absolute[T dense.Float](x []T) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = T(math.Abs(float64(v)))
	}
	return y
}
