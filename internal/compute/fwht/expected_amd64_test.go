//go:build !purego && !noasm

package fwht

import (
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// assembled is the number of tiers with assembly.
const assembled = 2

// expectedTier reads the machine and RANDFEAT_DISABLE without package simd.
func expectedTier(disabled string) simd.Tier {
	off := func(name string) bool { return strings.Contains(disabled, name) }
	x := cpu.X86
	narrow := x.HasAVX2 && x.HasFMA && x.HasF16C && !off("avx2")
	wide := narrow && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && !off("avx512")
	switch {
	case wide:
		return simd.AVX512
	case narrow:
		return simd.AVX2
	}
	return simd.Generic
}
