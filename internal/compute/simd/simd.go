// Package simd tells which instruction sets the assembly of this module may use.
//
// The environment variable RANDFEAT_DISABLE turns tiers off at start: a list of avx512, avx2 and
// neon, separated by commas. AVX-512 includes AVX2: without avx2, avx512 is off too, and only pure
// Go is left. Any other name turns nothing off; a line on standard error says so, as Go does for
// unknown names in GODEBUG.
package simd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unsafe"
)

// Tier is a set of instructions. The tiers of one architecture are ordered: a higher tier includes
// the lower.
type Tier int

// The tiers.
const (
	Generic Tier = iota // pure Go
	AVX2                // AVX2 and FMA
	AVX512              // AVX-512 F, BW, DQ and VL, and all of AVX2
	NEON                // ASIMD, which every arm64 processor has
)

// Size returns the size of an element in bytes.
func Size[T float32 | float64]() int { return int(unsafe.Sizeof(T(0))) }

// Of returns, of the kernels for both element types, those for T.
func Of[K any, T float32 | float64, S, D any](single *S, double *D) *K {
	if Size[T]() == 4 {
		return (*K)(unsafe.Pointer(single))
	}
	return (*K)(unsafe.Pointer(double))
}

// disable is the name of the environment variable.
const disable = "RANDFEAT_DISABLE"

// Best is the highest tier of this machine that is not disabled. It is Generic
// on other architectures and under the build tags purego and noasm.
var Best = allowed(detect(), os.Getenv(disable), os.Stderr)

// Tiers returns the tiers that this machine may use, from Generic to Best.
func Tiers() []Tier {
	if Best == NEON {
		return []Tier{Generic, NEON}
	}
	return []Tier{Generic, AVX2, AVX512}[:Best+1]
}

// VPOPCNTDQ tells whether Best is AVX512 and the machine has VPOPCNTD and VPOPCNTQ besides, which
// count the bits of elements.
var VPOPCNTDQ = Best == AVX512 && countsBits()

// VBMI tells whether Best is AVX512 and the machine has VPERMB and VPERMI2B besides, which permute
// bytes.
var VBMI = Best == AVX512 && permutesBytes()

// ByteProducts tells whether the machine adds up products of bytes besides what Best is: VNNI with
// AVX512, the dot products of ASIMD with NEON.
var ByteProducts = (Best == AVX512 || Best == NEON) && multipliesBytes()

// String returns the name of the tier as RANDFEAT_DISABLE has it.
func (t Tier) String() string {
	switch t {
	case NEON:
		return "neon"
	case AVX512:
		return "avx512"
	case AVX2:
		return "avx2"
	}
	return "generic"
}

// allowed returns the highest tier up to t that the list does not disable, and writes
// a line to warnings for each name that is no tier.
func allowed(t Tier, disabled string, warnings io.Writer) Tier {
	for name := range strings.SplitSeq(disabled, ",") {
		switch name = strings.TrimSpace(name); name {
		case "avx512":
			if t == AVX512 {
				t = AVX2
			}
		case "avx2":
			if t != NEON {
				t = Generic
			}
		case "neon":
			if t == NEON {
				t = Generic
			}
		case "":
		default:
			fmt.Fprintf(warnings, "randfeat: %s: unknown tier %q, want avx512, avx2 or neon\n", disable, name)
		}
	}
	return t
}
