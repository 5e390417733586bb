package hadamard_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/hadamard"
)

// withoutPaley are the multiples of 4 up to 1000 that Sylvester's and Paley's constructions do not
// give, as they are published.
var withoutPaley = []int{
	92, 116, 156, 172, 184, 188, 232, 236, 260, 268, 292, 324, 356, 372, 376, 404, 412, 428, 436, 452, 472, 476, 508, 520,
	532, 536, 584, 596, 604, 612, 652, 668, 712, 716, 732, 756, 764, 772, 808, 836, 852, 856, 872, 876, 892, 904, 932, 940,
	944, 952, 956, 964, 980, 988, 996,
}

// isOrder says which orders up to 1000 there are.
func isOrder(n int) bool {
	return n == 1 || n == 2 || n > 0 && n%4 == 0 && !slices.Contains(withoutPaley, n)
}

func TestNextOrder(t *testing.T) {
	next := 1000
	for n := 1000; n >= 1; n-- {
		if isOrder(n) {
			next = n
		}
		if n <= 992 { // the last order below 1000
			assert.Equal(t, next, hadamard.NextOrder(n), "n = %d", n)
		}
	}
	for n, want := range map[int]int{
		96: 96, 192: 192, 768: 768, 1536: 1536, 5120: 5120, 11008: 11008, 12288: 12288, 14336: 14336,
		11007: 11008, 1<<24 - 3: 1 << 24, 1 << 30: 1 << 30,
	} {
		assert.Equal(t, want, hadamard.NextOrder(n), "n = %d", n)
	}
	// Padding stays small where cores are bounded too.
	for n := 1001; n < 1<<14; {
		order := hadamard.NextOrder(n)
		assert.GreaterOrEqual(t, order, n)
		assert.Equal(t, order, hadamard.NextOrder(order), "an order is its own")
		after := hadamard.NextOrder(order + 1)
		assert.Less(t, float64(after-order), 0.02*float64(order), "n = %d", n)
		n = after
	}
}

func TestCoresAreTheSmallest(t *testing.T) {
	for n, h := range map[int]int{
		12: 12, 24: 12, 48: 12, 96: 12, 768: 12, 5120: 20, 14336: 28, 11008: 344, 104: 52, 1000: 500, 368: 368,
		92: 0, 6: 0, 0: 0, -4: 0,
	} {
		assert.Equal(t, h, hadamard.CoreOrder(n), "n = %d", n)
	}
}

func TestFastOrder(t *testing.T) {
	cost := func(order int) float64 {
		if order&(order-1) == 0 {
			return hadamard.Effort(1, order)
		}
		return hadamard.Effort(hadamard.CoreOrder(order), order)
	}
	for n, want := range map[int]int{
		1: 1, 3: 4, 9: 12, 20: 20, 28: 32, 64: 64, 90: 96, 96: 96, 100: 128, 500: 512, 513: 640, 768: 768, 784: 1024,
		785: 1024, 1000: 1024, 4096: 4096, 5000: 5120, 1 << 30: 1 << 30,
	} {
		assert.Equal(t, want, hadamard.FastOrder(n), "n = %d", n)
	}
	for n := 1; n < 3000; n += 7 {
		fast := hadamard.FastOrder(n)
		assert.Equal(t, fast, hadamard.NextOrder(fast), "an order")
		least := math.Inf(1)
		for order := hadamard.NextOrder(n); order <= 2*n; order = hadamard.NextOrder(order + 1) {
			least = min(least, cost(order))
		}
		assert.LessOrEqual(t, cost(fast), 1.2*least, "n = %d", n)
	}
	assert.PanicsWithValue(t, "hadamard: FastOrder(0), want at least 1", func() { hadamard.FastOrder(0) })
	assert.Panics(t, func() { hadamard.FastOrder(math.MaxInt) })
}
