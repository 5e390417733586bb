package store

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// headQueries holds the queries of attend. Query i·group + g of a head of keys is row i of head g.
type headQueries[T dense.Float] struct {
	s      *Store[T]
	dst, q dense.Matrix[T]
	group  int // heads of queries for each head of keys
	causal bool
	places []int // of the queries of a head of keys
}

// Causal queries are those of the last tokens, and each sees the tokens up to its own.
func (x *headQueries[T]) begin(s *Store[T], dst, q dense.Matrix[T], causal bool) {
	x.s, x.dst, x.q, x.group, x.causal = s, dst, q, s.of.Heads/s.of.KeyHeads, causal
	x.places = scratch.Resize(x.places, q.Rows*x.group)
	for i := range x.places {
		x.places[i] = s.tokens() - 1
		if causal {
			x.places[i] += i/x.group + 1 - q.Rows
		}
	}
}

func (x *headQueries[T]) end() { x.s, x.dst, x.q = nil, dense.Matrix[T]{}, dense.Matrix[T]{} }

// vector returns the part of m that belongs to query i of a head of keys.
func (x *headQueries[T]) vector(m dense.Matrix[T], h, i int) []T {
	return layout.Head(m, h*x.group+i%x.group, x.s.of.Heads).Row(i / x.group)
}

func (x *headQueries[T]) queries(memory *scratch.Buffer[T], h, from, to int) dense.Matrix[T] {
	memory.Shape(to-from, x.s.dims[0])
	q := memory.Rows(to - from)
	for i := range q.Rows {
		copy(q.Row(i), x.vector(x.q, h, from+i))
	}
	return q
}

func (x *headQueries[T]) add(t *tiles.Tile[T], k, v dense.Matrix[T], token, first int) {
	m := mask[T](x.s.of.Places, token)
	m.Places = x.places
	t.AddSeen(k, v, m, first)
}

func share(little bool, pieces int, t parallel.Task) {
	if !little {
		parallel.Do(pieces, t)
		return
	}
	for i := range pieces {
		t.Piece(i)
	}
}

func (x *headQueries[T]) scores(h, i int) tiles.Scores { return x.s.of.Scores[h*x.group+i%x.group] }
