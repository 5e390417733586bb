package hadamard

import (
	"fmt"
	"math/bits"

	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// SequencyOrder returns the permutation from sequency (Walsh) order to the natural order of
// Transform, for n = 2^k: row SequencyOrder(n)[s] of Matrix(n) changes sign s times [Fino and
// Algazi 1976]. After Transform(x), the coefficient of sequency s is x[SequencyOrder(len(x))[s]].
// SequencyOrder panics unless n is a power of two.
func SequencyOrder(n int) []int {
	if n < 1 || n&(n-1) != 0 {
		panic(fmt.Sprintf("hadamard: SequencyOrder(%d), want a power of two", n))
	}
	if err := limit.Memory[int](n); err != nil {
		panic(fmt.Sprintf("hadamard: SequencyOrder(%d): %v", n, err))
	}
	order := make([]int, n)
	for s := range order {
		order[s] = int(bits.Reverse64(uint64(s^s>>1)) >> (64 - bits.TrailingZeros(uint(n))))
	}
	return order
}
