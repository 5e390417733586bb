package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/scratch"
	"github.com/seed-feabd252/randfeat/internal/stream"
)

// State is linear attention over a stream: a summary of all keys and values so far,
// whose size and whose time for a token do not depend on how many there were. A
// query is answered by
//
//	out = Σ_j A_j v_j / Σ_j A_j,  A_j = φ_Q(q)ᵀφ_K(k_j),
//
// over every j appended so far, without the division if the Attention is
// unnormalised. Appending token i and then attending with its query is row i of
// causal attention, to rounding. Bits do not depend on GOMAXPROCS, but they do on how
// a stream is cut into calls.
//
// A State holds H heads, each with m×(dv+1) sums, m×dv if unnormalised, and the
// exponent of a running maximum for each feature, from which a new maximum differs by
// a power of two: rescaling rounds nothing, except beyond log-features of ±9·10⁷. Norms may
// grow as long as log-features are numbers of T, for features of the softmax and the Gaussian
// kernel up to about 10¹⁹ in float32 and 10¹⁵⁴ in float64. A key beyond has no weight, and a
// normalised query beyond is answered by 0/0 = NaN, as every query is while no key has a
// weight. In float32 a sum that takes in one small number after another loses ever more of each,
// and all of it after 2²⁴ of a size. So single tokens have sums of their own there,
// which are added to those of all before whenever 256 have come.
//
// A State belongs to one goroutine, and to the features under which it was made: those
// of an [Attention] do not change, and Merge and UnmarshalBinary refuse the sums of
// others. Once its calls have had their sizes, Append, Attend
// and Step, with a dst, allocate nothing.
type State[T dense.Float] struct {
	a     *Attention[T]
	dv    int
	n     int
	heads []*accumulator[T]

	// In float32, m×width sums of the last tokens, a head each, under the references
	// of heads, and the number of these tokens.
	recent []scratch.Buffer[T]
	fresh  int

	// Memory of one token, a row a head.
	queries, keys, values, sums scratch.Buffer[T]
	scales                      []scale // if unnormalised

	call struct{ dst, q, k, v dense.Matrix[T] } // while it lasts
}

// NewState returns an empty State for queries and keys of the dimension of the maps
// and values of dimension dv. It makes no difference whether a is causal. It returns
// an error if dv is below 1, or if the sums take more memory than the machine has.
func (a *Attention[T]) NewState(dv int) (*State[T], error) { return newState(a, 1, dv) }

// NewState returns an empty State of all heads, for values of dimension dv a head:
// as in Forward, columns h·d … (h+1)·d−1 of queries and keys and h·dv … (h+1)·dv−1 of
// values and outputs are head h. It returns an error if dv is below 1, if the sums take
// more memory than the machine has, or if the forms are not one [Attention] with as many heads
// of keys as of queries.
func (b *Batch[T]) NewState(dv int) (*State[T], error) {
	a, ok := b.units[0].form.(*Attention[T])
	if !ok || len(b.units) > 1 || b.heads != b.keyHeads {
		return nil, fmt.Errorf("performer: form is %T, want linear attention for a state", b.units[0].form)
	}
	return newState(a, b.heads, dv)
}

func newState[T dense.Float](a *Attention[T], heads, dv int) (*State[T], error) {
	if dv < 1 {
		return nil, fmt.Errorf("performer: dv = %d, want at least 1", dv)
	}
	err := limit.Memory[T](dv)
	if err == nil {
		err = limit.Memory[T](heads, a.m, scratch.Stride[T](a.width(dv)))
	}
	if err != nil {
		return nil, fmt.Errorf("performer: dv = %d, for %d heads of %d features: %w", dv, heads, a.m, err)
	}
	s := &State[T]{a: a, dv: dv, heads: make([]*accumulator[T], heads)}
	for h := range s.heads {
		s.heads[h] = a.accumulator(dv)
	}
	if stream.ElementSize[T]() == 4 {
		s.recent = make([]scratch.Buffer[T], heads)
		for h := range s.recent {
			s.recent[h].Shape(a.m, a.width(dv))
		}
	}
	s.queries.Shape(heads, a.m)
	s.keys.Shape(heads, a.m)
	s.values.Shape(heads, a.width(dv))
	s.sums.Shape(heads, a.width(dv))
	if a.opts.Unnormalised {
		s.scales = make([]scale, heads)
	}
	return s, nil
}

// Len returns the number of tokens that were appended, those of merged states too.
func (s *State[T]) Len() int { return s.n }

// Reset forgets all tokens.
func (s *State[T]) Reset() {
	s.n = 0
	s.settle()
	for _, acc := range s.heads {
		clear(acc.sum.Data)
		if acc.ref != nil {
			acc.ref.reset()
		}
	}
}

// Clone returns a copy, which shares nothing with s that changes.
func (s *State[T]) Clone() *State[T] {
	c, err := newState(s.a, len(s.heads), s.dv)
	if err != nil {
		panic(err) // dv was good enough for s
	}
	c.n, c.fresh = s.n, s.fresh
	for h := range s.recent {
		copy(c.recent[h].Data, s.recent[h].Data)
	}
	for h, acc := range s.heads {
		copy(c.heads[h].sum.Data, acc.sum.Data)
		if acc.ref != nil {
			c.heads[h].ref.copyAll(acc.ref)
		}
	}
	return c
}

// Append takes in the keys k (n×H·d) and values v (n×H·dv) of n ≥ 0 tokens, in
// O(n·m·(d+dv)) time a head. Heads, and many tokens, are shared among processors. It
// panics with the shapes if they do not fit, and if an int does not count the tokens.
func (s *State[T]) Append(k, v dense.Matrix[T]) {
	s.checkKeys(k, v)
	switch {
	case k.Rows == 0:
		return
	case k.Rows == 1:
		s.appendToken(k, v)
	default:
		s.appendChunk(k, v)
	}
}

// Attend computes the outputs of n ≥ 0 queries q (n×H·d) over all tokens so far into
// dst (n×H·dv), which it returns; a zero dst is allocated. It takes O(n·m·(d+dv))
// time a head. Before the first token outputs are zero; what else may come out that
// is no number is said at [Attention.Forward]. dst may be exactly q if dv = d, or
// disjoint from it. It panics with the shapes if they do not fit.
func (s *State[T]) Attend(dst, q dense.Matrix[T]) dense.Matrix[T] {
	s.checkQueries(q)
	dst = dense.Ensure(dst, q.Rows, len(s.heads)*s.dv)
	switch {
	case s.n == 0:
		zero(dst)
	case q.Rows < fewQueries:
		s.attendTokens(dst, q)
	default:
		s.attendChunk(dst, q)
	}
	return dst
}

// fewQueries is the number of queries for which the sums are worth packing.
const fewQueries = 4

// Step takes in n ≥ 0 tokens one after another, and computes the output of each over
// all tokens up to it into dst (n×H·dv), which it returns; a zero dst is allocated. It
// has the bits of Append and Attend of one token at a time, and reads the sums once
// for both: the step of a decoder is one with n = 1. For many tokens that are known
// at once causal Forward and Append are faster.
//
// dst may be exactly q, k or v where its shape allows, or disjoint from all of them.
// It panics with the shapes of q and k (n×H·d) and v (n×H·dv) if they do not fit.
func (s *State[T]) Step(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	s.checkKeys(k, v)
	s.checkQueries(q)
	if q.Rows != k.Rows {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, want as many queries as keys for a step", q.Rows, q.Cols, k.Rows, k.Cols))
	}
	dst = dense.Ensure(dst, q.Rows, len(s.heads)*s.dv)
	for i := range q.Rows {
		s.stepToken(dst.RowRange(i, i+1), q.RowRange(i, i+1), k.RowRange(i, i+1), v.RowRange(i, i+1))
	}
	return dst
}

// checkKeys panics unless k and v fit together and the state.
func (s *State[T]) checkKeys(k, v dense.Matrix[T]) {
	k.Check()
	v.Check()
	if d, dv := len(s.heads)*s.a.d, len(s.heads)*s.dv; k.Rows != v.Rows || k.Cols != d || v.Cols != dv {
		panic(fmt.Sprintf("performer: k is %d×%d, v is %d×%d, want n×%d and n×%d for %d heads of the state",
			k.Rows, k.Cols, v.Rows, v.Cols, d, dv, len(s.heads)))
	}
	if err := stream.CheckAppend(s.n, k.Rows); err != nil {
		panic("performer: " + err.Error())
	}
}

// checkQueries panics unless q fits the state.
func (s *State[T]) checkQueries(q dense.Matrix[T]) {
	q.Check()
	if d := len(s.heads) * s.a.d; q.Cols != d {
		panic(fmt.Sprintf("performer: q is %d×%d, want n×%d for %d heads of the state", q.Rows, q.Cols, d, len(s.heads)))
	}
}

// errNoState is the error of a State that no NewState has made.
var errNoState = errors.New("performer: the state belongs to no attention, want one of NewState")
