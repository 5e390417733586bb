package matmul

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

type matrix[T Float] struct {
	Rows, Cols int
	Data       []T
	Stride     int
}

func random[T Float](rng *rand.Rand, r, c int) matrix[T] {
	m := matrix[T]{Rows: r, Cols: c, Stride: c + 3}
	m.Data = make([]T, r*m.Stride)
	for i := range m.Data {
		m.Data[i] = T(rng.NormFloat64())
	}
	return m
}

func (m matrix[T]) transpose() matrix[T] {
	t := matrix[T]{Rows: m.Cols, Cols: m.Rows, Stride: m.Rows + 1}
	t.Data = make([]T, t.Rows*t.Stride)
	for i := range m.Rows {
		for j := range m.Cols {
			t.Data[j*t.Stride+i] = m.Data[i*m.Stride+j]
		}
	}
	return t
}

func testMul[T Float](t *testing.T, eps float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{0, 3, 2}, {1, 1, 1}, {3, 0, 2}, {2, 5, 0}, {7, 3, 5}, {64, 65, 66}, {130, 33, 129}, {5, 100, 300}} {
		m, n, k := s[0], s[1], s[2]
		for name, mul := range map[string]func(a, b matrix[T], beta T, c matrix[T]){
			"Mul":     func(a, b matrix[T], beta T, c matrix[T]) { Mul(0.75, a, b, beta, c) },
			"MulOnce": func(a, b matrix[T], beta T, c matrix[T]) { MulOnce(0.75, a, b, beta, c) },
			"MulT":    func(a, b matrix[T], beta T, c matrix[T]) { MulT(0.75, a, b.transpose(), beta, c) },
			"TMul":    func(a, b matrix[T], beta T, c matrix[T]) { TMul(0.75, a.transpose(), b, beta, c) },
			"TMulT": func(a, b matrix[T], beta T, c matrix[T]) {
				TMulT(0.75, a.transpose(), b.transpose(), beta, c)
			},
		} {
			for _, beta := range []T{0, 1, -0.5} {
				a, b, c := random[T](rng, m, k), random[T](rng, k, n), random[T](rng, m, n)
				before := append([]T(nil), c.Data...)
				mul(a, b, beta, c)
				for i := range m {
					for j := range c.Stride {
						got := float64(c.Data[i*c.Stride+j])
						old := float64(before[i*c.Stride+j])
						if j >= n {
							require.Equal(t, old, got, "guard element (%d, %d)", i, j)
							continue
						}
						want, size := float64(beta)*old, math.Abs(float64(beta)*old)
						for l := range k {
							term := 0.75 * float64(a.Data[i*a.Stride+l]) * float64(b.Data[l*b.Stride+j])
							want += term
							size += math.Abs(term)
						}
						require.InDelta(t, want, got, float64(k+3)*eps*size, "%v %s beta %v (%d, %d)", s, name, beta, i, j)
					}
				}
			}
		}
	}
}

func TestMul(t *testing.T) {
	bothOnEveryTier(t, func(t *testing.T) { testMul[float32](t, 0x1p-24) }, func(t *testing.T) { testMul[float64](t, 0x1p-53) })
}

func TestNaNAndInfPropagate(t *testing.T) {
	one := func(v float64) matrix[float64] {
		return matrix[float64]{Rows: 1, Cols: 1, Data: []float64{v}, Stride: 1}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		c := one(7)
		Mul(1, one(0), one(bad), 0, c)
		assert.True(t, math.IsNaN(c.Data[0]), "0·%v", bad)
	}
	c := one(math.NaN())
	Mul(1, one(2), one(3), 0, c)
	assert.Equal(t, 6.0, c.Data[0], "β = 0 does not read C")
}

//ci:race
func TestRowsDoNotDependOnTheOthersNorOnProcessors(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		a, b, c := random[float32](rng, 200, 70), random[float32](rng, 40, 70), random[float32](rng, 200, 40)
		MulT(1, a, b, 0, c)
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		for _, i := range []int{0, 63, 64, 199} {
			row := matrix[float32]{Rows: 1, Cols: 70, Data: a.Data[i*a.Stride:], Stride: a.Stride}
			got := random[float32](rng, 1, 40)
			MulT(1, row, b, 0, got)
			assert.Equal(t, c.Data[i*c.Stride:][:40], got.Data[:40], "row %d", i)
		}
	})
}

// TestCopiesKeepBits multiplies operands so large that strips of A are copied, some at a time, for
// several groups of columns and on several processors, and compares with the same matrices a few
// columns at a time.
func TestCopiesKeepBits(t *testing.T) {
	t.Run("type=float32", testCopiesKeepBits[float32])
	t.Run("type=float64", testCopiesKeepBits[float64])
}

func testCopiesKeepBits[T Float](t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rng := rand.New(rand.NewPCG(9, 9))
	wide, rows := 3*cache.L2/2/simd.Size[T]()/depth+7, cache.L2/simd.Size[T]()/depth+5
	for _, s := range []struct{ m, n, k, stride int }{
		{rows, wide, depth + 9, 0}, // rows alone are shared
		{40, wide, depth + 9, 0},   // columns too
		{3, wide, 2*depth + 1, 0},
		{70, 4*best[T]().lanes + 1, depth + 9, 1024}, // crowded
	} {
		a, b := random[T](rng, s.m, s.k), random[T](rng, s.k, s.n)
		if s.stride > 0 {
			a = matrix[T]{Rows: s.m, Cols: s.k, Data: random[T](rng, s.m, s.stride).Data[:s.m*s.stride], Stride: s.stride}
		}
		want, got := random[T](rng, s.m, s.n), random[T](rng, s.m, s.n)
		for from := 0; from < s.n; from += best[T]().lanes {
			to := min(from+best[T]().lanes, s.n)
			columns := func(m matrix[T]) matrix[T] {
				return matrix[T]{Rows: m.Rows, Cols: to - from, Data: m.Data[from:], Stride: m.Stride}
			}
			Mul(1, a, columns(b), 0, columns(want))
		}
		compare := func(how string) {
			for i := range s.m {
				require.Equal(t, want.Data[i*want.Stride:][:s.n], got.Data[i*got.Stride:][:s.n], "%v %s, row %d", s, how, i)
			}
		}
		Mul(1, a, b, 0, got)
		compare("Mul")
		got = random[T](rng, s.m, s.n)
		TMul(1, a.transpose(), b, 0, got)
		compare("TMul")
	}
}

func TestShapesPanic(t *testing.T) {
	o := func(r, c int) matrix[float64] {
		return matrix[float64]{Rows: r, Cols: c, Data: make([]float64, r*c), Stride: c}
	}
	assert.PanicsWithValue(t, "matmul: (2×3)·(4×5) does not fit 2×5", func() { Mul(1, o(2, 3), o(4, 5), 0, o(2, 5)) })
}

// contiguous makes the rows of a matrix adjacent, of other elements.
func contiguous[T Float](m matrix[T]) matrix[T] {
	m.Stride = m.Cols
	m.Data = m.Data[:m.Rows*m.Cols]
	return m
}

func BenchmarkProduct(b *testing.B) {
	b.Run("type=float32", benchmark[float32])
	b.Run("type=float64", benchmark[float64])
}

func benchmark[T Float](b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range [][3]int{{4096, 256, 64}, {512, 512, 512}, {256, 64, 4096}, {4096, 64, 256}, {2048, 2048, 2048}, {1, 256, 64}, {8, 8, 8}, {16, 16, 16}, {64, 64, 64}} {
		m, n, k := s[0], s[1], s[2]
		b.Run(fmt.Sprintf("m=%d/n=%d/k=%d", m, n, k), func(b *testing.B) {
			x, y, z := contiguous(random[T](rng, m, k)), contiguous(random[T](rng, k, n)), contiguous(random[T](rng, m, n))
			b.ReportAllocs()
			for b.Loop() {
				Mul(1, x, y, 0, z)
			}
			b.ReportMetric(2e-9*float64(m*n*k*b.N)/b.Elapsed().Seconds(), "GFLOP/s")
		})
	}
}
