package fwht

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// TestExpectedTier fails if another tier runs than the one that the build and
// the machine call for, or the one that RANDFEAT_EXPECT names, if set.
func TestExpectedTier(t *testing.T) {
	assert.Equal(t, expectedTier(os.Getenv("RANDFEAT_DISABLE")), simd.Best)
	if want := os.Getenv("RANDFEAT_EXPECT"); want != "" {
		assert.Equal(t, want, simd.Best.String(), "RANDFEAT_EXPECT")
	}
	t.Logf("tier %v", simd.Best)
}
