package performer

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// request is one task for a form: the queries of some heads, side by side, over the keys and values
// of one head, in one sequence. q, dst, dq and dout have the columns of all these heads.
type request[T dense.Float] struct {
	gradients[T]                 // outputs need q, k and v alone
	dst          dense.Matrix[T] // for outputs
	heads        int
	valid        []bool         // keys that count; nil are all
	past         int            // query i sees the keys j ≤ i + past if causal
	processors   int            // that the form may use
	pairs        tiles.Pairs[T] // for Exact, which then has one head
}

// maskedForm is a form that can leave out keys and take a past.
type maskedForm[T dense.Float] interface {
	Differentiable[T]

	// attend answers a request, whose shapes fit. A query that sees no key gets zero.
	attend(p request[T])

	// attendBackward writes the gradients of a request, whose shapes fit. Gradients of keys that do
	// not count are zero. A query whose outputs have the gradient zero has the gradient zero, and
	// adds nothing to other gradients, even if it holds NaN. A request has more than one head only
	// if the form shares.
	attendBackward(p request[T])

	// dimension returns the dimension of the queries, or 0 for any.
	dimension() int

	// shares reports whether heads over the same keys cost less together.
	shares() bool
}

var (
	_ maskedForm[float32] = (*Attention[float32])(nil)
	_ maskedForm[float32] = Exact[float32]{}
	_ maskedForm[float32] = (*Auto[float32])(nil)
	_ maskedForm[float32] = (*Landmarks[float32])(nil)
	_ maskedForm[float32] = (*Corrected[float32])(nil)
)

func (a *Attention[T]) dimension() int { return a.d }

func (a *Attention[T]) shares() bool { return !a.opts.Causal }

func (a *Attention[T]) attend(p request[T]) {
	if !a.opts.Causal {
		a.answer(p)
		return
	}
	p = p.trimmed()
	switch {
	case p.q.Rows == 0 || p.v.Cols == 0:
	case p.past == 0:
		seeing := min(p.q.Rows, p.k.Rows)
		for h := range p.heads {
			one := p.head(h).queries(0, seeing)
			a.causal(windowOf(seeing, p.processors), one.dst, one.q, one.k, one.v, one.valid)
		}
		a.answer(p.queries(seeing, p.q.Rows))
	case p.past >= p.k.Rows-1:
		a.answer(p)
	default:
		a.resume(p)
	}
}

// answer answers a request whose queries all see all of its keys.
func (a *Attention[T]) answer(p request[T]) {
	if p.q.Rows == 0 || p.v.Cols == 0 {
		return
	}
	k, v, copies := validOnly(p.k, p.v, p.valid)
	if k.Rows == 0 {
		zero(p.dst)
	} else {
		a.bidirectional(p.heads, p.dst, p.q, k, v)
	}
	if copies != nil {
		pool.Put(&rowMemories, copies)
	}
}

// resume answers a causal request whose queries begin in the middle of its keys. It puts the
// queries at the end of a matrix with one row for each key.
func (a *Attention[T]) resume(p request[T]) {
	aligned := p.k.Rows - p.past
	m, q, dst := rowsFor[T](p.k.Rows, a.d, p.v.Cols)
	zero(q.RowRange(0, p.past))
	for h := range p.heads {
		one := p.head(h).queries(0, min(aligned, p.q.Rows))
		end := p.past + one.q.Rows
		dense.Copy(q.RowRange(p.past, end), one.q)
		valid := one.valid
		if valid != nil {
			valid = valid[:end]
		}
		a.causal(windowOf(end, p.processors), dst.RowRange(0, end), q.RowRange(0, end), one.k.RowRange(0, end), one.v.RowRange(0, end), valid)
		dense.Copy(one.dst, dst.RowRange(p.past, end))
	}
	pool.Put(&rowMemories, m)
	a.answer(p.queries(min(aligned, p.q.Rows), p.q.Rows))
}

// head returns the request for one of the heads.
func (p request[T]) head(h int) request[T] {
	p.dst, p.q, p.heads = layout.Head(p.dst, h, p.heads), layout.Head(p.q, h, p.heads), 1
	return p
}

// queries returns the request for the queries from ≤ i < to.
func (p request[T]) queries(from, to int) request[T] {
	p.dst, p.q, p.past = p.dst.RowRange(from, to), p.q.RowRange(from, to), p.past+from
	return p
}

// trimmed sets the outputs of queries that see no key to zero in a causal request. It returns the
// request for the other queries, and for the keys from the first to the last that count and are
// seen. The past of the result is not negative, and its valid is nil if all keys count.
func (p request[T]) trimmed() request[T] {
	first, keys := 0, 0
	if seen := min(p.k.Rows, max(p.past+p.q.Rows, 0)); p.valid == nil {
		keys = seen
	} else {
		first, keys = extent(p.valid[:seen])
	}
	unseen := p.q.Rows
	if first < keys {
		unseen = min(max(first-p.past, 0), p.q.Rows)
	}
	zero(p.dst.RowRange(0, unseen))
	p = p.queries(unseen, p.q.Rows)
	p.k, p.v, p.past = p.k.RowRange(first, keys), p.v.RowRange(first, keys), p.past-first
	if p.valid = p.valid[min(first, len(p.valid)):min(keys, len(p.valid))]; !slices.Contains(p.valid, false) {
		p.valid = nil
	}
	return p
}

// extent returns the first valid index and the index after the last valid one, or 0 and 0.
func extent(valid []bool) (from, to int) {
	if from = slices.Index(valid, true); from < 0 {
		return 0, 0
	}
	for to = len(valid); !valid[to-1]; to-- {
	}
	return from, to
}

// rowMemory is memory for points (queries or keys) and the same number of outputs or values.
type rowMemory[T dense.Float] struct{ points, values scratch.Buffer[T] }

var rowMemories pool.Both[rowMemory[float32], rowMemory[float64]]

// rowsFor returns n×d points and n×dv values of any contents. The caller gives their memory back to
// rowMemories.
func rowsFor[T dense.Float](n, d, dv int) (m *rowMemory[T], points, values dense.Matrix[T]) {
	m = pool.Get[rowMemory[T]](&rowMemories)
	m.points.Shape(n, d)
	m.values.Shape(n, dv)
	return m, m.points.Rows(n), m.values.Rows(n)
}

// validOnly returns the valid rows of k and v: k and v themselves if valid is nil, views if the
// valid rows come first, and otherwise copies. The caller gives the memory of copies back to
// rowMemories.
func validOnly[T dense.Float](k, v dense.Matrix[T], valid []bool) (keys, values dense.Matrix[T], copies *rowMemory[T]) {
	if valid == nil {
		return k, v, nil
	}
	n := count(valid)
	if count(valid[:n]) == n {
		return k.RowRange(0, n), v.RowRange(0, n), nil
	}
	copies, keys, values = rowsFor[T](n, k.Cols, v.Cols)
	at := 0
	for j, counts := range valid {
		if counts {
			copy(keys.Row(at), k.Row(j))
			copy(values.Row(at), v.Row(j))
			at++
		}
	}
	return keys, values, copies
}

// count returns the number of true elements.
func count(valid []bool) int {
	n := 0
	for _, counts := range valid {
		if counts {
			n++
		}
	}
	return n
}
