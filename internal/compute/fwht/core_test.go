package fwht

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

// coreByDefinition is the expression for one element of C·v that defines the
// bits.
func coreByDefinition[T Float](signs []int8, v []T) T {
	var sum T
	for i := 0; i < len(v); i += 4 {
		a, b, c, d := v[i], v[i+1], v[i+2], v[i+3]
		s := signs[i : i+4]
		left, right := a+b, c+d
		if s[1] != s[0] {
			left = a - b
		}
		if s[3] != s[2] {
			right = c - d
		}
		g := left + right
		if s[2] != s[0] {
			g = left - right
		}
		if s[0] < 0 {
			g = -g
		}
		if i == 0 {
			sum = g
		} else {
			sum += g
		}
	}
	return sum
}

// randomSigns includes every combination of four signs in rows 0 to 15 of any
// group, where there are that many rows.
func randomSigns(h int, rng *rand.Rand) []int8 {
	signs := make([]int8, h*h)
	for i := range signs {
		signs[i] = int8(2*rng.IntN(2) - 1)
		if row := i / h; row < 16 {
			signs[i] = int8(1 - 2*(row>>(i%4)&1))
		}
	}
	return signs
}

func testCore[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, h := range []int{4, 8, 12, 16, 20, 28, 36, 100, 344, 1024} {
		signs := randomSigns(h, rng)
		c := NewCore(h, signs)
		for _, s := range []int{1, 2, 3, 4, 7, 8, 9, 16, 33, 64, 67, 128, 300} {
			if h*s > 1<<14 {
				continue
			}
			wide := make([]T, h*s+2)
			wide[0], wide[h*s+1] = 7, 7
			x := wide[1 : h*s+1]
			for i := range x {
				x[i] = T(rng.NormFloat64())
			}
			want := make([]T, h*s)
			column := make([]T, h)
			for v := range s {
				for i := range h {
					column[i] = x[i*s+v]
				}
				for i := range h {
					want[i*s+v] = coreByDefinition(signs[i*h:(i+1)*h], column)
				}
			}
			ApplyCore(c, x, s)
			require.Equal(t, want, x, "h = %d, s = %d", h, s)
			require.Equal(t, [2]T{7, 7}, [2]T{wide[0], wide[h*s+1]}, "h = %d, s = %d: guard elements", h, s)
		}
	}
}

func TestApplyCore(t *testing.T) {
	t.Run("type=float32", testCore[float32])
	t.Run("type=float64", testCore[float64])
}

func testCoreNotFinite[T Float](t *testing.T) {
	c := NewCore(12, randomSigns(12, rand.New(rand.NewPCG(3, 4))))
	for _, s := range []int{1, 16} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for at := range 12 {
				x := make([]T, 12*s)
				x[at*s] = T(bad)
				ApplyCore(c, x, s)
				for i, v := range x {
					finite := math.Abs(float64(v)) <= math.MaxFloat64
					assert.Equal(t, i%s != 0, finite, "s = %d: %v at row %d gave %v at %d", s, bad, at, v, i)
				}
			}
		}
	}
}

func TestApplyCoreNotFinite(t *testing.T) {
	t.Run("type=float32", testCoreNotFinite[float32])
	t.Run("type=float64", testCoreNotFinite[float64])
}

func TestApplyCoreDoesNotAllocate(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	c := NewCore(12, randomSigns(12, rand.New(rand.NewPCG(3, 4))))
	single, double := make([]float32, 12*64), make([]float64, 12*64)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		ApplyCore(c, single, 64)
		ApplyCore(c, double, 64)
		ApplyCore(c, single[:12], 1)
	}))
}

func TestNewCorePanics(t *testing.T) {
	for _, bad := range [][2]int{{0, 0}, {6, 36}, {12, 143}, {4100, 4100 * 4100}} {
		assert.PanicsWithValue(t, fmt.Sprintf("fwht: core of order %d with %d signs", bad[0], bad[1]),
			func() { NewCore(bad[0], make([]int8, bad[1])) })
	}
}
