//go:build !purego && !noasm

package simd

import "golang.org/x/sys/cpu"

func detect() Tier {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasF16C:
		return Generic
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return AVX512
	}
	return AVX2
}

func multipliesBytes(t Tier) bool {
	if t == AVX512 {
		return cpu.X86.HasAVX512VNNI
	}
	return cpu.X86.HasAVXVNNI
}
