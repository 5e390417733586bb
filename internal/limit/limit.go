// Package limit says what can be asked for. A program that asks for more memory than the
// machine has is ended, and one that counts to 2⁶² does not end: who takes a size from a
// caller looks here first, and names the argument.
package limit

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// Repeats is the largest number of times that anything is done over: 2⁴⁰ − 1, or what an
// int holds. At a microsecond each that is twelve days.
const Repeats = math.MaxInt >> (23 * (bits.UintSize / 64))

// Memory returns nil if a block of as many elements of T as the product of the counts can be
// asked for. Otherwise it returns an error that says how large the block would be and how
// large it may be; the caller adds names and values. A count of 0 counts as 1, because rows
// without elements are gone through too, and a negative one is an error.
//
// The largest block is as large as all memory of the machine, swap space included, or
// 2⁴⁰ bytes where the system does not tell; it is never larger than half of what an int
// counts, which is 1 GiB on 32-bit systems. Whether that memory is free is not looked at.
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

// most returns the size of the largest block on a machine with so many bytes, 0 if that is
// not known.
func most(machine uint64) uint64 {
	if machine == 0 {
		machine = 1 << 40
	}
	return min(max(machine, always), math.MaxInt/2)
}

// text returns so many bytes in the unit in which they are at least 1.
func text(size float64) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; size >= 1024 && i < len(units)-1; i++ {
		size /= 1024
	}
	return fmt.Sprintf("%.4g %s", size, units[i])
}
