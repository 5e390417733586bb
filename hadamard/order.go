package hadamard

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
)

// NextOrder returns the smallest order ≥ n of a Hadamard matrix that package hadamard constructs:
// 2^k, or h·2^k where h ≤ 2048 is q + 1 for a prime power q ≡ 3 (mod 4), or 2(q + 1) for a prime
// power q ≡ 1 (mod 4) [Paley 1933]. For example NextOrder(9) = 12. NextOrder saves length, not
// time: a Transform takes 377 additions an element at order 1500, and 12 at order 1536. NextOrder
// panics if n < 1 and if no order ≥ n fits in an int.
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
// at most a fifth more time than the fastest Transform of an order ≥ n. For example FastOrder(784)
// = 1024, because a transform of order 784 = 196·4 takes many times as long as one of order 1024,
// and FastOrder(90) = 96 = 12·8, because order 128 takes longer than order 96. FastOrder panics if
// n < 1 and if no order ≥ n of a Hadamard matrix fits in an int.
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

// effort estimates the time of the transform of an order h·2^k, in additions. A core without a
// kernel of its own reads and writes memory, and works element by element on short rows.
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

// ordersFrom calls f for every h with the least order h·2^k ≥ n, if the order fits in an int.
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

// plan is the plan of a transform of order n = rows·width, width = 2^k: the Walsh–Hadamard
// transform of each of rows blocks, and then the core, if rows > 1, across the blocks.
type plan struct {
	rows, width int
	core        *core
}

// planOf panics if n is not an order. what is the name of n in the message.
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

// coreOrder returns the least h with a construction and n = h·2^k, for an n that is no power of
// two. It returns 0 if no such h exists.
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
