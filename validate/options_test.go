package validate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

func TestProgress(t *testing.T) {
	x, y := pairs[float64](3, 3)
	var seen [][2]int
	count := func(done, total int) { seen = append(seen, [2]int{done, total}) }
	draw := drawWaves[float64](2, 3, 1)
	_, err := validate.Compare(t.Context(), []validate.Method[float64]{{"a", draw}, {"b", draw}}, x, y, 40, validate.Options{Progress: count}, exprand.NewSource(1))
	require.NoError(t, err)
	assert.Equal(t, [][2]int{{32, 80}, {40, 80}, {72, 80}, {80, 80}}, seen)

	with, err := validate.Measure(t.Context(), draw, x, y, 40, validate.Options{Progress: count}, exprand.NewSource(1))
	require.NoError(t, err)
	without, err := validate.Measure(t.Context(), draw, x, y, 40, validate.Options{}, exprand.NewSource(1))
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
	stop := func(done, _ int) {
		if done >= 64 {
			cancel()
		}
	}
	_, err := validate.Measure(ctx, func(src rand.Source) (rff.Map[float64], error) { return draw(src) }, x, y, 1<<30, validate.Options{Progress: stop}, exprand.NewSource(1))
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualError(t, err, "validate: context canceled")

	_, err = validate.Measure(ctx, cancelling, x, y, 100, validate.Options{}, exprand.NewSource(1))
	assert.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, made, "no draw once the context is done")
}

// What was measured before the end is not lost.
func TestWhatIsDoneIsKept(t *testing.T) {
	x, y := pairs[float64](3, 3)
	first, second := drawWaves[float64](2, 3, 1), drawWaves[float64](4, 3, 1)
	ctx, cancel := context.WithCancel(context.Background())
	stop := func(done, _ int) {
		if done >= 150 {
			cancel()
		}
	}
	methods := []validate.Method[float64]{{"a", first}, {"b", second}, {"c", first}}
	got, err := validate.Compare(ctx, methods, x, y, 100, validate.Options{Progress: stop}, exprand.NewSource(1))
	assert.EqualError(t, err, "validate: method b: context canceled")
	require.Len(t, got.Methods, 2)
	whole, err := validate.Compare(t.Context(), methods, x, y, 100, validate.Options{}, exprand.NewSource(1))
	require.NoError(t, err)
	assert.Equal(t, whole.Methods[0], got.Methods[0])
	// b has the draws that were reported: two batches of 32.
	b := got.Methods[1]
	assert.Equal(t, 64, b.Draws)
	src := exprand.NewSource(1)
	_, err = validate.Measure(t.Context(), first, x, y, 100, validate.Options{}, src)
	require.NoError(t, err)
	alone, err := validate.Measure(t.Context(), second, x, y, 64, validate.Options{}, src)
	require.NoError(t, err)
	assert.Equal(t, alone, b.Measurement)
	assert.Contains(t, got.Table().String(), "draws\n")
	draws, err := got.Table().Numbers("draws")
	require.NoError(t, err)
	assert.Equal(t, []float64{100, 64}, draws)
	assert.NotContains(t, whole.Table().String(), "worst |z|  draws")

	// A draw that fails leaves those before it.
	failing := func(left int) validate.Draw[float64] {
		return func(src rand.Source) (rff.Map[float64], error) {
			left--
			if left < 0 {
				return nil, errors.New("no more")
			}
			return first(src)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // failing counts its calls
	for left, rows := range map[int]int{1: 0, 2: 1, 40: 1} {
		got, err := validate.Compare(t.Context(), []validate.Method[float64]{{"a", failing(left)}}, x, y, 60, validate.Options{}, exprand.NewSource(1))
		assert.EqualError(t, err, fmt.Sprintf("validate: method a: draw %d: no more", left))
		require.Len(t, got.Methods, rows, "%d draws", left)
		if rows > 0 {
			assert.Equal(t, left, got.Methods[0].Draws)
		}
	}
}

// ending is a map and its kernel that end a context when they are first used, and count.
type ending struct {
	rff.Map[float64]
	end              context.CancelFunc
	inKernel         bool
	values, features *atomic.Int64
}

func (f ending) Kernel() kernels.Kernel { return f }

func (f ending) Eval(x, y []float64) float64 {
	f.values.Add(1)
	f.end()
	return 0
}

func (f ending) Transform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	f.features.Add(1)
	if !f.inKernel {
		f.end()
	}
	return f.Map.Transform(dst, x)
}

// A context counts inside one draw too: not all of 10,000 pairs are worked on after its end.
func TestContextBetweenPairs(t *testing.T) {
	x, y := pairs[float64](10000, 3)
	inner, err := drawWaves[float64](1, 3, 1)(rand.NewPCG(1, 2))
	require.NoError(t, err)
	for _, inKernel := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		f := ending{inner, cancel, inKernel, new(atomic.Int64), new(atomic.Int64)}
		got, err := validate.Measure(ctx, func(rand.Source) (rff.Map[float64], error) { return f, nil }, x, y, 2, validate.Options{}, exprand.NewSource(1))
		assert.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, got.Pairs)
		if inKernel {
			assert.Less(t, f.values.Load(), int64(1000))
		} else {
			assert.Zero(t, f.values.Load())
			assert.Less(t, f.features.Load(), int64(100), "of 630 blocks")
		}
	}
}

func TestNilContext(t *testing.T) {
	x, y := pairs[float64](3, 3)
	draw, src := drawWaves[float64](2, 3, 1), exprand.NewSource(1)
	var none context.Context
	for _, call := range []func(){
		func() { _, _ = validate.Measure(none, draw, x, y, 40, validate.Options{}, src) },
		func() {
			_, _ = validate.Compare(none, []validate.Method[float64]{{"a", draw}}, x, y, 40, validate.Options{}, src)
		},
	} {
		assert.PanicsWithValue(t, "validate: ctx is nil", call)
	}
}
