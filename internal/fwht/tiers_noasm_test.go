//go:build !amd64 || purego || noasm

package fwht

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/simd"
)

func expectedTier(string) simd.Tier { return simd.Generic }

func TestNoKernels(t *testing.T) {
	assert.Nil(t, best[float32]())
	assert.Nil(t, best[float64]())
}
