package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Slope: -0.01, Window: 40, Unnormalised: true})),
		)
	}
	return all
}

// placedScores returns q·kᵀ/√d in float64.
func placedScores[T dense.Float](q, k dense.Matrix[T]) dense.Matrix[float64] {
	scores := dense.New[float64](q.Rows, k.Rows)
	for i := range q.Rows {
		for j := range k.Rows {
			s := 0.0
			for l, x := range q.Row(i) {
				s += float64(x) * float64(k.Row(j)[l])
			}
			scores.Row(i)[j] = s / math.Sqrt(float64(q.Cols))
		}
	}
	return scores
}

// placedTerm returns the weight of a score before it is normalised, and 0 for a pair that is not
// seen: key j has place j − first.
func placedTerm(e performer.ExactOptions, score float64, i, j, first int, valid []bool) float64 {
	far := i - j
	if valid != nil && !valid[j] || e.Causal && far < 0 || e.Window > 0 && j-first >= e.Sinks && max(far, -far) > e.Window {
		return 0
	}
	if e.Chunk > 0 && floorDiv(i-first, e.Chunk) != floorDiv(j-first, e.Chunk) {
		return 0
	}
	if e.Softcap != 0 {
		score = e.Softcap * math.Tanh(score/e.Softcap)
	}
	return math.Exp(score - e.Slope*math.Abs(float64(far)))
}

// floorDiv returns ⌊i/n⌋.
func floorDiv(i, n int) int { return int(math.Floor(float64(i) / float64(n))) }

// placedWeights returns the weights by a loop over all pairs in float64.
func placedWeights[T dense.Float](e performer.Exact[T], scores dense.Matrix[float64], valid []bool) dense.Matrix[float64] {
	w := dense.New[float64](scores.Rows, scores.Cols)
	first := 0
	for valid != nil && first < len(valid)-1 && !valid[first] {
		first++
	}
	for i := range w.Rows {
		row, sum := w.Row(i), 0.0
		for j, s := range scores.Row(i) {
			row[j] = placedTerm(e.Options(), s, i, j, first, valid)
			sum += row[j]
		}
		if sum > 0 {
			sum += e.Options().SinkWeight
		}
		for j := range row {
			if !e.Options().Unnormalised && sum > 0 {
				row[j] /= sum
			}
		}
	}
	return w
}

func averaged[T dense.Float](w dense.Matrix[float64], v dense.Matrix[T]) dense.Matrix[T] {
	out, sums := dense.New[T](w.Rows, v.Cols), make([]float64, v.Cols)
	for i := range w.Rows {
		clear(sums)
		for j, x := range w.Row(i) {
			if x == 0 {
				continue
			}
			for c, y := range v.Row(j) {
				sums[c] += x * float64(y)
			}
		}
		for c, s := range sums {
			out.Row(i)[c] = T(s)
		}
	}
	return out
}

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

// Windows, sinks and slopes are what a loop over all pairs says, for rows, weights, batches with
// padding and a past, whatever keys that nobody sees hold.
func TestPlaces(t *testing.T) { densetest.Both(t, testPlaces[float32], testPlaces[float64]) }

func testPlaces[T dense.Float](t *testing.T) {
	const n, d, dv = 450, 6, 5
	var none dense.Matrix[T]
	rng := rand.New(rand.NewPCG(1, 2))
	q, k, v := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, dv, 0, 1)
	scores := placedScores(q, k)
	for _, e := range placedForms[T]() {
		name := fmt.Sprintf("%+v", e)
		weights := placedWeights(e, scores, nil)
		size := 1.0
		if e.Options().Unnormalised {
			size = 100
		}
		requirePlaced(t, averaged(weights, v), e.Forward(none, q, k, v), size*tolerance[T](), "%s", name)
		densetest.RequireClose(t, weights, densetest.Filled(n, n, size*tolerance[T]()), weightsOf(e, q, k), "%s", name)

		b, err := performer.NewBatch[T](performer.BatchOptions{Heads: 1}, e)
		require.NoError(t, err)
		valid := make([]bool, n)
		for j := range valid {
			valid[j] = j > 30 && j != 100 && j < n-50
		}
		dirty, dirtyValues := k.Clone(), v.Clone()
		for j, ok := range valid {
			if !ok {
				dirty.Row(j)[0], dirtyValues.Row(j)[0] = T(math.NaN()), T(math.Inf(1))
			}
		}
		padded := b.ForwardSequences(none, q, dirty, dirtyValues, performer.Sequences{Valid: valid})
		requirePlaced(t, averaged(placedWeights(e, scores, valid), v), padded, size*tolerance[T](), "%s, padding", name)
		late := q.RowRange(400, 430)
		s := performer.Sequences{Past: []int{400}}
		if e.Options().Causal {
			requirePlaced(t, e.Forward(none, q, k, v).RowRange(400, 430), b.ForwardSequences(none, late, k, v, s), size*tolerance[T](), "%s, past", name)
		}
	}
}

// placedLoss is Σ dout∘out by a loop over all pairs, for the values of the inputs at a time.
type placedLoss struct {
	e             performer.Exact[float64]
	q, k, v, dout dense.Matrix[float64]
	terms, values dense.Matrix[float64] // of each pair: the weight before division, and dout·v
	above, below  []float64             // of each query: Σ terms∘values and what divides it
}

func newPlacedLoss(e performer.Exact[float64], q, k, v, dout dense.Matrix[float64]) *placedLoss {
	p := &placedLoss{e: e, q: q, k: k, v: v, dout: dout, above: make([]float64, q.Rows), below: make([]float64, q.Rows)}
	p.terms, p.values = dense.New[float64](q.Rows, k.Rows), dense.New[float64](q.Rows, k.Rows)
	for i := range q.Rows {
		p.below[i] = e.Options().SinkWeight
		for j := range k.Rows {
			p.terms.Row(i)[j], p.values.Row(i)[j] = p.pair(i, j)
			p.above[i] += p.terms.Row(i)[j] * p.values.Row(i)[j]
			p.below[i] += p.terms.Row(i)[j]
		}
	}
	return p
}

// pair returns the weight of a pair before it is normalised, and what it multiplies in the loss.
func (p *placedLoss) pair(i, j int) (term, value float64) {
	score := 0.0
	for l, x := range p.q.Row(i) {
		score += x * p.k.Row(j)[l]
	}
	for l, x := range p.dout.Row(i) {
		value += x * p.v.Row(j)[l]
	}
	return placedTerm(p.e.Options(), score/math.Sqrt(float64(p.q.Cols)), i, j, 0, nil), value
}

// after returns the loss after row number at of an input has changed.
func (p *placedLoss) after(input string, at int) float64 {
	above, below := slices.Clone(p.above), slices.Clone(p.below)
	change := func(i, j int) {
		term, value := p.pair(i, j)
		above[i] += term*value - p.terms.Row(i)[j]*p.values.Row(i)[j]
		below[i] += term - p.terms.Row(i)[j]
	}
	if input == "q" {
		for j := range p.k.Rows {
			change(at, j)
		}
	} else {
		for i := range p.q.Rows {
			change(i, at)
		}
	}
	sum := 0.0
	for i, x := range above {
		if p.e.Options().Unnormalised {
			sum += x
		} else {
			sum += x / below[i]
		}
	}
	return sum
}

// Gradients of windows, sinks and slopes are those of the sum over all pairs.
func TestPlacesBackward(t *testing.T) {
	const n, d, dv = 300, 4, 3
	var none dense.Matrix[float64]
	rng := rand.New(rand.NewPCG(3, 4))
	q, k, v := densetest.Normal[float64](rng, n, d, 0, 1), densetest.Normal[float64](rng, n, d, 0, 1), densetest.Normal[float64](rng, n, dv, 0, 1)
	dout := densetest.Normal[float64](rng, n, dv, 0, 1)
	for _, e := range placedForms[float64]() {
		p := newPlacedLoss(e, q, k, v, dout)
		dq, dk, dv := e.Backward(none, none, none, q, k, v, dout)
		for name, x := range map[string][2]dense.Matrix[float64]{"q": {q, dq}, "k": {k, dk}, "v": {v, dv}} {
			for _, i := range []int{0, 57, 4 * 150, len(x[0].Data) - 1} {
				const h = 1e-5
				old := x[0].Data[i]
				x[0].Data[i] = old + h
				high := p.after(name, i/x[0].Cols)
				x[0].Data[i] = old - h
				slope := (high - p.after(name, i/x[0].Cols)) / (2 * h)
				x[0].Data[i] = old
				require.InDelta(t, slope, x[1].Data[i], 1e-5*(1+math.Abs(slope)), "%+v, d%s %d", e, name, i)
			}
		}

		// Padding and rows without a gradient change no other gradient.
		b, err := performer.NewBatch[float64](performer.BatchOptions{Heads: 1}, e)
		require.NoError(t, err)
		long := func(x dense.Matrix[float64], fill float64) dense.Matrix[float64] {
			y := dense.New[float64](n+20, x.Cols)
			for i := range y.Data {
				y.Data[i] = fill
			}
			dense.Copy(y.RowRange(0, n), x)
			return y
		}
		valid := make([]bool, n+20)
		for j := range n {
			valid[j] = true
		}
		pq, pk, pv := b.BackwardSequences(none, none, none, long(q, math.NaN()), long(k, math.NaN()), long(v, 7), long(dout, 0), performer.Sequences{Valid: valid})
		for _, x := range [][2]dense.Matrix[float64]{{dq, pq}, {dk, pk}, {dv, pv}} {
			requirePlaced(t, x[0], x[1].RowRange(0, n), 1e-12*100, "%+v", e)
			for _, z := range x[1].RowRange(n, n+20).Clone().Data {
				require.Zero(t, z)
			}
		}
	}
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
		size := 1.0
		if e.Options().Unnormalised {
			size = 100
		}
		step := func(s *performer.State[T], from, to int) {
			t.Helper()
			got := s.Step(none, q.RowRange(from, to), k.RowRange(from, to), v.RowRange(from, to))
			requirePlaced(t, want.RowRange(from, to), got, size*tolerance[T](), "%s, tokens %d to %d", name, from, to)
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
		requirePlaced(t, want.RowRange(n-1, n), s.Attend(none, q.RowRange(n-1, n)), size*tolerance[T](), "%s", name)
		two := s.Attend(none, dense.Of(2, 2*d, append(append([]T{}, q.Row(n-1)...), q.Row(n-1)...)))
		requirePlaced(t, want.RowRange(n-1, n), two.RowRange(0, 1), size*tolerance[T](), "%s", name)
		requirePlaced(t, want.RowRange(n-1, n), two.RowRange(1, 2), size*tolerance[T](), "%s", name)
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
		"performer: Window = -1, want 0 to ":             {Window: -1},
		"performer: Sinks = -2, want 0 to ":              {Sinks: -2},
		"performer: Slope = NaN, want a finite float64":  {Slope: math.NaN()},
		"performer: Slope = +Inf, want a finite float64": {Slope: math.Inf(1)},
		"performer: Scale = NaN, want a finite float64":  {Softmax: performer.Softmax{Scale: math.NaN()}},
		"performer: Scale = -Inf, want a finite float64": {Softmax: performer.Softmax{Scale: math.Inf(-1)}},
		"performer: Softcap = NaN, want at least 0":      {Softcap: math.NaN()},
		"performer: Softcap = -1, want at least 0":       {Softcap: -1},
		"performer: SinkWeight = -1, want a finite":      {SinkWeight: -1},
		"performer: SinkWeight = NaN, want a finite":     {SinkWeight: math.NaN()},
		"performer: SinkWeight = +Inf, want a finite":    {SinkWeight: math.Inf(1)},
		"SinkWeight = 2 with Unnormalised, want 0":       {SinkWeight: 2, Unnormalised: true},
		fmt.Sprintf("Window = %d, want", math.MaxInt):    {Window: math.MaxInt},
		"performer: Chunk = -1, want 0 to ":              {Chunk: -1},
		"Chunk = 4 with Window = 3 and Sinks = 0, want":  {Chunk: 4, Window: 3},
		"Chunk = 4 with Window = 0 and Sinks = 1, want":  {Chunk: 4, Sinks: 1},
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
