// Package limit bounds the sizes in arguments. Go ends a program that allocates too much memory,
// and a loop up to 2⁶² takes forever. A function that takes a size as an argument checks the size
// here first, and names the argument in the error.
package limit

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// Repeats is the largest number of iterations of a loop: 2⁴⁰ − 1, or the largest int.
const Repeats = math.MaxInt >> (23 * (bits.UintSize / 64))

// Most is the number of bytes of the largest block: 2⁴⁰, or 2³⁰ on 32-bit systems. It does not
// depend on the memory of the machine, so that a program has the same errors on every machine.
const Most = 1 << (30 + 10*(bits.UintSize/64))

// Memory returns nil if a block of elements of T, whose number is the product of the counts, has at
// most [Most] bytes. Otherwise Memory returns an error with the size of the block and the largest
// size; the caller adds names and values. A count of 0 counts as 1, because loops over rows without
// elements take time too. A negative count is an error.
func Memory[T any](counts ...int) error {
	var v T
	size, wide := uint64(max(unsafe.Sizeof(v), 1)), false
	product := float64(size)
	for _, n := range counts {
		if n < 0 {
			return fmt.Errorf("a count of %d, want at least 0", n)
		}
		var high uint64
		high, size = bits.Mul64(size, uint64(max(n, 1)))
		wide = wide || high > 0
		product *= float64(max(n, 1))
	}
	if wide || size > Most {
		return fmt.Errorf("%s of memory, want at most %s", text(product), text(Most))
	}
	return nil
}

func text(size float64) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; size >= 1024 && i < len(units)-1; i++ {
		size /= 1024
	}
	return fmt.Sprintf("%.4g %s", size, units[i])
}
