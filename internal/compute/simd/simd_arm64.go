//go:build !purego && !noasm

package simd

func detect() Tier { return NEON }

func countsBits() bool { return false }
