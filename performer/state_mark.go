package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
)

// Snapshot is a place in the stream of a [State] to which the State can return, as decoders do
// that draft tokens and take some of them back. The zero Snapshot is ready for Snapshot.
type Snapshot[T dense.Float] struct {
	of     *State[T]
	tokens int
	saved  []streams.Saved[T] // one a unit
}

// Snapshot makes dst the mark of the tokens so far and returns dst; a nil dst is allocated. Linear
// attention copies its sums, [Landmarks] near tokens too; exact attention and clusters of
// package clusters keep the number of tokens, in few bits the last 127 tokens at most. Memory of dst is used again: with a dst that s had before Snapshot allocates nothing.
// Snapshot changes no bit of later outputs.
func (s *State[T]) Snapshot(dst *Snapshot[T]) *Snapshot[T] {
	s.checkMade()
	if dst == nil {
		dst = new(Snapshot[T])
	}
	dst.of, dst.tokens = s, s.n
	dst.saved = scratch.Resize(dst.saved, len(s.units))
	for i, u := range s.units {
		u.memory.Save(&dst.saved[i])
	}
	return dst
}

// Rollback takes back all that s took in after Snapshot made m: later outputs have the bits
// that they would have had at that time. m stays good for further calls. It takes the time
// of Snapshot and allocates nothing, but for clusters that tokens have joined.
//
// Rollback panics if m is nil or is not of s, and if exact attention or clusters no longer have the
// tokens of m: after Reset, UnmarshalBinary or a Rollback to fewer tokens.
func (s *State[T]) Rollback(m *Snapshot[T]) {
	s.checkMade()
	if m == nil || m.of != s {
		panic("performer: the mark is not of this state, want one of its Snapshot")
	}
	for i, u := range s.units {
		if !u.memory.Holds(&m.saved[i], m.tokens) {
			panic(fmt.Sprintf("performer: the mark is of %d tokens that the state has no longer", m.tokens))
		}
	}
	for i, u := range s.units {
		u.memory.Restore(&m.saved[i], m.tokens)
	}
	s.n = m.tokens
}
