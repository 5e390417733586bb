package ridge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/ridge"
)

// countdown is a context that ends at a given look at it.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// The end of a context is no fault of a block.
func TestEndOfContextNamesNoBlock(t *testing.T) {
	b := sloping(0.3)
	_, err := ridge.Sum(&countdown{t.Context(), 50}, gaussian[float32](t, 8, 3, 0.3, 1), b)
	assert.Equal(t, context.Canceled, err, "in the second of eight blocks")
}
