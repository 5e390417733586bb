package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
)

// Snapshot is a number of tokens to which a [State] can return. A decoder that drafts tokens and
// rejects some needs it. The zero Snapshot is ready for Snapshot.
type Snapshot[T dense.Float] struct {
	of     *State[T]
	tokens int
	saved  []streams.Saved[T] // of each unit
}

// Snapshot sets dst to the tokens so far and returns dst; a nil dst is allocated. Linear attention
// copies its sums, and [Landmarks] copy their last tokens too. Exact attention and package clusters
// copy the number of tokens, and with Exact.Bits at most the last 127 tokens. Snapshot allocates
// nothing if dst was a Snapshot of s before. Snapshot changes no bit of later outputs.
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

// Rollback removes all tokens that s got after Snapshot wrote m. Later outputs have the bits that
// they would have had at that time. m can be used again. Rollback takes the time of Snapshot and
// allocates nothing, except for clusters that tokens have joined.
//
// Rollback panics if m is nil or belongs to another State. It also panics if exact attention or
// clusters no longer have the tokens of m: after Reset, UnmarshalBinary or a Rollback to fewer
// tokens.
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
