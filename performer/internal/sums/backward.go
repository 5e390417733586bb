package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// gradient is a call of Backward of bidirectional attention. It sums the keys as Forward does. Then
// it sums the queries in segments, and computes the gradients of the queries of each segment. The
// gradients of keys and values follow block by block. A piece is a segment of queries or a block of
// keys.
//
// A feature x_if of a query and its denominator D_i are relative to the
// references N_f of the keys and to the divisor M_i of the query. The terms of
//
//	R_f = Σ_i x_if·[g_i, −δ_i]/D_i
//
// are at most twice g_i, and R_f is multiplied by features of keys relative to N_f.
type gradient[T dense.Float] struct {
	HeadGradients[T]
	e              *Engine[T]
	keys, queries  *segments[T]
	ofKeys         bool             // pieces are blocks of keys
	sums           matmul.Packed[T] // S without its last column, transposed
	total          []T              // the last column of S
	pulled, mixing matmul.Packed[T] // R without its last column, transposed and not
	shift          []T              // the last column of R
}

func (e *Engine[T]) Backward(g *HeadGradients[T]) {
	b := e.memory.gradients.Get()
	b.HeadGradients, b.e = *g, e
	b.total, b.shift = scratch.Resize(b.total, e.M), scratch.Resize(b.shift, e.M)

	b.keys = e.segments(g.K, g.V)
	b.keys.sum()
	column(b.total, b.keys.sums[0].Sums())
	matmul.PackT(&b.sums, b.valueSums(b.keys))

	b.queries = e.segments(g.Q, g.DOut)
	b.ofKeys = false
	parallel.Do(b.queries.count, b)
	b.queries.merge()
	column(b.shift, b.queries.sums[0].Sums())
	matmul.PackT(&b.pulled, b.valueSums(b.queries))
	matmul.Pack(&b.mixing, b.valueSums(b.queries))
	b.ofKeys = true
	parallel.Do((g.K.Rows+queryRows-1)/queryRows, b)

	b.keys.release()
	b.queries.release()
	b.HeadGradients, b.keys, b.queries = HeadGradients[T]{}, nil, nil
	e.memory.gradients.Put(b)
}

func (b *gradient[T]) valueSums(s *segments[T]) dense.Matrix[T] {
	return s.sums[0].Sums().ColRange(0, b.V.Cols)
}

func (b *gradient[T]) Piece(i int) {
	if b.ofKeys {
		b.keyGradients(i)
	} else {
		b.queryGradients(i)
	}
}

func (b *gradient[T]) queryGradients(s int) {
	e := b.e
	acc, w := e.Accumulator(b.V.Cols), e.gradientWorkspace()
	if acc.Ref != nil {
		acc.Ref.SetAll(0)
	}
	lo, hi := parallel.Share(b.Q.Rows, b.queries.count, s), parallel.Share(b.Q.Rows, b.queries.count, s+1)
	for ; lo < hi; lo += w.rows {
		end := min(lo+w.rows, hi)
		queries, slopes := w.features.Rows(end-lo), w.slopes.Rows(end-lo)
		q, g := b.Q.RowRange(lo, end), b.DOut.RowRange(lo, end)
		e.Features.Queries(queries, q)
		b.keys.sums[0].ScaleQueries(queries, nil)
		matmul.MulPacked(1, g, &b.sums, 0, slopes, nil)
		for i := range slopes.Rows {
			total, mean := e.quotientSlope(slopes.Row(i), queries.Row(i), b.total)
			vecmath.Scale(queries.Row(i), 1/total)
			w.weights[i] = -mean
		}
		e.Features.PullQueries(b.DQ.RowRange(lo, end), q, slopes)
		totalsOf(w.totals, queries, w.weights)
		addProducts(1, acc.Sums(), queries, g, w.totals)
	}
	b.queries.sums[s] = acc
	e.memory.gradientWorkspaces.Put(w)
}

func (b *gradient[T]) keyGradients(i int) {
	e := b.e
	lo := i * queryRows
	hi := min(lo+queryRows, b.K.Rows)
	w := e.gradientWorkspace()
	for ; lo < hi; lo += w.rows {
		end := min(lo+w.rows, hi)
		keys, slopes := w.features.Rows(end-lo), w.slopes.Rows(end-lo)
		k, v, dv := b.K.RowRange(lo, end), b.V.RowRange(lo, end), b.DV.RowRange(lo, end)
		e.Features.Keys(keys, k)
		if e.Logs {
			b.keys.sums[0].Ref.ScaleKeys(keys, w.totals)
		}
		matmul.MulPacked(1, v, &b.pulled, 0, slopes, nil)
		matmul.MulPacked(1, keys, &b.mixing, 0, dv, nil)
		for j := range slopes.Rows {
			vecmath.AddScaled(slopes.Row(j), b.shift, 1)
			if e.Logs {
				vecmath.Multiply(slopes.Row(j), keys.Row(j))
			}
		}
		e.Features.PullKeys(b.DK.RowRange(lo, end), k, slopes)
	}
	e.memory.gradientWorkspaces.Put(w)
}

type gradientWorkspace[T dense.Float] struct {
	rows             int
	features, slopes scratch.Buffer[T] // rows×m
	weights          []T               // rows
	totals           []T               // m
}

func (e *Engine[T]) gradientWorkspace() *gradientWorkspace[T] {
	w := e.memory.gradientWorkspaces.Get()
	if w.rows == 0 {
		w.rows = blockRows(2 * e.M)
		w.features.Shape(w.rows, e.M)
		w.slopes.Shape(w.rows, e.M)
		w.weights, w.totals = make([]T, w.rows), make([]T, e.M)
	}
	return w
}
