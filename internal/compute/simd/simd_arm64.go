//go:build !purego && !noasm

package simd

import "golang.org/x/sys/cpu"

func detect() Tier { return NEON }

func multipliesBytes(Tier) bool { return cpu.ARM64.HasASIMDDP }
