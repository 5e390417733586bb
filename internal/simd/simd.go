// Package simd tells which instruction sets the assembly of this module may use.
//
// The environment variable RANDFEAT_DISABLE turns tiers off at start: a list of
// avx512 and avx2, separated by commas. Without avx2, avx512 is off too.
package simd

import (
	"os"
	"strings"
)

// Tier is a set of instructions, ordered: a higher tier includes the lower.
type Tier int

// The tiers.
const (
	Generic Tier = iota // pure Go
	AVX2                // AVX2 and FMA
	AVX512              // AVX-512 F, BW, DQ and VL, and all of AVX2
)

// Best is the highest tier of this machine that is not disabled. It is Generic
// on other architectures and under the build tags purego and noasm.
var Best = allowed(detect(), os.Getenv("RANDFEAT_DISABLE"))

// String returns the name of the tier as RANDFEAT_DISABLE has it.
func (t Tier) String() string {
	switch t {
	case AVX512:
		return "avx512"
	case AVX2:
		return "avx2"
	}
	return "generic"
}

// allowed returns the highest tier up to t that the list does not disable.
func allowed(t Tier, disabled string) Tier {
	for name := range strings.SplitSeq(disabled, ",") {
		switch strings.TrimSpace(name) {
		case "avx512":
			t = min(t, AVX2)
		case "avx2":
			t = Generic
		}
	}
	return t
}
