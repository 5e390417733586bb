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
