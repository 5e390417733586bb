package store

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
)

// slabs holds closed segments in the order of their tokens, in slabs of a fixed number of tokens.
// Slabs do not move. Copies share slabs: a closed segment never changes, and only the owner of a
// slab closes more segments in it, behind the segments that others have.
type slabs[T dense.Float] struct {
	make  func(room int) *slab[T]
	heads int
	size  int // tokens of a slab: 1<<shift, a multiple of the tokens that close together
	shift int
	sinks int // number of first slabs, which are kept
	gone  int // number of dropped slabs after them
	list  []*slab[T]
	spare []*slab[T]
}

// slabTokens is the number of tokens of a slab: with fewer, processors read ahead less.
const slabTokens = 1 << 12

func newSlabs[T dense.Float](heads, least int, places Places, make func(room int) *slab[T]) slabs[T] {
	size := slabTokens
	for places.drops() && size > least && size/2 >= places.reach()/4 {
		size /= 2
	}
	return slabs[T]{make: make, heads: heads, size: size, shift: bits.TrailingZeros(uint(size)), sinks: (places.Sinks + size - 1) / size}
}

// slab holds some closed segments of all heads. Rows of a head follow those of the head before.
type slab[T dense.Float] struct {
	owner   *slabs[T]
	shared  atomic.Int64 // number of first tokens that others may have
	room    int          // tokens that fit
	columns []anyColumn
	own     int // number of columns that do not follow from others, or 0 for all

	elements [2]*column[T] // keys and values, or
	codes    [2]rows       // their codes
	means    [2]rows       // and codes of the means of segments
	coarse   coarse
}

type anyColumn interface {
	numbers(at, tokens int) any // rows of tokens, a slice
	copy(to int, from anyColumn, at, tokens int)
	count(c *counts) // adds the numbers of a segment
}

type column[E uint64 | float32 | float64] struct {
	data          []E
	width, tokens int // numbers and tokens of a row
}

func newColumn[E uint64 | float32 | float64, T dense.Float](s *slab[T], width, tokens, all int) *column[E] {
	c := &column[E]{make([]E, all/tokens*width), width, tokens}
	s.columns = append(s.columns, c)
	return c
}

func (c *column[E]) of(at, tokens int) []E {
	return c.data[at/c.tokens*c.width:][:tokens/c.tokens*c.width]
}

func (c *column[E]) copy(to int, from anyColumn, at, tokens int) {
	copy(c.of(to, tokens), from.(*column[E]).of(at, tokens))
}

func (c *column[E]) numbers(at, tokens int) any { return c.of(at, tokens) }

func (c *column[E]) count(to *counts) { add[E](to, Segment/c.tokens*c.width) }

func (s *slab[T]) written() []anyColumn {
	if s.own > 0 {
		return s.columns[:s.own]
	}
	return s.columns
}

func (s *slab[T]) copy(to int, from *slab[T], at, tokens, heads int) {
	for i, c := range s.columns[:min(len(s.columns), len(from.columns))] {
		for h := range heads {
			c.copy(h*s.room+to, from.columns[i], h*from.room+at, tokens)
		}
	}
}

func (l *slabs[T]) index(token int) int {
	if i := token >> l.shift; i < l.sinks {
		return i
	} else {
		return i - l.gone
	}
}

func (l *slabs[T]) at(token, h int) (s *slab[T], row int) {
	s = l.list[l.index(token)]
	return s, h*s.room + token&(l.size-1)
}

// leastRoom is the least number of tokens of a slab. The first slab grows from there on.
const leastRoom = 4 * Segment

// open returns a slab in which so many tokens, from the first without a segment on, may close.
func (l *slabs[T]) open(token, tokens int) *slab[T] {
	i, place := l.index(token), token%l.size
	if i == len(l.list) {
		var s *slab[T]
		if n := len(l.spare); n > 0 {
			s, l.spare = l.spare[n-1], l.spare[:n-1]
		}
		l.list = append(l.list, s)
	}
	old, room := l.list[i], l.size
	if old != nil && old.owner == l && place >= int(old.shared.Load()) && place+tokens <= old.room {
		return old
	}
	if i == 0 && old != nil {
		room = max(place+tokens, 2*old.room)
	} else if i == 0 {
		room = max(place+tokens, leastRoom)
	}
	s := l.make(min(room, l.size))
	s.owner = l
	if old != nil {
		s.copy(0, old, 0, min(place, old.room), l.heads)
	}
	l.list[i] = s
	return s
}

func (l *slabs[T]) release(from, to int) {
	for _, s := range l.list[from:to] {
		if s.owner == l && s.shared.Load() == 0 {
			l.spare = append(l.spare, s)
		}
	}
	l.list = slices.Delete(l.list, from, to)
}

func (l *slabs[T]) truncate(tokens int) {
	kept := 0
	if tokens > 0 {
		kept = l.index(tokens-1) + 1
	}
	l.release(kept, len(l.list))
	if tokens == 0 {
		l.gone = 0
	}
}

func (l *slabs[T]) drop(before int) int {
	if to := min(before/l.size-l.gone, len(l.list)); to > l.sinks {
		l.release(l.sinks, to)
		l.gone += to - l.sinks
	}
	if l.gone == 0 {
		return 0
	}
	return (l.sinks + l.gone) * l.size
}

// Keys and values have no marks, and any numbers are valid.
func (l *slabs[T]) marks() []float64           { return nil }
func (l *slabs[T]) checkMarks([]float64) error { return nil }
func (l *slabs[T]) inspect(Recipe) error       { return nil }

func (l *slabs[T]) clone(tokens int) slabs[T] {
	for i, s := range l.list {
		n := int64(l.size)
		if i == len(l.list)-1 {
			n = int64((tokens-1)%l.size + 1)
		}
		for old := s.shared.Load(); old < n && !s.shared.CompareAndSwap(old, n); {
			old = s.shared.Load()
		}
	}
	c := *l
	c.list, c.spare = slices.Clone(l.list), nil
	return c
}

func (l *slabs[T]) counts() (c counts) {
	for _, column := range l.make(Segment).written() {
		for range l.heads {
			column.count(&c)
		}
	}
	return c
}

func (l *slabs[T]) encode(to *Recipe, r runs) { l.each(r, to.put) }

func (l *slabs[T]) decode(from *Recipe, r runs) {
	for _, x := range [...]run{{0, r.sinks}, {r.from, r.closed}} {
		l.gone = max(x.from/l.size-l.sinks, 0)
		for at := x.from; at < x.to; at += Segment {
			l.open(at, Segment)
		}
	}
	l.each(r, from.take)
}

func (l *slabs[T]) each(r runs, f func(numbers any)) {
	for _, x := range [...]run{{0, r.sinks}, {r.from, r.closed}} {
		for at := x.from; at < x.to; at += Segment {
			for h := range l.heads {
				s, row := l.at(at, h)
				for _, c := range s.written() {
					f(c.numbers(row, Segment))
				}
			}
		}
	}
}
