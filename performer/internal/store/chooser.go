package store

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	// firstTokens is the number of first tokens that a query reads in any case, because softmax
	// attention gives them large weights.
	firstTokens = 4

	// More is the least number of tokens that a query reads beside the chosen keys: it reads all
	// tokens if there are at most so many more than chosen keys.
	More = 2*Segment - 1
)

// chooser computes outputs from the keys of the highest estimated scores. It is part of a content.
type chooser[T dense.Float] struct {
	most    []int // number of keys that a query of each head chooses, 0 if it reads all keys; or nil
	least   int   // the least of them that is not 0
	sides   [2]side[T]
	widths  []int // of the digits of a query
	coarsen coarsen[T]

	// During a call. A piece is a head of keys with one row of queries.
	of    reader[T]
	on    *call[T]
	slabs *slabs[T]
	out   []T    // of all rows and heads
	done  []bool // by row and head of keys: out has the outputs
	skip  []bool // heads of keys without outputs to compute, during whole; or nil
}

// reader is a content with a chooser.
type reader[T dense.Float] interface {
	// whole computes the outputs of the rows of queries from ≤ i < to over all keys, except those of
	// heads of keys to skip.
	whole(from, to int)

	// fetch prefetches tokens. read adds the tokens w.read, and those from w.near on, to the sums of
	// query g.
	fetch(places []place[T])
	read(w *choice[T], g int)
}

// newChooser returns a chooser for keys and values of two dimensions. most may be nil.
func newChooser[T dense.Float](most []int, sides [2]side[T], widths []int) chooser[T] {
	c := chooser[T]{sides: sides, widths: widths}
	for _, n := range most {
		if n > 0 && (c.least == 0 || n < c.least) {
			c.most, c.least = most, n
		}
	}
	return c
}

// clone returns a chooser without a call.
func (c *chooser[T]) clone() chooser[T] { return newChooser(c.most, c.sides, c.widths) }

// attend computes the outputs of a call. The outputs of a query do not depend on other queries. An
// output that is not finite, or may be inaccurate, is computed again from all tokens.
func (c *chooser[T]) attend(of reader[T], on *call[T], l *slabs[T]) {
	if c.most == nil || on.s.tokens() <= c.least+More {
		of.whole(0, on.q.Rows)
		return
	}
	c.of, c.on, c.slabs = of, on, l
	rows, heads, width := on.q.Rows, on.s.keyHeads, on.group*on.s.dims[1]
	c.out, c.done = scratch.Resize(c.out, rows*heads*width), scratch.Resize(c.done, rows*heads)
	if on.s.tokens()*on.s.heads < fewChosen {
		for i := range c.done {
			c.Piece(i)
		}
	} else {
		parallel.Do(len(c.done), c)
	}
	for from, to := 0, 0; from < rows; from = to {
		c.skip = c.done[from*heads:][:heads]
		for to = from + 1; to < rows && slices.Equal(c.skip, c.done[to*heads:][:heads]); {
			to++
		}
		for i := range (to - from) * heads {
			if row, h := from+i/heads, i%heads; c.skip[h] {
				copy(on.dst.Row(row)[h*width:][:width], c.out[(row*heads+h)*width:])
			}
		}
		if slices.Contains(c.skip, false) {
			of.whole(from, to)
		}
	}
	c.of, c.on, c.slabs, c.skip = nil, nil, nil, nil
}

// skips reports whether whole computes no outputs of a head of keys.
func (c *chooser[T]) skips(h int) bool { return c.skip != nil && c.skip[h] }

// chooses reports whether a row of queries sees so many tokens that it reads only some of them, if
// it chooses most.
func (c *chooser[T]) chooses(on *call[T], row, most int) bool {
	place := on.places[row*on.group]
	low := on.s.places.first(place)
	return most > 0 && place+1-low+min(on.s.places.Sinks, low) > most+More
}

// fewChosen is the number of scores from which on processors share the heads.
const fewChosen = 1 << 11

// Piece computes the outputs of a head of keys, unless one of its queries reads all keys.
func (c *chooser[T]) Piece(piece int) {
	on := c.on
	row, h := piece/on.s.keyHeads, piece%on.s.keyHeads
	ok := true
	for _, most := range c.most[h*on.group:][:on.group] {
		ok = ok && c.chooses(on, row, most)
	}
	if ok {
		w := pool.Get[choice[T]](&choices)
		w.begin(c, h, row)
		ok = w.tokens > 0 && w.estimate()
		for g, dv := 0, on.s.dims[1]; g < on.group && ok; g++ {
			ok = w.output(c.out[(piece*on.group+g)*dv:][:dv], g)
		}
		w.of, w.tile = nil, nil
		pool.Put(&choices, w)
	}
	c.done[piece] = ok
}
