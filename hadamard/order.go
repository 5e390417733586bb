package hadamard

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
)

// NextOrder returns the smallest order ≥ n of a Hadamard matrix that package hadamard constructs:
// 2^k, or h·2^k where h ≤ 2048 is q + 1 or 2(q + 1) for certain prime powers q [Paley 1933]. A
// Transform of length NextOrder(n) may take many times as long as one of length FastOrder(n).
// NextOrder panics if n < 1 and if no order ≥ n fits in an int.
func NextOrder(n int) int {
	if n < 1 {
		panic(fmt.Sprintf("hadamard: NextOrder(%d), want at least 1", n))
	}
	order, ok := nextOrder(n)
	if !ok {
		panic(fmt.Sprintf("hadamard: NextOrder(%d): no order that large fits in an int", n))
	}
	return order
}

// FastOrder returns the smallest order ≥ n of a Hadamard matrix whose Transform takes, by estimate,
// at most a fifth more time than the fastest: FastOrder(90) = 96 and FastOrder(784) = 1024.
// FastOrder panics if n < 1 and if no order ≥ n fits in an int.
func FastOrder(n int) int {
	if n < 1 {
		panic(fmt.Sprintf("hadamard: FastOrder(%d), want at least 1", n))
	}
	order, ok := fastOrder(n)
	if !ok {
		panic(fmt.Sprintf("hadamard: FastOrder(%d): no order that large fits in an int", n))
	}
	return order
}

func fastOrder(n int) (order int, ok bool) {
	least := math.Inf(1)
	ordersFrom(n, func(h, order int) { least = min(least, effort(h, order)) })
	order = math.MaxInt
	ordersFrom(n, func(h, next int) {
		if effort(h, next) <= 1.2*least {
			order, ok = min(order, next), true
		}
	})
	return order, ok
}

// A core without a kernel of its own works element by element on short rows.
func effort(h, order int) float64 {
	width := order / h
	stages := float64(bits.Len(uint(width)) - 1)
	switch core := float64(h)/4 + 2; {
	case h == 1:
	case h <= 28:
		stages += core
	case width < 16:
		stages += 16 * core
	default:
		stages += 2 * core
	}
	return float64(order) * stages
}

func nextOrder(n int) (order int, ok bool) {
	order = math.MaxInt
	ordersFrom(n, func(_, next int) {
		if next <= order {
			order, ok = next, true
		}
	})
	return order, ok
}

func ordersFrom(n int, f func(h, order int)) {
	consider := func(h int) {
		k := bits.Len(uint((n - 1) / h))
		if h <= math.MaxInt>>k {
			f(h, h<<k)
		}
	}
	consider(1)
	for i, c := range constructions() {
		if c.p != 0 {
			consider(4 * i)
		}
	}
}

// plan is Walsh–Hadamard transforms of rows blocks, and then the core across the blocks.
type plan struct {
	rows, width int
	core        *core
}

func planOf(what string, n int) plan {
	if n > 0 && n&(n-1) == 0 {
		return plan{rows: 1, width: n}
	}
	if n > 0 && n < len(shortPlans) {
		if p := shortPlans[n].Load(); p != nil {
			return *p
		}
	}
	h := coreOrder(n)
	if h == 0 {
		panic(noOrder(what, n))
	}
	p := plan{rows: h, width: n / h, core: coreOf(h)}
	if n < len(shortPlans) {
		kept := p // only this copy is on the heap
		shortPlans[n].Store(&kept)
	}
	return p
}

// For short vectors, the search for a plan takes as long as the transform.
var shortPlans [1 << 10]atomic.Pointer[plan]

func (p plan) order() int { return p.rows * p.width }

func isOrder(n int) bool { return n&(n-1) == 0 || coreOrder(n) != 0 }

// coreOrder returns the least h with a construction and n = h·2^k, or 0 for none.
func coreOrder(n int) int {
	if n < 1 {
		return 0
	}
	odd := n >> bits.TrailingZeros(uint(n))
	if odd > maxCore/4 {
		return 0
	}
	table := constructions()
	for h := 4 * odd; h <= min(n, maxCore); h *= 2 {
		if table[h/4].p != 0 {
			return h
		}
	}
	return 0
}

func noOrder(what string, n int) string {
	if n < 1 {
		return fmt.Sprintf("hadamard: %s %d, want at least 1", what, n)
	}
	next, ok := nextOrder(n)
	if !ok {
		return fmt.Sprintf("hadamard: %s %d is beyond every order that fits in an int", what, n)
	}
	text := fmt.Sprintf("hadamard: %s %d is not the order of a Hadamard matrix known here, the next is %d", what, n, next)
	if fast := FastOrder(n); fast != next {
		text += fmt.Sprintf(", the next fast one %d", fast)
	}
	return text
}
