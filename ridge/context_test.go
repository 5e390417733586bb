package ridge_test

import (
	"context"
	"math"
	"math/rand/v2"
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

// Choose and Classify look at their context in every part of their work, and end with its error
// at whatever look it has ended.
func TestEndOfContext(t *testing.T) {
	const looks = 1 << 30
	x, y := friedman[float64](400, 5, 1)
	maps := []rff.Map[float64]{gaussian[float64](t, 40, 5, 1, 1), gaussian[float64](t, 40, 5, 2, 1)}
	rows := ridge.Block[float64]{X: x, Y: y}
	classes := dense.New[float64](x.Rows, 1)
	for i := range classes.Data {
		classes.Data[i] = float64(i % 3)
	}
	runs := map[string]func(ctx context.Context) error{
		"Classify": func(ctx context.Context) error {
			_, err := ridge.Classify(ctx, maps, ridge.Block[float64]{X: x, Y: classes}, ridge.ClassifyOptions{Classes: 3})
			return err
		},
	}
	runs["Choose"] = func(ctx context.Context) error {
		_, err := ridge.Choose(ctx, maps, rows, ridge.Options{})
		return err
	}
	files := ridge.NPY[float64]{
		X: put(t, "x.npy", array("<f8", "400, 5", x.Data)), Y: put(t, "y.npy", array("<f8", "400, 1", y.Data)),
	}
	runs["Choose from files"] = func(ctx context.Context) error {
		_, err := ridge.Choose(ctx, maps, files, ridge.Options{})
		return err
	}
	for name, run := range runs {
		var none context.Context
		assert.PanicsWithValue(t, "ridge: ctx is nil", func() { _ = run(none) }, name)
		all := &countdown{context.Background(), looks}
		require.NoError(t, run(all))
		total := looks - all.left
		least := 60 // of a fit: at least twice for each of 25 values of λ
		assert.Greater(t, total, least, name)
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

// Sizes that no memory holds are errors, or panics where a function returns none.
func TestHugeNumbers(t *testing.T) {
	x, y := friedman[float64](20, 5, 1)
	phi := gaussian[float64](t, 10, 5, 1, 1)
	rows := ridge.Block[float64]{X: x, Y: y}
	ctx := context.Background()
	m, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
	require.NoError(t, err)
	for _, huge := range []int{int(min(int64(1)<<40, math.MaxInt)), math.MaxInt >> 1, math.MaxInt} {
		_, err := ridge.NewSums(phi, huge)
		assert.ErrorContains(t, err, "ridge: sums of 20 features and ")
		_, err = ridge.Classify(ctx, []rff.Map[float64]{phi}, rows, ridge.ClassifyOptions{Classes: huge})
		assert.ErrorContains(t, err, "ridge: 20 features of ")
		_, err = m.Sample(huge, 0, rand.NewPCG(1, 2))
		assert.ErrorContains(t, err, "functions of 20 features")
		_, err = m.Pathwise(x, y, nil, huge, 0, rand.NewPCG(1, 2))
		assert.ErrorContains(t, err, "ridge: n = ")
	}
}
