// Package limit bounds the sizes that callers may ask for. A program that asks for more memory than
// the machine has is ended, and a loop up to 2⁶² never ends. A function that takes a size from a
// caller checks the size here first, and names the argument in the error.
package limit

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// Repeats is the largest number of repetitions of anything: 2⁴⁰ − 1, or the largest int if that is
// smaller. At a microsecond each, 2⁴⁰ repetitions take twelve days.
const Repeats = math.MaxInt >> (23 * (bits.UintSize / 64))

// Memory returns nil if the machine may have memory for a block of elements of T, whose number is
// the product of the counts. Otherwise Memory returns an error with the size of the block and the
// largest size; the caller adds names and values. A count of 0 counts as 1, because loops over rows
// without elements take time too. A negative count is an error.
//
// The largest block is as large as all memory of the machine, swap space included, or 2⁴⁰ bytes
// where the system does not tell. It is never larger than half of the largest int, which is 1 GiB
// on 32-bit systems. Memory does not look at whether the memory is free.
func Memory[T any](counts ...int) error {
	var v T
	size, wide := uint64(max(unsafe.Sizeof(v), 1)), false
	for _, n := range counts {
		if n < 0 {
			return fmt.Errorf("a count of %d, want at least 0", n)
		}
		var high uint64
		high, size = bits.Mul64(size, uint64(max(n, 1)))
		wide = wide || high > 0
	}
	// Asking the system takes longer than many a small block.
	if !wide && (size <= always || size <= most(installed())) {
		return nil
	}
	product := float64(max(unsafe.Sizeof(v), 1))
	for _, n := range counts {
		product *= float64(max(n, 1))
	}
	return fmt.Errorf("%s of memory, want at most %s", text(product), text(float64(most(installed()))))
}

// always is the number of bytes that every machine has.
const always = 1 << 26

// most returns the size of the largest block on a machine with the given bytes of memory; 0 stands
// for an unknown size.
func most(machine uint64) uint64 {
	if machine == 0 {
		machine = 1 << 40
	}
	return min(max(machine, always), math.MaxInt/2)
}

// text returns a size in bytes in the largest unit in which it is at least 1.
func text(size float64) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; size >= 1024 && i < len(units)-1; i++ {
		size /= 1024
	}
	return fmt.Sprintf("%.4g %s", size, units[i])
}
