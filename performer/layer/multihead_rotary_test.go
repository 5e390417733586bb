package layer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/rff"
)

// between are layers with norms and rotary positions: norms of heads and of rows, one norm alone, a
// part of the coordinates, neighbours, and lengthened coordinates.
var between = map[string]struct {
	queryNorm, keyNorm int // gains for each of so many heads of queries and keys; 0 for none
	opts               layer.Options
}{
	"rotary":     {0, 0, layer.Options{Rotary: &layer.RotaryOptions{}}},
	"head norms": {1, 1, layer.Options{Rotary: &layer.RotaryOptions{Base: 500}, Epsilon: 1e-3}},
	"row norms":  {4, 2, layer.Options{Rotary: &layer.RotaryOptions{Dim: 2, Neighbours: true}}},
	"norms":      {4, 1, layer.Options{Epsilon: 0.1}},
	"key norm":   {0, 1, layer.Options{Rotary: &layer.RotaryOptions{Base: 100, Scaling: layer.RotaryYaRN{Factor: 4, Context: 64}}}},
}

// sortedBetween are the names of between in order.
var sortedBetween = []string{"rotary", "head norms", "row norms", "norms", "key norm"}

// drawnBetween returns projections for 4 heads over 2 of dimension d, with the norms of a case.
func drawnBetween[T dense.Float](name string, w layer.Widths, seed uint64) layer.Projections[T] {
	p, rng, c := must.Have(layer.Draw[T](w, densetest.Source(seed))), rand.New(densetest.Source(seed+1)), between[name]
	for _, b := range [][]T{p.QueryBias, p.KeyBias, p.ValueBias, p.OutputBias} {
		for i := range b {
			b[i] = T(0.3 * rng.NormFloat64())
		}
	}
	gains := func(heads int) (g []T) {
		for range heads * w.HeadDim {
			g = append(g, T(1+0.4*rng.NormFloat64()))
		}
		return g
	}
	p.QueryNorm, p.KeyNorm = gains(c.queryNorm), gains(c.keyNorm)
	return p
}

// normed returns the rows of x after the norm of blocks with these gains, by the definition.
func normed(x dense.Matrix[float64], gain []float64, epsilon float64) dense.Matrix[float64] {
	y := x.Clone()
	if epsilon == 0 {
		epsilon = 1e-6
	}
	for i := range y.Rows {
		for from := 0; gain != nil && from < y.Cols; from += len(gain) {
			sum := 0.0
			for j := range gain {
				sum += x.At(i, from+j) * x.At(i, from+j)
			}
			for j, g := range gain {
				y.Set(i, from+j, x.At(i, from+j)/math.Sqrt(sum/float64(len(gain))+epsilon)*g)
			}
		}
	}
	return y
}

// naive is the layer with exact attention, by the definition, with queries and keys at the given
// positions.
func naive(p layer.Projections[float64], heads, keyHeads int, causal bool, opts layer.Options, q, k, v dense.Matrix[float64], s performer.Sequences, queriesAt, keysAt []int) dense.Matrix[float64] {
	d, dv := p.Query.Rows/heads, p.Value.Rows/keyHeads
	queries := normed(product(q, p.Query, p.QueryBias), p.QueryNorm, opts.Epsilon)
	keys := normed(product(k, p.Key, p.KeyBias), p.KeyNorm, opts.Epsilon)
	values := product(v, p.Value, p.ValueBias)
	if r := opts.Rotary; r != nil {
		dim, base := d, 10000.0
		if r.Dim != 0 {
			dim = r.Dim
		}
		if r.Base != 0 {
			base = r.Base
		}
		if r.Scaling == nil {
			queries, keys = turned(queries, queriesAt, d, dim, base, r.Neighbours), turned(keys, keysAt, d, dim, base, r.Neighbours)
		} else {
			// The angles of a scaling have a test of their own.
			rotary := must.Have(layer.NewRotary[float64](d, *r))
			rotary.Angles(layer.Angles[float64]{}, queriesAt).Turn(queries)
			rotary.Angles(layer.Angles[float64]{}, keysAt).Turn(keys)
		}
	}
	out := dense.New[float64](q.Rows, heads*dv)
	lengths := s.Keys
	if lengths == nil {
		lengths = s.Queries
	}
	firstQuery, firstKey := 0, 0
	for n := range s.Queries {
		past := 0
		if s.Past != nil {
			past = s.Past[n]
		}
		for i := range s.Queries[n] {
			for h := range heads {
				kh, sum := h/(heads/keyHeads), 0.0
				to := out.Row(firstQuery + i)[h*dv:][:dv]
				for j := range lengths[n] {
					if causal && j > i+past || s.Valid != nil && !s.Valid[firstKey+j] {
						continue
					}
					score := 0.0
					for c := range d {
						score += queries.At(firstQuery+i, h*d+c) * keys.At(firstKey+j, kh*d+c)
					}
					weight := math.Exp(score / math.Sqrt(float64(d)))
					sum += weight
					for c := range dv {
						to[c] += weight * values.At(firstKey+j, kh*dv+c)
					}
				}
				for c := range to {
					if sum > 0 {
						to[c] /= sum
					}
				}
			}
		}
		firstQuery, firstKey = firstQuery+s.Queries[n], firstKey+lengths[n]
	}
	if p.Output.Rows > 0 {
		out = product(out, p.Output, p.OutputBias)
	}
	return out
}

// Self-attention, cross-attention over sequences with a past, and positions of one's own are the
// definition. Rows that do not count hold NaN.
func TestMultiHeadRotaryIsItsDefinition(t *testing.T) {
	const heads, keyHeads, d, dv, lq, lk = 4, 2, 4, 3, 12, 17
	rng := rand.New(densetest.Source(700))
	self := performer.Sequences{Queries: []int{5, 0, 7}, Valid: make([]bool, lq)}
	selfAt := []int{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6}
	cross := performer.Sequences{Queries: []int{5, 0, 7}, Keys: []int{9, 2, 6}, Past: []int{4, 3, -1}, Valid: make([]bool, lk)}
	crossAt, keysAt := []int{4, 5, 6, 7, 8, -1, 0, 1, 2, 3, 4, 5}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 1, 2, 3, 4, 5}
	for j := range lk {
		cross.Valid[j] = j%5 != 3
		if j < lq {
			self.Valid[j] = j%5 != 3
		}
	}
	own, ownKeys := make([]int, lq), make([]int, lk)
	for i := range own {
		own[i] = rng.IntN(100) - 20
	}
	for j := range ownKeys {
		ownKeys[j] = rng.IntN(100) - 20
	}
	for _, name := range append(sortedBetween, "none") {
		for _, w := range []layer.Widths{
			{Input: 6, Heads: heads, KeyHeads: keyHeads, HeadDim: d, HeadValues: dv, Bias: true},
			{Input: 6, Heads: heads, KeyHeads: keyHeads, HeadDim: d, HeadValues: dv, NoOutput: true},
		} {
			for _, causal := range []bool{false, true} {
				opts := between[name].opts
				p := drawnBetween[float64](name, w, 701)
				l := must.Have(layer.New(p, batch(heads, keyHeads, must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}}))), opts))
				x, k, v := densetest.Normal[float64](rng, lq, 6, 0, 1), densetest.Normal[float64](rng, lk, 6, 0, 1), densetest.Normal[float64](rng, lk, 6, 0, 1)
				var none dense.Matrix[float64]
				check := func(what string, want, got dense.Matrix[float64]) {
					t.Helper()
					for i := range want.Data {
						// Sums of some twenty terms below 10, a few times 2⁻⁵³ each.
						require.InDelta(t, want.Data[i], got.At(i/want.Cols, i%want.Cols), 1e-12, "%s, causal = %v, %s, element %d", name, causal, what, i)
					}
				}
				want := naive(p, heads, keyHeads, causal, opts, x, x, x, self, selfAt, selfAt)
				check("self", want, l.Forward(none, x, self))
				want = naive(p, heads, keyHeads, causal, opts, x, k, v, cross, crossAt, keysAt)
				wantOwn := naive(p, heads, keyHeads, causal, opts, x, k, v, cross, own, ownKeys)
				for j, counts := range cross.Valid {
					if !counts {
						layout.Fill(k.Row(j), math.NaN())
						layout.Fill(v.Row(j), math.NaN())
					}
				}
				check("cross", want, l.ForwardCross(none, x, k, v, cross))
				if !w.NoOutput {
					y := x.Clone()
					check("cross, into q", want, l.ForwardCross(y, y, k, v, cross))
				}
				if opts.Rotary != nil {
					check("positions of one's own", wantOwn, l.WithPositions(own, ownKeys).ForwardCross(none, x, k, v, cross))
					check("after At", want, l.ForwardCross(none, x, k, v, cross))
					assert.NotEqual(t, want, wantOwn, "positions count")
				}
			}
		}
	}
}

// float32 keeps to float64 of the same computation where rows are long and the positions of tokens
// large.
func TestMultiHeadRotaryOfBothTypes(t *testing.T) {
	w := layer.Widths{Input: 12, Heads: 4, KeyHeads: 2, HeadDim: 4, Bias: true}
	rng := rand.New(densetest.Source(720))
	x, g := densetest.Normal[float32](rng, 100, 12, 30, 10), densetest.Normal[float32](rng, 100, 12, 0, 1)
	var none dense.Matrix[float64]
	s, at := performer.Sequences{Queries: []int{30, 70}}, make([]int, 100)
	for i := range at {
		at[i] = 100_000 + 7*i
	}
	for _, name := range []string{"head norms", "row norms"} {
		opts := between[name].opts
		single, dw := drawnBetween[float32](name, w, 721), new(layer.Projections[float32])
		double, want := drawnBetween[float64](name, w, 721), new(layer.Projections[float64])
		for i, m := range single.Parameters() {
			dense.Copy(double.Parameters()[i].Value, m.Value)
		}
		narrow, wide := must.Have(layer.New(single, exactBatch[float32](4, 2), opts)).WithPositions(at, at), must.Have(layer.New(double, exactBatch[float64](4, 2), opts)).WithPositions(at, at)
		y, dx := narrow.Forward(dense.Matrix[float32]{}, x, s), narrow.Backward(dense.Matrix[float32]{}, dw, x, g, s)
		wantY, wantX := wide.Forward(none, dense.Copy(none, x), s), wide.Backward(none, want, dense.Copy(none, x), dense.Copy(none, g), s)
		all := append(dw.Parameters(), layer.Parameter[float32]{"x", dx}, layer.Parameter[float32]{"out", y})
		for i, m := range append(want.Parameters(), layer.Parameter[float64]{"x", wantX}, layer.Parameter[float64]{"out", wantY}) {
			size := 0.0
			for _, v := range m.Value.Data {
				size = max(size, math.Abs(v))
			}
			for j, v := range m.Value.Data {
				require.InDelta(t, v, float64(all[i].Value.Data[j]), 1e-4*max(size, 1), "%s: %s, element %d", name, m.Name, j)
			}
		}
	}
}

// Token by token, or some at a time, with drafts that are taken back, a layer gives the rows of the
// causal layer: the number of tokens in the state is the position of the next, after Rollback,
// Reset and bytes too.
func TestMultiHeadRotaryStep(t *testing.T) {
	const n, width, d = 40, 12, 4
	for at, name := range append(sortedBetween, "none") {
		for kind, form := range map[string]performer.Attention[float64]{
			"exact": must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})), "linear": must.Have(performer.NewLinear[float64](must.Have(rff.Draw[float64](rff.ELU{D: d}, nil)), performer.LinearOptions{Causal: true})),
		} {
			p := drawnBetween[float64](name, layer.Widths{Input: width, Heads: 4, KeyHeads: 2, HeadDim: d, Bias: true, NoOutput: at%2 == 1}, 730)
			l := must.Have(layer.New(p, batch(4, 2, form), between[name].opts))
			x := densetest.Normal[float64](rand.New(densetest.Source(731)), n, width, 0, 1)
			want := l.Forward(dense.Matrix[float64]{}, x, performer.Sequences{})
			got := dense.New[float64](n, want.Cols)
			s := must.Have(l.NewState())
			var mark *performer.Snapshot[float64]
			first := x.RowRange(0, 1).Clone()
			if want.Cols == width {
				l.Step(first, first, must.Have(l.NewState()))
				assert.InDeltaSlice(t, want.Row(0), first.Row(0), 1e-13, "into x")
			}
			for range 2 {
				clear(got.Data)
				for from, size := 0, 1; from < n; from, size = from+size, size%3+1 {
					size = min(size, n-from)
					mark = s.Snapshot(mark)
					l.Step(dense.Matrix[float64]{}, x.RowRange(0, 3), s)
					s.Rollback(mark)
					l.Step(got.RowRange(from, from+size), x.RowRange(from, from+size), s)
				}
				assert.InDeltaSlice(t, want.Data, got.Data, 1e-13, "%s, %s", name, kind)
				require.Equal(t, n, s.Len())
				s.Reset()
			}

			l.Step(dense.Matrix[float64]{}, x.RowRange(0, 20), s)
			again := must.Have(l.NewState())
			require.NoError(t, again.UnmarshalBinary(must.Have(s.MarshalBinary())))
			assert.InDeltaSlice(t, want.RowRange(20, n).Clone().Data, l.Step(dense.Matrix[float64]{}, x.RowRange(20, n), again).Data, 1e-13, "from bytes")

			// Tokens that another state took in at their positions.
			later, at := l, make([]int, 10)
			for i := range at {
				at[i] = 20 + i
			}
			if between[name].opts.Rotary != nil {
				later = l.WithPositions(at, at)
			}
			other := must.Have(l.NewState())
			later.Step(dense.Matrix[float64]{}, x.RowRange(20, 30), other)
			require.NoError(t, s.Merge(other))
			assert.InDeltaSlice(t, want.RowRange(30, n).Clone().Data, l.Step(dense.Matrix[float64]{}, x.RowRange(30, n), s).Data, 1e-13, "after Merge")
		}
	}
}

func TestMultiHeadRotaryAllocatesNothing(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	p := drawnBetween[float32]("head norms", layer.Widths{Input: 16, Heads: 4, KeyHeads: 2, HeadDim: 4, Bias: true}, 750)
	l := must.Have(layer.New(p, batch(4, 2, must.Have(performer.NewLinear[float32](must.Have(rff.Draw[float32](rff.ELU{D: 4}, nil)), performer.LinearOptions{Causal: true}))), between["head norms"].opts))
	x := densetest.Normal[float32](rand.New(densetest.Source(751)), 100, 16, 0, 1)
	dst, dw, at := dense.New[float32](100, 16), new(layer.Projections[float32]), make([]int, 100)
	own, s := l.WithPositions(at, at), performer.Sequences{Queries: []int{30, 70}, Valid: make([]bool, 100)}
	for j := range s.Valid {
		s.Valid[j] = j%5 > 0
	}
	state := must.Have(l.NewState())
	mark := state.Snapshot(nil)
	for name, f := range map[string]func(){
		"Forward":  func() { l.Forward(dst, x, s) },
		"At":       func() { at[3]++; own.Forward(dst, x, s) },
		"Backward": func() { l.Backward(dst, dw, x, x, s) },
		"Step": func() {
			l.Step(dst.RowRange(0, 1), x.RowRange(0, 1), state)
			l.Step(dst.RowRange(0, 4), x.RowRange(0, 4), state)
			state.Rollback(mark)
		},
	} {
		for _, processors := range []int{1, 2} {
			assert.Zero(t, allocs.Settled(processors, f), "%s, %d processors", name, processors)
		}
	}
}

func TestMultiHeadRotaryErrors(t *testing.T) {
	good := must.Have(layer.Draw[float32](layer.Widths{Input: 8, Heads: 4, KeyHeads: 2}, densetest.Source(1)))
	exact, ones := exactBatch[float32](4, 2), make([]float32, 8)
	for want, change := range map[string]func(p *layer.Projections[float32], opts *layer.Options){
		"layer: QueryNorm has length 3, want 2, the dimension of a head, or 8, the rows of Query": func(p *layer.Projections[float32], _ *layer.Options) { p.QueryNorm = ones[:3] },
		"layer: QueryNorm has length 0, want 2, the dimension of a head, or 8, the rows of Query": func(p *layer.Projections[float32], _ *layer.Options) { p.QueryNorm = ones[:0] },
		"layer: KeyNorm has length 8, want 2, the dimension of a head, or 4, the rows of Key":     func(p *layer.Projections[float32], _ *layer.Options) { p.KeyNorm = ones },
		"layer: Options.Epsilon = -1, want a finite number above 0":                               func(_ *layer.Projections[float32], opts *layer.Options) { opts.Epsilon = -1 },
		"layer: Options.Epsilon = NaN, want a finite number above 0":                              func(_ *layer.Projections[float32], opts *layer.Options) { opts.Epsilon = math.NaN() },
		"layer: Options.Epsilon = +Inf, want a finite number above 0":                             func(_ *layer.Projections[float32], opts *layer.Options) { opts.Epsilon = math.Inf(1) },
		"layer: rotary positions turn 4 of 2 coordinates, want an even number of at most 2": func(_ *layer.Projections[float32], opts *layer.Options) {
			opts.Rotary = &layer.RotaryOptions{Dim: 4}
		},
	} {
		p, opts := good, layer.Options{}
		change(&p, &opts)
		l, err := layer.New(p, exact, opts)
		assert.EqualError(t, err, want)
		assert.Nil(t, l)
	}

	plain := must.Have(layer.New(good, exact, layer.Options{}))
	assert.PanicsWithValue(t, "layer: positions for a MultiHead without rotary positions, want one with Options.Rotary", func() { plain.WithPositions(nil, nil) })
	l := must.Have(layer.New(good, exact, layer.Options{Rotary: &layer.RotaryOptions{}}))
	mat := dense.New[float32]
	var none dense.Matrix[float32]
	for want, f := range map[string]func(){
		"layer: WithPositions has 3 positions of queries, want 1 for each of 5 rows": func() { l.WithPositions(make([]int, 3), nil).Forward(none, mat(5, 8), performer.Sequences{}) },
		"layer: WithPositions has 6 positions of keys, want 1 for each of 5 rows":    func() { l.WithPositions(nil, make([]int, 6)).Forward(none, mat(5, 8), performer.Sequences{}) },
		"layer: WithPositions has 1 positions of queries, want 1 for each of 2 rows": func() { l.WithPositions(make([]int, 1), nil).Step(none, mat(2, 8), must.Have(l.NewState())) },
		"performer: Sequences.Queries is [2 2], want a sum of 5":                     func() { l.Forward(none, mat(5, 8), performer.Sequences{Queries: []int{2, 2}}) },
		"performer: the state belongs to no attention, want one of NewState":         func() { l.Step(none, mat(1, 8), nil) },
	} {
		assert.PanicsWithValue(t, want, f)
	}
	p := good
	p.QueryNorm = ones
	dw := &layer.Projections[float32]{QueryNorm: make([]float32, 3), KeyNorm: make([]float32, 3)}
	l = must.Have(layer.New(p, exact, layer.Options{}))
	assert.PanicsWithValue(t, "layer: QueryNorm has length 3, want 8", func() { l.Backward(none, dw, mat(5, 8), mat(5, 8), performer.Sequences{}) })
	dw.QueryNorm = nil
	l.Backward(none, dw, mat(5, 8), mat(5, 8), performer.Sequences{})
	assert.Len(t, dw.QueryNorm, 8)
	assert.Nil(t, dw.KeyNorm, "what the layer does not have is taken out of the gradients")
}
