package main

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/quantise"
)

// built returns n rows in clusters, 100 queries, and a graph of the rows.
func built(t *testing.T, n, bits int) (*comparison, *graph) {
	t.Helper()
	c := newComparison(settings{queries: 100, k: 10, seed: 1}, clustered(n+100, 64, rand.New(rand.NewPCG(1, 1))))
	q, err := quantise.New[float32](64, quantise.Options{Bits: float64(bits)}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	codes, err := q.Encode(t.Context(), c.x)
	require.NoError(t, err)
	return c, newGraph(c.x, codes, n)
}

// A walk by codes finds the nearest rows as a walk by vectors does, if it reads the vectors of the
// best rows at the end. Without their vectors it does not, so the 4 bits are what it reads. A walk
// of one row finds few.
func TestGraphFindsTheNearest(t *testing.T) {
	c, g := built(t, 5000, 4)
	require.NotNil(t, g.upper)
	w := g.walkers[0]
	recall := func(find func(query []float32)) (mean float64) {
		for i := range c.q.Rows {
			find(c.q.Row(i))
			mean += c.recall(i, w.best(10)) / float64(c.q.Rows)
		}
		return mean
	}
	vectors := recall(func(query []float32) { g.search(w, g.exact(query), 40) })
	alone := recall(func(query []float32) { g.search(w, g.estimated(w, query), 40) })
	codes := recall(func(query []float32) {
		g.search(w, g.estimated(w, query), 40)
		ids := w.best(30)
		w.begin(nil)
		w.meet(ids, g.exact(query), 10)
	})
	narrowest := recall(func(query []float32) { g.search(w, g.exact(query), 1) })
	assert.Greater(t, vectors, 0.95)
	assert.Greater(t, codes, 0.95)
	assert.InDelta(t, vectors, codes, 0.03)
	assert.Less(t, alone, codes-0.05)
	assert.Less(t, narrowest, 0.2)
}

// Links are different rows, never the row itself, few enough, and do not depend on the number of
// processors.
func TestGraphLinks(t *testing.T) {
	for _, n := range []int{1, 2, 30, 1500} {
		_, g := built(t, n, 1)
		require.Len(t, g.links, n)
		for row, to := range g.links {
			seen := map[int]bool{row: true}
			for _, id := range to {
				require.False(t, seen[id], "row %d of %d links to %d again", row, n, id)
				seen[id] = true
			}
		}
		before := runtime.GOMAXPROCS(1)
		_, alone := built(t, n, 1)
		runtime.GOMAXPROCS(before)
		require.Equal(t, alone.links, g.links)
	}
}
