package performer

import (
	"fmt"
	"math"
	"math/bits"
)

// ALiBiSlopes returns the slopes of ALiBi [Press et al. 2022] for H = heads attention heads:
// 2^(−8h/H) for h = 1 … H if H is a power of two. If heads is no power of two, the slopes for the
// next lower power of two come first, then every other slope for the next higher power of two.
// ALiBiSlopes panics if heads is negative or above 2²⁰.
func ALiBiSlopes(heads int) []float64 {
	if heads < 0 || heads > maxSlopes {
		panic(fmt.Sprintf("performer: heads = %d, want 0 to %d", heads, maxSlopes))
	}
	if heads == 0 {
		return nil
	}
	power := 1 << (bits.Len(uint(heads)) - 1)
	slopes := make([]float64, heads)
	for h := range slopes {
		if h < power {
			slopes[h] = math.Exp2(-8 * float64(h+1) / float64(power))
		} else {
			slopes[h] = math.Exp2(-4 * float64(2*(h-power)+1) / float64(power))
		}
	}
	return slopes
}

const maxSlopes = 1 << 20
