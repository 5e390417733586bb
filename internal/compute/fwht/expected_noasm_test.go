//go:build (!amd64 && !arm64) || purego || noasm

package fwht

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

func expectedTier(string) simd.Tier { return simd.Generic }
