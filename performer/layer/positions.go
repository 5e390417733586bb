package layer

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// WithPositions returns a layer with the weights and the memory of the receiver l, but with the
// given rotary positions of queries and keys. The argument queries has a position for each query of
// later calls, the argument keys one for each key; with RotaryOptions.Axes of n axes, n positions
// of each query and key follow one another.
//
// A nil argument queries or keys of WithPositions stands for the positions of Options.Rotary, equal
// on all axes, which is right for text. Forward and Step of the layer of WithPositions need equal
// positions of queries and keys. The layer of WithPositions reads the slices queries and keys in
// each call, so positions may change between calls.
//
// WithPositions panics if the receiver l has no rotary positions. Methods of the layer of
// WithPositions panic if the number of given positions does not fit the queries or keys.
func (l *MultiHead[T]) WithPositions(queries, keys []int) *MultiHead[T] {
	if l.isZero() {
		panic(errNoLayer.Error())
	}
	if l.rotary == nil {
		panic("layer: positions for a MultiHead without rotary positions, want one with Options.Rotary")
	}
	with := *l
	with.queriesAt, with.keysAt = queries, keys
	return &with
}

func (l *MultiHead[T]) angles(c *memory[T], queries, keys int, s performer.Sequences) (q, k angles[T]) {
	lengths := s.Keys
	if lengths == nil {
		lengths = s.Queries
	}
	q = c.q.anglesAt(l.rotary, c.positionsOf("queries", l.queriesAt, s.Queries, s.Past, queries, l.rotary.per))
	positions := c.positionsOf("keys", l.keysAt, lengths, nil, keys, l.rotary.per)
	if slices.Equal(positions, c.q.positions) {
		return q, q
	}
	return q, c.k.anglesAt(l.rotary, positions)
}

// Unless given is nil, it has per numbers for each row. Otherwise the positions of each sequence
// count from its past plus c.before. The Batch reports lengths that do not fit rows.
func (c *memory[T]) positionsOf(name string, given, lengths, past []int, rows, per int) []int {
	if given != nil {
		if len(given) != rows*per {
			panic(fmt.Sprintf("layer: WithPositions has %d positions of %s, want %d for each of %d rows", len(given), name, per, rows))
		}
		return given
	}
	one := [1]int{rows}
	if lengths == nil {
		lengths = one[:]
	}
	c.positions = slices.Grow(c.positions[:0], rows*per)
	for i, n := range lengths {
		from := 0
		for _, starts := range [][]int{c.starts, past} {
			if i < len(starts) {
				from += starts[i]
			}
		}
		for j := range min(n, rows-len(c.positions)/per) {
			for range per {
				c.positions = append(c.positions, from+j)
			}
		}
	}
	return c.positions[:rows*per]
}

type angleCache[T dense.Float] struct {
	positions []int
	angles    angles[T]
}

func (p *angleCache[T]) anglesAt(r *rotary[T], positions []int) angles[T] {
	if !slices.Equal(p.positions, positions) {
		p.positions = append(p.positions[:0], positions...)
		p.angles = r.Angles(p.angles, positions)
	}
	return p.angles
}
