package hadamard

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
)

// NextOrder returns the smallest order ≥ n that the package has a Hadamard matrix
// of: 2^k, or h·2^k with h = q + 1 for a prime power q ≡ 3 (mod 4) or h = 2(q + 1)
// for a prime power q ≡ 1 (mod 4), h ≤ 2048. For example 12 for 9, 768 for 768,
// 11008 = 344·32 for 11008.
//
// h is bounded because time grows with it: a transform of order h·2^k takes k + h/4 + 2 additions
// per element (k alone for h = 1), with the smallest h that gives the order. NextOrder saves
// length, not time: order 1500 has h = 1500 and takes 377 additions per element where 1536 = 12·2⁷
// takes 12. FastOrder weighs the two.
//
// It panics if n < 1 or if no such order fits in an int. Cost: some thousand
// operations.
//
// Source: [Paley 1933].
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

// FastOrder returns the smallest order ≥ n whose transform takes at most a fifth more time than the
// transform of the fastest order ≥ n. Time is estimated by counting additions. For example
// 784 = 196·4 takes many times as long as 1024, which is FastOrder(784), while 96 = 12·8 takes less
// time than 128 and is FastOrder(90).
//
// It panics if n < 1 or if no order ≥ n fits in an int. Cost: some thousand
// operations.
func FastOrder(n int) int {
	if n < 1 {
		panic(fmt.Sprintf("hadamard: FastOrder(%d), want at least 1", n))
	}
	order, ok := fastOrder(n, 1)
	if !ok {
		panic(fmt.Sprintf("hadamard: FastOrder(%d): no order that large fits in an int", n))
	}
	return order
}

// fastOrder is FastOrder for n ≥ 1 among the multiples of a power of two; ok is false if no order
// fits in an int.
func fastOrder(n, multiple int) (order int, ok bool) {
	least := math.Inf(1)
	ordersFrom(n, multiple, func(h, order int) { least = min(least, effort(h, order)) })
	order = math.MaxInt
	ordersFrom(n, multiple, func(h, next int) {
		if effort(h, next) <= 1.2*least {
			order, ok = min(order, next), true
		}
	})
	return order, ok
}

// effort returns the time of the transform of an order h·2^k, in additions. Cores
// without kernels pass through memory, and short rows make them go element by
// element.
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

// nextOrder is NextOrder for n ≥ 1; ok is false if no order fits in an int.
func nextOrder(n int) (order int, ok bool) {
	order = math.MaxInt
	ordersFrom(n, 1, func(_, next int) {
		if next <= order {
			order, ok = next, true
		}
	})
	return order, ok
}

// ordersFrom calls f for every h with the least order h·2^k ≥ n that is a multiple of a power of
// two, if that fits in an int.
func ordersFrom(n, multiple int, f func(h, order int)) {
	consider := func(h int) {
		// h has trailing zeros of its own.
		k := max(bits.Len(uint((n-1)/h)), bits.TrailingZeros(uint(multiple))-bits.TrailingZeros(uint(h)))
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

// plan says how order n is transformed: n = rows·2^k, the transform of order
// width = 2^k on each of rows blocks and then the core, if any, across them.
type plan struct {
	rows, width int
	core        *core
}

// planOf returns the plan of order n. It panics if the order has none; what names
// n in the message.
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
		kept := p // only this copy is allocated
		shortPlans[n].Store(&kept)
	}
	return p
}

// shortPlans keeps the plans of short vectors, which take as long to find as to
// carry out.
var shortPlans [1 << 10]atomic.Pointer[plan]

// order returns n.
func (p plan) order() int { return p.rows * p.width }

// isOrder reports whether there is a Hadamard matrix of order n ≥ 1.
func isOrder(n int) bool { return n&(n-1) == 0 || coreOrder(n) != 0 }

// coreOrder returns the least h with n = h·2^k that has a construction, for an n
// that is no power of two; 0 if there is none.
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

// noOrder is the text of the panic for an n that is not an order.
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
