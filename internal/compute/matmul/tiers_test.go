package matmul

import (
	"testing"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// everyTier runs f as a subtest with the kernels of every tier that the machine has.
func everyTier(t *testing.T, f func(t *testing.T)) {
	single, double := best32, best64
	defer func() { best32, best64 = single, double }()
	for _, tier := range simd.Tiers() {
		best32, best64 = orGeneric(kernels32[tier]), orGeneric(kernels64[tier])
		t.Run("tier="+tier.String(), f)
	}
}

// bothOnEveryTier runs a test for float32 and for float64 on every tier.
func bothOnEveryTier(t *testing.T, single, double func(t *testing.T)) {
	everyTier(t, func(t *testing.T) {
		t.Run("type=float32", single)
		t.Run("type=float64", double)
	})
}
