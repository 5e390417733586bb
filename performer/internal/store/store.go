package store

import (
	"fmt"
	"slices"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Segment is the least number of tokens that close together.
const Segment = scan.GroupRows

// Store holds the tokens of some heads with the same attention: closed segments, and then open
// tokens. A window keeps the sinks, the tokens that later queries see, and tokens for Rollback.
type Store[T dense.Float] struct {
	content   content[T]
	segments  segments[T] // the content, or nil for sums, which have no open tokens
	of        Exact       // for sums, heads and dimensions
	dims      [2]int      // of keys and of values
	run, keep int         // tokens that close together, and open tokens that remain

	closed, open int       // numbers of tokens, with those that were dropped
	first        int       // kept token, apart from sinks
	tail         groups[T] // the open tokens, and room for more
	given        groups[T] // during a call: the tokens of Append
	cuts         cuts
}

type groups[T dense.Float] [2][]dense.Matrix[T]

func newGroups[T dense.Float](keyHeads, tokens int, dims [2]int) (g groups[T]) {
	for side, d := range dims {
		for range keyHeads {
			g[side] = append(g[side], dense.New[T](tokens, d))
		}
	}
	return g
}

func (g *groups[T]) room() int {
	if len(g[0]) == 0 {
		return 0
	}
	return g[0][0].Rows
}

func (g *groups[T]) copy(to int, from *groups[T], at, n int) {
	for side := 0; side < len(g) && n > 0; side++ {
		for h, x := range g[side] {
			dense.Copy(x.RowRange(to, to+n), from[side][h].RowRange(at, at+n))
		}
	}
}

type content[T dense.Float] interface {
	// attend computes the outputs of queries over all tokens. If causal is true, the queries are
	// those of the last tokens, and each sees the tokens up to its own.
	attend(s *Store[T], dst, q dense.Matrix[T], causal bool)

	// clone returns a copy of the first closed tokens. merge adds those of another content to s.
	clone(closed int) content[T]
	merge(s *Store[T], other content[T], closed int)

	// save copies what restore cannot bring back. restore sets closed and open tokens to those at
	// the time of save, or forgets all tokens if from is nil.
	save(s *Store[T], to *Saved[T])
	restore(s *Store[T], from *Saved[T], closed, open int)

	// parameters and marks must be equal in a store to merge, and in bytes to read.
	parameters(s *Store[T]) []parameter
	marks() []float64
	checkMarks(marks []float64) error

	// encode puts runs of tokens into a Recipe, and decode takes them out. counts returns the
	// counts of a segment, or of all sums. inspect returns an error if decode cannot read numbers.
	counts() counts
	encode(to *Recipe, r runs)
	inspect(from Recipe) error
	decode(from *Recipe, r runs)
}

type segments[T dense.Float] interface {
	content[T]

	close(s *Store[T], in *groups[T], from, n int)

	choosing() *keyChooser[T]

	// together returns how many tokens at most Step may append before it computes outputs.
	together(s *Store[T]) int

	// drop may drop earlier tokens except sinks, and returns the first kept token after sinks.
	drop(before int) int
}

func newStore[T dense.Float](c content[T], o Exact, run, keep int) *Store[T] {
	s := &Store[T]{content: c, of: o, dims: [2]int{o.D, o.DV}, run: run, keep: keep}
	s.segments, _ = c.(segments[T])
	s.given = groups[T]{make([]dense.Matrix[T], o.KeyHeads), make([]dense.Matrix[T], o.KeyHeads)}
	return s
}

func checkOpen[T dense.Float](keyHeads int, dims [2]int, tokens int) error {
	if err := limit.Memory[T](keyHeads, max(dims[0], dims[1]), tokens); err != nil {
		return fmt.Errorf("performer: d = %d, dv = %d, for %d heads: %w", dims[0], dims[1], keyHeads, err)
	}
	return nil
}

func (l *slabs[T]) checkMemory(places Places) error {
	if !places.drops() {
		return nil
	}
	most := l.sinks*l.size + places.reach() + places.spare() + 2*l.size
	if err := limit.Memory[byte](l.counts().bytes(), most/Segment+1); err != nil {
		return fmt.Errorf("performer: %s, for %d heads: %w", places.bounds(), l.heads, err)
	}
	return nil
}

func (s *Store[T]) tokens() int { return s.closed + s.open }

func (s *Store[T]) closedOf(n int) int { return max(n-s.keep, 0) / s.run * s.run }

// Append appends at least one token.
func (s *Store[T]) Append(k, v dense.Matrix[T]) {
	if c, ok := s.content.(*linearSums[T]); ok {
		c.append(k, v)
		s.closed += k.Rows
		return
	}
	for h := range s.of.KeyHeads {
		s.given[0][h], s.given[1][h] = layout.Head(k, h, s.of.KeyHeads), layout.Head(v, h, s.of.KeyHeads)
	}
	s.append(&s.given, k.Rows)
	clear(s.given[0])
	clear(s.given[1])
}

func (s *Store[T]) append(in *groups[T], n int) {
	for at := 0; at < n; {
		if whole := (n - at) / s.run * s.run; s.open+s.keep == 0 && whole > 0 {
			if s.of.Places.drops() {
				whole = s.run
			}
			s.close(in, at, whole)
			at += whole
			continue
		}
		m := min(n-at, s.run+s.keep-s.open)
		s.grow(s.open + m)
		s.tail.copy(s.open, in, at, m)
		at += m
		if s.open += m; s.open == s.run+s.keep {
			s.close(&s.tail, 0, s.run)
			s.open = s.keep
			s.tail.copy(0, &s.tail, s.run, s.keep)
		}
	}
}

func (s *Store[T]) grow(n int) {
	if room := s.tail.room(); n > room {
		old := s.tail
		s.tail = newGroups[T](s.of.KeyHeads, min(max(n, 2*room, Segment), s.run+s.keep), s.dims)
		s.tail.copy(0, &old, 0, room)
	}
}

func (s *Store[T]) recent(h int) (k, v dense.Matrix[T]) {
	if s.open == 0 {
		return dense.Matrix[T]{Cols: s.dims[0]}, dense.Matrix[T]{Cols: s.dims[1]}
	}
	return s.tail[0][h].RowRange(0, s.open), s.tail[1][h].RowRange(0, s.open)
}

func (s *Store[T]) close(in *groups[T], from, n int) {
	s.segments.close(s, in, from, n)
	s.closed += n
	if s.of.Places.drops() {
		s.first = s.segments.drop(s.of.Places.needed(s.closed, s.of.Places.spare()))
	}
}

// Attend computes the outputs of queries over all tokens, at least one.
func (s *Store[T]) Attend(dst, q dense.Matrix[T]) { s.content.attend(s, dst, q, false) }

// Step appends at least one token, and computes the output of each over the tokens up to it.
func (s *Store[T]) Step(dst, q, k, v dense.Matrix[T]) {
	if c, ok := s.content.(*linearSums[T]); ok {
		for i := range q.Rows {
			c.step(dst.RowRange(i, i+1), q.RowRange(i, i+1), k.RowRange(i, i+1), v.RowRange(i, i+1))
		}
		s.closed += q.Rows
		return
	}
	for q.Rows > 0 {
		n := min(s.segments.together(s), s.segments.choosing().together(s.tokens()), q.Rows)
		s.Append(k.RowRange(0, n), v.RowRange(0, n))
		s.content.attend(s, dst.RowRange(0, n), q.RowRange(0, n), true)
		dst, q, k, v = dst.RowRange(n, q.Rows), q.RowRange(n, q.Rows), k.RowRange(n, q.Rows), v.RowRange(n, q.Rows)
	}
}

func (s *Store[T]) Reset() { s.Restore(nil, 0) }

// Clone returns a copy, which shares closed segments.
func (s *Store[T]) Clone() TokenStore[T] {
	c := newStore(s.content.clone(s.closed), s.of, s.run, s.keep)
	c.closed, c.open, c.first = s.closed, s.open, s.first
	c.grow(s.open)
	c.tail.copy(0, &s.tail, 0, s.open)
	return c
}

// Saved holds what a Store needs to return to an earlier number of tokens.
type Saved[T dense.Float] struct {
	time  int       // of cuts
	tail  groups[T] // open tokens
	paces []pace
	sums  []saved[T]
}

// Save returns what Restore needs, in memory unless it is nil.
func (s *Store[T]) Save(memory any) any {
	to, _ := memory.(*Saved[T])
	if to == nil {
		to = new(Saved[T])
	}
	to.time = s.cuts.time
	if s.segments != nil {
		to.paces = append(to.paces[:0], s.segments.choosing().paces...)
	}
	s.content.save(s, to)
	return to
}

// Holds reports whether the tokens that later queries see are the tokens at the time of Save.
func (s *Store[T]) Holds(from any, tokens int) bool {
	return s.segments == nil || s.cuts.holds(tokens, from.(*Saved[T]).time) && (s.first == 0 || tokens-1-s.of.Places.reach() >= s.first)
}

// Restore returns to the given number of tokens of Save. A nil saved has no tokens.
func (s *Store[T]) Restore(saved any, tokens int) {
	from, _ := saved.(*Saved[T])
	closed := s.closedOf(tokens)
	s.grow(tokens - closed)
	s.content.restore(s, from, closed, tokens-closed)
	s.closed, s.open = closed, tokens-closed
	switch {
	case from == nil:
		s.first = 0
		if s.segments != nil {
			s.segments.choosing().reset()
		}
	case s.segments != nil:
		copy(s.segments.choosing().paces, from.paces)
	}
	s.cuts.add(tokens, s.first)
}

// TopK appends, of each head of queries, the number of keys that the next query reads, or 0 for all
// keys, and the measured error.
func (s *Store[T]) TopK(keys []int, errors []float64) ([]int, []float64) {
	for h := range s.of.Heads {
		var p pace
		if s.segments != nil && len(s.segments.choosing().paces) > 0 {
			p = s.segments.choosing().paces[h]
		}
		reads, e := p.reads(s.of.Places.seen(s.tokens()), false), 0.0
		if reads > 0 {
			e = p.error()
		}
		keys, errors = append(keys, reads), append(errors, e)
	}
	return keys, errors
}

// Merge appends the tokens of another store that Check accepts. Codes of the other store come
// before the open tokens of both.
func (s *Store[T]) Merge(tokens TokenStore[T]) {
	other := tokens.(*Store[T])
	if s == other {
		other = s.Clone().(*Store[T])
	}
	s.content.merge(s, other.content, other.closed)
	s.append(&other.tail, other.open)
}

// cuts records to how many tokens a store went back, and when. A number of tokens at an earlier
// time has the same tokens if the store has not gone back to fewer since.
type cuts struct {
	time int
	list []cut // tokens ascend: later cuts to fewer tokens replace earlier ones
}

type cut struct{ time, tokens int }

// add records that the store goes back to so many tokens. Nothing goes back to tokens before first.
func (c *cuts) add(tokens, first int) {
	c.time++
	n, dropped := len(c.list), 0
	for n > 0 && c.list[n-1].tokens >= tokens {
		n--
	}
	for dropped+1 < n && c.list[dropped+1].tokens < first {
		dropped++
	}
	c.list = append(slices.Delete(c.list, 0, dropped)[:n-dropped], cut{c.time, tokens})
}

func (c *cuts) holds(tokens, time int) bool {
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].time > time })
	return i == len(c.list) || tokens <= c.list[i].tokens
}
