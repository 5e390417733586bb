//go:build !purego && !noasm

package scan

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// Processors with AVX-512 but without VPOPCNTDQ count with AVX2.
func TestWithoutCounting(t *testing.T) {
	assert.Equal(t, simd.VPOPCNTDQ, counts)
	defer func(old bool) { counts = old }(counts)
	counts = false
	testRows(t)
}
