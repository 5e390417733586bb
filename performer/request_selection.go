package performer

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// selection is the rows of a request that gradients depend on, and memory for copies of these rows.
// Other rows are left out, so that neither their number nor their contents have an effect.
type selection[T dense.Float] struct {
	sums.Gradients[T]       // of the rows that were taken
	queries, keys     []int // row h·Lq + i is query i of head h

	valid, asking             []bool // which rows of keys and of queries are not holes; nil for all
	validMemory, askingMemory []bool
	copiedQueries, copiedKeys bool
	bufQ, bufK, bufV, bufDout scratch.Buffer[T]
	bufDQ, bufDK, bufDV       scratch.Buffer[T]
}

// selected returns the rows of queries whose outputs have a gradient, and the rows of keys that
// count. If all is true, each query sees all keys. Otherwise queries and keys are aligned: a query
// sees the keys up to its own place. A place may hold layout.NoRow, a hole, in place of the query
// or the key. The first place has a key, the last place a query.
func (s *selection[T]) selected(p gradientRequest[T], causal bool) (queries, keys []int, all bool) {
	s.queries, s.keys = s.queries[:0], s.keys[:0]
	if causal {
		s.align(p)
		return s.queries, s.keys, false
	}
	for h := range p.heads {
		dout := layout.Head(p.dout, h, p.heads)
		for i := range dout.Rows {
			if !layout.IsZero(dout.Row(i)) {
				s.queries = append(s.queries, h*dout.Rows+i)
			}
		}
	}
	for j := range p.k.Rows {
		if p.valid == nil || p.valid[j] {
			s.keys = append(s.keys, j)
		}
	}
	return s.queries, s.keys, true
}

// span selects the queries from ≤ i < to and the keys first ≤ j < end.
func (s *selection[T]) span(from, to, first, end int) {
	s.queries, s.keys = s.queries[:0], s.keys[:0]
	for i := from; i < to; i++ {
		s.queries = append(s.queries, i)
	}
	for j := first; j < end; j++ {
		s.keys = append(s.keys, j)
	}
}

// align aligns queries with keys, as selected says.
func (s *selection[T]) align(p gradientRequest[T]) {
	end := 0                       // after the last query
	p.past = min(p.past, p.k.Rows) // all keys are seen then
	for t := range max(p.q.Rows+p.past, 0) {
		query, key := layout.NoRow, layout.NoRow
		if t < p.k.Rows && (p.valid == nil || p.valid[t]) {
			key = t
		}
		if i := t - p.past; i >= 0 && !layout.IsZero(p.dout.Row(i)) {
			query = i
		}
		if key == layout.NoRow && (query == layout.NoRow || len(s.keys) == 0) {
			continue
		}
		s.queries, s.keys = append(s.queries, query), append(s.keys, key)
		if query != layout.NoRow {
			end = len(s.queries)
		}
	}
	s.queries, s.keys = s.queries[:end], s.keys[:end]
}

// overlap returns the number of places before the first query, and the number of places up to the
// last key.
func overlap(queries, keys []int) (past, seen int) {
	for past < len(queries) && queries[past] == layout.NoRow {
		past++
	}
	for seen = len(keys); seen > 0 && keys[seen-1] == layout.NoRow; {
		seen--
	}
	return past, seen
}

// withoutHoles removes the holes from a list.
func withoutHoles(rows []int) []int {
	return slices.DeleteFunc(rows, func(row int) bool { return row == layout.NoRow })
}

// take returns the matrices for the given queries and keys: views if rows are consecutive, and
// otherwise copies, which are zero in holes.
func (s *selection[T]) take(p gradientRequest[T], queries, keys []int) *sums.Gradients[T] {
	s.Gradients = gradientsOf(p)
	s.asking = marks(&s.askingMemory, queries)
	s.valid = marks(&s.validMemory, keys)
	if from, ok := layout.Consecutive(queries); ok && p.heads == 1 {
		to := from + len(queries)
		s.copiedQueries = false
		s.Q, s.DOut, s.DQ = p.q.RowRange(from, to), p.dout.RowRange(from, to), p.dq.RowRange(from, to)
	} else {
		s.copiedQueries = true
		s.Q = layout.Gather(&s.bufQ, p.q, p.heads, queries)
		s.DOut = layout.Gather(&s.bufDout, p.dout, p.heads, queries)
		s.bufDQ.Shape(len(queries), s.Q.Cols)
		s.DQ = s.bufDQ.Rows(len(queries))
	}
	if from, ok := layout.Consecutive(keys); ok {
		to := from + len(keys)
		s.copiedKeys = false
		s.K, s.V = p.k.RowRange(from, to), p.v.RowRange(from, to)
		s.DK, s.DV = p.dk.RowRange(from, to), p.dv.RowRange(from, to)
	} else {
		s.copiedKeys = true
		s.K, s.V = layout.Gather(&s.bufK, p.k, 1, keys), layout.Gather(&s.bufV, p.v, 1, keys)
		s.bufDK.Shape(len(keys), s.K.Cols)
		s.bufDV.Shape(len(keys), s.V.Cols)
		s.DK, s.DV = s.bufDK.Rows(len(keys)), s.bufDV.Rows(len(keys))
	}
	return &s.Gradients
}

// give writes the computed gradients to the rows of the request that were taken, and zero to the
// other rows.
func (s *selection[T]) give(p gradientRequest[T], queries, keys []int) {
	scatter(p.dq, s.DQ, p.heads, queries, s.copiedQueries)
	scatter(p.dk, s.DK, 1, keys, s.copiedKeys)
	scatter(p.dv, s.DV, 1, keys, s.copiedKeys)
	s.Gradients = sums.Gradients[T]{}
}

// scatter sets the rows of dst that were not taken to zero. If src is a copy, scatter also copies
// its rows to their places in dst.
func scatter[T dense.Float](dst, src dense.Matrix[T], heads int, rows []int, copied bool) {
	if !copied {
		from, _ := layout.Consecutive(rows)
		layout.Zero(dst.RowRange(0, from))
		layout.Zero(dst.RowRange(from+len(rows), dst.Rows))
		return
	}
	layout.Zero(dst)
	for at, row := range rows {
		if row != layout.NoRow {
			copy(layout.Head(dst, row/dst.Rows, heads).Row(row%dst.Rows), src.Row(at))
		}
	}
}

// marks returns, in the given memory, which rows are not holes, or nil if there are no holes.
func marks(memory *[]bool, rows []int) []bool {
	if !slices.Contains(rows, layout.NoRow) {
		return nil
	}
	*memory = scratch.Resize(*memory, len(rows))
	for at, row := range rows {
		(*memory)[at] = row != layout.NoRow
	}
	return *memory
}

var selections pool.Pair[selection[float32], selection[float64]]
