package hadamard

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// Sequency reorders x in place from natural order, which is the order of Transform for powers of
// two, to sequency (Walsh) order: element s of the result belongs to the row of H that changes sign
// s times,
//
//	x'[s] = x[NaturalIndex(s, n)].
//
// Cost: about n·log₂ n/4 exchanges, without arithmetic and without allocation. Sequency panics
// unless len(x) is a power of two.
//
// Source: [Fino and Algazi 1976].
func Sequency[T dense.Float](x []T) {
	checkPower("length", len(x))
	reverseBits(x)
	// Gray's code maps the upper half of a block as the lower half, in reverse.
	for size := 4; size <= len(x); size *= 2 {
		reverseHalves(x, size)
	}
}

// Natural reorders x in place from sequency order to natural order. It undoes Sequency, with the
// same cost and the same panic.
func Natural[T dense.Float](x []T) {
	checkPower("length", len(x))
	for size := len(x); size >= 4; size /= 2 {
		reverseHalves(x, size)
	}
	reverseBits(x)
}

// NaturalIndex returns the index of the row of the Hadamard matrix of order n = 2^k that changes
// sign s times. The index has the bits of Gray's code s XOR ⌊s/2⌋ in reverse order. NaturalIndex
// panics unless n is a power of two and 0 ≤ s < n.
func NaturalIndex(s, n int) int {
	checkPower("order", n)
	if s < 0 || s >= n {
		panic(fmt.Sprintf("hadamard: index %d of order %d", s, n))
	}
	return reversed(s^s>>1, n)
}

// reverseHalves reverses the upper half of every block of size elements.
func reverseHalves[T dense.Float](x []T, size int) {
	for at := size / 2; at < len(x); at += size {
		slices.Reverse(x[at : at+size/2])
	}
}

func reverseBits[T dense.Float](x []T) {
	for i := range x {
		if j := reversed(i, len(x)); i < j {
			x[i], x[j] = x[j], x[i]
		}
	}
}

// reversed returns i with its log₂ n bits in reverse order.
func reversed(i, n int) int {
	if n == 1 {
		return 0
	}
	return int(bits.Reverse(uint(i)) >> (bits.LeadingZeros(uint(n)) + 1))
}

func checkPower(what string, n int) {
	if n < 1 || n&(n-1) != 0 {
		panic(fmt.Sprintf("hadamard: %s %d is not a power of two", what, n))
	}
}
