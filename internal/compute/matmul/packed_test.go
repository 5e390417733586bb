package matmul

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/compute/cache"
)

// TestEveryTile multiplies by every number of rows and columns that a strip may
// have, for inner dimensions around a block, and looks at what lies around C.
func TestEveryTile(t *testing.T) { bothOnEveryTier(t, testEveryTile[float32], testEveryTile[float64]) }

func testEveryTile[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	k := best[T]()
	for m := 0; m <= 2*k.mostRows()+1; m++ {
		for n := 0; n <= 4*k.lanes+1; n += 1 + rng.IntN(3) {
			for _, inner := range []int{0, 1, 2, k.lanes, k.lanes + 3} {
				testIntegers[T](t, rng, m, n, inner)
			}
		}
	}
	for _, inner := range []int{depth - 1, depth, depth + 1, 2*depth + 5} {
		testIntegers[T](t, rng, k.mostRows()+1, 2*k.lanes+3, inner)
	}
	// Narrow right operands, of one and of two panels.
	for _, inner := range []int{1, depth, 2*depth + 5} {
		testIntegers[T](t, rng, 9*k.mostRows(), 2*k.lanes, inner)
		testIntegers[T](t, rng, 9*k.mostRows(), 4*k.lanes, inner)
	}
	// A right operand that is packed in parts, and pieces side by side that copy their rows.
	testIntegers[T](t, rng, 3, 1100, 1100)
	defer func(size int) { cache.L2 = size }(cache.L2)
	cache.L2 = 1 << 18
	testIntegers[T](t, rng, 5*k.mostRows()+1, 40*k.lanes+3, depth+44)
}

// testIntegers compares products of small integers, which are exact whatever the
// order of the additions is.
func testIntegers[T Float](t *testing.T, rng *rand.Rand, m, n, inner int) {
	integers := func(r, c int) matrix[T] {
		x := random[T](rng, r, c)
		for i := range x.Data {
			x.Data[i] = T(rng.IntN(15) - 7)
		}
		return x
	}
	a, b := integers(m, inner), integers(inner, n)
	aT, bT := a.transpose(), b.transpose()
	for _, beta := range []T{0, 1, -2} {
		c := integers(m, n)
		want := append([]T(nil), c.Data...)
		for i := range m {
			for j := range n {
				var sum T
				for l := range inner {
					sum += a.Data[i*a.Stride+l] * b.Data[l*b.Stride+j]
				}
				want[i*c.Stride+j] = 3*sum + beta*want[i*c.Stride+j]
			}
		}
		for name, mul := range map[string]func(c matrix[T]){
			"Mul":  func(c matrix[T]) { Mul(3, a, b, beta, c) },
			"MulT": func(c matrix[T]) { MulT(3, a, bT, beta, c) },
			"TMul": func(c matrix[T]) { TMul(3, aT, b, beta, c) },
			"MulPacked": func(c matrix[T]) {
				var p Packed[T]
				PackT(&p, bT)
				MulPacked(3, a, &p, beta, c, nil)
			},
			"TMulPacked": func(c matrix[T]) {
				var p Packed[T]
				Pack(&p, b)
				TMulPacked(3, aT, &p, beta, c, nil)
			},
		} {
			got := c
			got.Data = append([]T(nil), c.Data...)
			mul(got)
			require.Equal(t, want, got.Data, "%s %d×%d×%d, β = %v", name, m, n, inner, beta)
		}
	}
}

// TestPaddingStaysOut has infinite factors, which padding with zeros turns into NaN
// beyond the columns of C.
func TestPaddingStaysOut(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		a := matrix[float32]{Rows: 1, Cols: 1, Data: []float32{float32(math.Inf(1))}, Stride: 1}
		b := matrix[float32]{Rows: 1, Cols: 3, Data: []float32{1, -1, 0}, Stride: 3}
		c := matrix[float32]{Rows: 1, Cols: 3, Data: []float32{5, 5, 5, 5}, Stride: 4}
		Mul(1, a, b, 0, c)
		assert.True(t, math.IsInf(float64(c.Data[0]), 1) && math.IsInf(float64(c.Data[1]), -1) && math.IsNaN(float64(c.Data[2])), "%v", c.Data)
		assert.Equal(t, float32(5), c.Data[3])
	})
}

// tiles records the tiles that Finish is called for.
type tiles struct {
	mu   sync.Mutex
	seen map[[2]int]int
	c    matrix[float64]
	want []float64
	t    *testing.T
}

func (e *tiles) Finish(lo, hi, from, to int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := lo; i < hi; i++ {
		for j := from; j < to; j++ {
			e.seen[[2]int{i, j}]++
			assert.Equal(e.t, e.want[i*e.c.Stride+j], e.c.Data[i*e.c.Stride+j], "(%d, %d) is final", i, j)
		}
	}
}

//ci:race
func TestEpilogueSeesEveryElementOnce(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, s := range [][3]int{{0, 5, 3}, {1, 1, 1}, {37, 2*tileColumns + 7, 11}, {130, 65, 2*depth + 1}} {
			m, n, k := s[0], s[1], s[2]
			a, b, c := random[float64](rng, m, k), random[float64](rng, k, n), random[float64](rng, m, n)
			var p Packed[float64]
			Pack(&p, b)
			rows, cols := p.Dims()
			assert.Equal(t, []int{k, n}, []int{rows, cols})
			want := append([]float64(nil), c.Data...)
			Mul(1, a, b, 0, matrix[float64]{Rows: m, Cols: n, Data: want, Stride: c.Stride})
			e := &tiles{seen: map[[2]int]int{}, c: c, want: want, t: t}
			MulPacked(1, a, &p, 0, c, e)
			assert.Len(t, e.seen, m*n)
			for at, count := range e.seen {
				assert.Equal(t, 1, count, "%v", at)
			}
		}
	})
}

//ci:race
func TestPackedIsReused(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	var p Packed[float32]
	for _, s := range [][2]int{{40, 70}, {3, 5}, {0, 4}, {64, 64}} {
		a, b := random[float32](rng, 9, s[0]), random[float32](rng, s[0], s[1])
		got, want := random[float32](rng, 9, s[1]), random[float32](rng, 9, s[1])
		Pack(&p, b)
		MulPacked(1, a, &p, 0, got, nil)
		Mul(1, a, b, 0, want)
		for i := range 9 {
			assert.Equal(t, want.Data[i*want.Stride:][:s[1]], got.Data[i*got.Stride:][:s[1]], fmt.Sprint(s))
		}
	}
}

func TestDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	a, b, c := random[float32](rng, 100, 90), random[float32](rng, 90, 65), random[float32](rng, 100, 65)
	var p Packed[float32]
	assert.Zero(t, int(testing.AllocsPerRun(100, func() {
		Mul(1, a, b, 0, c)
		Pack(&p, b)
		MulPacked(1, a, &p, 1, c, nil)
	})))
}

// A narrow operand is read where it is: the bits are those of a packed one, for rows with gaps that
// hold NaN too.
func TestNarrowOperandsNeedNoPacking(t *testing.T) {
	bothOnEveryTier(t, testNarrow[float32], testNarrow[float64])
}

func testNarrow[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	panel := 2 * best[T]().lanes
	for _, n := range []int{panel, 2 * panel} {
		for _, stride := range []int{n, n + 1, 2 * n, 2*n + 1} {
			a, b := random[T](rng, 150, depth+20), random[T](rng, depth+20, n)
			wide := matrix[T]{Rows: b.Rows, Cols: n, Stride: stride, Data: make([]T, (b.Rows-1)*stride+n)}
			for i := range wide.Data {
				wide.Data[i] = T(math.NaN())
			}
			for i := range b.Rows {
				copy(wide.Data[i*stride:][:n], b.Data[i*b.Stride:])
			}
			require.Equal(t, stride <= 2*n, isNarrow(of(wide, false)), "%d columns, stride %d", n, stride)
			got, want := contiguous(random[T](rng, a.Rows, n)), contiguous(random[T](rng, a.Rows, n))
			Mul(1, a, wide, 0, got)
			var p Packed[T]
			Pack(&p, b)
			MulPacked(1, a, &p, 0, want, nil)
			assert.Equal(t, want.Data, got.Data, "%d columns, stride %d", n, stride)
		}
	}
}
