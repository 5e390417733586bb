package store

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// The tokens of a tile close together, so that outputs have the bits of exact attention.
type elements[T dense.Float] struct {
	segmented[T]
	first int // query
	count int // queries
	mask  tiles.Mask[T]
	rows  int // queries of a piece
}

func newElements[T dense.Float](o Exact) (*Store[T], error) {
	dims, keyHeads := [2]int{o.D, o.DV}, o.KeyHeads
	if err := checkOpen[T](keyHeads, dims, 1); err != nil {
		return nil, err
	}
	e := new(elements[T])
	e.chooser = newChooser(o.TopK, [2]side[T]{}, []int{8})
	choosing := e.chooser.given != nil
	for i := 0; i < len(dims) && choosing; i++ {
		e.chooser.sides[i] = newSide[T](dims[i], 0)
	}
	sides := e.chooser.sides
	e.slabs = newSlabs(keyHeads, tiles.Keys, o.Places, func(room int) *slab[T] {
		s := &slab[T]{room: room}
		for side, d := range dims {
			s.elements[side] = newColumn[T](s, d, 1, keyHeads*room)
		}
		if choosing {
			newCoarse(s, &sides, keyHeads*room)
		}
		return s
	})
	return newStore(e, o, tiles.Keys, 0), e.checkMemory(o.Places)
}

func (e *elements[T]) close(s *Store[T], in *groups[T], from, n int) {
	for at := 0; at < n; at += s.run {
		into, place := e.open(s.closed+at, s.run), (s.closed+at)%e.size
		for side, d := range s.dims {
			for h, x := range in[side] {
				dense.Copy(dense.Of(s.run, d, into.elements[side].of(h*into.room+place, s.run)), x.RowRange(from+at, from+at+s.run))
			}
		}
		e.chooser.make(into, place, s.run, s.of.KeyHeads)
	}
}

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
	if s.of.Places.drops() {
		return s.of.Places.spare()
	}
	return math.MaxInt
}

// fewElements is the number of elements from which on processors share a token.
const fewElements = 1 << 14

func (e *elements[T]) attend(s *Store[T], dst, q dense.Matrix[T], causal bool) {
	e.begin(s, dst, q, causal)
	e.chooser.attend(e, &e.headQueries, &e.slabs)
	e.end()
}

func (e *elements[T]) whole(from, to int) {
	s := e.s
	e.first, e.count = from*e.group, (to-from)*e.group
	e.mask = mask[T](s.of.Places, 0)
	e.mask.Places, e.rows = e.places, tiles.Queries(e.count)
	if s.of.Places.drops() {
		e.rows = tiles.Queries(1) // fewer keys that only some of the queries see
	}
	share(to-from == 1 && s.tokens()*(s.dims[0]+s.dims[1]) < fewElements, e.blocks()*s.of.KeyHeads, e)
}

func (e *elements[T]) blocks() int { return (e.count + e.rows - 1) / e.rows }

func (e *elements[T]) Piece(i int) {
	h, first := i/e.blocks(), e.first+i%e.blocks()*e.rows
	if e.chooser.skips(h) {
		return
	}
	w := pool.Get[work[T]](&works)
	q := e.queries(&w.queries, h, first, min(first+e.rows, e.first+e.count))
	t := tiles.NewTile(e.s.of.Scores[0], q, e.s.dims[1])
	for _, p := range t.Parts(&e.mask, first, e.s.tokens()) {
		k, v := e.of(h, p)
		t.AddPart(k, v, &e.mask, first, p)
	}
	for i := range q.Rows {
		t.FinishRow(e.scores(h, first+i), e.vector(e.dst, h, first+i), i)
	}
	t.Release()
	pool.Put(&works, w)
}

func (e *elements[T]) merge(s *Store[T], other content[T], closed int) {
	var in groups[T]
	for at := 0; at < closed; at += s.run {
		for side, d := range s.dims {
			in[side] = in[side][:0]
			for h := range s.of.KeyHeads {
				from, row := other.(*elements[T]).at(at, h)
				in[side] = append(in[side], dense.Of(s.run, d, from.elements[side].of(row, s.run)))
			}
		}
		s.append(&in, s.run)
	}
}

func (e *elements[T]) clone(closed int) content[T] {
	return &elements[T]{segmented: e.segmented.clone(closed)}
}

func (e *elements[T]) save(*Store[T], *Saved[T]) {}

func (e *elements[T]) restore(s *Store[T], _ *Saved[T], closed, open int) {
	if closed < s.closed && open > 0 {
		for h := range s.of.KeyHeads {
			from, row := e.at(closed, h)
			for side := range s.tail {
				copy(s.tail[side][h].RowRange(0, open).Data, from.elements[side].of(row, open))
			}
		}
	}
	e.truncate(closed)
}

func (e *elements[T]) parameters(s *Store[T]) []parameter { return s.exact(0, 0) }

// fetch does nothing: Tile.AddRows prefetches the tokens.
func (e *elements[T]) fetch(*choice[T]) {}

func (e *elements[T]) read(w *choice[T], g int) {
	s, i := e.s, w.first+g
	for side, d := range s.dims {
		w.elements[side] = w.elements[side][:0]
		for _, at := range w.places {
			w.elements[side] = append(w.elements[side], at.slab.elements[side].data[at.row*d:][:d])
		}
	}
	if keys, values := w.elements[0], w.elements[1]; s.of.Places.Slope == 0 {
		w.tile.AddRows(keys, values)
	} else {
		for j, at := range w.read {
			e.add(w.tile, dense.Of(1, s.dims[0], keys[j]), dense.Of(1, s.dims[1], values[j]), w.token(at), i)
		}
	}
	clear(w.elements[0])
	clear(w.elements[1])
	for _, p := range [...]tiles.Part{{From: max(w.near, w.low), To: w.open}, {From: w.open, To: w.place + 1}} {
		if p.From < p.To {
			k, v := e.of(w.h, p)
			e.add(w.tile, k, v, p.From, i)
		}
	}
}
