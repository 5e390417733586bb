package ridge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
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

// Choose and Classify end with the error of their context at whatever look it has ended.
func TestEndOfContext(t *testing.T) {
	const looks = 1 << 30
	x, y := friedman[float64](400, 5, 1)
	maps := []rff.Map[float64]{gaussian[float64](t, 40, 5, 1, 1), gaussian[float64](t, 40, 5, 2, 1)}
	classes := dense.New[float64](x.Rows, 1)
	for i := range classes.Data {
		classes.Data[i] = float64(i % 3)
	}
	for name, run := range map[string]func(ctx context.Context) error{
		"Choose": func(ctx context.Context) error {
			_, err := ridge.Choose(ctx, maps, ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
			return err
		},
		"Classify": func(ctx context.Context) error {
			_, err := ridge.Classify(ctx, maps, ridge.Block[float64]{X: x, Y: classes}, ridge.ClassifyOptions{Classes: 3})
			return err
		},
	} {
		all := &countdown{context.Background(), looks}
		require.NoError(t, run(all))
		total := looks - all.left
		assert.Greater(t, total, 60, "%s: at least twice for each of 25 values of λ", name)
		for at := 0; at < total; at += 1 + total/25 {
			assert.ErrorIs(t, run(&countdown{context.Background(), at}), context.Canceled, "%s at look %d of %d", name, at, total)
		}
	}
}

// The end of a context is no fault of a block.
func TestEndOfContextNamesNoBlock(t *testing.T) {
	b := sloping(0.3)
	_, err := ridge.Sum(&countdown{t.Context(), 50}, gaussian[float32](t, 8, 3, 0.3, 1), b)
	assert.Equal(t, context.Canceled, err, "in the second of eight blocks")
}
