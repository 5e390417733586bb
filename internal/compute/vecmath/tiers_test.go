package vecmath

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// everyTier runs f on the tiers that this machine may use.
func everyTier(t *testing.T, name string, f func(t *testing.T)) {
	defer func(old simd.Tier) { tier = old }(tier)
	for _, tier = range simd.Tiers() {
		t.Run(name+"/tier="+tier.String(), f)
	}
}

func TestTier(t *testing.T) {
	assert.Equal(t, simd.Best, tier, "the tier that runs")
}

func testLimit[T Float](t *testing.T) {
	limit := limitOf[T]()
	everyTier(t, "", func(t *testing.T) {
		if tier == simd.Generic {
			return
		}
		y, z := make([]T, 1), make([]T, 1)
		for _, sign := range []T{-1, 1} {
			large, below := []T{sign * limit}, []T{sign * (limit - limit/(1<<23))}
			assert.Zero(t, sincos(y, z, large))
			assert.Equal(t, 1, sincos(y, z, below))
		}
	})
}

// TestLimit requires that the kernels stop at the limit that Sincos knows.
func TestLimit(t *testing.T) {
	t.Run("type=float32", testLimit[float32])
	t.Run("type=float64", testLimit[float64])
}
