//go:build (!amd64 && !arm64) || purego || noasm

package fwht

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNoKernels(t *testing.T) {
	assert.Nil(t, best[float32]())
	assert.Nil(t, best[float64]())
}
