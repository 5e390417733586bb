package clusters

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// chunk is the scratch memory of one goroutine for the gradients between the clusters of a chunk
// and a group of queries. Matrices of weights have a row for each cluster or key, and a column for
// each query.
type chunk[T dense.Float] struct {
	g             *gradients[T]
	s             *division[T]
	means, values dense.Matrix[T] // of the clusters
	dk, dv        dense.Matrix[T] // by cluster
	dMeans        dense.Matrix[T]
	dValues       dense.Matrix[T] // gradients of means of values
	dVariances    []T             // gradients of t_c
	products      dense.Matrix[T] // s·Σ_i P_ic·q_i·g_iᵀ, d rows for each cluster

	memory               [3]scratch.Buffer[T] // of dMeans, dValues and products
	weights, slopes      scratch.Buffer[T]
	q, dout, dq          scratch.Buffer[T] // rows of some queries
	list                 []int32
	shifts, logs, deltas []T // of listed queries
	radials              []T
}

const (
	mostScorers = 128 // queries whose scores of the keys of a cluster are one product

	// leastShare, divided by the number of clusters, is the least weight of a
	// cluster whose product q_i·g_iᵀ counts.
	leastShare = 1. / 8
)

var chunks pool.Pair[chunk[float32], chunk[float64]]

// begin sets all gradients to zero.
func (w *chunk[T]) begin(g *gradients[T], p int) {
	s, c := &g.division, g.end-g.first
	n, d, dv := s.starts[g.end]-s.starts[g.first], g.k.Cols, g.v.Cols
	w.g, w.s = g, s
	w.means, w.values = s.means.RowRange(g.first, g.end), s.values.RowRange(g.first, g.end).ColRange(0, dv)
	w.dk, w.dv = zeros(&g.sums[p].keys, n, d), zeros(&g.sums[p].values, n, dv)
	w.dMeans, w.dValues, w.products = zeros(&w.memory[0], c, d), zeros(&w.memory[1], c, dv), zeros(&w.memory[2], c*d, dv)
	w.dVariances = scratch.Resize(w.dVariances, c)
	clear(w.dVariances)
	for _, x := range []*[]T{&w.shifts, &w.logs, &w.deltas, &w.radials} {
		*x = scratch.Resize(*x, mostQueries)
	}
}

// zeros returns a matrix of zeros in b.
func zeros[T dense.Float](b *scratch.Buffer[T], rows, cols int) dense.Matrix[T] {
	b.Shape(rows, cols)
	clear(b.Data)
	return b.Rows(rows)
}

// scorers returns the queries of a part of block k that score the keys of a cluster, counted from
// the first query of the block.
func (w *chunk[T]) scorers(k *kept, p part, cluster int) []int32 {
	from, to := k.span(p, cluster)
	return k.listed[from:to]
}

// add adds the gradients between queries and keys x with the values v, or their means. weights are
// P. add returns P_ij·(g_i·v_j − δ_i).
func (w *chunk[T]) add(weights, x, v, q, dout dense.Matrix[T], deltas []T, dq, dx, dv dense.Matrix[T]) dense.Matrix[T] {
	scale := T(w.g.scale())
	w.slopes.Shape(weights.Rows, weights.Cols)
	slopes := w.slopes.Rows(weights.Rows)
	matmul.MulT(1, v, dout, 0, slopes)
	for l := range slopes.Rows {
		vecmath.AddScaled(slopes.Row(l), deltas, -1)
		vecmath.Multiply(slopes.Row(l), weights.Row(l))
	}
	matmul.Mul(1, weights, dout, 1, dv)
	matmul.Mul(scale, slopes, q, 1, dx)
	matmul.TMul(scale, slopes, x, 1, dq)
	return slopes
}

// addMeans adds the gradients between the clusters and the queries lo ≤ i < hi, which are part p of
// block k, except for clusters whose keys a query scores.
func (w *chunk[T]) addMeans(k *kept, p part, lo, hi int) {
	g, n, scale := w.g, hi-lo, T(w.g.scale())
	q, dout, dq, norms := g.q.RowRange(lo, hi), g.dout.RowRange(lo, hi), g.dq.RowRange(lo, hi), g.norms[lo:hi]
	logs, variances := w.s.logs[g.first:g.end], w.s.variances[g.first:g.end]
	w.weights.Shape(w.means.Rows, n)
	weights := w.weights.Rows(w.means.Rows)
	matmul.MulT(scale, w.means, q, 0, weights)
	for l, t := range variances {
		row := weights.Row(l)
		for i, norm := range norms {
			row[i] += logs[l] + min(norm*t, most)
		}
		vecmath.ExpDiff(row, row, g.shifts[lo:hi], g.logs[lo:hi])
		for _, i := range w.scorers(k, p, g.first+l) {
			row[k.lo-lo+int(i)] = 0
		}
	}
	slopes, radials := w.add(weights, w.means, w.values, q, dout, g.deltas[lo:hi], dq, w.dMeans, w.dValues), w.radials[:n]
	clear(radials)
	for l, t := range variances {
		row := slopes.Row(l)
		for i, norm := range norms {
			if norm*t > most {
				row[i] = 0
			}
		}
		vecmath.AddScaled(radials, row, scale*scale*t)
		w.dVariances[l] += vecmath.Dot(row, norms)
	}
	for i, x := range radials {
		vecmath.AddScaled(dq.Row(i), q.Row(i), x)
	}
	w.q.Shape(n, q.Cols)
	w.dout.Shape(n, dout.Cols)
	least := leastShare / T(w.s.clusters())
	for l := range variances {
		if w.s.count(g.first+l) < 2 {
			continue
		}
		some := 0
		for i, x := range weights.Row(l) {
			if x > least {
				vecmath.Affine(w.q.Rows(n).Row(some), q.Row(i), x, 0)
				copy(w.dout.Rows(n).Row(some), dout.Row(i))
				some++
			}
		}
		matmul.TMul(scale, w.q.Rows(some), w.dout.Rows(some), 1, w.product(l))
	}
}

// product returns s·Σ_i P_ic·q_i·g_iᵀ of cluster l of the chunk.
func (w *chunk[T]) product(l int) dense.Matrix[T] {
	d := w.means.Cols
	return w.products.RowRange(l*d, (l+1)*d)
}

// addScored adds the gradients between the keys of a cluster and the queries of block k that score
// them.
func (w *chunk[T]) addScored(k *kept, cluster int) {
	g, s := w.g, w.s
	w.list = w.list[:0]
	for _, p := range k.parts {
		w.list = append(w.list, w.scorers(k, p, cluster)...)
	}
	from, to := s.starts[cluster]-s.starts[g.first], s.starts[cluster+1]-s.starts[g.first]
	keys, values := s.keysOf(cluster), s.valuesOf(cluster)
	for list := w.list; len(list) > 0; list = list[min(mostScorers, len(list)):] {
		n := min(mostScorers, len(list))
		w.q.Shape(n, g.q.Cols)
		w.dout.Shape(n, g.v.Cols)
		w.weights.Shape(keys.Rows, n)
		q, dout, dq, weights := w.q.Rows(n), w.dout.Rows(n), zeros(&w.dq, n, g.q.Cols), w.weights.Rows(keys.Rows)
		for j, i := range list[:n] {
			i := k.lo + int(i)
			copy(q.Row(j), g.q.Row(i))
			copy(dout.Row(j), g.dout.Row(i))
			w.shifts[j], w.logs[j], w.deltas[j] = g.shifts[i], g.logs[i], g.deltas[i]
		}
		matmul.MulT(T(g.scale()), keys, q, 0, weights)
		for j := range weights.Rows {
			vecmath.ExpDiff(weights.Row(j), weights.Row(j), w.shifts[:n], w.logs[:n])
		}
		w.add(weights, keys, values, q, dout, w.deltas[:n], dq, w.dk.RowRange(from, to), w.dv.RowRange(from, to))
		for j, i := range list[:n] {
			vecmath.AddScaled(g.dq.Row(k.lo+int(i)), dq.Row(j), 1)
		}
	}
}

// end takes the gradients of means and variances to keys and values.
func (w *chunk[T]) end() {
	for l := range w.means.Rows {
		cluster := w.g.first + l
		n, at := w.s.count(cluster), w.s.starts[cluster]-w.s.starts[w.g.first]
		share := 1 / T(n)
		keys, values, dk, dv := w.s.keysOf(cluster), w.s.valuesOf(cluster), w.dk.RowRange(at, at+n), w.dv.RowRange(at, at+n)
		spread := 2 * share / T(keys.Cols) * w.dVariances[l]
		differences := zeros(&w.dout, n, values.Cols)
		for j := range n {
			vecmath.AddScaled(dk.Row(j), w.dMeans.Row(l), share)
			vecmath.AddScaled(dk.Row(j), keys.Row(j), spread)
			vecmath.AddScaled(dk.Row(j), w.means.Row(l), -spread)
			vecmath.AddScaled(dv.Row(j), w.dValues.Row(l), share)
			vecmath.AddScaled(differences.Row(j), values.Row(j), 1)
			vecmath.AddScaled(differences.Row(j), w.values.Row(l), -1)
		}
		matmul.MulT(share, differences, w.product(l), 1, dk)
	}
	w.g, w.s = nil, nil
}
