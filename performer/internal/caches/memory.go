package caches

import (
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
)

// A block, whose tokens are encoded together, has few tokens if the window has fewer tokens than
// smallWindow, and many tokens otherwise: a part and a group of rows of package scan. A state stores
// the elements of up to a block of tokens, but the mean of a block takes memory, too. Dropped tokens
// are whole blocks.
const (
	few, many   = scan.PartRows, scan.GroupRows
	smallWindow = 1 << 11
)

// Memory is the memory of exact attention in codes: all tokens. With a window it holds the sinks,
// the tokens that the next query sees, and some earlier tokens for Rollback.
type Memory[T dense.Float] struct {
	scores          streams.HeadScores
	places          streams.Places
	heads, keyHeads int
	keys, values    store[T]
	together        int // number of tokens of a block

	dropped int // number of dropped tokens after the blocks of sinks: a multiple of together
	tokens  int // number of kept tokens
	coded   int // number of first kept tokens with codes: a multiple of together
	room    int // number of tokens whose codes fit: a multiple of together

	arrivals streams.Arrivals
	call     call[T]
}

// store holds the keys or the values of the heads of keys. Codes are of the rotated rows less the
// mean of their block.
type store[T dense.Float] struct {
	rotation     *hadamard.Rotation[T]
	d            int // coordinates
	order        int // of rotated ones
	together     int // rows of a block
	codes, means rows
	recent       []T // recentRoom×d for each head
}

// New returns an empty memory with codes of so many bits of keys and of values, for the given
// numbers of heads of queries and of keys, for points of dimension d and values of dimension dv.
func New[T dense.Float](keyBits, valueBits int, scores streams.HeadScores, places streams.Places, heads, keyHeads, d, dv int) (*Memory[T], error) {
	if err := limit.Memory[T](keyHeads, max(d, dv), 4*many); err != nil {
		return nil, fmt.Errorf("performer: d = %d, dv = %d, for %d heads: %w", d, dv, keyHeads, err)
	}
	s := &Memory[T]{scores: scores, places: places, heads: heads, keyHeads: keyHeads, together: many}
	if s.drops() && places.Reach() < smallWindow {
		s.together = few
	}
	for _, x := range []struct {
		of      *store[T]
		bits, d int
	}{{&s.keys, keyBits, d}, {&s.values, valueBits, dv}} {
		rotation := coded.Rotation[T](x.d)
		_, order := rotation.Dims()
		*x.of = store[T]{rotation: rotation, d: x.d, order: order, together: s.together,
			codes: newRows(x.bits, order), means: newRows(meanBits, order), recent: make([]T, keyHeads*s.recentRoom()*x.d)}
	}
	if s.drops() {
		if err := limit.Memory[byte](s.blockSize(), s.most()/s.together); err != nil {
			return nil, fmt.Errorf("performer: %s, for %d heads: %w", places.Bounds(), keyHeads, err)
		}
	}
	return s, nil
}

// drops reports whether tokens are dropped.
func (s *Memory[T]) drops() bool { return s.places.Reach() > 0 }

// recentRoom is the number of tokens without codes at which the first of these are encoded. With a
// window, all of them are.
func (s *Memory[T]) recentRoom() int {
	if s.drops() {
		return s.together
	}
	return 2 * s.together
}

// mostRecent returns the largest number of tokens without codes between calls.
func (s *Memory[T]) mostRecent() int { return s.recentRoom() - 1 }

// codedOf returns how many of n tokens are encoded.
func (s *Memory[T]) codedOf(n int) int {
	return max(n-s.recentRoom()+s.together, 0) / s.together * s.together
}

// blocksOf returns the number of blocks of n tokens.
func (s *Memory[T]) blocksOf(n int) int { return (n + s.together - 1) / s.together }

// sinks returns the number of tokens of the blocks of sinks.
func (s *Memory[T]) sinks() int { return s.blocksOf(s.places.Sinks) * s.together }

// reach returns the number of tokens that Rollback can always remove.
func (s *Memory[T]) reach() int { return max(s.places.Reach()/16, many) }

// most returns the largest number of encoded tokens, if tokens are dropped. Tokens move once for
// every sixteenth of the window.
func (s *Memory[T]) most() int {
	return s.sinks() + (s.blocksOf(s.reach()+s.places.Reach()+s.together)+s.places.Reach()/16/s.together)*s.together
}

// drop removes tokens so that the codes of together more tokens fit.
func (s *Memory[T]) drop() {
	if !s.drops() || s.coded+s.together <= s.most() {
		return
	}
	sinks := s.sinks()
	gone := (s.tokens - s.reach() - 1 - s.places.Reach() - sinks) / s.together * s.together
	for _, x := range [...]*store[T]{&s.keys, &s.values} {
		x.codes.copyFrom(&x.codes, s.keyHeads, s.room, sinks, s.room, sinks+gone, s.coded-sinks-gone)
		x.means.copyFrom(&x.means, s.keyHeads, s.room/s.together, sinks/s.together, s.room/s.together, (sinks+gone)/s.together, (s.coded-sinks-gone)/s.together)
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
	room := max(n, (s.room+s.room/4)/many*many, leastRoom)
	if s.drops() {
		room = max(n, min(room, s.most()))
	}
	for _, x := range [...]*store[T]{&s.keys, &s.values} {
		x.codes = x.codes.resized(s.keyHeads, s.room, room, s.coded)
		x.means = x.means.resized(s.keyHeads, s.room/s.together, room/s.together, s.coded/s.together)
	}
	s.room = room
}

// recent returns the keys and values of a head of keys without codes.
func (s *Memory[T]) recent(h int) (k, v dense.Matrix[T]) {
	n, room := s.tokens-s.coded, s.recentRoom()
	return dense.Of(n, s.keys.d, s.keys.recent[h*room*s.keys.d:][:n*s.keys.d]),
		dense.Of(n, s.values.d, s.values.recent[h*room*s.values.d:][:n*s.values.d])
}

func (s *Memory[T]) Append(k, v dense.Matrix[T]) {
	for k.Rows > 0 {
		n := min(k.Rows, s.recentRoom()-(s.tokens-s.coded))
		s.arrivals.Extend(n)
		s.tokens += n
		for h := range s.keyHeads {
			keys, values := s.recent(h)
			dense.Copy(keys.RowRange(keys.Rows-n, keys.Rows), layout.Head(k.RowRange(0, n), h, s.keyHeads))
			dense.Copy(values.RowRange(values.Rows-n, values.Rows), layout.Head(v.RowRange(0, n), h, s.keyHeads))
		}
		if s.tokens-s.coded == s.recentRoom() {
			s.encode()
		}
		k, v = k.RowRange(n, k.Rows), v.RowRange(n, v.Rows)
	}
}

// encode encodes the first tokens without codes.
func (s *Memory[T]) encode() {
	s.drop()
	s.grow(s.coded + s.together)
	parallel.Do(s.keyHeads, (*encoding[T])(s))
	s.coded += s.together
}

func (s *Memory[T]) Reset() {
	s.dropped, s.tokens, s.coded = 0, 0, 0
	s.arrivals.Truncate(0)
}

func (s *Memory[T]) Clone() streams.Memory[T] {
	c := *s
	for _, x := range [...]*store[T]{&c.keys, &c.values} {
		x.codes, x.means, x.recent = x.codes.clone(), x.means.clone(), slices.Clone(x.recent)
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
	if s.dropped > 0 && n < s.sinks()+s.places.Reach()+1 {
		return false
	}
	return s.arrivals.Hold(n, from.Last)
}

func (s *Memory[T]) Restore(from *streams.Saved[T], tokens int) {
	s.tokens = tokens - s.dropped
	s.coded = s.codedOf(s.tokens)
	s.arrivals.Truncate(s.tokens)
	rest := from.Recent
	for h := range s.keyHeads {
		k, v := s.recent(h)
		rest = rest[copy(k.Data, rest):]
		rest = rest[copy(v.Data, rest):]
	}
}

// Check returns an error unless other has the same options and places do not matter, because Merge
// changes places.
func (s *Memory[T]) Check(other streams.Memory[T]) error {
	o, ok := other.(*Memory[T])
	if !ok {
		return fmt.Errorf("performer: other belongs to other attention, the state to exact attention in %v bits", s.bits())
	}
	if err := s.Record().CheckMerge(o.Record()); err != nil {
		return err
	}
	return s.places.CheckMerge()
}

// bits returns the bits of keys and of values.
func (s *Memory[T]) bits() string {
	if s.keys.codes.bits == s.values.codes.bits {
		return fmt.Sprint(s.keys.codes.bits)
	}
	return fmt.Sprintf("%d and %d", s.keys.codes.bits, s.values.codes.bits)
}

// Merge inserts the codes of other before the tokens of both memories without codes.
func (s *Memory[T]) Merge(other streams.Memory[T]) {
	o := other.(*Memory[T])
	if s == o {
		o = s.Clone().(*Memory[T])
	}
	n := o.coded
	s.grow(s.coded + n)
	for _, x := range [...][2]*store[T]{{&s.keys, &o.keys}, {&s.values, &o.values}} {
		x[0].codes.copyFrom(&x[1].codes, s.keyHeads, s.room, s.coded, o.room, 0, n)
		x[0].means.copyFrom(&x[1].means, s.keyHeads, s.room/s.together, s.coded/s.together, o.room/s.together, 0, n/s.together)
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
		if s.tokens-s.coded == s.recentRoom() {
			s.encode()
		}
	}
}
