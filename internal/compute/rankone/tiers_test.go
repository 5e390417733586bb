package rankone

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// everyTier runs f as a subtest with the kernels of every tier that the machine has.
func everyTier(t *testing.T, f func(t *testing.T)) {
	single, double := best32, best64
	defer func() { best32, best64 = single, double }()
	for _, tier := range simd.Tiers() {
		best32, best64 = kernels32[tier], kernels64[tier]
		t.Run("tier="+tier.String(), f)
	}
}

// The tier of the machine is the one that runs.
func TestTier(t *testing.T) {
	lanes32, _ := shape[float32]()
	lanes64, _ := shape[float64]()
	switch simd.Best {
	case simd.AVX512:
		assert.Equal(t, [2]int{16, 8}, [2]int{lanes32, lanes64})
	case simd.AVX2:
		assert.Equal(t, [2]int{8, 4}, [2]int{lanes32, lanes64})
	case simd.NEON:
		assert.Equal(t, [2]int{4, 2}, [2]int{lanes32, lanes64})
	default:
		assert.Nil(t, best32)
		assert.Nil(t, best64)
	}
}
