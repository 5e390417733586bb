//go:build (!amd64 && !arm64) || purego || noasm

package simd

func detect() Tier { return Generic }

func multipliesBytes(Tier) bool { return false }
