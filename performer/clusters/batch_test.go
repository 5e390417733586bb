package clusters_test

import (
	"math"
	"math/rand/v2"
	"testing"

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
	for _, left := range []bool{false, true} {
		f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
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
				identical(t, want, layout.Head(got.RowRange(lo, hi), h, queryHeads).Clone(), "left", left, "sequence", i, "head", h)
			}
		}
	}
}

// Heads of queries over one head of keys divide its keys into clusters once.
func TestHeadsShareClusters(t *testing.T) {
	const n, heads = 3000, 8
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8})), clusters.Options{})
	b := must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: heads, KeyHeads: 2}, f))
	q, k, v := densetest.Normal[float32](rand.New(rand.NewPCG(1, 1)), n, heads*16, 0, 1), densetest.Normal[float32](rand.New(rand.NewPCG(1, 2)), n, 2*16, 0, 1), densetest.Normal[float32](rand.New(rand.NewPCG(1, 3)), n, 2*8, 0, 1)
	got := b.Forward(dense.Matrix[float32]{}, q, k, v)
	for h := range heads {
		want := f.Forward(dense.Matrix[float32]{}, layout.Head(q, h, heads), layout.Head(k, h/4, 2), layout.Head(v, h/4, 2))
		identical(t, want, layout.Head(got, h, heads).Clone(), "head", h)
	}
}
