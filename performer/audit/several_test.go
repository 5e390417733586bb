package audit

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// All approximations have the same sampled rows, and the same reports as in separate calls.
func TestSeveralForms(t *testing.T) {
	for name, c := range auditCases[float64]() {
		c.opts.Rows = 20
		forms := []performer.Attention[float64]{Output[float64](c.whole(c.truth)), c.form, Output[float64](c.whole(c.form))}
		all, err := Measure(t.Context(), c.truth, c.q, c.k, c.v, c.opts, densetest.Source(320), forms...)
		require.NoError(t, err, name)
		require.Len(t, all, len(forms))
		assert.Less(t, all[0].Worst, 1e-10, name)
		assert.Equal(t, all[1], all[2], name)
		if c.heads == 1 {
			alone, err := Measure(t.Context(), c.truth, c.q, c.k, c.v, c.opts, densetest.Source(320), c.form)
			require.NoError(t, err)
			assert.Equal(t, all[1], alone[0], name)
		}
	}
}

// Average is the error of outputs with equal weights, as exact attention with a scale near zero
// has.
func TestAverage(t *testing.T) {
	for name, c := range auditCases[float64]() {
		b, ok := c.truth.(performer.Batch[float64])
		if !ok {
			b = must.Have(performer.NewBatch(performer.BatchOptions{Heads: c.heads, KeyHeads: max(c.heads/2, 1)}, c.truth))
		}
		e := exactOptions(b, 0)
		e.Scale, e.Slope, e.SinkWeight = 1e-300, 0, 0
		equal := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: c.heads, KeyHeads: max(c.heads/2, 1)}, must.Have(performer.NewExact[float64](e)))).Forward(dense.Matrix[float64]{}, c.q, c.k, c.v)
		for _, rows := range []int{20, 1000} {
			c.opts.Rows = rows
			all, err := Measure[float64](t.Context(), b, c.q, c.k, c.v, c.opts, densetest.Source(321), Output[float64](equal))
			require.NoError(t, err)
			require.Greater(t, all[0].Error, 0.05, name)
			assert.InEpsilon(t, all[0].Error, all[0].Average, 1e-10, name)
			for _, head := range all[0].Heads {
				assert.InEpsilon(t, head.Error, head.Average, 1e-10, name)
			}
		}
	}
}

// canceling is exact attention that ends a context.
type canceling struct {
	performer.Exact[float64]
	cancel func()
}

func (c canceling) Forward(dst, q, k, v dense.Matrix[float64]) dense.Matrix[float64] {
	c.cancel()
	return c.Exact.Forward(dst, q, k, v)
}

// With the error of a context, Measure returns the reports that are complete.
func TestMeasureEndsWithContext(t *testing.T) {
	x := densetest.Normal[float64](rand.New(densetest.Source(324)), 2000, 2, 0, 1)
	ctx, cancel := context.WithCancel(context.Background())
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	opts := Options{Rows: 1100}
	want, err := Measure[float64](ctx, exact, x, x, x, opts, densetest.Source(325), exact)
	require.NoError(t, err)
	got, err := Measure[float64](ctx, exact, x, x, x, opts, densetest.Source(325), canceling{exact, cancel}, exact)
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualError(t, err, "audit: context canceled")
	assert.Equal(t, want, got)
	got, err = Measure[float64](ctx, exact, x, x, x, opts, densetest.Source(325), exact)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, got)
}

func TestOutput(t *testing.T) {
	x := densetest.Normal[float32](rand.New(densetest.Source(326)), 5, 3, 0, 1)
	o := Output[float32](x)
	assert.Equal(t, x, o.Forward(dense.Matrix[float32]{}, x, x, x))
	dst := dense.New[float32](5, 3)
	assert.Equal(t, dst, o.Forward(dst, x, x, x))
	assert.Equal(t, x.Data, dst.Data)
	assert.PanicsWithValue(t, "audit: the Output is 5×3, q is 4×3, want as many rows", func() { o.Forward(dst, x.RowRange(0, 4), x, x) })
	_, err := Measure[float32](t.Context(), must.Have(performer.NewExact[float32](performer.ExactOptions{})), x, x, x, Options{}, densetest.Source(327))
	assert.EqualError(t, err, "audit: no approximations, want at least 1")
}
