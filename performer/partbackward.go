package performer

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// partGradient is what a form is asked for on the way back in a batch: all gradients of
// a [part].
type partGradient[T dense.Float] struct {
	gradients[T]        // dq, q and dout have the columns of all heads
	heads        int    // more than one only for forms that share
	valid        []bool // keys that count; nil are all
	past         int    // query i sees the keys j ≤ i + past if causal
	processors   int    // to make work for
}

// partialGradient is a form that computes gradients of parts.
type partialGradient[T dense.Float] interface {
	// attendBackward writes the gradients of a part, whose shapes fit. Those of keys
	// that do not count are zero, and so is that of a query whose outputs have the
	// gradient zero. The latter gives nothing, whatever it holds.
	attendBackward(p partGradient[T])
}

var (
	_ partialGradient[float32] = (*Attention[float32])(nil)
	_ partialGradient[float32] = Exact[float32]{}
	_ partialGradient[float32] = (*Auto[float32])(nil)
)

func (a *Attention[T]) attendBackward(p partGradient[T]) {
	s := pool.Get[selection[T]](&selections)
	queries, keys, all := s.selected(p, a.opts.Causal)
	if !all {
		past, seen := overlap(queries, keys)
		if all = past > 0 && past >= seen-1; all {
			queries, keys = withoutHoles(queries[past:]), withoutHoles(keys[:seen])
		}
	}
	switch g := s.take(p, queries, keys); {
	case g.empty():
	case all:
		a.bidirectionalBackward(g)
	default:
		a.causalBackwardOver(windowOf(g.q.Rows, p.processors), g, s.valid, s.asking)
	}
	s.give(p, queries, keys)
	pool.Put(&selections, s)
}

func (e Exact[T]) attendBackward(p partGradient[T]) {
	s := pool.Get[selection[T]](&selections)
	queries, keys, all := s.selected(p, e.Causal)
	past := 0
	if !all {
		var seen int
		past, seen = overlap(queries, keys)
		queries, keys = queries[past:], keys[:seen]
	}
	if g := s.take(p, queries, keys); !g.empty() {
		exactBackward(g, e.SoftmaxOptions, past, s.valid)
	}
	s.give(p, queries, keys)
	pool.Put(&selections, s)
}

// hole stands for no row in a list of rows.
const hole = -1

// selection is the rows of a part that gradients depend on, and memory for copies of
// them. Without the others neither their number nor what they hold can have an effect.
type selection[T dense.Float] struct {
	gradients[T]        // of the rows that were taken
	queries, keys []int // row h·Lq + i is query i of head h

	valid, asking             []bool // which rows of keys and of queries are no holes; nil for all
	validMemory, askingMemory []bool
	copiedQueries, copiedKeys bool
	bufQ, bufK, bufV, bufDout buffer[T]
	bufDQ, bufDK, bufDV       buffer[T]
}

// selected returns the rows of queries that have gradients to give, and of keys that
// count. If all is true each of the queries sees all keys. Otherwise they are in line:
// a query sees the keys up to its own place, a place may have a hole for
// either, and the first has a key, the last a query.
func (s *selection[T]) selected(p partGradient[T], causal bool) (queries, keys []int, all bool) {
	s.queries, s.keys = s.queries[:0], s.keys[:0]
	if causal {
		s.align(p)
		return s.queries, s.keys, false
	}
	for h := range p.heads {
		dout := headOf(p.dout, h, p.heads)
		for i := range dout.Rows {
			if !isZero(dout.Row(i)) {
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

// align brings queries in line with keys.
func (s *selection[T]) align(p partGradient[T]) {
	end := 0 // after the last query
	for t := range max(p.q.Rows+p.past, 0) {
		query, key := hole, hole
		if t < p.k.Rows && (p.valid == nil || p.valid[t]) {
			key = t
		}
		if i := t - p.past; i >= 0 && !isZero(p.dout.Row(i)) {
			query = i
		}
		if key == hole && (query == hole || len(s.keys) == 0) {
			continue
		}
		s.queries, s.keys = append(s.queries, query), append(s.keys, key)
		if query != hole {
			end = len(s.queries)
		}
	}
	s.queries, s.keys = s.queries[:end], s.keys[:end]
}

// overlap returns the number of places before the first query, and that up to the last
// key.
func overlap(queries, keys []int) (past, seen int) {
	for past < len(queries) && queries[past] == hole {
		past++
	}
	for seen = len(keys); seen > 0 && keys[seen-1] == hole; {
		seen--
	}
	return past, seen
}

// withoutHoles removes the holes from a list.
func withoutHoles(rows []int) []int {
	return slices.DeleteFunc(rows, func(row int) bool { return row == hole })
}

// isZero reports whether all elements of x are zero.
func isZero[T dense.Float](x []T) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// take returns the gradients to compute, of these queries and keys: views where they
// follow one another, and otherwise copies, which are zero in holes.
func (s *selection[T]) take(p partGradient[T], queries, keys []int) *gradients[T] {
	s.gradients = p.gradients
	s.asking = marks(&s.askingMemory, queries)
	s.valid = marks(&s.validMemory, keys)
	if from, ok := run(queries); ok && p.heads == 1 {
		to := from + len(queries)
		s.copiedQueries = false
		s.q, s.dout, s.dq = p.q.RowRange(from, to), p.dout.RowRange(from, to), p.dq.RowRange(from, to)
	} else {
		s.copiedQueries = true
		s.q = pick(&s.bufQ, p.q, p.heads, queries)
		s.dout = pick(&s.bufDout, p.dout, p.heads, queries)
		s.bufDQ.shape(len(queries), s.q.Cols)
		s.dq = s.bufDQ.rows(len(queries))
	}
	if from, ok := run(keys); ok {
		to := from + len(keys)
		s.copiedKeys = false
		s.k, s.v = p.k.RowRange(from, to), p.v.RowRange(from, to)
		s.dk, s.dv = p.dk.RowRange(from, to), p.dv.RowRange(from, to)
	} else {
		s.copiedKeys = true
		s.k, s.v = pick(&s.bufK, p.k, 1, keys), pick(&s.bufV, p.v, 1, keys)
		s.bufDK.shape(len(keys), s.k.Cols)
		s.bufDV.shape(len(keys), s.v.Cols)
		s.dk, s.dv = s.bufDK.rows(len(keys)), s.bufDV.rows(len(keys))
	}
	return &s.gradients
}

// give makes what was computed for the rows that were taken the gradients of the part,
// and those of the others zero.
func (s *selection[T]) give(p partGradient[T], queries, keys []int) {
	scatter(p.dq, s.dq, p.heads, queries, s.copiedQueries)
	scatter(p.dk, s.dk, 1, keys, s.copiedKeys)
	scatter(p.dv, s.dv, 1, keys, s.copiedKeys)
	s.gradients = gradients[T]{}
}

// scatter copies the rows of src, if they are copies, to where they belong in dst, and
// sets the other rows to zero.
func scatter[T dense.Float](dst, src dense.Matrix[T], heads int, rows []int, copied bool) {
	if !copied {
		from, _ := run(rows)
		zero(dst.RowRange(0, from))
		zero(dst.RowRange(from+len(rows), dst.Rows))
		return
	}
	zero(dst)
	for at, row := range rows {
		if row != hole {
			copy(headOf(dst, row/dst.Rows, heads).Row(row%dst.Rows), src.Row(at))
		}
	}
}

// pick copies the rows of m, of so many heads, into memory of b.
func pick[T dense.Float](b *buffer[T], m dense.Matrix[T], heads int, rows []int) dense.Matrix[T] {
	b.shape(len(rows), m.Cols/heads)
	picked := b.rows(len(rows))
	for at, row := range rows {
		if row == hole {
			clear(picked.Row(at))
		} else {
			copy(picked.Row(at), headOf(m, row/m.Rows, heads).Row(row%m.Rows))
		}
	}
	return picked
}

// run reports whether rows follow one another, and the first of them.
func run(rows []int) (from int, ok bool) {
	if len(rows) == 0 {
		return 0, true
	}
	for at, row := range rows {
		if row != rows[0]+at || row == hole {
			return 0, false
		}
	}
	return rows[0], true
}

// marks returns which rows are no holes, in such memory, or nil if none is one.
func marks(memory *[]bool, rows []int) []bool {
	if !slices.Contains(rows, hole) {
		return nil
	}
	*memory = resize(*memory, len(rows))
	for at, row := range rows {
		(*memory)[at] = row != hole
	}
	return *memory
}

var selections pool.Both[selection[float32], selection[float64]]
