package main

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// graph links rows to near rows, and a search walks along links [Malkov & Yashunin 2018]. Rows
// enter in their order, which must be random. The upper graph has the first sixteenth of the rows
// and the links that these rows had alone, which are long.
type graph struct {
	x       dense.Matrix[float32] // rows of length 1
	codes   quantise.Codes[float32]
	links   [][]int   // of each row
	upper   *graph    // nil for few rows
	walkers []*walker // one for each goroutine
}

const (
	degree = 24 // the links that a row chooses; other rows add links to themselves, up to 2·degree
	narrow = 4  // the rows that a walk keeps in upper graphs
	broad  = 64 // the rows among which a new row chooses its links
)

// walker has the memory of a walk.
type walker struct {
	beam      []node // the best rows of the walk, best first
	seen      []int  // for each row the last walk that met it
	walk      int
	query     quantise.Query
	ids       []int
	estimates []quantise.Estimate
}

// node is a row with its cosine with the query. open is true until the walk follows its links.
type node struct {
	id     int
	cosine float64
	open   bool
}

// cosines writes the cosines of a query with rows into dst.
type cosines func(dst []quantise.Estimate, ids []int)

// newGraph links the first n rows of x, which have length 1, by estimates from their codes.
func newGraph(x dense.Matrix[float32], codes quantise.Codes[float32], n int) *graph {
	g := &graph{x: x, codes: codes, links: make([][]int, 1)}
	if n > 16*broad {
		g.upper = newGraph(x, codes, n/16)
		g.walkers, g.links = g.upper.walkers, slices.Clone(g.upper.links)
		for row, to := range g.links {
			g.links[row] = slices.Clone(to)
		}
	}
	for len(g.walkers) < runtime.GOMAXPROCS(0) {
		g.walkers = append(g.walkers, &walker{seen: make([]int, x.Rows)})
	}
	for len(g.links) < n {
		g.add(min(n-len(g.links), 1+len(g.links)/4, 1024))
	}
	return g
}

// add adds the next rows, which do not see each other.
func (g *graph) add(rows int) {
	from := len(g.links)
	g.links = append(g.links, make([][]int, rows)...)
	g.each(rows, func(w *walker, i int) {
		g.search(w, g.estimated(w, g.x.Row(from+i)), broad)
		g.links[from+i] = g.choose(w)
	})
	for i, to := range g.links[from:] {
		for _, id := range to {
			g.links[id] = append(g.links[id], from+i)
		}
	}
	g.each(from, func(w *walker, row int) {
		if to := g.links[row]; len(to) > 2*degree {
			w.begin(nil)
			w.meet(to, g.estimated(w, g.x.Row(row)), len(to))
			g.links[row] = g.choose(w)
		}
	})
}

// each calls f for 0 ≤ i < n on all processors.
func (g *graph) each(n int, f func(w *walker, i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for _, w := range g.walkers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(w, i)
			}
		})
	}
	wg.Wait()
}

// estimated returns the cosines with a query by codes, until the walker prepares another query.
func (g *graph) estimated(w *walker, query []float32) cosines {
	g.codes.Quantiser().Prepare(&w.query, query, quantise.Cosine, 0)
	return func(dst []quantise.Estimate, ids []int) { g.codes.Estimates(dst, &w.query, ids) }
}

// exact returns the cosines with a query of length 1 by vectors.
func (g *graph) exact(query []float32) cosines {
	return func(dst []quantise.Estimate, ids []int) {
		for i, id := range ids {
			dst[i].Value = float64(blas32.Dot(vector(query), vector(g.x.Row(id))))
		}
	}
}

func vector(v []float32) blas32.Vector { return blas32.Vector{N: len(v), Data: v, Inc: 1} }

// choose returns rows of the beam that are nearer to the query than to all rows chosen before.
func (g *graph) choose(w *walker) (chosen []int) {
	for len(w.beam) > 0 && len(chosen) < degree {
		w.ids = w.best(len(w.beam))
		chosen = append(chosen, w.ids[0])
		rest := w.beam[:0]
		for i, e := range w.values(g.estimated(w, g.x.Row(w.ids[0]))) {
			if n := w.beam[i]; i > 0 && n.cosine > e.Value {
				rest = append(rest, n)
			}
		}
		w.beam = rest
	}
	return chosen
}

// search leaves the best rows that it meets in w.beam, at most width rows.
func (g *graph) search(w *walker, of cosines, width int) {
	if g.upper != nil {
		g.upper.search(w, of, narrow)
		w.begin(w.beam)
	} else {
		w.begin(nil)
		w.meet([]int{0}, of, width)
	}
	for at := 0; at < len(w.beam); at++ {
		if w.beam[at].open {
			w.beam[at].open = false
			at = min(at, w.meet(g.links[w.beam[at].id], of, width)-1)
		}
	}
}

// begin begins a walk from the rows of a beam.
func (w *walker) begin(beam []node) {
	w.walk, w.beam = w.walk+1, append(w.beam[:0], beam...)
	for i, n := range w.beam {
		w.seen[n.id], w.beam[i].open = w.walk, true
	}
}

// meet keeps the best width rows of the beam and of rows. It returns the first place that changes.
func (w *walker) meet(rows []int, of cosines, width int) int {
	w.ids = w.ids[:0]
	for _, id := range rows {
		if w.seen[id] != w.walk {
			w.seen[id] = w.walk
			w.ids = append(w.ids, id)
		}
	}
	first := len(w.beam)
	for i, e := range w.values(of) {
		at, _ := slices.BinarySearchFunc(w.beam, e.Value, func(n node, v float64) int { return cmp.Compare(v, n.cosine) })
		if at < width {
			w.beam = slices.Insert(w.beam[:min(len(w.beam), width-1)], at, node{w.ids[i], e.Value, true})
			first = min(first, at)
		}
	}
	return first
}

// values returns the cosines with the rows w.ids.
func (w *walker) values(of cosines) []quantise.Estimate {
	w.estimates = slices.Grow(w.estimates[:0], len(w.ids))[:len(w.ids)]
	of(w.estimates, w.ids)
	return w.estimates
}

// best returns the best n rows of the beam.
func (w *walker) best(n int) (ids []int) {
	for _, n := range w.beam[:min(n, len(w.beam))] {
		ids = append(ids, n.id)
	}
	return ids
}
