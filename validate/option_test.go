package validate

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/rff"
)

func TestProgress(t *testing.T) {
	x, y := pairs[float64](3, 3)
	var seen [][2]int
	count := OnProgress(func(done, total int) { seen = append(seen, [2]int{done, total}) })
	draw := drawWaves[float64](2, 3, 1)
	_, err := Compare(x, y, 40, exprand.NewSource(1), []Method[float64]{{"a", draw}, {"b", draw}}, count)
	require.NoError(t, err)
	assert.Equal(t, [][2]int{{32, 80}, {40, 80}, {72, 80}, {80, 80}}, seen)

	with, err := Bias(draw, x, y, 40, exprand.NewSource(1), count, WithContext(context.Background()), Option{})
	require.NoError(t, err)
	without, err := Bias(draw, x, y, 40, exprand.NewSource(1))
	require.NoError(t, err)
	assert.Equal(t, without, with, "options change nothing of the result")
}

func TestContext(t *testing.T) {
	x, y := pairs[float64](3, 3)
	draw := drawWaves[float64](2, 3, 1)
	ctx, cancel := context.WithCancel(context.Background())
	made := 0
	cancelling := func(src rand.Source) (rff.Map[float64], error) {
		made++
		return draw(src)
	}
	stop := OnProgress(func(done, _ int) {
		if done >= 64 {
			cancel()
		}
	})
	_, err := Variance(func(src rand.Source) (rff.Map[float64], error) { return draw(src) }, x, y, 1<<30, exprand.NewSource(1), stop, WithContext(ctx))
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualError(t, err, "validate: context canceled")

	_, err = Bias(cancelling, x, y, 100, exprand.NewSource(1), WithContext(ctx))
	assert.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, made, "no draw once the context is done")
}
