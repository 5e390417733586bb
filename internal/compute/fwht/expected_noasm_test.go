//go:build (!amd64 && !arm64) || purego || noasm

package fwht

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// assembled is the number of tiers with assembly.
const assembled = 0

func expectedTier(string) simd.Tier { return simd.Generic }
