package matmul

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHalfKeepsBits compares products with elements of 16 bits with products of the same elements
// as float32 or float64.
func TestHalfKeepsBits(t *testing.T) {
	bothOnEveryTier(t, testHalfKeepsBits[float32], testHalfKeepsBits[float64])
}

func testHalfKeepsBits[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	lanes := best[T]().lanes
	for _, k := range []int{1, 2*lanes - 1, 2 * lanes, 2*lanes + 1, 3 * lanes, depth, depth + 2*lanes, depth + 7, 2*depth + 4*lanes} {
		for _, n := range []int{1, lanes - 1, lanes, lanes + 1, 5*lanes + 2} {
			testHalfOf[T](t, rng, k, n)
		}
	}
	testHalfOf[T](t, rng, 9, fewEach/9+3*lanes+1) // several pieces
	testHalfOf[T](t, rng, 2*lanes, fewEach/(2*lanes)+5)
}

func testHalfOf[T Float](t *testing.T, rng *rand.Rand, k, n int) {
	for _, bfloat := range []bool{false, true} {
		b := Half{Rows: n, Cols: k, Data: make([]uint16, n*k), BFloat: bfloat}
		for i := range b.Data {
			b.Data[i] = uint16(rng.Uint32()) &^ 0x4000 // below 2
		}
		wide := matrix[T]{Rows: n, Cols: k, Data: make([]T, n*k), Stride: k}
		Widen(wide.Data, b.Data, bfloat)
		for _, m := range []int{1, 3, fewRows, fewRows + 1, 40} {
			a, old := random[T](rng, m, k), random[T](rng, m, n)
			beta, want, got := []T{0, -0.5}[(m+n)%2], old, old
			want.Data, got.Data = append([]T(nil), old.Data...), append([]T(nil), old.Data...)
			MulT(0.75, a, wide, beta, want)
			MulTHalf(0.75, a, b, beta, got)
			require.Equal(t, want.Data, got.Data, "bfloat %v, %d×%d×%d, beta %v", bfloat, m, k, n, beta)
		}
	}
}

// TestWiden compares all numbers of 16 bits with their definitions, on every tier and from every
// place in a vector.
func TestWiden(t *testing.T) { bothOnEveryTier(t, testWiden[float32], testWiden[float64]) }

func testWiden[T Float](t *testing.T) {
	all := make([]uint16, 1<<16)
	for i := range all {
		all[i] = uint16(i)
	}
	for _, bfloat := range []bool{false, true} {
		bits, bias := 10, 15
		if bfloat {
			bits, bias = 7, 127
		}
		for skip := range 3 {
			got := make([]T, len(all)-skip+1)
			got[len(got)-1] = 7
			Widen(got[:len(got)-1], all[skip:], bfloat)
			require.EqualValues(t, 7, got[len(got)-1], "guard")
			for i, h := range all[skip:] {
				exponent, fraction := int(h&0x7fff)>>bits, float64(int(h)&(1<<bits-1))
				want := math.Ldexp(1+math.Ldexp(fraction, -bits), exponent-bias)
				switch {
				case exponent == 0:
					want = math.Ldexp(fraction, 1-bias-bits)
				case exponent == 2*bias+1 && fraction == 0:
					want = math.Inf(1)
				case exponent == 2*bias+1:
					require.True(t, math.IsNaN(float64(got[i])), "%#x is NaN", h)
					continue
				}
				if h>>15 > 0 {
					want = -want
				}
				if float64(got[i]) != want || math.Signbit(float64(got[i])) != (h>>15 > 0) {
					require.FailNow(t, fmt.Sprintf("bfloat %v: %#x is %v, want %v", bfloat, h, got[i], want))
				}
			}
		}
	}
}

// NaN and ±Inf of B spread to all rows, as in other products.
func TestHalfKeepsNaN(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		const k, n = 64, 48
		for bfloat, numbers := range map[bool][2]uint16{false: {0x7e00, 0x7c00}, true: {0x7fc0, 0x7f80}} {
			b := Half{Rows: n, Cols: k, Data: make([]uint16, n*k), BFloat: bfloat}
			b.Data[3*k+5], b.Data[7*k+6] = numbers[0], numbers[1]
			a, c := contiguous(random[float32](rand.New(rand.NewPCG(1, 2)), 2, k)), contiguous(random[float32](rand.New(rand.NewPCG(1, 2)), 2, n))
			a.Data[6] = 1
			MulTHalf(1, a, b, 0, c)
			require.True(t, math.IsNaN(float64(c.Data[3])) && math.IsNaN(float64(c.Data[n+3])))
			require.True(t, math.IsInf(float64(c.Data[7]), 1) && math.IsInf(float64(c.Data[n+7]), 0))
			require.Zero(t, c.Data[4])
		}
	})
}

func TestHalfAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 15))
	b := Half{Rows: 1024, Cols: 1024, Data: make([]uint16, 1<<20)}
	for _, m := range []int{1, 20} {
		a, c := random[float32](rng, m, 1024), random[float32](rng, m, 1024)
		mul := func() { MulTHalf(1, a, b, 0, c) }
		mul()
		require.Zero(t, testing.AllocsPerRun(20, mul), "%d rows", m)
	}
}
