package layer

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// At returns the layer for calls whose tokens have positions of their own: one for each row of q
// and one for each row of k. Self-attention and Step take the same list for both. Nil stands for
// the positions that [Options] describes. Lists are read in every call, and so may be written
// between calls.
//
// The layer that At returns shares weights and memory with l. At panics if l has no rotary
// positions. Calls panic if a list does not have a position for each row.
func (l *MultiHead[T]) At(queries, keys []int) *MultiHead[T] {
	if l.attention == nil {
		panic(errNoLayer.Error())
	}
	if l.rotary == nil {
		panic("layer: positions for a MultiHead without rotary positions, want one with Options.Rotary")
	}
	at := *l
	at.queriesAt, at.keysAt = queries, keys
	return &at
}

// angles returns the turns of so many queries and keys in the sequences s.
func (l *MultiHead[T]) angles(c *memory[T], queries, keys int, s performer.Sequences) (q, k Angles[T]) {
	lengths := s.Keys
	if lengths == nil {
		lengths = s.Queries
	}
	q = c.q.turns(l.rotary, c.list("queries", l.queriesAt, s.Queries, s.Past, queries))
	list := c.list("keys", l.keysAt, lengths, nil, keys)
	if slices.Equal(list, c.q.positions) {
		return q, q
	}
	return q, c.k.turns(l.rotary, list)
}

// list returns the given positions of so many rows. Without them each sequence counts on from the
// tokens before this call and its past. Lengths that do not fit the rows are left for the Batch to refuse.
func (c *memory[T]) list(name string, given, lengths, past []int, rows int) []int {
	if given != nil {
		if len(given) != rows {
			panic(fmt.Sprintf("layer: At has %d positions of %s, want one for each of %d rows", len(given), name, rows))
		}
		return given
	}
	one := [1]int{rows}
	if lengths == nil {
		lengths = one[:]
	}
	c.positions = slices.Grow(c.positions[:0], rows)
	for i, n := range lengths {
		from := c.before
		if i < len(past) {
			from += past[i]
		}
		for j := range min(n, rows-len(c.positions)) {
			c.positions = append(c.positions, from+j)
		}
	}
	return c.positions[:rows]
}

// placed is the turns of rows. They are computed where positions differ from those of the last call.
type placed[T dense.Float] struct {
	positions []int
	turned    Angles[T]
}

func (p *placed[T]) turns(r *Rotary[T], positions []int) Angles[T] {
	if !slices.Equal(p.positions, positions) {
		p.positions = append(p.positions[:0], positions...)
		p.turned = r.Angles(p.turned, positions)
	}
	return p.turned
}
