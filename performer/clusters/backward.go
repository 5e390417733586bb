package clusters

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

func (a *attention[T]) CanBackward() error { return nil }

func (a *attention[T]) Backward(c sequence.Call[T]) {
	x := sequence.SelectByPlace(c)
	if x.Gather(c) {
		if x.K.Rows > exactKeys {
			a.backward(x.Gradients)
		} else {
			tiles.Backward(tiles.Gradients[T]{
				DQ: x.DQ, DK: x.DK, DV: x.DV, Q: x.Q, K: x.K, V: x.V, DOut: x.DOut, Scores: tiles.Scores{Scale: a.scale(x.Q.Cols)},
			})
		}
	}
	x.Scatter(c)
}

// gradients is one call of Backward. It computes Forward, whose lists and sums it keeps, and then
// the gradients of one chunk of clusters after another. The blocks of queries are divided into
// groups. A group adds to the gradients of its queries, and has its own gradients of keys and
// values, which are then summed in order.
type gradients[T dense.Float] struct {
	call[T]
	plain            attention[T] // without codes
	dq, dk, dv, dout dense.Matrix[T]
	out              scratch.Buffer[T]
	kept             []kept
	bad              []int // queries that have exact attention

	// Elements of queries. The weight of a score s is exp(s − shift_i − log_i).
	shifts, logs, deltas []T
	norms                []T // s²‖q‖²/2

	first, end int // the clusters first ≤ l < end are the chunk
	groups     int
	sums       [mostGroups]struct{ keys, values scratch.Buffer[T] }
}

const (
	chunkClusters = 16 // clusters of a chunk, whose d×dv matrices stay in the second cache
	mostGroups    = 8  // the most groups
)

// kept is what Backward needs of a block of queries.
type kept struct {
	lo int // the first query
	lists
}

var gradientsPool pool.Pair[gradients[float32], gradients[float64]]

// backward writes gradients, which are not empty.
func (a *attention[T]) backward(x sums.Gradients[T]) {
	g := pool.Get[gradients[T]](&gradientsPool)
	g.dq, g.dk, g.dv, g.dout = x.DQ, x.DK, x.DV, x.DOut
	g.plain = *a
	g.plain.EightBits = false
	g.out.Shape(x.Q.Rows, x.V.Cols)
	g.a, g.dst, g.q, g.k, g.v = &g.plain, g.out.Rows(x.Q.Rows), x.Q, x.K, x.V
	g.keep = g
	for _, m := range []dense.Matrix[T]{g.dq, g.dk, g.dv} {
		layout.Zero(m)
	}
	g.run()
	for _, m := range []*dense.Matrix[T]{&g.dq, &g.dk, &g.dv, &g.dout} {
		*m = dense.Matrix[T]{}
	}
	g.release()
	pool.Put(&gradientsPool, g)
}

func (g *gradients[T]) run() {
	for _, x := range []*[]T{&g.shifts, &g.logs, &g.deltas, &g.norms} {
		*x = scratch.Resize(*x, g.q.Rows)
		clear(*x)
	}
	g.prepare()
	for len(g.kept) < g.blocks() {
		g.kept = append(g.kept, kept{})
	}
	parallel.Do(g.blocks(), &g.call)
	q, dout := g.q, g.dout
	g.clean()
	scale := g.scale()
	for i := range g.norms {
		g.norms[i] = T(scale * scale * vecmath.HalfSquaredNorm(g.q.Row(i)))
	}
	g.groups = min(g.blocks(), mostGroups)
	for g.first = 0; g.first < g.division.clusters(); g.first = g.end {
		g.end = min(g.first+chunkClusters, g.division.clusters())
		g.addChunk()
	}
	if len(g.bad) > 0 {
		g.addExact(q, dout)
	}
}

func (g *gradients[T]) scale() float64 { return g.a.scale(g.q.Cols) }

// take keeps what Backward needs of block i, which begins with query lo. Queries that have exact
// attention get the weight zero.
func (g *gradients[T]) take(i, lo int, b *accumulator[T]) {
	k := &g.kept[i]
	k.lo = lo
	k.lists, b.lists = b.lists, k.lists
	sums := b.sums.Rows(len(b.peaks))
	for i, peak := range b.peaks {
		g.shifts[lo+i], g.logs[lo+i] = peak, T(math.Log(float64(sums.Row(i)[g.v.Cols])))
		g.deltas[lo+i] = vecmath.Dot(g.dout.Row(lo+i), g.dst.Row(lo+i))
	}
	for _, i := range b.bad {
		g.shifts[lo+int(i)] = T(math.Inf(1))
	}
}

// clean replaces queries that have exact attention by zeros.
func (g *gradients[T]) clean() {
	g.bad = g.bad[:0]
	for i, shift := range g.shifts {
		if math.IsInf(float64(shift), 1) {
			g.bad = append(g.bad, i)
			g.logs[i], g.deltas[i] = 0, 0
		}
	}
	if len(g.bad) == 0 {
		return
	}
	g.q, g.dout = g.q.Clone(), g.dout.Clone()
	for _, i := range g.bad {
		clear(g.q.Row(i))
		clear(g.dout.Row(i))
	}
}

// addExact adds the gradients of queries that have exact attention.
func (g *gradients[T]) addExact(q, dout dense.Matrix[T]) {
	x := tiles.Gradients[T]{
		DQ: dense.New[T](len(g.bad), q.Cols), DK: dense.New[T](g.k.Rows, g.k.Cols), DV: dense.New[T](g.v.Rows, g.v.Cols),
		Q: layout.Rows(q, g.bad), K: g.k, V: g.v, DOut: layout.Rows(dout, g.bad), Scores: tiles.Scores{Scale: g.scale()},
	}
	tiles.Backward(x)
	for j, i := range g.bad {
		copy(g.dq.Row(i), x.DQ.Row(j))
	}
	for j := range g.k.Rows {
		vecmath.AddScaled(g.dk.Row(j), x.DK.Row(j), 1)
		vecmath.AddScaled(g.dv.Row(j), x.DV.Row(j), 1)
	}
}

// addChunk adds the gradients of the chunk.
func (g *gradients[T]) addChunk() {
	parallel.Do(g.groups, (*chunkTask[T])(g))
	s := &g.division
	for j, place := range s.places {
		at := int(place) - s.starts[g.first]
		if at < 0 || int(place) >= s.starts[g.end] {
			continue
		}
		for p := range g.groups {
			vecmath.AddScaled(g.dk.Row(j), g.sums[p].keys.Rows(at+1).Row(at), 1)
			vecmath.AddScaled(g.dv.Row(j), g.sums[p].values.Rows(at+1).Row(at), 1)
		}
	}
}

// chunkTask computes the gradients between the clusters of a chunk and a group of blocks.
type chunkTask[T dense.Float] gradients[T]

func (t *chunkTask[T]) Piece(p int) {
	g := (*gradients[T])(t)
	w := pool.Get[chunk[T]](&chunks)
	w.begin(g, p)
	for i := parallel.Share(g.blocks(), g.groups, p); i < parallel.Share(g.blocks(), g.groups, p+1); i++ {
		k, hi := &g.kept[i], min((i+1)*g.rows, g.q.Rows)
		for j, p := range k.parts {
			lo := k.lo + j*mostQueries
			w.addMeans(k, p, lo, min(lo+mostQueries, hi))
		}
		for l := g.first; l < g.end; l++ {
			w.addScored(k, l)
		}
	}
	w.end()
	pool.Put(&chunks, w)
}
