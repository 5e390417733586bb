package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/product"
)

// causal goes through the tokens in windows of block rows, whose features are
// computed together, and in each window from chunk to chunk.
func (a *Attention[T]) causal(dst, q, k, v dense.Matrix[T]) {
	acc := a.accumulator(v.Cols)
	defer a.accumulators.Put(acc)
	w := a.workspace(v.Cols)
	defer a.workspaces.Put(w)
	for lo := 0; lo < q.Rows; lo += block {
		hi := min(lo+block, q.Rows)
		var queries, keys dense.Matrix[T]
		parallel.Pieces(2, func(i int) {
			if i == 0 {
				queries = a.mapQueries(w, q.RowRange(lo, hi))
			} else {
				keys = a.mapKeys(w, k.RowRange(lo, hi))
			}
		})
		values := a.extend(w, v.RowRange(lo, hi))
		out := dst.RowRange(lo, hi)
		for s := 0; s < hi-lo; {
			n := acc.open(w, keys.RowRange(s, hi-lo))
			a.chunk(acc, w, out.RowRange(s, s+n), queries.RowRange(s, s+n), keys.RowRange(s, s+n), values.RowRange(s, s+n))
			s += n
		}
	}
}

// open raises the reference to the first of the keys and returns how many of
// them can share it. Neither depends on a key that a row of the chunk must not
// see: the chunk ends before the first key that would not fit.
func (acc *accumulator[T]) open(w *workspace[T], keys dense.Matrix[T]) int {
	if acc.ref == nil {
		return keys.Rows
	}
	exponentsOf(w.exponents, w.peaks, keys.RowRange(0, 1))
	acc.rescale(w.exponents)
	return acc.ref.admits(keys)
}

// chunk attends from the queries of a chunk to what acc holds and to the keys
// of the chunk up to their own, then adds the chunk to acc.
func (a *Attention[T]) chunk(acc *accumulator[T], w *workspace[T], dst, queries, keys, values dense.Matrix[T]) {
	if acc.ref != nil {
		exponentsOf(w.exponents, w.peaks, keys)
	}
	acc.scaleKeys(keys)
	scales := w.scales[:queries.Rows]
	acc.scaleQueries(queries, scales)

	out := w.out.rows(queries.Rows)
	acc.attend(out, queries)
	scores := w.scores.rows(queries.Rows).ColRange(0, keys.Rows)
	product.MulT(1, queries, keys, 0, scores)
	for i := range out.Rows {
		// The future is left out rather than multiplied by zero: it may be NaN.
		addWeighted(out.Row(i), scores.Row(i)[:i+1], values)
	}
	a.finish(dst, out, scales)

	acc.absorb(keys, values)
	if acc.ref != nil {
		acc.rescale(w.exponents)
	}
}

// addWeighted adds Σ_j weights[j]·(row j of x) to dst, in ascending order of j.
func addWeighted[T dense.Float](dst, weights []T, x dense.Matrix[T]) {
	for j, a := range weights {
		row := x.Row(j)[:len(dst)]
		for c := range dst {
			dst[c] += a * row[c]
		}
	}
}
