package sequence

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// Selection holds the rows of a sequence on which gradients depend: queries whose outputs have a
// gradient, and keys that count. Neither the number nor the contents of other rows have an effect
// on gradients. In causal attention the lists of queries and keys have the same length: query
// Queries[t] sees the keys Keys[s] with s ≤ t. An entry may be layout.NoRow.
type Selection[T dense.Float] struct {
	sums.HeadGradients[T]        // matrices of the selected rows, set by Gather
	Queries, Keys         []int  // row h·Lq + i is query i of head h
	ValidQueries          []bool // entries of Queries that are not NoRow; nil if none is NoRow
	ValidKeys             []bool // entries of Keys that are not NoRow; nil if none is NoRow

	validQueries, validKeys   []bool // memory of ValidQueries and ValidKeys
	copiedQueries, copiedKeys bool
	bufQ, bufK, bufV, bufDout scratch.Buffer[T]
	bufDQ, bufDK, bufDV       scratch.Buffer[T]
}

var selections pool.Pair[Selection[float32], Selection[float64]]

// Select returns the selection of a bidirectional or causal backward pass. The caller gives the
// result to Scatter.
func Select[T dense.Float](c Call[T], causal bool) *Selection[T] {
	x := pool.Get[Selection[T]](&selections)
	x.Queries, x.Keys = x.Queries[:0], x.Keys[:0]
	if causal {
		x.align(c)
		return x
	}
	for j := range c.K.Rows {
		if c.Valid == nil || c.Valid[j] {
			x.Keys = append(x.Keys, j)
		}
	}
	for h := range c.Q.Heads {
		dout := dense.Head(c.DOut, 0, h)
		for i := range dout.Rows {
			if !layout.IsZero(dout.Row(i)) {
				x.Queries = append(x.Queries, h*dout.Rows+i)
			}
		}
	}
	return x
}

// SelectRange returns the selection of the queries from ≤ i < to and the keys first ≤ j < end. The
// caller gives the result to Scatter.
func SelectRange[T dense.Float](from, to, first, end int) *Selection[T] {
	x := pool.Get[Selection[T]](&selections)
	x.Queries, x.Keys = x.Queries[:0], x.Keys[:0]
	for i := from; i < to; i++ {
		x.Queries = append(x.Queries, i)
	}
	for j := first; j < end; j++ {
		x.Keys = append(x.Keys, j)
	}
	return x
}

// align selects causal queries and keys. The first entry has a key, and the last entry a query.
func (x *Selection[T]) align(c Call[T]) {
	end := 0                       // after the last query
	c.Past = min(c.Past, c.K.Rows) // query 0 sees all keys then
	for t := range max(c.Q.Rows+c.Past, 0) {
		query, key := layout.NoRow, layout.NoRow
		if t < c.K.Rows && (c.Valid == nil || c.Valid[t]) {
			key = t
		}
		if i := t - c.Past; i >= 0 && !layout.IsZero(c.DOut.Row(0, 0, i)) {
			query = i
		}
		if key == layout.NoRow && (query == layout.NoRow || len(x.Keys) == 0) {
			continue
		}
		x.Queries, x.Keys = append(x.Queries, query), append(x.Keys, key)
		if query != layout.NoRow {
			end = len(x.Queries)
		}
	}
	x.Queries, x.Keys = x.Queries[:end], x.Keys[:end]
}

// Overlap returns the number of entries before the first query, and the number of entries up to the
// last key.
func (x *Selection[T]) Overlap() (past, seen int) {
	for past < len(x.Queries) && x.Queries[past] == layout.NoRow {
		past++
	}
	for seen = len(x.Keys); seen > 0 && x.Keys[seen-1] == layout.NoRow; {
		seen--
	}
	return past, seen
}

// Shift removes the entries before the first query from Queries, and the entries after the last key
// from Keys. Shift returns the number of removed queries: query i then sees keys up to i plus that.
func (x *Selection[T]) Shift() (past int) {
	past, seen := x.Overlap()
	x.Queries, x.Keys = slices.Delete(x.Queries, 0, past), x.Keys[:seen]
	return past
}

func (x *Selection[T]) DropNoRows() {
	none := func(row int) bool { return row == layout.NoRow }
	x.Queries, x.Keys = slices.DeleteFunc(x.Queries, none), slices.DeleteFunc(x.Keys, none)
}

// Gather sets the matrices of x to the selected rows of c: to views if the rows are consecutive,
// and otherwise to copies with zeros in the rows NoRow. Gather reports whether the gradients are
// not empty; empty gradients are set to zero.
func (x *Selection[T]) Gather(c Call[T]) bool {
	x.ValidQueries, x.ValidKeys = validRows(&x.validQueries, x.Queries), validRows(&x.validKeys, x.Keys)
	from, ok := layout.Consecutive(x.Queries)
	if x.copiedQueries = !ok || c.Q.Heads != 1; x.copiedQueries {
		x.Q, x.DOut = gather(&x.bufQ, c.Q, x.Queries), gather(&x.bufDout, c.DOut, x.Queries)
		x.bufDQ.Shape(len(x.Queries), x.Q.Cols)
		x.DQ = x.bufDQ.Rows(len(x.Queries))
	} else {
		to := from + len(x.Queries)
		x.Q, x.DOut, x.DQ = c.Query(0).RowRange(from, to), dense.Head(c.DOut, 0, 0).RowRange(from, to), dense.Head(c.DQ, 0, 0).RowRange(from, to)
	}
	from, ok = layout.Consecutive(x.Keys)
	if x.copiedKeys = !ok; x.copiedKeys {
		x.K, x.V = layout.Gather(&x.bufK, c.K, x.Keys), layout.Gather(&x.bufV, c.V, x.Keys)
		x.bufDK.Shape(len(x.Keys), x.K.Cols)
		x.bufDV.Shape(len(x.Keys), x.V.Cols)
		x.DK, x.DV = x.bufDK.Rows(len(x.Keys)), x.bufDV.Rows(len(x.Keys))
	} else {
		to := from + len(x.Keys)
		x.K, x.V = c.K.RowRange(from, to), c.V.RowRange(from, to)
		x.DK, x.DV = c.DK.RowRange(from, to), c.DV.RowRange(from, to)
	}
	return !x.Empty()
}

// gather copies queries with the numbers of Queries, or zeros, into b, and returns the copy.
func gather[T dense.Float](b *scratch.Buffer[T], t dense.Tensor[T], rows []int) dense.Matrix[T] {
	b.Shape(len(rows), t.Cols)
	gathered := b.Rows(len(rows))
	for at, row := range rows {
		if row == layout.NoRow {
			clear(gathered.Row(at))
		} else {
			copy(gathered.Row(at), t.Row(0, row/t.Rows, row%t.Rows))
		}
	}
	return gathered
}

// Scatter writes the computed gradients to the selected rows of c and zero to its other rows, and
// returns x to its pool.
func (x *Selection[T]) Scatter(c Call[T]) {
	for h := range c.DQ.Heads {
		scatter(dense.Head(c.DQ, 0, h), x.DQ, h*c.DQ.Rows, x.Queries, x.copiedQueries)
	}
	scatter(c.DK, x.DK, 0, x.Keys, x.copiedKeys)
	scatter(c.DV, x.DV, 0, x.Keys, x.copiedKeys)
	x.HeadGradients = sums.HeadGradients[T]{}
	pool.Put(&selections, x)
}

// scatter sets the rows of dst, which have the numbers from first on, to zero if they are not
// selected. If src is a copy, scatter also copies its rows to the selected rows of dst.
func scatter[T dense.Float](dst, src dense.Matrix[T], first int, rows []int, copied bool) {
	if !copied {
		from, _ := layout.Consecutive(rows)
		layout.Zero(dst.RowRange(0, from))
		layout.Zero(dst.RowRange(from+len(rows), dst.Rows))
		return
	}
	layout.Zero(dst)
	for at, row := range rows {
		if row >= first && row < first+dst.Rows {
			copy(dst.Row(row-first), src.Row(at))
		}
	}
}

func validRows(memory *[]bool, rows []int) []bool {
	if !slices.Contains(rows, layout.NoRow) {
		return nil
	}
	*memory = scratch.Resize(*memory, len(rows))
	for at, row := range rows {
		(*memory)[at] = row != layout.NoRow
	}
	return *memory
}
