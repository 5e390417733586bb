package clusters_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

func batch[T dense.Float](t testing.TB, heads, keyHeads int, f performer.Attention[T]) performer.Batch[T] {
	t.Helper()
	b, err := performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, f)
	require.NoError(t, err)
	return b
}

// Heads and sequences of a batch have the bits of calls of their own, whatever the padding of the
// sequences holds and wherever it is.
func TestBatchPadding(t *testing.T) {
	const d, dv, queryHeads, keyHeads, rows = 5, 3, 4, 2, 1700
	lengths := []int{1500, 300, 0, 1, 1300}
	none := dense.Matrix[float32]{}
	for _, causal := range []bool{false, true} {
		for _, left := range []bool{false, true} {
			f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}})), clusters.Options{})
			b := batch[float32](t, queryHeads, keyHeads, f)
			q, k, v := heads[float32](rows*len(lengths), queryHeads, keyHeads, d, dv, 1)
			s := performer.Sequences{Valid: make([]bool, k.Rows)}
			var from []int
			for i, n := range lengths {
				first := i * rows
				if left {
					first = (i+1)*rows - n
				}
				from, s.Queries = append(from, first), append(s.Queries, rows)
				for j := range n {
					s.Valid[first+j] = true
				}
			}
			for j, counts := range s.Valid {
				if !counts {
					layout.Fill(k.Row(j), float32(math.NaN()))
					layout.Fill(v.Row(j), float32(math.NaN()))
				}
			}
			require.NoError(t, b.Check(q, k, v, s))
			got := b.ForwardSequences(none, q, k, v, s)
			for i, n := range lengths {
				lo, hi := from[i], from[i]+n
				for h := range queryHeads {
					g := h * keyHeads / queryHeads
					want := f.Forward(none, layout.Head(q.RowRange(lo, hi), h, queryHeads),
						layout.Head(k.RowRange(lo, hi), g, keyHeads), layout.Head(v.RowRange(lo, hi), g, keyHeads))
					identical(t, want, layout.Head(got.RowRange(lo, hi), h, queryHeads).Clone(), "causal", causal, "left", left, "sequence", i, "head", h)
				}
			}
		}
	}
}

// Queries with a past, and among keys that do not count, see what those of exact attention see, and
// have its gradients.
func TestBatchPast(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testBatchPast[float32](t, 2e-5) })
	t.Run("type=float64", func(t *testing.T) { testBatchPast[float64](t, 1e-13) })
}

func testBatchPast[T dense.Float](t *testing.T, rounding float64) {
	const n, d, dv = 2300, 16, 3
	none := dense.Matrix[T]{}
	exact := must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}))
	truth := batch[T](t, 1, 1, exact)
	b := batch[T](t, 1, 1, form(t, exact, clusters.Options{Threshold: 1e-30}))
	defaults := batch[T](t, 1, 1, form(t, exact, clusters.Options{}))
	q, k, v := tokens[T](n, d, dv, 8, 2)
	holes := make([]bool, n)
	for j := range holes {
		holes[j] = j%3 != 1 && j > 4 && (j < 1400 || j > 2000)
	}
	for _, valid := range [][]bool{nil, holes} {
		for _, c := range []struct{ queries, past int }{{n, 0}, {1, n - 1}, {700, n - 700}, {n, 900}, {n, -40}, {n, n}, {200, 900}, {0, 5}} {
			s := performer.Sequences{Queries: []int{c.queries}, Keys: []int{n}, Past: []int{c.past}, Valid: valid}
			queries := q.RowRange(0, c.queries)
			want := truth.ForwardSequences(none, queries, k, v, s)
			got := b.ForwardSequences(none, queries, k, v, s)
			near := defaults.ForwardSequences(none, queries, k, v, s)
			if c.queries == 0 {
				continue
			}
			require.Less(t, relative(got, want), rounding, "%+v, holes %v", c, valid != nil)
			require.Less(t, relative(near, want), 0.03, "%+v, holes %v", c, valid != nil)
			var truths, gradients [3]dense.Matrix[T]
			truths[0], truths[1], truths[2] = truth.BackwardSequences(none, none, none, queries, k, v, want, s)
			gradients[0], gradients[1], gradients[2] = b.BackwardSequences(none, none, none, queries, k, v, want, s)
			for i, name := range gradientNames {
				require.Less(t, relative(gradients[i], truths[i]), 10*rounding, "%+v, holes %v, %s", c, valid != nil, name)
			}
		}
	}
	tensor := func(m dense.Matrix[T]) dense.Tensor[T] { return dense.SplitHeads(m, 1, 1) }
	args := performer.AttendArgs[T]{
		Q: tensor(q.RowRange(0, 500)), K: tensor(k.RowRange(1500, n)), V: tensor(v.RowRange(1500, n)),
		PastK: tensor(k.RowRange(0, 1500)), PastV: tensor(v.RowRange(0, 1500)),
	}
	want, err := performer.Attend(exact, args)
	require.NoError(t, err)
	got, err := performer.Attend(form(t, exact, clusters.Options{Threshold: 1e-30}), args)
	require.NoError(t, err)
	assert.Less(t, relative(dense.Head(got.Out, 0, 0), dense.Head(want.Out, 0, 0)), rounding)
}

// Heads of queries over one head of keys divide its keys into clusters once.
func TestHeadsShareClusters(t *testing.T) {
	const n, heads = 3000, 8
	for _, causal := range []bool{false, true} {
		f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Bits: 8})), clusters.Options{})
		b := must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: heads, KeyHeads: 2}, f))
		q, k, v := densetest.Normal[float32](rand.New(rand.NewPCG(1, 1)), n, heads*16, 0, 1), densetest.Normal[float32](rand.New(rand.NewPCG(1, 2)), n, 2*16, 0, 1), densetest.Normal[float32](rand.New(rand.NewPCG(1, 3)), n, 2*8, 0, 1)
		got := b.Forward(dense.Matrix[float32]{}, q, k, v)
		for h := range heads {
			want := f.Forward(dense.Matrix[float32]{}, layout.Head(q, h, heads), layout.Head(k, h/4, 2), layout.Head(v, h/4, 2))
			identical(t, want, layout.Head(got, h, heads).Clone(), "causal", causal, "head", h)
		}
	}
}

func TestForwardPrefixesErrors(t *testing.T) {
	x := dense.New[float32](2, 3)
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	for want, prefixes := range map[string][]int{
		"clusters: prefixes has length 1, want one number for each of 2 queries": {1},
		"clusters: prefixes[0] = -1, want 0 to 2":                                {-1, 1},
		"clusters: prefixes[1] = 1, want 2 to 2":                                 {2, 1},
		"clusters: prefixes[1] = 3, want 0 to 2":                                 {0, 3},
	} {
		assert.PanicsWithValue(t, want, func() { f.ForwardPrefixes(dense.Matrix[float32]{}, x, x, x, prefixes) })
	}
	assert.Equal(t, make([]float32, 6), f.ForwardPrefixes(dense.Matrix[float32]{}, x, x, x, []int{0, 0}).Data)
}
