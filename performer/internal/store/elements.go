package store

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// elements holds the elements of keys and values. The tokens of a tile of package tiles close
// together, so that outputs have the bits of exact attention over all tokens.
type elements[T dense.Float] struct {
	slabs[T]

	// During a call. A piece is a head of keys and the queries of one token, or a head of queries and
	// the queries of several tokens.
	s      *Store[T]
	dst, q dense.Matrix[T]
	mask   tiles.Mask[T]
	places []int // of queries
	rows   int   // tokens of a piece, or 0
}

// NewElements returns an empty store of exact attention for the given numbers of heads of queries
// and of keys, for points of dimension d and values of dimension dv.
func NewElements[T dense.Float](scores Scores, places Places, heads, keyHeads, d, dv int) (*Store[T], error) {
	dims := [2]int{d, dv}
	if err := checkOpen[T](keyHeads, dims, 1); err != nil {
		return nil, err
	}
	e := new(elements[T])
	e.slabs = newSlabs(keyHeads, tiles.Keys, 4*tiles.Keys, places, func(room int) *slab[T] {
		s := &slab[T]{room: room}
		for side, d := range dims {
			s.elements[side] = newColumn[T](s, d, 1, keyHeads*room)
		}
		return s
	})
	return newStore(e, scores, places, heads, keyHeads, dims, tiles.Keys, 0), e.checkMemory(places)
}

func (e *elements[T]) close(s *Store[T], in *groups[T], from, n int) {
	for at := 0; at < n; at += s.run {
		into, place := e.open(s.closed+at, s.run), (s.closed+at)%e.size
		for side, d := range s.dims {
			for h, x := range in[side] {
				dense.Copy(dense.Of(s.run, d, into.elements[side].of(h*into.room+place, s.run)), x.RowRange(from+at, from+at+s.run))
			}
		}
	}
}

// of returns the keys and values of a part of head h of keys.
func (e *elements[T]) of(h int, p tiles.Part) (k, v dense.Matrix[T]) {
	s := e.s
	if p.From >= s.closed {
		k, v = s.recent(h)
		return k.RowRange(p.From-s.closed, p.To-s.closed), v.RowRange(p.From-s.closed, p.To-s.closed)
	}
	slab, row := e.at(p.From, h)
	n := p.To - p.From
	return dense.Of(n, s.dims[0], slab.elements[0].of(row, n)), dense.Of(n, s.dims[1], slab.elements[1].of(row, n))
}

func (e *elements[T]) together(s *Store[T]) int {
	if s.places.drops() {
		return s.places.spare()
	}
	return math.MaxInt
}

// fewElements is the number of elements of keys and values from which on processors share the
// pieces.
const fewElements = 1 << 14

func (e *elements[T]) attend(s *Store[T], dst, q dense.Matrix[T], causal bool) {
	n, pieces, queries := s.tokens(), s.keyHeads, s.heads/s.keyHeads
	e.s, e.dst, e.q, e.mask, e.rows = s, dst, q, mask[T](s.places, 0), 0
	if q.Rows > 1 {
		queries, e.rows = q.Rows, tiles.Queries(q.Rows)
		if s.places.drops() {
			e.rows = tiles.Queries(1) // fewer keys that only some of the queries see
		}
		pieces = s.heads * e.blocks()
	}
	e.places = scratch.Resize(e.places, queries)
	for i := range e.places {
		e.places[i] = n - 1
		if causal && q.Rows > 1 {
			e.places[i] += i + 1 - q.Rows
		}
	}
	e.mask.Places = e.places
	if n*(s.dims[0]+s.dims[1]) < fewElements && e.rows == 0 {
		for i := range pieces {
			e.Piece(i)
		}
	} else {
		parallel.Do(pieces, e)
	}
	e.s, e.dst, e.q = nil, dense.Matrix[T]{}, dense.Matrix[T]{}
}

// blocks returns the number of pieces of a head of queries of several tokens.
func (e *elements[T]) blocks() int { return (e.q.Rows + e.rows - 1) / e.rows }

func (e *elements[T]) Piece(i int) {
	n, group := e.s.heads, e.s.heads/e.s.keyHeads
	if e.rows == 0 {
		q, dst := layout.Heads(e.q, i*group, (i+1)*group, n), layout.Heads(e.dst, i*group, (i+1)*group, n)
		e.outputs(dense.Of(group, e.s.dims[1], dst.Row(0)), dense.Of(group, e.s.dims[0], q.Row(0)), i, i*group, 1, 0)
		return
	}
	head, lo := i/e.blocks(), i%e.blocks()*e.rows
	hi := min(lo+e.rows, e.q.Rows)
	e.outputs(layout.Head(e.dst, head, n).RowRange(lo, hi), layout.Head(e.q, head, n).RowRange(lo, hi), head/group, head, 0, lo)
}

// outputs computes the outputs of queries over the head h of keys. The queries are those from query
// first on of the mask, of heads from head on that are next apart.
func (e *elements[T]) outputs(dst, q dense.Matrix[T], h, head, next, first int) {
	t := tiles.NewTile(e.s.scores.Scores, q, dst.Cols)
	for _, p := range t.Parts(&e.mask, first, e.s.tokens()) {
		k, v := e.of(h, p)
		t.AddPart(k, v, &e.mask, first, p)
	}
	for i := range dst.Rows {
		t.FinishRow(e.s.scores.of(head+i*next), dst.Row(i), i)
	}
	t.Release()
}

func (e *elements[T]) merge(s *Store[T], other content[T], closed int) {
	var in groups[T]
	for at := 0; at < closed; at += s.run {
		for side, d := range s.dims {
			in[side] = in[side][:0]
			for h := range s.keyHeads {
				from, row := other.(*elements[T]).at(at, h)
				in[side] = append(in[side], dense.Of(s.run, d, from.elements[side].of(row, s.run)))
			}
		}
		s.append(&in, s.run)
	}
}

func (e *elements[T]) clone(closed int) content[T] { return &elements[T]{slabs: e.slabs.clone(closed)} }

func (e *elements[T]) save(*Store[T], *Saved[T]) {}

// restore copies open tokens that have closed since.
func (e *elements[T]) restore(s *Store[T], _ *Saved[T], closed, open int) {
	if closed < s.closed && open > 0 {
		for h := range s.keyHeads {
			from, row := e.at(closed, h)
			for side := range s.tail {
				copy(s.tail[side][h].RowRange(0, open).Data, from.elements[side].of(row, open))
			}
		}
	}
	e.truncate(closed)
}

func (e *elements[T]) parameters(s *Store[T]) []parameter { return s.exact(0, 0) }
