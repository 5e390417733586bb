package hadamard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
)

// eps returns the unit roundoff of T.
func eps[T dense.Float]() float64 {
	if T(1)+0x1p-30 == 1 {
		return 0x1p-24
	}
	return 0x1p-53
}

// normal returns an r×c matrix of standard normal draws inside wider rows that
// are NaN elsewhere.
func normal[T dense.Float](seed uint64, r, c int) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(seed))
	m := dense.New[T](r, c+3)
	for i := range m.Data {
		m.Data[i] = T(math.NaN())
	}
	m = m.ColRange(1, c+1)
	for i := range r {
		for j := range c {
			m.Set(i, j, T(rng.NormFloat64()))
		}
	}
	return m
}

// stages is the definition: one stage after another, h = 1, 2, 4, ….
func stages[T dense.Float](x []T) {
	for h := 1; h < len(x); h *= 2 {
		for i := range x {
			if i&h == 0 {
				x[i], x[i+h] = x[i]+x[i+h], x[i]-x[i+h]
			}
		}
	}
}

func testTransform[T dense.Float](t *testing.T) {
	for log := range 12 {
		n := 1 << log
		wide := make([]T, n+2)
		wide[0], wide[n+1] = 7, 7
		x := wide[1 : n+1]
		copy(x, normal[T](uint64(n), 1, n).Row(0))
		before := slices.Clone(x)
		want := slices.Clone(x)
		stages(want)
		Transform(x)
		require.Equal(t, want, x, "n = %d: same bits as the stages in order", n)
		require.Equal(t, [2]T{7, 7}, [2]T{wide[0], wide[n+1]}, "n = %d: guard elements", n)

		size := 0.0
		for _, v := range before {
			size += math.Abs(float64(v))
		}
		h := Matrix[float64](n)
		for i := range n {
			sum := 0.0
			for j, v := range h.Row(i) {
				sum += v * float64(before[j])
			}
			// The transform has log additions to an element, the sum n.
			tol := (float64(log)*eps[T]() + float64(n)*0x1p-53) * size
			require.InDelta(t, sum, float64(x[i]), tol, "n = %d: element %d of H·x", n, i)
		}
		Transform(x)
		for i := range x {
			// Each pass errs by log·ε·Σ|·|, and the second sums n elements of
			// size Σ|x| at most.
			tol := 2 * float64(log) * eps[T]() * float64(n) * size
			require.InDelta(t, float64(n)*float64(before[i]), float64(x[i]), tol, "n = %d: H·H = n·I", n)
		}
	}
}

func TestTransform(t *testing.T) {
	t.Run("type=float32", testTransform[float32])
	t.Run("type=float64", testTransform[float64])
}

func testTransformRows[T dense.Float](t *testing.T) {
	for _, s := range [][2]int{{0, 4}, {1, 1}, {5, 8}, {300, 256}} {
		x := normal[T](3, s[0], s[1])
		want := x.Clone()
		for i := range want.Rows {
			stages(want.Row(i))
		}
		TransformRows(x)
		require.Equal(t, want, x.Clone(), "%d×%d", s[0], s[1])
	}
	for _, procs := range []int{1, 3} {
		old := runtime.GOMAXPROCS(procs)
		x := normal[T](4, 300, 512)
		TransformRows(x)
		runtime.GOMAXPROCS(old)
		stage := normal[T](4, 300, 512).Clone()
		for i := range stage.Rows {
			stages(stage.Row(i))
		}
		assert.Equal(t, stage, x.Clone(), "GOMAXPROCS = %d", procs)
	}
}

func TestTransformRows(t *testing.T) {
	t.Run("type=float32", testTransformRows[float32])
	t.Run("type=float64", testTransformRows[float64])
}

func testNotFinite[T dense.Float](t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for at := range 16 {
			x := normal[T](5, 1, 16).Row(0)
			x[at] = T(bad)
			Transform(x)
			for i, v := range x {
				assert.False(t, math.Abs(float64(v)) <= math.MaxFloat64, "%v at %d: element %d = %v", bad, at, i, v)
			}
		}
	}
}

func TestNotFinite(t *testing.T) {
	t.Run("type=float32", testNotFinite[float32])
	t.Run("type=float64", testNotFinite[float64])
}

func testMatrix[T dense.Float](t *testing.T) {
	for n := 1; n <= 64; n *= 2 {
		h := Matrix[T](n)
		for i := range n {
			unit := make([]T, n)
			unit[i] = 1
			Transform(unit)
			require.Equal(t, unit, h.Row(i), "n = %d: row %d is H·e_%d", n, i, i)
			for j := range n {
				dot := T(0)
				for k := range n {
					dot += h.At(i, k) * h.At(j, k)
				}
				want := 0
				if i == j {
					want = n
				}
				require.Equal(t, T(want), dot, "n = %d: rows %d and %d", n, i, j)
			}
		}
	}
}

func TestMatrix(t *testing.T) {
	t.Run("type=float32", testMatrix[float32])
	t.Run("type=float64", testMatrix[float64])
}

func TestLengthsThatAreNotPowersOfTwoPanic(t *testing.T) {
	for _, n := range []int{0, 3, 6, 7, 1023, 1025} {
		assert.PanicsWithValue(t, fmt.Sprintf("hadamard: length %d is not a power of two", n), func() { Transform(make([]float32, n)) })
		assert.PanicsWithValue(t, fmt.Sprintf("hadamard: row length %d is not a power of two", n), func() { TransformRows(dense.New[float64](2, n)) })
		assert.PanicsWithValue(t, fmt.Sprintf("hadamard: order %d is not a power of two", n), func() { Matrix[float64](n) })
	}
	assert.PanicsWithValue(t, "hadamard: order -4 is not a power of two", func() { Matrix[float32](-4) })
}

func TestTransformDoesNotAllocate(t *testing.T) {
	x, y := make([]float32, 1024), make([]float64, 1024)
	assert.Zero(t, testing.AllocsPerRun(10, func() { Transform(x); Transform(y) }))
}

// FuzzTransform compares the bits of Transform with those of the definition for
// any bits of input, and expects the panic for any other length.
func FuzzTransform(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{})
	f.Add([]byte{0, 0x80, 0xff, 0x7f, 0xc0})
	f.Fuzz(func(t *testing.T, data []byte) {
		x := make([]float64, len(data))
		for i, b := range data {
			x[i] = math.Ldexp(float64(int8(b)), int(b)*3-300)
		}
		want := slices.Clone(x)
		if n := len(x); n == 0 || n&(n-1) != 0 {
			assert.Panics(t, func() { Transform(x) })
			assert.Equal(t, want, x)
			return
		}
		stages(want)
		Transform(x)
		assert.Equal(t, want, x)
	})
}
