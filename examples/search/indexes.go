package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/quantise"
)

// indexes prints times on one processor of a scan of codes, and of a graph by codes and by vectors.
// Each keeps as many rows as it needs to find 95 % of the k nearest.
func (c *comparison) indexes(stdout io.Writer, codes quantise.Codes[float32]) error {
	begin, q, k := time.Now(), codes.Quantiser(), c.s.k
	g := newGraph(c.x, codes, c.x.Rows)
	fmt.Fprintf(stdout, "\nThe graph was built from codes of %v bits in %.1f s.\n\n", q.Options().Bits, time.Since(begin).Seconds())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w, hits := g.walkers[0], make([]quantise.Hit, c.x.Rows)
	nearest := func(query []float32, ids []int) {
		w.begin(nil)
		w.meet(ids, g.exact(query), k)
	}
	t := table.New(1, "index", "rows kept", fmt.Sprintf("recall@%d", k), "µs a query")
	for _, index := range []struct {
		name string
		find func(query []float32, kept int) // into the beam of w
	}{
		{"scan of codes, exact rows", func(query []float32, kept int) {
			var ids []int
			for _, hit := range codes.Search(hits[:kept], q.Prepare(&w.query, query, quantise.Cosine, 0)) {
				ids = append(ids, hit.ID)
			}
			nearest(query, ids)
		}},
		{"graph of codes, exact rows", func(query []float32, kept int) {
			g.search(w, g.estimated(w, query), kept)
			nearest(query, w.best(3*k))
		}},
		{"graph of float32", func(query []float32, kept int) { g.search(w, g.exact(query), kept) }},
	} {
		kept, recall, fastest := 0, 0.0, math.Inf(1)
		for next := k; recall < 0.95 && next <= c.x.Rows; next += next/4 + 1 {
			kept, fastest = next, math.Inf(1)
			for range 3 {
				begin, recall = time.Now(), 0
				for i := range c.q.Rows {
					index.find(c.q.Row(i), kept)
					recall += c.recall(i, w.best(k)) / float64(c.q.Rows)
				}
				fastest = min(fastest, time.Since(begin).Seconds()*1e6/float64(c.q.Rows))
			}
		}
		t.Row(index.name, fmt.Sprint(kept), fmt.Sprintf("%.3f", recall), fmt.Sprintf("%.0f", fastest))
	}
	return t.Fprint(stdout)
}
