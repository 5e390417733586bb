package performer_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
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
	"github.com/seed-feabd252/randfeat/rff"
)

// batchForm is a batch over some sequences as a form.
type batchForm[T dense.Float] struct {
	performer.Batch[T]
	s performer.Sequences
}

func (f batchForm[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	return f.Batch.ForwardSequences(dst, q, k, v, f.s)
}

func (f batchForm[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return f.Batch.BackwardSequences(dq, dk, dv, q, k, v, dout, f.s)
}

// batchForms are the forms that batches know, elu+1 among them.
func batchForms[T dense.Float](d int) []performer.Attention[T] {
	all := everyForm[T](d)
	for _, causal := range []bool{false, true} {
		all = append(all, attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), performer.LinearOptions{Causal: causal}))
	}
	return all
}

// Every combination of forms, grouped heads, lengths, masks and pasts. Keys that do not
// count are NaN, and some outputs have no gradient.
func TestBatchBackwardIsTheDerivative(t *testing.T) {
	const d, dv = 3, 2
	rng := rand.New(densetest.Source(240))
	for at, c := range []struct {
		heads, keyHeads, queries, keys int
		s                              performer.Sequences
	}{
		{2, 2, 70, 70, performer.Sequences{}},
		{3, 1, 71, 71, performer.Sequences{Queries: []int{70, 0, 1}}},
		{4, 2, 16, 12, performer.Sequences{Queries: []int{3, 4, 0, 9}, Keys: []int{3, 0, 5, 4}}},
		{2, 1, 87, 298, performer.Sequences{Queries: []int{3, 5, 4, 70, 3, 2}, Keys: []int{7, 70, 0, 80, 1, 140}, Past: []int{4, 20, 3, -2, 50, 138}}},
		{2, 2, 83, 86, performer.Sequences{Queries: []int{9, 70, 4}, Keys: []int{12, 70, 4}, Past: []int{2, -65, -4}}},
		{1, 1, 300, 330, performer.Sequences{Past: []int{25}}},
	} {
		for name, valid := range masks(rng, c.keys) {
			in := [3]dense.Matrix[float64]{
				rowsOf[float64](rng, c.queries, c.heads*d), rowsOf[float64](rng, c.keys, c.keyHeads*d), rowsOf[float64](rng, c.keys, c.keyHeads*dv),
			}
			dout := densetest.Normal[float64](rng, c.queries, c.heads*dv, 0, 1)
			for j, counts := range valid {
				if !counts {
					layout.Fill(in[1].Row(j), math.NaN())
					layout.Fill(in[2].Row(j), math.NaN())
					if j < c.queries && j%2 == 0 {
						clear(dout.Row(j)[:dv])
					}
				}
			}
			c.s.Valid = valid
			for _, form := range batchForms[float64](d) {
				b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: c.heads, KeyHeads: c.keyHeads}, form))
				requireDerivatives(t, []int{-1}, batchForm[float64]{b, c.s}, in, dout, "%T %+v, layout %d, %s", form, form, at, name)
			}
		}
	}
}

// Where all rows count a batch gives the bits of the form over the views, for any number
// of processors, into new memory and into views, and sums them over grouped heads.
func TestBatchBackwardIsTheFormOverViews(t *testing.T) {
	densetest.Both(t, testBatchBackwardBits[float32], testBatchBackwardBits[float64])
}

func testBatchBackwardBits[T dense.Float](t *testing.T) {
	const d, heads = 4, 4
	rng := rand.New(densetest.Source(241))
	lengths := []int{300, 1, 0, 129}
	n := sum(lengths)
	s := performer.Sequences{Queries: lengths, Past: make([]int, 4), Valid: slices.Repeat([]bool{true}, n)}
	for _, keyHeads := range []int{4, 2} {
		in := [3]dense.Matrix[T]{rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, keyHeads*d), rowsOf[T](rng, n, keyHeads*d)}
		dout := densetest.Normal[T](rng, n, heads*d, 0, 1)
		for _, form := range batchForms[T](d) {
			want := [3]dense.Matrix[T]{dense.New[T](n, heads*d), dense.New[T](n, keyHeads*d), dense.New[T](n, keyHeads*d)}
			from := 0
			for _, l := range lengths {
				for h := range heads {
					g := h / (heads / keyHeads)
					view := func(m dense.Matrix[T], h int) dense.Matrix[T] {
						return m.RowRange(from, from+l).ColRange(h*d, h*d+d)
					}
					one := backward(form, [3]dense.Matrix[T]{view(in[0], h), view(in[1], g), view(in[2], g)}, view(dout, h))
					for at, x := range one {
						to := view(want[at], [3]int{h, g, g}[at])
						for i := range x.Rows {
							for c, y := range x.Row(i) {
								to.Row(i)[c] += y
							}
						}
					}
				}
				from += l
			}
			b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, form))
			var first [3]dense.Matrix[T]
			for _, processors := range []int{1, 5} {
				before := runtime.GOMAXPROCS(processors)
				got := backward[T](batchForm[T]{b, s}, in, dout)
				runtime.GOMAXPROCS(before)
				if processors == 1 {
					first = got
				}
				for at := range got {
					require.True(t, densetest.Identical(first[at], got[at]), "%T %+v, %d processors, input %d", form, form, processors, at)
				}
			}
			for at := range want {
				if at == 0 || keyHeads == heads {
					require.True(t, densetest.Identical(want[at], first[at]), "%T %+v, %d heads of keys, input %d", form, form, keyHeads, at)
					continue
				}
				largest := 0.0
				for _, x := range want[at].Data {
					largest = max(largest, math.Abs(float64(x)))
				}
				// Two heads add up to 300 tokens each, in another order.
				tol := 600 * densetest.Roundoff[T]() * largest
				truth := dense.Copy(dense.Matrix[float64]{}, want[at])
				densetest.RequireClose(t, truth, densetest.Filled(truth.Rows, truth.Cols, tol), first[at], "%T %+v, input %d", form, form, at)
			}
			wide := [3]dense.Matrix[T]{densetest.Filled[T](n, heads*d+2, 7), densetest.Filled[T](n, keyHeads*d+2, 7), densetest.Filled[T](n, keyHeads*d+2, 7)}
			inner := func(m dense.Matrix[T]) dense.Matrix[T] { return m.ColRange(1, m.Cols-1) }
			b.BackwardSequences(inner(wide[0]), inner(wide[1]), inner(wide[2]), in[0], in[1], in[2], dout, s)
			for at, w := range wide {
				require.True(t, densetest.Identical(first[at], inner(w)), "%T: into views", form)
				assert.Equal(t, densetest.Filled[T](n, 1, 7), w.ColRange(0, 1).Clone(), "left of it")
				assert.Equal(t, densetest.Filled[T](n, 1, 7), w.ColRange(w.Cols-1, w.Cols).Clone(), "right of it")
			}
		}
	}
}

// Neither what padding holds nor how much of it there is at the end changes a bit of the
// gradients of valid tokens, whatever GOMAXPROCS is; its own are zero.
func TestPaddingDoesNotMatterForGradients(t *testing.T) {
	densetest.Both(t, testPaddingGradients[float32], testPaddingGradients[float64])
}

func testPaddingGradients[T dense.Float](t *testing.T) {
	const d, heads, keyHeads, n = 4, 4, 2, 100
	rng := rand.New(densetest.Source(242))
	x, y, g := rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, keyHeads*d), densetest.Normal[T](rng, n, heads*d, 0, 1)
	for _, gap := range []int{0, 7} {
		for _, form := range batchForms[T](d) {
			b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, form))
			var want [3]dense.Matrix[T]
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			for at, more := range []int{0, 1, 30, 200, 1000} {
				runtime.GOMAXPROCS(1 + at)
				q, valid := densetest.Padded(x, gap, more, at)
				kv, _ := densetest.Padded(y, gap, more, at+1)
				dout := dense.New[T](n+more, heads*d)
				for i, counts := range valid {
					if counts {
						copy(dout.Row(i), g.Row(i))
					}
				}
				s := performer.Sequences{Valid: valid}
				dq, dk, dv := b.BackwardSequences(dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}, q, kv, kv, dout, s)
				got := [3]dense.Matrix[T]{dq, dk, dv}
				if at == 0 {
					want = got
				}
				for which, m := range got {
					for i, counts := range valid {
						if !counts {
							require.True(t, layout.IsZero(m.Row(i)), "%T %+v: gradient %d, row %d of padding", form, form, which, i)
							continue
						}
						require.True(t, densetest.Identical(want[which].RowRange(i, i+1), m.RowRange(i, i+1)), "%T %+v, gap %d, %d rows of padding: gradient %d, row %d", form, form, gap, more, which, i)
						require.False(t, hasNaN(m.Row(i)))
					}
				}
			}
			require.NotZero(t, largest(dense.Copy(dense.Matrix[float64]{}, want[2])))
		}
	}
}

// Heads may have a form each, and one that is not of this package.
func TestBatchBackwardOfForms(t *testing.T) {
	const n, d = 40, 3
	rng := rand.New(densetest.Source(245))
	in := [3]dense.Matrix[float64]{rowsOf[float64](rng, n, 6*d), rowsOf[float64](rng, n, 2*d), rowsOf[float64](rng, n, 2*d)}
	dout := densetest.Normal[float64](rng, n, 6*d, 0, 1)
	elu := attention[float64](must.Have(rff.Draw[float64](rff.ELU{D: d}, nil)), performer.LinearOptions{})
	nested := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 1}, must.Have(performer.NewExact[float64](performer.ExactOptions{}))))
	b := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 6, KeyHeads: 2}, elu, elu, must.Have(performer.NewExact[float64](performer.ExactOptions{})), nested, elu, elu))
	units, _, _ := performer.Units(b)
	assert.Equal(t, 4, units)
	requireDerivatives(t, []int{0, 20, -1}, batchForm[float64]{b, performer.Sequences{Queries: []int{30, 10}}}, in, dout, "forms")
}

func TestBatchBackwardAllocatesNothing(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	const d = 8
	rng := rand.New(densetest.Source(246))
	s := performer.Sequences{Queries: []int{70, 3, 20, 0}, Keys: []int{70, 90, 5, 4}, Past: []int{0, 40, 0, 0}}
	q, kv := densetest.Normal[float32](rng, 93, 4*d, 0, 1), densetest.Normal[float32](rng, 169, 2*d, 0, 1)
	dq, dk, dv := dense.New[float32](93, 4*d), dense.New[float32](169, 2*d), dense.New[float32](169, 2*d)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, form := range batchForms[float32](d) {
		b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: 4, KeyHeads: 2}, form))
		for name, valid := range masks(rng, 169) {
			s.Valid = valid
			for _, processors := range []int{1, 2} {
				assert.Zero(t, allocs.Settled(processors, func() { b.BackwardSequences(dq, dk, dv, q, kv, kv, q, s) }), "%T %+v, %s, %d processors", form, form, name, processors)
			}
		}
	}
}

// What stands in the place of a key or query that is left out has no effect even where its
// weight would overflow, or its denominator be zero.
func TestHolesGiveNothing(t *testing.T) {
	const n, d = 150, 4
	rng := rand.New(densetest.Source(248))
	far := densetest.Normal[float64](rng, n, d, 30, 0.1)
	opposite := densetest.Normal[float64](rng, n, d, -30, 0.1)
	near := densetest.Normal[float64](rng, n, d, 1, 0.1)
	identity := attention[float64](must.Have(rff.Draw[float64](rff.Identity{D: d}, nil)), performer.LinearOptions{Causal: true})
	for name, c := range map[string]struct {
		form performer.Attention[float64]
		q, k dense.Matrix[float64]
	}{
		"weights":      {must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})), far, opposite},
		"denominators": {identity, near, near},
	} {
		v, dout, valid := rowsOf[float64](rng, n, d), densetest.Normal[float64](rng, n, d, 0, 1), make([]bool, n)
		for i := range valid {
			valid[i] = i%5 != 2
			if i%7 == 3 {
				clear(dout.Row(i))
			}
		}
		f := batchForm[float64]{must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 1}, c.form)), performer.Sequences{Valid: valid}}
		requireDerivatives(t, []int{-1}, f, [3]dense.Matrix[float64]{c.q, c.k, v}, dout, "%s", name)
	}
}
