package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// placedForms are forms whose weights depend on places.
func placedForms[T dense.Float]() []performer.Exact[T] {
	var all []performer.Exact[T]
	for _, causal := range []bool{false, true} {
		all = append(all,
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Window: 1})),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Window: 70})),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Window: 300, Sinks: 5, SinkWeight: 90})),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Window: 20, Sinks: 320})),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Slope: 0.05, SinkWeight: 7})),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Chunk: 90})),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Chunk: 256, Slope: 0.01, SinkWeight: 2})),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Slope: 0.2, Window: 40, Sinks: 3, Softcap: 4})),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Slope: -0.01, Window: 40})),
		)
	}
	return all
}

// floorDiv returns ⌊i/n⌋.
func floorDiv(i, n int) int { return int(math.Floor(float64(i) / float64(n))) }

// requirePlaced fails unless the elements of got differ from those of want by at most tol, relative
// to those that are large.
func requirePlaced[T dense.Float](t *testing.T, want, got dense.Matrix[T], tol float64, format string, args ...any) {
	t.Helper()
	bounds, exact := dense.New[float64](want.Rows, want.Cols), dense.Copy(dense.Matrix[float64]{}, want)
	for i := range want.Rows {
		for j, x := range exact.Row(i) {
			bounds.Set(i, j, tol*(1+math.Abs(x)))
		}
	}
	densetest.RequireClose(t, exact, bounds, got, format, args...)
}

func tolerance[T dense.Float]() float64 {
	if _, single := any(T(0)).(float32); single {
		return 3e-5
	}
	return 1e-12
}

// A state with a window keeps a bounded number of tokens and has the rows of Forward; a few tokens
// can be taken back, and bytes bring the rest of the stream.
func TestPlacesState(t *testing.T) {
	densetest.Both(t, testPlacesState[float32], testPlacesState[float64])
}

func testPlacesState[T dense.Float](t *testing.T) {
	const most, d, dv = 3000, 6, 4
	var none dense.Matrix[T]
	rng := rand.New(rand.NewPCG(5, 6))
	q, k, v := densetest.Normal[T](rng, most, 2*d, 0, 1), densetest.Normal[T](rng, most, d, 0, 1), densetest.Normal[T](rng, most, dv, 0, 1)
	for _, e := range placedForms[T]() {
		if !e.Options().Causal {
			continue
		}
		n := most
		if e.Options().Window == 0 && e.Options().Chunk == 0 {
			n = 1900 // no token is dropped
		}
		q, k, v := q.RowRange(0, n), k.RowRange(0, n), v.RowRange(0, n)
		name := fmt.Sprintf("%+v", e)
		b, err := performer.NewBatch[T](performer.BatchOptions{Heads: 2, KeyHeads: 1}, e)
		require.NoError(t, err)
		want := b.Forward(none, q, k, v)
		s, err := b.NewState(d, dv)
		require.NoError(t, err)
		step := func(s *performer.State[T], from, to int) {
			t.Helper()
			got := s.Step(none, q.RowRange(from, to), k.RowRange(from, to), v.RowRange(from, to))
			requirePlaced(t, want.RowRange(from, to), got, tolerance[T](), "%s, tokens %d to %d", name, from, to)
		}
		step(s, 0, 1)
		step(s, 1, 700)
		at := 700
		for ; at < 1500; at++ {
			step(s, at, at+1)
		}
		mark := s.Snapshot(nil)
		step(s, at, at+40)
		step(s, at+40, at+41)
		s.Rollback(mark)
		assert.Equal(t, at, s.Len(), name)
		step(s, at, at+1)
		c := s.Clone()
		step(c, at+1, at+300)
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		again, err := b.NewState(d, dv)
		require.NoError(t, err)
		require.NoError(t, again.UnmarshalBinary(data), name)
		step(again, at+1, n)
		step(s, at+1, n)
		requirePlaced(t, want.RowRange(n-1, n), s.Attend(none, q.RowRange(n-1, n)), tolerance[T](), "%s", name)
		two := s.Attend(none, dense.Of(2, 2*d, append(append([]T{}, q.Row(n-1)...), q.Row(n-1)...)))
		requirePlaced(t, want.RowRange(n-1, n), two.RowRange(0, 1), tolerance[T](), "%s", name)
		requirePlaced(t, want.RowRange(n-1, n), two.RowRange(1, 2), tolerance[T](), "%s", name)
		if reach := e.Options().Window + e.Options().Chunk; reach > 0 && reach < 100 && (e.Options().Slope == 0 || e.Options().Sinks == 0) {
			data, err := s.MarshalBinary()
			require.NoError(t, err)
			assert.Less(t, len(data), 1500*(d+dv)*8, name)
			assert.Panics(t, func() { s.Rollback(mark) }, "%s: its tokens are gone", name)
		}
		assert.ErrorContains(t, s.Merge(c), "do not merge", name)
		s.Reset()
		step(s, 0, 900)

		other := with(e, func(o *performer.ExactOptions) {
			switch {
			case o.Chunk > 0:
				o.Chunk++
			case o.Window > 0:
				o.Sinks++
			default: // without a Window, Sinks change nothing
				o.Slope++
			}
		})
		wrong, err := other.NewState(d, dv)
		require.NoError(t, err)
		one, err := e.NewState(d, dv)
		require.NoError(t, err)
		data, err = one.MarshalBinary()
		require.NoError(t, err)
		assert.Error(t, wrong.UnmarshalBinary(data), name)
	}
}

// NewExact names an option that is out of range.
func TestExactErrors(t *testing.T) {
	for want, e := range map[string]performer.ExactOptions{
		"performer: Window = -1, want 0 to ":               {Window: -1},
		"performer: Sinks = -2, want 0 to ":                {Sinks: -2},
		"performer: Slope = NaN, want a finite float64":    {Slope: math.NaN()},
		"performer: Slope = +Inf, want a finite float64":   {Slope: math.Inf(1)},
		"performer: Scale = NaN, want a finite float64":    {Softmax: performer.Softmax{Scale: math.NaN()}},
		"performer: Scale = -Inf, want a finite float64":   {Softmax: performer.Softmax{Scale: math.Inf(-1)}},
		"performer: Softcap = NaN, want at least 0":        {Softcap: math.NaN()},
		"performer: Softcap = -1, want at least 0":         {Softcap: -1},
		"performer: SinkWeight = -1, want a finite":        {SinkWeight: -1},
		"performer: SinkWeight = NaN, want a finite":       {SinkWeight: math.NaN()},
		"performer: SinkWeight = +Inf, want a finite":      {SinkWeight: math.Inf(1)},
		fmt.Sprintf("Window = %d, want", math.MaxInt):      {Window: math.MaxInt},
		"performer: Chunk = -1, want 0 to ":                {Chunk: -1},
		"Chunk = 4 with Window = 3 and Sinks = 0, want":    {Chunk: 4, Window: 3},
		"Chunk = 4 with Window = 0 and Sinks = 1, want":    {Chunk: 4, Sinks: 1},
		"performer: KeyBits = 7, want 0, 3, 4, 8 or 16":    {Bits: 8, KeyBits: 7},
		"performer: ValueBits = -4, want 0, 3, 4, 8 or 16": {Bits: 8, ValueBits: -4},
		"KeyBits = 4 and ValueBits = 0 without Bits":       {KeyBits: 4},
		"KeyBits = 0 and ValueBits = 4 without Bits":       {ValueBits: 4},
		"performer: TopK = -1, want 0 to 1073741824":       {TopK: -1},
		"performer: TopK = 1073741825, want 0 to":          {TopK: 1<<30 + 1},
		"performer: Tolerance = -1 with TopK = 9, want":    {TopK: 9, Tolerance: -1},
		"performer: Tolerance = NaN with TopK = 9, want":   {TopK: 9, Tolerance: math.NaN()},
		"performer: Tolerance = 0.1 with TopK = 0, want":   {Tolerance: 0.1},
	} {
		_, err := performer.NewExact[float64](e)
		assert.ErrorContains(t, err, want)
	}
	for want, e := range map[string]performer.ExactOptions{
		"performer: Slope = 1e+308, want a finite float32":  {Slope: 1e308},
		"performer: Scale = -1e+308, want a finite float32": {Softmax: performer.Softmax{Scale: -1e308}},
	} {
		_, err := performer.NewExact[float32](e)
		assert.EqualError(t, err, want)
	}
}

// The published slopes of 8 and of 12 heads.
func TestALiBiSlopes(t *testing.T) {
	assert.InDeltaSlice(t, []float64{1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256}, performer.ALiBiSlopes(8), 1e-15)
	assert.InDeltaSlice(t, []float64{
		0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625,
		0.7071067811865476, 0.35355339059327384, 0.17677669529663692, 0.08838834764831849,
	}, performer.ALiBiSlopes(12), 1e-15)
	assert.Empty(t, performer.ALiBiSlopes(0))
	assert.Panics(t, func() { performer.ALiBiSlopes(-1) })
}
