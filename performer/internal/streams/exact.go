package streams

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Places says how weights depend on the places of queries and keys, see tiles.Mask. Window or Chunk
// is 0.
type Places struct {
	Window, Sinks, Chunk int
	Slope                float64
}

// Placed reports whether weights depend on places.
func (p Places) Placed() bool { return p.Window != 0 || p.Chunk != 0 || p.Slope != 0 }

// Reach returns the largest number of tokens before a query that it sees, apart from sinks, or 0 if
// it sees all tokens.
func (p Places) Reach() int { return p.Window + max(p.Chunk-1, 0) }

// First returns the first token that the query of a token sees, apart from sinks.
func (p Places) First(token int) int {
	switch {
	case p.Window > 0:
		return max(token-p.Window, 0)
	case p.Chunk > 0:
		return token / p.Chunk * p.Chunk
	}
	return 0
}

// Bounds describes the fields that bound the number of tokens.
func (p Places) Bounds() string {
	if p.Chunk > 0 {
		return fmt.Sprintf("Chunk = %d", p.Chunk)
	}
	return fmt.Sprintf("Window = %d and Sinks = %d", p.Window, p.Sinks)
}

// CheckMerge returns an error if weights depend on places, because Merge changes places.
func (p Places) CheckMerge() error {
	if p.Placed() {
		return errors.New("performer: states with a Window, a Chunk or a Slope do not merge, as tokens would change places")
	}
	return nil
}

// Exact is the memory of exact attention: all keys and values. With a window it holds the sinks,
// the tokens that the next query sees, and some earlier tokens for Rollback.
type Exact[T dense.Float] struct {
	scores          HeadScores
	places          Places
	d, dv           int
	heads, keyHeads int

	dropped      int // number of dropped tokens after the sinks: a multiple of dropTogether
	tokens, room int // number of kept tokens, and of tokens that fit in memory
	keys, values []T // room×d and room×dv for each head of keys

	arrivals Arrivals

	dst, q dense.Matrix[T] // during a call
	seen   tiles.Mask[T]   // of the queries of one token
	at     []int           // places of these queries
}

// NewExact returns an empty memory of the given numbers of heads of queries and of keys, for points
// of dimension d and values of dimension dv.
func NewExact[T dense.Float](scores HeadScores, places Places, heads, keyHeads, d, dv int) (*Exact[T], error) {
	if err := limit.Memory[T](keyHeads, max(d, dv)); err != nil {
		return nil, fmt.Errorf("performer: d = %d, dv = %d, for %d heads: %w", d, dv, keyHeads, err)
	}
	s := &Exact[T]{scores: scores, places: places, d: d, dv: dv, heads: heads, keyHeads: keyHeads}
	if s.drops() {
		if err := limit.Memory[T](keyHeads, max(d, dv), s.most()); err != nil {
			return nil, fmt.Errorf("performer: %s, for %d heads: %w", places.Bounds(), keyHeads, err)
		}
	}
	return s, nil
}

// dropTogether divides the number of dropped tokens. It is the number of keys of a tile, so that
// sums over keys have the order that they have with all tokens.
const dropTogether = tiles.Keys

// drops reports whether tokens are dropped. A slope needs the distances to the sinks, which would
// change.
func (s *Exact[T]) drops() bool {
	return s.places.Reach() > 0 && (s.places.Slope == 0 || s.places.Sinks == 0)
}

// most returns the largest number of kept tokens, if tokens are dropped.
func (s *Exact[T]) most() int { return s.places.Sinks + s.least() + s.together() + dropTogether }

// least returns the least number of kept tokens after the sinks, if there are as many: tokens that
// the next query sees, and tokens for Rollback.
func (s *Exact[T]) least() int { return s.places.Reach() + 1 + s.together() }

// together returns the largest number of tokens that are appended together.
func (s *Exact[T]) together() int {
	if !s.drops() {
		return math.MaxInt
	}
	return max(s.places.Reach()+1, dropTogether)
}

// drop removes tokens so that n ≤ together() tokens fit.
func (s *Exact[T]) drop(n int) {
	if !s.drops() || s.tokens+n <= s.most() {
		return
	}
	sinks := s.places.Sinks
	gone := (s.tokens - sinks - s.least()) / dropTogether * dropTogether
	for h := range s.keyHeads {
		k, v := s.head(h)
		copy(k.Data[sinks*s.d:], k.Data[(sinks+gone)*s.d:])
		copy(v.Data[sinks*s.dv:], v.Data[(sinks+gone)*s.dv:])
	}
	s.arrivals.Remove(sinks, sinks+gone)
	s.tokens -= gone
	s.dropped += gone
}

// head returns the keys and values of a head of keys.
func (s *Exact[T]) head(h int) (k, v dense.Matrix[T]) {
	return rowsIn(s.keys, h*s.room, s.tokens, s.d), rowsIn(s.values, h*s.room, s.tokens, s.dv)
}

// leastRoom is the least number of tokens for which memory is allocated.
const leastRoom = 64

// extend adds n tokens without setting their keys and values.
func (s *Exact[T]) extend(n int) {
	s.drop(n)
	if need := s.tokens + n; need > s.room {
		room := max(need, 2*s.room, leastRoom)
		keys, values := make([]T, s.keyHeads*room*s.d), make([]T, s.keyHeads*room*s.dv)
		for h := range s.keyHeads {
			k, v := s.head(h)
			copy(keys[h*room*s.d:], k.Data)
			copy(values[h*room*s.dv:], v.Data)
		}
		s.keys, s.values, s.room = keys, values, room
	}
	s.arrivals.Extend(n)
	s.tokens += n
}

func (s *Exact[T]) Append(k, v dense.Matrix[T]) {
	for k.Rows > s.together() {
		n := s.together()
		s.append(k.RowRange(0, n), v.RowRange(0, n))
		k, v = k.RowRange(n, k.Rows), v.RowRange(n, v.Rows)
	}
	s.append(k, v)
}

// append appends at most together() tokens.
func (s *Exact[T]) append(k, v dense.Matrix[T]) {
	s.extend(k.Rows)
	from := s.tokens - k.Rows
	for h := range s.keyHeads {
		keys, values := s.head(h)
		dense.Copy(keys.RowRange(from, s.tokens), layout.Head(k, h, s.keyHeads))
		dense.Copy(values.RowRange(from, s.tokens), layout.Head(v, h, s.keyHeads))
	}
}

func (s *Exact[T]) Attend(dst, q dense.Matrix[T]) {
	if q.Rows > 1 {
		s.attendMany(dst, q, s.mask(q.Rows))
		return
	}
	s.dst, s.q, s.seen = dst, q, s.mask(s.heads/s.keyHeads)
	if s.tokens*(s.d+s.dv) < fewElements {
		for h := range s.keyHeads {
			s.Piece(h)
		}
	} else {
		parallel.Do(s.keyHeads, s)
	}
	s.dst, s.q, s.seen = dense.Matrix[T]{}, dense.Matrix[T]{}, tiles.Mask[T]{}
}

// fewElements is the number of elements of keys and values from which on processors share the
// heads.
const fewElements = 1 << 14

// masked returns the mask of queries without places.
func (s *Exact[T]) masked() tiles.Mask[T] {
	return tiles.Mask[T]{Window: s.places.Window, Sinks: s.places.Sinks, Chunk: s.places.Chunk, Before: s.dropped, Slope: s.places.Slope}
}

// mask returns the mask of n queries that see the keys that the query of the last token sees.
func (s *Exact[T]) mask(n int) tiles.Mask[T] {
	m := s.masked()
	if s.places.Placed() {
		s.at = scratch.Resize(s.at, n)
		for i := range s.at {
			s.at[i] = s.tokens - 1
		}
		m.Places = s.at
	}
	return m
}

// attendMany computes the outputs of queries over the tokens that the mask lets them see.
func (s *Exact[T]) attendMany(dst, q dense.Matrix[T], mask tiles.Mask[T]) {
	for h := range s.heads {
		k, v := s.head(h * s.keyHeads / s.heads)
		tiles.Attend(tiles.Attention[T]{
			Dst: layout.Head(dst, h, s.heads), Q: layout.Head(q, h, s.heads), K: k, V: v,
			Scores: s.scores.Of(h), Mask: mask,
		})
	}
}

// Piece computes the outputs of the queries of one token that read a head of keys.
func (s *Exact[T]) Piece(h int) {
	k, v := s.head(h)
	group := s.heads / s.keyHeads
	q, dst := rowsOfHeads(layout.Head(s.q, h, s.keyHeads), group), rowsOfHeads(layout.Head(s.dst, h, s.keyHeads), group)
	t := tiles.NewTile(s.scores.Scores, q, s.dv)
	t.AddSeen(k, v, s.seen, 0)
	for i := range group {
		t.FinishRow(s.scores.Of(h*group+i), dst.Row(i), i)
	}
	t.Release()
}

func (s *Exact[T]) Step(dst, q, k, v dense.Matrix[T]) {
	for q.Rows > s.together() {
		n := s.together()
		s.step(dst.RowRange(0, n), q.RowRange(0, n), k.RowRange(0, n), v.RowRange(0, n))
		dst, q, k, v = dst.RowRange(n, q.Rows), q.RowRange(n, q.Rows), k.RowRange(n, q.Rows), v.RowRange(n, q.Rows)
	}
	s.step(dst, q, k, v)
}

// step is Step of at most together() tokens.
func (s *Exact[T]) step(dst, q, k, v dense.Matrix[T]) {
	s.append(k, v)
	if q.Rows == 1 {
		s.Attend(dst, q)
		return
	}
	mask := s.masked()
	mask.Causal, mask.Past = true, s.tokens-q.Rows
	s.attendMany(dst, q, mask)
}

func (s *Exact[T]) Reset() {
	s.dropped = 0
	s.Restore(nil, 0)
}

func (s *Exact[T]) Clone() Memory[T] {
	c := *s
	c.keys, c.values, c.arrivals, c.at = slices.Clone(s.keys), slices.Clone(s.values), s.arrivals.Clone(), nil
	return &c
}

func (s *Exact[T]) Save(to *Saved[T]) { to.Last = s.arrivals.Last(s.tokens) }

// Holds reports whether the tokens that later queries see are the tokens at the time of Save.
func (s *Exact[T]) Holds(from *Saved[T], tokens int) bool {
	n := tokens - s.dropped
	if s.dropped > 0 && n < s.places.Sinks+s.places.Reach()+1 {
		return false
	}
	return s.arrivals.Hold(n, from.Last)
}

func (s *Exact[T]) Restore(_ *Saved[T], tokens int) {
	s.tokens = tokens - s.dropped
	s.arrivals.Truncate(s.tokens)
}

// Check returns an error unless other has the same options and places do not matter, because Merge
// changes places.
func (s *Exact[T]) Check(other Memory[T]) error {
	o, ok := other.(*Exact[T])
	if !ok {
		return errors.New("performer: other belongs to other attention, the state to exact attention")
	}
	if err := s.Record().CheckMerge(o.Record()); err != nil {
		return err
	}
	return s.places.CheckMerge()
}

func (s *Exact[T]) Merge(other Memory[T]) {
	o := other.(*Exact[T])
	from, n := s.tokens, o.tokens
	s.extend(n)
	for h := range s.keyHeads {
		keys, values := s.head(h)
		k, v := o.head(h)
		dense.Copy(keys.RowRange(from, s.tokens), k.RowRange(0, n))
		dense.Copy(values.RowRange(from, s.tokens), v.RowRange(0, n))
	}
}

func (s *Exact[T]) Record() Record { return s.scores.Record(s.places, s.heads) }

// keptSize is the number of bytes of the number of kept tokens.
const keptSize = 8

func (s *Exact[T]) Size(int) (fixed, token int) {
	fixed = keptSize
	if s.drops() {
		return fixed + s.most()*s.tokenSize(), 0
	}
	return fixed, s.tokenSize()
}

// tokenSize returns the number of bytes of the keys and values of a token.
func (s *Exact[T]) tokenSize() int { return s.keyHeads * (s.d + s.dv) * frame.ElementSize[T]() }

func (s *Exact[T]) Encode(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(s.tokens))
	for h := range s.keyHeads {
		k, v := s.head(h)
		b = frame.AppendElements(frame.AppendElements(b, k.Data), v.Data)
	}
	if s.drops() {
		b = append(b, make([]byte, (s.most()-s.tokens)*s.tokenSize())...)
	}
	return b
}

// Inspect returns an error if the number of kept tokens is impossible. Any keys and values are valid.
func (s *Exact[T]) Inspect(b []byte, tokens int) (rest []byte, err error) {
	fixed, token := s.Size(tokens)
	kept, least := binary.LittleEndian.Uint64(b), tokens
	if s.drops() {
		least = min(tokens, s.places.Sinks+s.places.Reach()+1)
	}
	if kept > uint64(tokens) || kept < uint64(least) || s.drops() && kept > uint64(s.most()) || (uint64(tokens)-kept)%dropTogether != 0 {
		return nil, fmt.Errorf("performer: state with %d of %d tokens, want at least %d", kept, tokens, least)
	}
	return b[fixed+tokens*token:], nil
}

func (s *Exact[T]) Decode(b []byte, tokens int) (rest []byte) {
	s.Reset()
	kept := int(binary.LittleEndian.Uint64(b))
	b = b[keptSize:]
	s.extend(kept)
	s.dropped = tokens - kept
	for h := range s.keyHeads {
		k, v := s.head(h)
		b = frame.ReadElements(v.Data, frame.ReadElements(k.Data, b))
	}
	if s.drops() {
		b = b[(s.most()-kept)*s.tokenSize():]
	}
	return b
}
