// Package simd chooses the instruction sets that the assembly of this module may use.
//
// The environment variable RANDFEAT_DISABLE turns tiers off at start. Its value is a list of
// avx512, avx2, avxvnni and neon, separated by commas. AVX-512 includes AVX2: avx2 turns both off,
// and leaves pure Go. The name avxvnni turns off no tier, but the instruction of [AVXVNNI]. Any
// other name turns nothing off, and causes a line on standard error.
package simd

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unsafe"
)

// The tiers of one architecture are ordered: a higher tier includes the lower.
type Tier int

const (
	Generic Tier = iota // pure Go
	AVX2                // AVX2, FMA and F16C
	AVX512              // AVX-512 F, BW, DQ and VL, and all of AVX2
	NEON                // ASIMD, which every arm64 processor has
)

func Size[T float32 | float64]() int { return int(unsafe.Sizeof(T(0))) }

// Of returns single if T is float32, and double if T is float64.
func Of[K any, T float32 | float64, S, D any](single *S, double *D) *K {
	if Size[T]() == 4 {
		return (*K)(unsafe.Pointer(single))
	}
	return (*K)(unsafe.Pointer(double))
}

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

// ByteProducts reports whether the machine has instructions that add products of bytes: VNNI if
// Best is AVX512, or the dot products of ASIMD if Best is NEON.
var ByteProducts = (Best == AVX512 || Best == NEON) && multipliesBytes(Best)

// AVXVNNI reports whether Best is AVX2 or AVX512, RANDFEAT_DISABLE does not have the name avxvnni,
// and the machine has AVX-VNNI: VPDPBUSD, which adds products of bytes, on the vectors of AVX2.
var AVXVNNI = (Best == AVX2 || Best == AVX512) && multipliesBytes(AVX2) && !slices.Contains(names(os.Getenv(disable)), "avxvnni")

// String returns the name of the tier in RANDFEAT_DISABLE, or generic.
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

// allowed returns the highest tier up to t that the list does not disable, and writes a line to
// warnings for each unknown name.
func allowed(t Tier, disabled string, warnings io.Writer) Tier {
	for _, name := range names(disabled) {
		switch name {
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
		case "avxvnni", "":
		default:
			fmt.Fprintf(warnings, "randfeat: %s: unknown tier %q, want avx512, avx2, avxvnni or neon\n", disable, name)
		}
	}
	return t
}

func names(list string) []string {
	names := strings.Split(list, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return names
}
