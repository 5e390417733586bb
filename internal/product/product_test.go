package product

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func random[T Float](rng *rand.Rand, r, c int, trans bool) Operand[T] {
	if trans {
		r, c = c, r
	}
	o := Operand[T]{Rows: r, Cols: c, Stride: c + 3, Trans: trans}
	o.Data = make([]T, r*o.Stride)
	for i := range o.Data {
		o.Data[i] = T(rng.NormFloat64())
	}
	return o
}

func testMul[T Float](t *testing.T, eps float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{0, 3, 2}, {1, 1, 1}, {3, 0, 2}, {2, 5, 0}, {7, 3, 5}, {64, 65, 66}, {130, 33, 129}, {5, 100, 300}} {
		m, n, k := s[0], s[1], s[2]
		for mask := range 4 {
			for _, beta := range []T{0, 1, -0.5} {
				a, b := random[T](rng, m, k, mask&1 != 0), random[T](rng, k, n, mask&2 != 0)
				c := random[T](rng, m, n, false)
				before := append([]T(nil), c.Data...)
				Mul(0.75, a, b, beta, c)
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
							term := 0.75 * float64(a.at(i, l)) * float64(b.at(l, j))
							want += term
							size += math.Abs(term)
						}
						require.InDelta(t, want, got, float64(k+3)*eps*size, "%v mask %d beta %v (%d, %d)", s, mask, beta, i, j)
					}
				}
			}
		}
	}
}

func TestMul(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testMul[float32](t, 0x1p-24) })
	t.Run("type=float64", func(t *testing.T) { testMul[float64](t, 0x1p-53) })
}

func TestNaNAndInfPropagate(t *testing.T) {
	one := func(v float64) Operand[float64] {
		return Operand[float64]{Rows: 1, Cols: 1, Data: []float64{v}, Stride: 1}
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

func TestRowsDoNotDependOnTheOthersNorOnProcessors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := random[float32](rng, 200, 70, false), random[float32](rng, 70, 40, true)
	c := random[float32](rng, 200, 40, false)
	Mul(1, a, b, 0, c)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, i := range []int{0, 63, 64, 199} {
		row := Operand[float32]{Rows: 1, Cols: 70, Data: a.Data[i*a.Stride:], Stride: a.Stride}
		got := random[float32](rng, 1, 40, false)
		Mul(1, row, b, 0, got)
		assert.Equal(t, c.Data[i*c.Stride:][:40], got.Data[:40], "row %d", i)
	}
}

func TestShapesPanic(t *testing.T) {
	o := func(r, c int) Operand[float64] {
		return Operand[float64]{Rows: r, Cols: c, Data: make([]float64, r*c), Stride: c}
	}
	assert.PanicsWithValue(t, "product: (2×3)·(4×5) does not fit 2×5", func() { Mul(1, o(2, 3), o(4, 5), 0, o(2, 5)) })
}

func BenchmarkProduct(b *testing.B) {
	b.Run("type=float32", benchmark[float32])
	b.Run("type=float64", benchmark[float64])
}

func benchmark[T Float](b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range [][3]int{{4096, 256, 64}, {512, 512, 512}, {256, 64, 4096}, {4096, 64, 256}} {
		m, n, k := s[0], s[1], s[2]
		b.Run(fmt.Sprintf("m=%d/n=%d/k=%d", m, n, k), func(b *testing.B) {
			x, y, z := random[T](rng, m, k, false), random[T](rng, k, n, false), random[T](rng, m, n, false)
			b.ReportAllocs()
			for b.Loop() {
				Mul(1, x, y, 0, z)
			}
			b.ReportMetric(2e-9*float64(m*n*k*b.N)/b.Elapsed().Seconds(), "GFLOP/s")
		})
	}
}
