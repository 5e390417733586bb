package scan

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// everyTier runs f on the tiers that this machine may use.
func everyTier(t *testing.T, f func(t *testing.T)) {
	defer func(old simd.Tier) { tier = old }(tier)
	for _, tier = range simd.Tiers() {
		t.Run("tier="+tier.String(), f)
	}
}

func TestTier(t *testing.T) {
	assert.Equal(t, simd.Best, tier, "the tier that runs")
}

// everyProductTier is everyTier, and the tiers with products of bytes also without them.
func everyProductTier(t *testing.T, f func(t *testing.T)) {
	everyTier(t, f)
	assert.Equal(t, simd.ByteProducts, byteProducts)
	if byteProducts {
		defer func() { byteProducts = true }()
		byteProducts = false
		t.Run("tier="+tier.String()+"/without products of bytes", f)
	}
}
