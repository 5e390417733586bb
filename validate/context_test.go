package validate_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// Measure and Compare make no draw after the end of the context.
func TestContext(t *testing.T) {
	x, y := pairs[float64](3, 3)
	draw := drawWaves[float64](2, 3, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var made atomic.Int64
	canceling := func(src rand.Source) (rff.Map[float64], error) {
		if made.Add(1) == 64 {
			cancel()
		}
		return draw(src)
	}
	_, err := validate.Measure(ctx, canceling, x, y, 1<<30, exprand.NewSource(1))
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualError(t, err, "validate: context canceled")
	assert.Less(t, made.Load(), int64(1000))
	before := made.Load()
	got, err := validate.Compare(ctx, []validate.Method[float64]{{"a", canceling}}, x, y, 100, exprand.NewSource(1))
	assert.EqualError(t, err, "validate: method a: context canceled")
	assert.Empty(t, got)
	assert.Equal(t, before, made.Load())
}

// ending is a map and its kernel. They count their calls, and the first call ends a context.
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

// A context ends one draw before all of its 10,000 pairs are computed.
func TestContextBetweenPairs(t *testing.T) {
	x, y := pairs[float64](10000, 3)
	inner := must.Have(drawWaves[float64](1, 3, 1)(rand.NewPCG(1, 2)))
	for _, inKernel := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		f := ending{inner, cancel, inKernel, new(atomic.Int64), new(atomic.Int64)}
		got, err := validate.Measure(ctx, func(rand.Source) (rff.Map[float64], error) { return f, nil }, x, y, 2, exprand.NewSource(1))
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
		func() { _, _ = validate.Measure(none, draw, x, y, 40, src) },
		func() {
			_, _ = validate.Compare(none, []validate.Method[float64]{{"a", draw}}, x, y, 40, src)
		},
	} {
		assert.PanicsWithValue(t, "validate: ctx is nil", call)
	}
}
