package caches

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

const (
	// together is the number of tokens that are encoded together: a group of weights of package
	// scan.
	together = scan.GroupRows

	// recentRoom is the number of tokens without codes at which the first of these are encoded.
	recentRoom = 2 * together

	// mostRecent is the largest number of tokens without codes between calls.
	mostRecent = recentRoom - 1

	// dropTogether divides the number of dropped tokens.
	dropTogether = tiles.Keys
)

// Memory is the memory of exact attention in codes: all tokens. With a window it holds the sinks,
// the tokens that the next query sees, and some earlier tokens for Rollback.
type Memory[T dense.Float] struct {
	scores          tiles.Scores
	places          streams.Places
	bits            int
	heads, keyHeads int
	keys, values    store[T]

	dropped int // number of dropped tokens after the sinks: a multiple of dropTogether
	tokens  int // number of kept tokens
	coded   int // number of first kept tokens with codes: a multiple of together
	room    int // number of tokens whose codes fit

	arrivals streams.Arrivals
	call     call[T]
}

// store holds the keys or the values of the heads of keys.
type store[T dense.Float] struct {
	rotation *hadamard.Rotation[T]
	d        int // coordinates
	order    int // of rotated ones
	words    int // of a row of codes
	codes    []uint64
	scales   []float32
	recent   []T // recentRoom×d for each head
}

// New returns an empty memory with codes of 8 or 4 bits for the given numbers of heads of queries
// and of keys, for points of dimension d and values of dimension dv.
func New[T dense.Float](bits int, scores tiles.Scores, places streams.Places, heads, keyHeads, d, dv int) (*Memory[T], error) {
	switch {
	case scores.Softcap != 0:
		return nil, fmt.Errorf("performer: Softcap = %v with Bits = %d, want 0 for a state", scores.Softcap, bits)
	case places.Slope != 0:
		return nil, fmt.Errorf("performer: Slope = %v with Bits = %d, want 0 for a state", places.Slope, bits)
	}
	if err := limit.Memory[T](keyHeads, max(d, dv), 2*recentRoom); err != nil {
		return nil, fmt.Errorf("performer: d = %d, dv = %d, for %d heads: %w", d, dv, keyHeads, err)
	}
	s := &Memory[T]{scores: scores, places: places, bits: bits, heads: heads, keyHeads: keyHeads}
	for _, x := range []struct {
		of *store[T]
		d  int
	}{{&s.keys, d}, {&s.values, dv}} {
		rotation := coded.Rotation[T](x.d)
		_, order := rotation.Dims()
		*x.of = store[T]{rotation: rotation, d: x.d, order: order, words: scan.Words(order, bits), recent: make([]T, keyHeads*recentRoom*x.d)}
	}
	if s.drops() {
		if err := limit.Memory[uint64](keyHeads, max(s.keys.words, s.values.words), s.most()); err != nil {
			return nil, fmt.Errorf("performer: Window = %d and Sinks = %d, for %d heads: %w", places.Window, places.Sinks, keyHeads, err)
		}
	}
	return s, nil
}

// drops reports whether tokens are dropped.
func (s *Memory[T]) drops() bool { return s.places.Window > 0 }

// reach returns the number of tokens that Rollback can always remove.
func (s *Memory[T]) reach() int { return max(s.places.Window+1, dropTogether) }

// needed returns the number of last tokens after the sinks that the query of the last token may
// see, with or without codes.
func (s *Memory[T]) needed() int { return s.places.Window + 1 + mostRecent }

// most returns the largest number of encoded tokens, if tokens are dropped.
func (s *Memory[T]) most() int { return s.places.Sinks + s.needed() + 2*s.reach() + dropTogether }

// drop removes tokens so that the codes of together more tokens fit.
func (s *Memory[T]) drop() {
	if !s.drops() || s.coded+together <= s.most() {
		return
	}
	sinks := s.places.Sinks
	gone := (s.coded - sinks - s.needed() - s.reach()) / dropTogether * dropTogether
	for h := range s.keyHeads {
		for _, x := range [...]*store[T]{&s.keys, &s.values} {
			codes, scales := x.codes[h*s.room*x.words:][:s.coded*x.words], x.scales[h*s.room:][:s.coded]
			copy(codes[sinks*x.words:], codes[(sinks+gone)*x.words:])
			copy(scales[sinks:], scales[sinks+gone:])
		}
	}
	s.arrivals.Remove(sinks, sinks+gone)
	s.tokens -= gone
	s.coded -= gone
	s.dropped += gone
}

// leastRoom is the least number of tokens for whose codes memory is allocated.
const leastRoom = 256

// grow allocates memory for the codes of n tokens.
func (s *Memory[T]) grow(n int) {
	if n <= s.room {
		return
	}
	room := max(n, 2*s.room, leastRoom)
	for _, x := range [...]*store[T]{&s.keys, &s.values} {
		codes, scales := make([]uint64, s.keyHeads*room*x.words), make([]float32, s.keyHeads*room)
		for h := range s.keyHeads {
			copy(codes[h*room*x.words:], x.codes[h*s.room*x.words:][:s.coded*x.words])
			copy(scales[h*room:], x.scales[h*s.room:][:s.coded])
		}
		x.codes, x.scales = codes, scales
	}
	s.room = room
}

// recent returns the keys and values of a head of keys without codes.
func (s *Memory[T]) recent(h int) (k, v dense.Matrix[T]) {
	n := s.tokens - s.coded
	return dense.Of(n, s.keys.d, s.keys.recent[h*recentRoom*s.keys.d:][:n*s.keys.d]),
		dense.Of(n, s.values.d, s.values.recent[h*recentRoom*s.values.d:][:n*s.values.d])
}

// codedOf returns how many of n tokens are encoded.
func codedOf(n int) int { return max(n/together-1, 0) * together }

func (s *Memory[T]) Append(k, v dense.Matrix[T]) {
	for k.Rows > 0 {
		n := min(k.Rows, recentRoom-(s.tokens-s.coded))
		s.arrivals.Extend(n)
		s.tokens += n
		for h := range s.keyHeads {
			keys, values := s.recent(h)
			dense.Copy(keys.RowRange(keys.Rows-n, keys.Rows), layout.Head(k.RowRange(0, n), h, s.keyHeads))
			dense.Copy(values.RowRange(values.Rows-n, values.Rows), layout.Head(v.RowRange(0, n), h, s.keyHeads))
		}
		if s.tokens-s.coded == recentRoom {
			s.encode()
		}
		k, v = k.RowRange(n, k.Rows), v.RowRange(n, v.Rows)
	}
}

// encode encodes the first tokens without codes.
func (s *Memory[T]) encode() {
	s.drop()
	s.grow(s.coded + together)
	parallel.Do(s.keyHeads, (*encoding[T])(s))
	s.coded += together
}

func (s *Memory[T]) Reset() {
	s.dropped, s.tokens, s.coded = 0, 0, 0
	s.arrivals.Truncate(0)
}

func (s *Memory[T]) Clone() streams.Memory[T] {
	c := *s
	for _, x := range [...]*store[T]{&c.keys, &c.values} {
		x.codes, x.scales, x.recent = slices.Clone(x.codes), slices.Clone(x.scales), slices.Clone(x.recent)
	}
	c.arrivals, c.call = s.arrivals.Clone(), call[T]{}
	return &c
}

// Save copies the tokens without codes.
func (s *Memory[T]) Save(to *streams.Saved[T]) {
	to.Last, to.Recent = s.arrivals.Last(s.tokens), to.Recent[:0]
	for h := range s.keyHeads {
		k, v := s.recent(h)
		to.Recent = append(append(to.Recent, k.Data...), v.Data...)
	}
}

// Holds reports whether the tokens that later queries see are the tokens at the time of Save.
func (s *Memory[T]) Holds(from *streams.Saved[T], tokens int) bool {
	n := tokens - s.dropped
	if s.dropped > 0 && n < s.places.Sinks+s.needed() {
		return false
	}
	return s.arrivals.Hold(n, from.Last)
}

func (s *Memory[T]) Restore(from *streams.Saved[T], tokens int) {
	s.tokens = tokens - s.dropped
	s.coded = codedOf(s.tokens)
	s.arrivals.Truncate(s.tokens)
	rest := from.Recent
	for h := range s.keyHeads {
		k, v := s.recent(h)
		rest = rest[copy(k.Data, rest):]
		rest = rest[copy(v.Data, rest):]
	}
}

// Check returns an error unless bits and scores are those of other. Places must not matter, because
// Merge changes places.
func (s *Memory[T]) Check(other streams.Memory[T]) error {
	o, ok := other.(*Memory[T])
	if !ok {
		return fmt.Errorf("performer: other belongs to other attention, the state to exact attention in %d bits", s.bits)
	}
	if s.drops() || o.drops() {
		return errors.New("performer: states with a Window do not merge, as tokens would change places")
	}
	if a, b := s.bits, o.bits; a != b {
		return fmt.Errorf("performer: Bits = %d, but the state belongs to attention with %d", b, a)
	}
	return streams.CheckScores(s.scores, o.scores)
}

// Merge inserts the codes of other before the tokens of both memories without codes.
func (s *Memory[T]) Merge(other streams.Memory[T]) {
	o := other.(*Memory[T])
	if s == o {
		o = s.Clone().(*Memory[T])
	}
	n := o.coded
	s.grow(s.coded + n)
	for h := range s.keyHeads {
		for _, x := range [...][2]*store[T]{{&s.keys, &o.keys}, {&s.values, &o.values}} {
			to, from := x[0], x[1]
			copy(to.codes[(h*s.room+s.coded)*to.words:], from.codes[h*o.room*to.words:][:n*to.words])
			copy(to.scales[h*s.room+s.coded:], from.scales[h*o.room:][:n])
		}
	}
	s.arrivals.Extend(n)
	s.coded += n
	s.tokens += n
	for i := range o.tokens - n {
		s.arrivals.Extend(1)
		s.tokens++
		for h := range s.keyHeads {
			keys, values := s.recent(h)
			k, v := o.recent(h)
			copy(keys.Row(keys.Rows-1), k.Row(i))
			copy(values.Row(values.Rows-1), v.Row(i))
		}
		if s.tokens-s.coded == recentRoom {
			s.encode()
		}
	}
}
