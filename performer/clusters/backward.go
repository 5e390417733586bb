package clusters

import (
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

func (a *attention[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	if err := a.CanBackward(); err != nil {
		panic(err.Error())
	}
	check(a, q, k, v)
	dout.Check()
	if dout.Rows != q.Rows || dout.Cols != v.Cols {
		panic(fmt.Sprintf("clusters: dout is %d×%d, want %d×%d, a gradient for each output", dout.Rows, dout.Cols, q.Rows, v.Cols))
	}
	if a.isExact(q, k, v) {
		return a.exact.Backward(dq, dk, dv, q, k, v, dout)
	}
	dq, dk, dv = dense.Ensure(dq, q.Rows, q.Cols), dense.Ensure(dk, k.Rows, k.Cols), dense.Ensure(dv, v.Rows, v.Cols)
	g := pool.Get[gradients[T]](&backwards)
	g.a, g.dq, g.dk, g.dv, g.q, g.k, g.v, g.dout = a, dq, dk, dv, q, k, v, dout
	g.run()
	g.a = nil
	for _, m := range []*dense.Matrix[T]{&g.dq, &g.dk, &g.dv, &g.q, &g.k, &g.v, &g.dout} {
		*m = dense.Matrix[T]{}
	}
	pool.Put(&backwards, g)
	return dq, dk, dv
}

func (a *attention[T]) CanBackward() error {
	if a.Describe().Causal {
		return errors.New("clusters: causal Attention has no derivatives")
	}
	return nil
}

var backwards pool.Pair[gradients[float32], gradients[float64]]

const (
	gradientSegments = 8    // the most sums of gradients of keys and values
	collectKeys      = 1024 // keys whose gradients are collected together
)

// gradients is one call of Backward. The stages follow each other, each with pieces of its own.
type gradients[T dense.Float] struct {
	a                         *attention[T]
	dq, dk, dv, q, k, v, dout dense.Matrix[T]
	sorted                    whole[T]
	places                    []int32 // of keys in the order of clusters
	blocks                    []answered[T]
	segments                  [gradientSegments]segment[T]
	used                      int // segments
	stage                     stage
}

// stage says what the pieces of a task are.
type stage int

const (
	forward  stage = iota // a block of queries
	backward              // a segment of the blocks
	collect               // some keys
)

// answered is what Forward leaves of a block of queries. An odd query is one that exact attention
// answers.
type answered[T dense.Float] struct {
	listed []int32
	starts []int
	odd    []int32

	peaks, logs, means []T // subtracted from scores, log D_i, δ_i
}

// segment is what some blocks add to the gradients of keys and values, in the order of clusters, and
// to those of the moments.
type segment[T dense.Float] struct {
	keys, values scratch.Buffer[T]
	terms, means scratch.Buffer[T]
}

func (g *gradients[T]) run() {
	n := blocksOf(g.q.Rows)
	g.sorted.build(g.a, g.k, g.v, false)
	for len(g.blocks) < n {
		g.blocks = append(g.blocks, answered[T]{})
	}
	g.used = min(n, gradientSegments)
	g.do(forward, n)
	g.do(backward, g.used)
	s := &g.sorted
	g.places = scratch.Resize(g.places, g.k.Rows)
	for place, j := range s.order {
		g.places[j] = int32(place)
	}
	g.addMoments()
	g.do(collect, (g.k.Rows+collectKeys-1)/collectKeys)
	g.exactly(n)
}

func (g *gradients[T]) do(s stage, pieces int) {
	g.stage = s
	parallel.Do(pieces, g)
}

func (g *gradients[T]) Piece(i int) {
	switch g.stage {
	case forward:
		g.answer(i)
	case backward:
		n := blocksOf(g.q.Rows)
		g.segments[i].clear(&g.sorted, g.k, g.v)
		for j := parallel.Share(n, g.used, i); j < parallel.Share(n, g.used, i+1); j++ {
			g.block(j, &g.segments[i])
		}
	case collect:
		g.collect(i*collectKeys, min((i+1)*collectKeys, g.k.Rows))
	}
}

// answer runs Forward on a block of queries and keeps what gradients need of it.
func (g *gradients[T]) answer(i int) {
	lo, hi := blockOf(i, g.q.Rows)
	b := getBlock[T]()
	b.answer(&g.sorted, g.a, g.q.RowRange(lo, hi), g.v.Cols)
	k := &g.blocks[i]
	k.listed, b.listed = b.listed, k.listed
	k.starts, b.starts = b.starts, k.starts
	k.peaks = append(k.peaks[:0], b.peaks...)
	k.logs, k.means = scratch.Resize(k.logs, hi-lo), scratch.Resize(k.means, hi-lo)
	k.odd = k.odd[:0]
	sums, dv := b.sums.Rows(hi-lo), g.v.Cols
	for i := range hi - lo {
		sum := sums.Row(i)
		k.logs[i], k.means[i] = 0, 0
		if total := sum[dv]; inRange(total) {
			k.logs[i] = T(math.Log(float64(total)))
			k.means[i] = vecmath.Dot(g.dout.Row(lo+i), sum[:dv]) / total
		} else {
			k.odd = append(k.odd, int32(i))
		}
	}
	putBlock(b)
}

// clear sets everything to zero.
func (s *segment[T]) clear(keys *whole[T], k, v dense.Matrix[T]) {
	c := keys.clusters()
	s.keys.Shape(k.Rows, k.Cols)
	s.values.Shape(v.Rows, v.Cols)
	s.terms.Shape(c, k.Cols+2)
	s.means.Shape(c, v.Cols)
	for _, b := range []*scratch.Buffer[T]{&s.keys, &s.values, &s.terms, &s.means} {
		clear(b.Data)
	}
}

// block writes the gradients of a block of queries and adds to those of a segment.
func (g *gradients[T]) block(i int, s *segment[T]) {
	lo, hi := blockOf(i, g.q.Rows)
	q, dq, dout := g.q.RowRange(lo, hi), g.dq.RowRange(lo, hi), g.dout.RowRange(lo, hi)
	k, w := &g.blocks[i], pool.Get[slopes[T]](&slopeMemory)
	w.begin(hi-lo, q.Cols, g.v.Cols, g.a.scale(q.Cols), g.a.threshold)
	c := g.sorted.clusters()
	w.clusters = c
	w.listed, w.starts = append(w.listed, k.listed...), append(w.starts, k.starts...)
	for at := 0; at < q.Rows; at += farQueries {
		w.far(&g.sorted.moments, k, s, q, dq, dout, at, min(at+farQueries, q.Rows))
	}
	for l := range c {
		from, to := g.sorted.starts[l], g.sorted.starts[l+1]
		list := w.queriesOf(l, 0, w.parts())
		if len(k.odd) > 0 {
			list = without(list, k.odd)
		}
		w.near(list, k, q, dq, dout, g.sorted.keysOf(l), g.sorted.valuesOf(l),
			s.keys.Rows(g.k.Rows).RowRange(from, to), s.values.Rows(g.k.Rows).RowRange(from, to))
	}
	pool.Put(&slopeMemory, w)
}

// without returns list without the elements of odd. Both are ascending.
func without(list, odd []int32) []int32 {
	kept := list[:0]
	for _, i := range list {
		for len(odd) > 0 && odd[0] < i {
			odd = odd[1:]
		}
		if len(odd) == 0 || odd[0] != i {
			kept = append(kept, i)
		}
	}
	return kept
}

// slopes is the scratch memory of the gradients of a block.
type slopes[T dense.Float] struct {
	block[T]
	slopes scratch.Buffer[T] // like weights and scores
	found  scratch.Buffer[T] // gradients of points, or of listed queries
	douts  scratch.Buffer[T] // of listed queries
	logs   []T
	deltas []T
}

var slopeMemory pool.Pair[slopes[float32], slopes[float64]]

// far writes what clusters add to the gradients of the queries lo ≤ i < hi.
func (w *slopes[T]) far(m *moments[T], k *answered[T], s *segment[T], q, dq, dout dense.Matrix[T], lo, hi int) {
	n, d, c := hi-lo, q.Cols, m.terms.Rows
	weights := w.scoreClusters(m, q, lo, hi)
	vecmath.ExpRows(weights.Data, weights.Stride, c, k.peaks[lo:hi], k.logs[lo:hi], w.totals[:n])
	for l := range c {
		row := weights.Row(l)
		for _, i := range w.listedIn(l, lo/farQueries) {
			row[int(i)-lo] = 0
		}
		for _, i := range k.odd {
			if lo <= int(i) && int(i) < hi {
				row[int(i)-lo] = 0
			}
		}
	}
	means, part := m.means.ColRange(0, dout.Cols), dout.RowRange(lo, hi)
	matmul.Mul(1, weights, part, 1, s.means.Rows(c))
	slopes := w.slope(weights, means, part, k.means[lo:hi])
	points := w.points.Rows(n)
	matmul.Mul(T(w.scale), slopes, points, 1, s.terms.Rows(c))
	w.found.Shape(n, d+2)
	found := w.found.Rows(n)
	matmul.TMul(T(w.scale), slopes, m.terms, 0, found)
	for i := range n {
		row := dq.Row(lo + i)
		vecmath.Affine(row, q.Row(lo+i), T(w.scale)*found.At(i, d+1), 0)
		vecmath.AddScaled(row, found.Row(i)[:d], 1)
	}
}

// slope returns weights∘(values·doutᵀ − δ), a column for each query.
func (w *slopes[T]) slope(weights, values, dout dense.Matrix[T], deltas []T) dense.Matrix[T] {
	w.slopes.Shape(weights.Rows, weights.Cols)
	slopes := w.slopes.Rows(weights.Rows)
	matmul.MulT(1, values, dout, 0, slopes)
	for l := range slopes.Rows {
		row := slopes.Row(l)
		vecmath.AddScaled(row, deltas, -1)
		vecmath.Multiply(row, weights.Row(l))
	}
	return slopes
}

// near adds what the scored keys of a cluster add to the gradients of the queries in list, and
// writes those of the keys and their values.
func (w *slopes[T]) near(list []int32, k *answered[T], q, dq, dout, keys, values, dk, dv dense.Matrix[T]) {
	n := len(list)
	if n == 0 {
		return
	}
	w.rows.Shape(n, q.Cols)
	w.douts.Shape(n, dout.Cols)
	w.logs, w.deltas = scratch.Resize(w.logs, n), scratch.Resize(w.deltas, n)
	queries, douts, shifts := w.rows.Rows(n), w.douts.Rows(n), w.shifts[:n]
	for j, i := range list {
		copy(queries.Row(j), q.Row(int(i)))
		copy(douts.Row(j), dout.Row(int(i)))
		shifts[j], w.logs[j], w.deltas[j] = k.peaks[i], k.logs[i], k.means[i]
	}
	w.scores.Shape(keys.Rows, n)
	scores := w.scores.Rows(keys.Rows)
	matmul.MulT(T(w.scale), keys, queries, 0, scores)
	vecmath.ExpRows(scores.Data, scores.Stride, keys.Rows, shifts, w.logs, w.totals[:n])
	matmul.Mul(1, scores, douts, 1, dv)
	slopes := w.slope(scores, values, douts, w.deltas)
	matmul.Mul(T(w.scale), slopes, queries, 1, dk)
	w.found.Shape(n, q.Cols)
	found := w.found.Rows(n)
	matmul.TMul(T(w.scale), slopes, keys, 0, found)
	for j, i := range list {
		vecmath.AddScaled(dq.Row(int(i)), found.Row(j), 1)
	}
}

// addMoments sums the gradients of the moments into those of the first segment.
func (g *gradients[T]) addMoments() {
	c := g.sorted.clusters()
	terms, means := g.segments[0].terms.Rows(c), g.segments[0].means.Rows(c)
	for i := 1; i < g.used; i++ {
		s := &g.segments[i]
		for l := range c {
			vecmath.AddScaled(terms.Row(l), s.terms.Rows(c).Row(l), 1)
			vecmath.AddScaled(means.Row(l), s.means.Rows(c).Row(l), 1)
		}
	}
}

// collect writes the gradients of the keys lo ≤ j < hi and their values.
func (g *gradients[T]) collect(lo, hi int) {
	c, d := g.sorted.clusters(), g.k.Cols
	terms, means := g.segments[0].terms.Rows(c), g.segments[0].means.Rows(c)
	for j := lo; j < hi; j++ {
		dk, dv, l := g.dk.Row(j), g.dv.Row(j), int(g.sorted.labels[j])
		clear(dk)
		clear(dv)
		for i := range g.used {
			s := &g.segments[i]
			vecmath.AddScaled(dk, s.keys.Rows(g.k.Rows).Row(int(g.places[j])), 1)
			vecmath.AddScaled(dv, s.values.Rows(g.k.Rows).Row(int(g.places[j])), 1)
		}
		share := 1 / T(g.sorted.counts[l])
		spread := 2 * share / T(d) * terms.At(l, d+1)
		vecmath.AddScaled(dk, terms.Row(l)[:d], share)
		vecmath.AddScaled(dk, g.k.Row(j), spread)
		vecmath.AddScaled(dk, g.sorted.terms.Row(l)[:d], -spread)
		vecmath.AddScaled(dv, means.Row(l), share)
	}
}

// exactly writes the gradients of queries that exact attention answers, and adds what they add to
// those of keys and values. n is the number of blocks.
func (g *gradients[T]) exactly(n int) {
	for i := range n {
		lo, _ := blockOf(i, g.q.Rows)
		for _, at := range g.blocks[i].odd {
			row := lo + int(at)
			q, dout := g.q.RowRange(row, row+1), g.dout.RowRange(row, row+1)
			_, dk, dv := g.a.exact.Backward(g.dq.RowRange(row, row+1), dense.Matrix[T]{}, dense.Matrix[T]{}, q, g.k, g.v, dout)
			for j := range g.k.Rows {
				vecmath.AddScaled(g.dk.Row(j), dk.Row(j), 1)
				vecmath.AddScaled(g.dv.Row(j), dv.Row(j), 1)
			}
		}
	}
}
