package store

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The highest scores are those of a stable sort, for every distribution of scores and of ties.
func TestHighest(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	var s selection
	for name, draw := range map[string]func(i int) float32{
		"normal":     func(int) float32 { return float32(r.NormFloat64()) },
		"few values": func(int) float32 { return float32(r.IntN(3)) },
		"equal":      func(int) float32 { return -2 },
		"zeros":      func(int) float32 { return float32(math.Copysign(0, r.NormFloat64())) },
		"ascending":  func(i int) float32 { return float32(i) },
		"huge":       func(int) float32 { return float32(r.NormFloat64() * 2e38) },
		"tiny":       func(int) float32 { return float32(r.NormFloat64() * 1e-42) },
		"hidden":     func(int) float32 { return -inf },
		"mostly hidden": func(int) float32 {
			if r.IntN(20) > 0 {
				return -inf
			}
			return float32(r.NormFloat64())
		},
		"nearly all hidden": func(int) float32 {
			if r.IntN(300) > 0 {
				return -inf
			}
			return float32(r.NormFloat64())
		},
		"one group": func(i int) float32 {
			if i%lanes != 3 {
				return -100
			}
			return float32(r.NormFloat64())
		},
		"one far": func(i int) float32 {
			if i == 70 {
				return 1e30
			}
			return float32(r.NormFloat64())
		},
		"odd": func(int) float32 { return []float32{1, nan, -inf, inf, float32(r.NormFloat64())}[r.IntN(5)] },
	} {
		for _, n := range []int{1, 2, 50, 256, 5000} {
			for _, size := range []int{64, 128, 640, 9984} {
				scores := make([]float32, size)
				var want []int32
				for i := range scores {
					if scores[i] = draw(i); scores[i] > hidden {
						want = append(want, int32(i))
					}
				}
				slices.SortStableFunc(want, func(i, j int32) int { return cmp.Compare(scores[j], scores[i]) })
				want = want[:min(n, len(want))]
				lowest := float32(0)
				if len(want) > 0 {
					lowest = scores[want[len(want)-1]]
				}
				slices.Sort(want)
				got := s.highest(scores, n)
				require.True(t, slices.Equal(want, got), "%s, %d of %d: %v, want %v", name, n, size, got, want)
				require.Equal(t, lowest, s.lowest, "%s, %d of %d", name, n, size)
			}
		}
	}
}
