package bytedot

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// everyTier runs f on the tiers that this machine may use.
func everyTier(t *testing.T, f func(t *testing.T)) {
	defer func(old simd.Tier) { tier = old }(tier)
	for _, tier = range simd.Tiers() {
		if tier == best(tier, simd.ByteProducts) {
			t.Run("tier="+tier.String(), f)
		}
	}
}

func TestBest(t *testing.T) {
	assert.Equal(t, best(simd.Best, simd.ByteProducts), tier, "the tier that runs")
	for _, c := range []struct {
		machine simd.Tier
		bytes   bool
		want    simd.Tier
	}{
		{simd.Generic, false, simd.Generic}, {simd.AVX2, false, simd.AVX2},
		{simd.AVX512, false, simd.AVX2}, {simd.AVX512, true, simd.AVX512},
		{simd.NEON, false, simd.Generic}, {simd.NEON, true, simd.NEON},
	} {
		assert.Equal(t, c.want, best(c.machine, c.bytes), "%v, %v", c.machine, c.bytes)
	}
}
