package hadamard

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// Sequency reorders x in place from natural order, in which Transform leaves a
// vector of length n = 2^k, to sequency (Walsh) order: element s of the result
// belongs to the row of H that changes sign s times,
//
//	x'[s] = x[NaturalIndex(s, n)].
//
// Cost: about n·log₂ n/4 exchanges, no arithmetic, no allocation. It panics
// unless len(x) is a power of two.
//
// Source: [Fino and Algazi 1976].
func Sequency[T dense.Float](x []T) {
	checkPower("length", len(x))
	reverseBits(x)
	// Gray's code maps the upper half of a block as it maps the lower half, but
	// backwards.
	for size := 4; size <= len(x); size *= 2 {
		reverseHalves(x, size)
	}
}

// Natural reorders x in place from sequency order to natural order: it undoes
// Sequency, at the same cost and with the same panic.
func Natural[T dense.Float](x []T) {
	checkPower("length", len(x))
	for size := len(x); size >= 4; size /= 2 {
		reverseHalves(x, size)
	}
	reverseBits(x)
}

// SequencyIndex returns how often row i of the Hadamard matrix of order n = 2^k
// changes sign: a number from 0 to n−1 that no other row has. It panics unless n
// is a power of two and 0 ≤ i < n.
func SequencyIndex(i, n int) int {
	checkIndex(i, n)
	s := reversed(i, n)
	for shift := 1; n>>shift > 0; shift *= 2 {
		s ^= s >> shift
	}
	return s
}

// NaturalIndex returns the row of the Hadamard matrix of order n = 2^k that
// changes sign s times: the bits of Gray's code s XOR ⌊s/2⌋, last to first. It
// panics unless n is a power of two and 0 ≤ s < n.
func NaturalIndex(s, n int) int {
	checkIndex(s, n)
	return reversed(s^s>>1, n)
}

// reverseHalves turns the upper half of every block of the size around.
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

// reversed returns the log₂ n bits of i, last to first.
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

func checkIndex(i, n int) {
	checkPower("order", n)
	if i < 0 || i >= n {
		panic(fmt.Sprintf("hadamard: index %d of order %d", i, n))
	}
}
