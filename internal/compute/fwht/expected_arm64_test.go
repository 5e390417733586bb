//go:build !purego && !noasm

package fwht

import (
	"strings"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// assembled is the number of tiers with assembly.
const assembled = 1

// expectedTier reads RANDFEAT_DISABLE without package simd.
func expectedTier(disabled string) simd.Tier {
	if strings.Contains(disabled, "neon") {
		return simd.Generic
	}
	return simd.NEON
}
