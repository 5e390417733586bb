package matmul

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFewRowsKeepBits compares products of few rows with the same rows of a product of many.
func TestFewRowsKeepBits(t *testing.T) {
	bothOnEveryTier(t, testFewRowsKeepBits[float32], testFewRowsKeepBits[float64])
}

func testFewRowsKeepBits[T Float](t *testing.T) {
	if best[T]().dots == nil {
		t.Skip("the tier has no kernels for few rows")
	}
	rng := rand.New(rand.NewPCG(11, 12))
	lanes := best[T]().lanes
	for _, k := range []int{1, 2, 3, 4, 5, lanes - 1, lanes, lanes + 1, 2*lanes + 3, depth - 1, depth, depth + 1, 2*depth + 7} {
		for _, n := range []int{lanes, lanes + 1, 2*lanes - 1, 2 * lanes, 5*lanes + 2, 300} {
			testFewRowsOf[T](t, rng, k, n)
		}
	}
	testFewRowsOf[T](t, rng, 9, fewEach/9+3*lanes+1) // several pieces
	testFewRowsOf[T](t, rng, 3, 3*fewBytes)
	testFewRowsOf[T](t, rng, 2*lanes, fewEach/2/lanes+5) // less than a vector in the last piece
}

func testFewRowsOf[T Float](t *testing.T, rng *rand.Rand, k, n int) {
	a, b := random[T](rng, fewRows+1, k), random[T](rng, k, n)
	at, bt, old := a.transpose(), b.transpose(), random[T](rng, a.Rows, n)
	copyOf := func(m matrix[T]) matrix[T] {
		m.Data = append([]T(nil), m.Data...)
		return m
	}
	for _, beta := range []T{0, -0.5} {
		want := copyOf(old)
		Mul(0.75, a, b, beta, want)
		for m := 1; m <= fewRows; m++ {
			first, firstT := a, at
			first.Rows, firstT.Cols = m, m
			for i, operands := range [][2]operand[T]{
				{of(first, false), of(b, false)},
				{of(first, false), of(bt, true)},
				{of(firstT, true), of(b, false)},
				{of(firstT, true), of(bt, true)},
			} {
				got := copyOf(old)
				c := got
				c.Rows = m
				require.True(t, mulFew(0.75, operands[0], operands[1], beta, of(c, false)))
				for r := range a.Rows {
					row := want.Data[r*old.Stride:][:n]
					if r >= m {
						row = old.Data[r*old.Stride:][:n]
					}
					require.Equal(t, row, got.Data[r*old.Stride:][:n], "operands %d, %d×%d×%d, beta %v, row %d", i, m, k, n, beta, r)
					require.Equal(t, old.Data[r*old.Stride+n:][:3], got.Data[r*old.Stride+n:][:3], "guard")
				}
			}
		}
	}
}

// The public products take the kernels for few rows if B is large.
func TestFewRowsAllocateNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	a, b, c := random[float32](rng, 2, 1024), random[float32](rng, 1024, 1024), random[float32](rng, 2, 1024)
	for name, mul := range map[string]func(){
		"Mul": func() { Mul(1, a, b, 0, c) }, "MulOnce": func() { MulOnce(1, a, b, 0, c) }, "MulT": func() { MulT(1, a, b, 0, c) },
		"TMulT": func() {
			TMulT(1, matrix[float32]{Rows: 1024, Cols: 2, Data: b.Data, Stride: b.Stride}, b, 0, c)
		},
	} {
		mul()
		require.Zero(t, testing.AllocsPerRun(20, mul), name)
	}
}
