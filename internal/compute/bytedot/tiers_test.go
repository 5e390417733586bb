package bytedot

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// everyTier runs f on the tiers that this machine may use.
func everyTier(t *testing.T, f func(t *testing.T)) {
	for name := range tiers {
		t.Run("tier="+name, f)
	}
}

// tiers yields the names of the tiers that this machine may use, which run meanwhile: AVX2 with and
// without products of bytes.
func tiers(yield func(name string) bool) {
	defer func(t simd.Tier, products bool) { tier, byteProducts = t, products }(tier, byteProducts)
	for _, tier = range simd.Tiers() {
		if tier != best(tier, simd.ByteProducts) {
			continue
		}
		if !yield(tier.String()) {
			return
		}
		if tier == simd.AVX2 && byteProducts {
			byteProducts = false
			more := yield("avx2 without products of bytes")
			if byteProducts = true; !more {
				return
			}
		}
	}
}

func TestBest(t *testing.T) {
	assert.Equal(t, best(simd.Best, simd.ByteProducts), tier, "the tier that runs")
	assert.Equal(t, simd.AVXVNNI, byteProducts)
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
