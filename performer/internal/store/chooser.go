package store

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	// A query reads the firstTokens first tokens, because softmax attention gives them large
	// weights.
	firstTokens = 4

	// More is the least number of tokens that a query reads beside the chosen keys: it reads all
	// tokens if there are at most so many more than chosen keys.
	More = 2*Segment - 1
)

type keyChooser[T dense.Float] struct {
	given   []TopK // of each head; nil if all heads read all keys
	paces   []pace // of each head
	paced   bool   // by errors of steps
	sides   [2]side[T]
	widths  []int // of the digits of a query
	coarsen coarsen[T]

	// During a call. A piece is a head of keys with one row of queries.
	of    tokenReader[T]
	on    *headQueries[T]
	slabs *slabs[T]
	out   []T    // of all rows and heads
	done  []bool // by row and head of keys: out has the outputs
	trial []bool // by row and head of keys: out has outputs to measure
	skip  []bool // heads of keys without outputs to compute, during whole; or nil
}

type segmented[T dense.Float] struct {
	slabs[T]
	chooser        keyChooser[T]
	headQueries[T] // during attend
}

func (x *segmented[T]) choosing() *keyChooser[T] { return &x.chooser }

func (x *segmented[T]) clone(closed int) segmented[T] {
	return segmented[T]{slabs: x.slabs.clone(closed), chooser: x.chooser.clone()}
}

func (x *segmented[T]) decode(from *Recipe, r runs) {
	x.slabs.decode(from, r)
	x.chooser.remake(&x.slabs, 0, r.sinks)
	x.chooser.remake(&x.slabs, r.from, r.closed)
}

type tokenReader[T dense.Float] interface {
	// whole computes the outputs of queries from ≤ i < to over all keys, except in heads to skip.
	whole(from, to int)

	// fetch prefetches the tokens of w. read adds w.read and the tokens from w.near on to sums of
	// query g.
	fetch(w *choice[T])
	read(w *choice[T], g int)
}

func newChooser[T dense.Float](given []TopK, sides [2]side[T], widths []int) keyChooser[T] {
	c := keyChooser[T]{sides: sides, widths: widths}
	for _, x := range given {
		if x.Keys > 0 {
			c.given, c.paced = given, c.paced || x.Tolerance > 0
		}
	}
	c.paces = make([]pace, len(c.given))
	c.reset()
	return c
}

func (c *keyChooser[T]) reset() {
	for h, x := range c.given {
		c.paces[h] = pace{TopK: x}
	}
}

func (c *keyChooser[T]) clone() keyChooser[T] {
	x := newChooser(c.given, c.sides, c.widths)
	copy(x.paces, c.paces)
	return x
}

func (c *keyChooser[T]) together(tokens int) int {
	if !c.paced {
		return math.MaxInt
	}
	return Segment - tokens%Segment
}

func (c *keyChooser[T]) exact(on *headQueries[T]) bool {
	for _, p := range c.paces {
		if p.Keys > 0 && on.s.tokens() > p.Keys+More {
			return false
		}
	}
	return true
}

// attend computes the outputs of a call. The outputs of a query do not depend on other queries. An
// output that is not finite, or may be inaccurate, is computed again from all tokens.
func (c *keyChooser[T]) attend(of tokenReader[T], on *headQueries[T], l *slabs[T]) {
	if c.exact(on) {
		of.whole(0, on.q.Rows)
		return
	}
	c.of, c.on, c.slabs = of, on, l
	rows, heads, width := on.q.Rows, on.s.of.KeyHeads, on.group*on.s.dims[1]
	c.out = scratch.Resize(c.out, rows*heads*width)
	c.done, c.trial = scratch.Resize(c.done, rows*heads), scratch.Resize(c.trial, rows*heads)
	share(on.s.tokens()*on.s.of.Heads < fewChosen, len(c.done), c)
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
	for i, trial := range c.trial {
		if trial {
			c.measure(i)
		}
	}
	if on.causal && on.s.tokens()%Segment == 0 {
		for h := range c.paces {
			c.paces[h].adapt()
		}
	}
	c.of, c.on, c.slabs, c.skip = nil, nil, nil, nil
}

func (c *keyChooser[T]) measure(piece int) {
	on := c.on
	row, h := piece/on.s.of.KeyHeads, piece%on.s.of.KeyHeads
	dv, seen := on.s.dims[1], c.seen(row)
	for g := range on.group {
		var square, norm float64
		for l, want := range on.vector(on.dst, h, row*on.group+g) {
			e := float64(c.out[(piece*on.group+g)*dv+l]) - float64(want)
			square, norm = square+e*e, norm+float64(want)*float64(want)
		}
		c.paces[h*on.group+g].measure(square, norm, seen)
	}
}

func (c *keyChooser[T]) skips(h int) bool { return c.skip != nil && c.skip[h] }

func (c *keyChooser[T]) seen(row int) int { return c.on.s.of.Places.seen(c.on.places[row*c.on.group]) }

// fewChosen is the number of scores from which on processors share the heads.
const fewChosen = 1 << 11

// Piece computes the outputs of a head of keys, unless one of its queries reads all keys. Heads of
// keys are measured at different tokens of a segment.
func (c *keyChooser[T]) Piece(piece int) {
	on := c.on
	row, h := piece/on.s.of.KeyHeads, piece%on.s.of.KeyHeads
	seen, ok := c.seen(row), true
	trial := c.paced && on.causal && on.places[row*on.group]%Segment == h*Segment/on.s.of.KeyHeads%Segment
	for i := range on.group {
		keys := c.paces[h*on.group+i].reads(seen, trial)
		ok = ok && keys > 0 && seen > keys+More
	}
	if ok {
		w := pool.Get[choice[T]](&choices)
		w.begin(c, h, row)
		ok = w.tokens > 0 && w.estimate()
		for g, dv := 0, on.s.dims[1]; g < on.group && ok; g++ {
			ok = w.output(c.out[(piece*on.group+g)*dv:][:dv], g, c.paces[h*on.group+g].reads(seen, trial))
		}
		w.of, w.tile = nil, nil
		pool.Put(&choices, w)
	}
	c.done[piece], c.trial[piece] = ok && !trial, ok && trial
}
