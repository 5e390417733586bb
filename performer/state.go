package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
)

// State is attention over a stream of tokens. The output of a query is the average out = Σ_j A_j
// v_j / Σ_j A_j of the values v_j of all tokens j so far, with weights A_j. Append of token i
// followed by Attend of query i computes row i of causal attention, to rounding or, with
// ExactOptions.Bits or TopK, approximately. Outputs do not depend, bit for bit, on GOMAXPROCS, nor
// in exact attention on how many tokens each call of Append adds. A State ignores whether attention
// is causal: a query sees tokens so far, and no later tokens.
//
// A State of linear attention with m features keeps m×(dv+1) sums for each head of keys and values
// of dimension dv. In linear attention of the softmax and the Gaussian
// kernel, a key with a norm above about 10¹⁹ in float32, or 10¹⁵⁴ in float64, has the weight zero.
//
// A State of exact attention keeps at most 2·(d+dv) numbers for each token and head of keys of
// dimension d and values of dimension dv. With ExactOptions.Bits of b, a State keeps (b +
// ¼)·(d+dv)/8 + 8⅛ bytes for each token and head of keys of dimension d and values of dimension dv.
// With ExactOptions.TopK, a State keeps d/8 + d/32 + dv/32 + 2⅛ bytes more for each token and head
// of keys.
//
// With a Window of W, or a Chunk of W + 1, in ExactOptions, a State keeps at most 1.1·W + 1000
// tokens besides the sinks, and a Rollback by max(W/16, 64) tokens is always possible.
//
// Goroutines must not share a State, and Merge and UnmarshalBinary refuse tokens of attention other
// than the attention that made the State. After a first call with as many rows, Append, Attend and
// Step allocate nothing if dst is given, except memory for more keys and values. The zero State has
// no attention, and methods that need attention panic or return an error.
type State[T dense.Float] struct {
	heads, keyHeads int
	d, dv           int
	n               int // tokens
	units           []stateUnit[T]
}

// stateUnit holds the tokens of a run of heads with the same attention, except for SinkWeight.
type stateUnit[T dense.Float] struct {
	tokens         store.TokenStore[T]
	from, to       int // heads of queries
	keyFrom, keyTo int // heads of keys
}

func (b *batch[T]) newState(d, dv int) (*State[T], error) {
	if d < 1 || dv < 1 {
		return nil, fmt.Errorf("performer: d = %d, dv = %d, want at least 1", d, dv)
	}
	err := limit.Memory[T](b.heads, d)
	if err == nil {
		err = limit.Memory[T](b.heads, dv)
	}
	if err != nil {
		return nil, fmt.Errorf("performer: d = %d, dv = %d, for %d heads: %w", d, dv, b.heads, err)
	}
	s := &State[T]{heads: b.heads, keyHeads: b.keyHeads, d: d, dv: dv}
	group := b.heads / b.keyHeads
	attentions := []sequence.Kind[T]{b.units[0].of} // of all heads, or of each head
	if len(b.units) > 1 {
		attentions = make([]sequence.Kind[T], b.heads)
		for h := range attentions {
			attentions[h] = b.unitAt(h).of
		}
	}
	for from := 0; from < b.heads; {
		run, to := attentions, b.heads
		if len(attentions) > 1 {
			to = runOf(attentions, from, group)
			run = attentions[from:to]
		}
		u := stateUnit[T]{from: from, to: to, keyFrom: from / group, keyTo: (to-1)/group + 1}
		u.tokens, err = run[0].NewStore(sequence.Run[T]{Heads: run, Count: to - from, KeyHeads: u.keyTo - u.keyFrom, D: d, DV: dv})
		if err != nil {
			return nil, err
		}
		s.units = append(s.units, u)
		from = to
	}
	return s, nil
}

// runOf returns the end of the run of heads, from head from on, that have alike attention and one
// memory: heads of one group, or complete groups.
func runOf[T dense.Float](attentions []sequence.Kind[T], from, group int) int {
	to := from + 1
	for to < len(attentions) && attentions[from].Alike(attentions[to]) && (from%group == 0 || to%group != 0) {
		to++
	}
	if n := to - from; n > group {
		to = from + n/group*group
	}
	return to
}

// Len returns the number of appended tokens, including the tokens of merged states.
func (s *State[T]) Len() int { return s.n }

// TopK returns the number of keys that the next query of each head reads, 0 for all keys, and with
// ExactOptions.Tolerance the error ‖output − exact‖/‖exact‖ of each head that Step has measured.
// For each head, the returned error is the root of the weighted mean of squared output errors,
// measured at one token of 64, over that of squared exact outputs, with weights that fall by 5 %
// per measurement back in time. The returned error is 0 for a head that reads all keys.
func (s *State[T]) TopK() (keys []int, errors []float64) {
	s.checkMade()
	for _, u := range s.units {
		keys, errors = u.tokens.TopK(keys, errors)
	}
	return keys, errors
}

// Reset forgets all tokens.
func (s *State[T]) Reset() {
	s.n = 0
	for _, u := range s.units {
		u.tokens.Reset()
	}
}

// Clone returns a copy of the State s that later changes of s do not change, and whose changes do
// not change s. In exact attention the copy shares the memory of complete segments of tokens with
// s, so that a common prefix of several streams takes memory once.
func (s *State[T]) Clone() *State[T] {
	c := *s
	c.units = make([]stateUnit[T], len(s.units))
	for i, u := range s.units {
		c.units[i] = u
		c.units[i].tokens = u.tokens.Clone()
	}
	return &c
}

// Append adds the keys k (n×Hk·d) and values v (n×Hk·dv) of n ≥ 0 tokens, in Hk heads, to s. For
// keys of dimension d and values of dimension dv, Append of n tokens to linear attention with m
// features takes O(n·m·(d+dv)) time per head. In exact attention, Append copies the keys and
// values. Append panics if the shapes of k and v do not fit s, and if the tokens are too many for
// an int.
func (s *State[T]) Append(k, v dense.Matrix[T]) {
	s.checkKeys(k, v)
	if k.Rows == 0 {
		return
	}
	for _, u := range s.units {
		u.tokens.Append(layout.Heads(k, u.keyFrom, u.keyTo, s.keyHeads), layout.Heads(v, u.keyFrom, u.keyTo, s.keyHeads))
	}
	s.n += k.Rows
}

// Attend computes the outputs of n ≥ 0 queries q (n×H·d) in H heads over all tokens so far into dst
// (n×H·dv), which Attend returns; Attend allocates a dst that is zero. For keys of dimension d and
// values of dimension dv, Attend of n queries takes, per head, O(n·m·(d+dv)) time in linear
// attention with m features, and O(n·L·(d+dv)) time in exact attention over L tokens. Attend
// returns zero outputs while s has no tokens. The matrix dst may be q itself if values have the
// dimension of queries, or disjoint from q. Attend panics if the columns of q do not fit s, or if a
// given dst does not have the shape of the outputs.
func (s *State[T]) Attend(dst, q dense.Matrix[T]) dense.Matrix[T] {
	s.checkQueries(q)
	dst = dense.Ensure(dst, q.Rows, s.heads*s.dv)
	switch {
	case q.Rows == 0:
	case s.n == 0:
		layout.Zero(dst)
	default:
		for _, u := range s.units {
			u.tokens.Attend(layout.Heads(dst, u.from, u.to, s.heads), layout.Heads(q, u.from, u.to, s.heads))
		}
	}
	return dst
}

// Step adds n ≥ 0 tokens one after another, and computes the output of each token over all tokens
// up to the token itself into dst (n×H·dv), which Step returns; Step allocates a dst that is zero.
// Step returns, bit for bit, what Append and Attend of one token at a time return, except with
// ExactOptions.Tolerance, because Attend measures no errors. In linear attention, Forward for
// outputs and Append for the State are faster than Step for many tokens.
//
// The matrix dst may be q, k or v itself where shapes allow, or disjoint from all three. Step
// panics if q (n×H·d), k (n×Hk·d) or v (n×Hk·dv) does not fit s.
func (s *State[T]) Step(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	s.checkKeys(k, v)
	s.checkQueries(q)
	if q.Rows != k.Rows {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, want as many queries as keys for a step", q.Rows, q.Cols, k.Rows, k.Cols))
	}
	dst = dense.Ensure(dst, q.Rows, s.heads*s.dv)
	if q.Rows == 0 {
		return dst
	}
	for _, u := range s.units {
		u.tokens.Step(layout.Heads(dst, u.from, u.to, s.heads), layout.Heads(q, u.from, u.to, s.heads),
			layout.Heads(k, u.keyFrom, u.keyTo, s.keyHeads), layout.Heads(v, u.keyFrom, u.keyTo, s.keyHeads))
	}
	s.n += k.Rows
	return dst
}

func (s *State[T]) checkKeys(k, v dense.Matrix[T]) {
	s.checkMade()
	k.Check()
	v.Check()
	if d, dv := s.keyHeads*s.d, s.keyHeads*s.dv; k.Rows != v.Rows || k.Cols != d || v.Cols != dv {
		panic(fmt.Sprintf("performer: k is %d×%d, v is %d×%d, want n×%d and n×%d for %d heads of the state",
			k.Rows, k.Cols, v.Rows, v.Cols, d, dv, s.keyHeads))
	}
	if err := limit.CheckAppend(s.n, k.Rows); err != nil {
		panic("performer: " + err.Error())
	}
}

func (s *State[T]) checkQueries(q dense.Matrix[T]) {
	s.checkMade()
	q.Check()
	if d := s.heads * s.d; q.Cols != d {
		panic(fmt.Sprintf("performer: q is %d×%d, want n×%d for %d heads of the state", q.Rows, q.Cols, d, s.heads))
	}
}

// checkMade panics unless NewState has made s.
func (s *State[T]) checkMade() {
	if s == nil || s.units == nil {
		panic(errNoState.Error())
	}
}

var errNoState = errors.New("performer: the state belongs to no attention, want one of NewState")

// Merge adds all tokens of the State other to s. Merge changes only the receiver s, not the
// argument other. The order in which States are merged matters only for rounding.
//
// Merge returns an error and does not change s if other is nil, if other differs in heads,
// dimensions or attention, if the attention has a Window, a Chunk or a Slope, or if s and other
// together have more tokens than half of the largest int.
//
// Merge treats two feature maps as equal if their features agree to rounding at a few fixed points,
// so that a feature map may be made again from its seed, or on another architecture. Merge may
// overlook that two feature maps differ in less than one feature in 16, or by less than 2⁻¹⁴ of a
// feature in float32 or 2⁻⁴⁰ in float64.
func (s *State[T]) Merge(other *State[T]) error {
	switch {
	case s.units == nil:
		return errNoState
	case other == nil:
		return errors.New("performer: other is nil")
	case other.units == nil:
		return errNoState
	case other.heads != s.heads || other.keyHeads != s.keyHeads || other.d != s.d || other.dv != s.dv:
		return fmt.Errorf("performer: other has %d heads over %d with d = %d and dv = %d, the state %d heads over %d with d = %d and dv = %d",
			other.heads, other.keyHeads, other.d, other.dv, s.heads, s.keyHeads, s.d, s.dv)
	case len(other.units) != len(s.units):
		return fmt.Errorf("performer: other has %d runs of heads with one attention each, the state %d", len(other.units), len(s.units))
	}
	for i, u := range s.units {
		o := other.units[i]
		if o.from != u.from || o.to != u.to {
			return fmt.Errorf("performer: other has one attention for the heads %d to %d, the state for %d to %d", o.from, o.to-1, u.from, u.to-1)
		}
		if err := u.tokens.Check(o.tokens); err != nil {
			return err
		}
	}
	if err := limit.CheckMerge(s.n, other.n); err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	for i, u := range s.units {
		u.tokens.Merge(other.units[i].tokens)
	}
	s.n += other.n
	return nil
}

// Snapshot is a record of the tokens of a [State], to which [State.Rollback] returns. A pointer to
// the zero Snapshot is a valid argument of [State.Snapshot].
type Snapshot[T dense.Float] struct {
	of     *State[T]
	tokens int
	saved  []any // of each unit
}

// Snapshot records in dst the tokens that s has so far and returns dst; if dst is nil, Snapshot
// allocates one. In linear attention Snapshot copies the sums over tokens. For a State of exact
// attention, Snapshot records the number of tokens, and copies the keys and values of at most the
// last 127 tokens if ExactOptions sets Bits, or KeyBits and ValueBits, and of none otherwise.
// Snapshot allocates nothing if dst was a Snapshot of s before.
func (s *State[T]) Snapshot(dst *Snapshot[T]) *Snapshot[T] {
	s.checkMade()
	if dst == nil {
		dst = new(Snapshot[T])
	}
	dst.of, dst.tokens = s, s.n
	dst.saved = scratch.Resize(dst.saved, len(s.units))
	for i, u := range s.units {
		dst.saved[i] = u.tokens.Save(dst.saved[i])
	}
	return dst
}

// Rollback removes all tokens that were added to s after the call of [State.Snapshot] that wrote m.
// Later outputs of s are, bit for bit, those of s without the removed tokens. Several calls of
// Rollback may use one Snapshot m. Rollback takes as long as Snapshot, and allocates nothing.
//
// Rollback panics if m is nil or belongs to another State, and if exact attention no longer has the
// tokens of m: after Reset, UnmarshalBinary or a Rollback to fewer tokens.
func (s *State[T]) Rollback(m *Snapshot[T]) {
	s.checkMade()
	if m == nil || m.of != s {
		panic("performer: the mark is not of this state, want one of its Snapshot")
	}
	for i, u := range s.units {
		if !u.tokens.Holds(m.saved[i], m.tokens) {
			panic(fmt.Sprintf("performer: the mark is of %d tokens that the state has no longer", m.tokens))
		}
	}
	for i, u := range s.units {
		u.tokens.Restore(m.saved[i], m.tokens)
	}
	s.n = m.tokens
}
