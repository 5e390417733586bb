package recurrence

import (
	"cmp"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// State is a [Recurrence] over one stream of tokens. It holds the sums S (dk×dv for each head of
// keys). Neither its size nor the time for a token grows with the number of tokens. Append of a
// token and Attend with its query give the row of Forward, to rounding. Bits do not depend on
// GOMAXPROCS, but on the calls that a stream is cut into.
//
// A State belongs to one goroutine and to the Recurrence that made it; Merge and UnmarshalBinary
// refuse the sums of other recurrences. After the first calls of a size, Append, Attend and Step
// with a dst allocate nothing.
type State[T dense.Float] interface {
	// Len returns the number of tokens that were appended, including tokens of merged states.
	Len() int

	// Sums returns a copy of S, head after head (Hk·dk×dv). Forward takes it as past.
	Sums() dense.Matrix[T]

	// Append takes in n ≥ 0 tokens in O(n·dk·dv) time per head. It ignores queries. Several tokens go
	// as in Forward, and heads are shared among processors. x.Lengths must be nil: a state has one
	// sequence. Append panics with the shapes if they do not fit.
	Append(x Tokens[T])

	// Attend computes the outputs scale·Sᵀq of n ≥ 0 queries q (n×H·d) into dst (n×H·dv), which Attend
	// returns; a zero dst is allocated. Attend takes O(n·dk·dv) time per head. dst may be exactly q if
	// dv = d, or disjoint from q. Attend panics with the shape if it does not fit.
	Attend(dst, q dense.Matrix[T]) dense.Matrix[T]

	// Step takes in n ≥ 0 tokens one after another and computes the output of each token right after
	// the token, into dst (n×H·dv), which Step returns; a zero dst is allocated. Step has the bits of
	// Append and Attend of one token at a time. For many tokens that are known at once Forward and
	// Append are faster.
	//
	// dst may be exactly x.Q, x.K or x.V where its shape allows, or disjoint from all of them. Step
	// panics with the shapes if they do not fit.
	Step(dst dense.Matrix[T], x Tokens[T]) dense.Matrix[T]

	// Reset forgets all tokens.
	Reset()

	// Clone returns a copy of s. The two share nothing that changes.
	Clone() State[T]

	// Merge takes in all tokens of another state, as if they came after the tokens of s: S becomes the
	// sums of other plus S, with decays e^Σg∘S over the decays of other. other does not change.
	//
	// Merge returns an error and changes nothing if other is nil or has other dimensions; if other
	// belongs to a recurrence with another rule, other heads, another NormaliseKeys or other features,
	// which are compared as by State.Merge of package performer; if both together have more tokens than
	// half of the largest int; and for the delta rules, where a token writes what depends on all tokens
	// before it. States do not depend on the scale.
	Merge(other State[T]) error

	// MarshalBinary returns the state as bytes, which any architecture can read. A state that reads
	// them continues with the bits of s.
	MarshalBinary() ([]byte, error)

	// UnmarshalBinary makes s the encoded state, whatever s held before. The encoded state must have the
	// dimensions of s and a recurrence like that of s, as for Merge. UnmarshalBinary returns an error and
	// does not change s if anything differs or the bytes are
	// damaged. The checksum finds damage, not forgery; forged sums are at worst wrong.
	UnmarshalBinary(data []byte) error
}

// state is the State of a width.
type state[T dense.Float] struct {
	r            *recurrence[T]
	d, dk, dv, n int
	sums         dense.Matrix[T] // Hk·dk×dv
	past         []float64       // Hk·dk logarithms of what is left of sums before the first token, for the gated rule
	one          scan[T]         // memory of one token

	queries, keys scratch.Buffer[T] // of one token, a row a head
}

func (r *recurrence[T]) NewState(d, dv int) (State[T], error) {
	s, err := r.newState(d, dv)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (r *recurrence[T]) newState(d, dv int) (*state[T], error) {
	if d < 1 || dv < 1 {
		return nil, fmt.Errorf("recurrence: d = %d, dv = %d, want at least 1", d, dv)
	}
	if r.m > 0 && d != r.d {
		return nil, fmt.Errorf("recurrence: d = %d, but the maps take points of R^%d", d, r.d)
	}
	s := &state[T]{r: r, d: d, dk: d, dv: dv}
	if r.m > 0 {
		s.dk = r.m
	}
	if err := cmp.Or(limit.Memory[T](r.keyHeads, s.dk, dv), limit.Memory[T](r.heads, scratch.Stride[T](s.dk))); err != nil {
		return nil, fmt.Errorf("recurrence: d = %d, dv = %d, for %d heads of queries and %d of keys with %d×%d sums: %w", d, dv, r.heads, r.keyHeads, s.dk, dv, err)
	}
	s.sums = dense.New[T](r.keyHeads*s.dk, dv)
	if r.opts.Rule == Gated {
		s.past = make([]float64, r.keyHeads*s.dk)
	}
	s.queries.Shape(r.heads, s.dk)
	s.keys.Shape(r.keyHeads, s.dk)
	s.one = scan[T]{r: r, dk: s.dk, dv: dv, scale: r.scale(s.dk), token: make([]T, 2*(dv+s.dk))}
	s.one.norms = make([]T, r.keyHeads)
	return s, nil
}

func (s *state[T]) Len() int { return s.n }

func (s *state[T]) Sums() dense.Matrix[T] { return s.sums.Clone() }

func (s *state[T]) Reset() {
	s.n = 0
	clear(s.sums.Data)
	clear(s.past)
}

func (s *state[T]) Clone() State[T] {
	c, err := s.r.newState(s.d, s.dv)
	if err != nil {
		panic(err) // d and dv were good enough for s
	}
	c.n = s.n
	copy(c.sums.Data, s.sums.Data)
	copy(c.past, s.past)
	return c
}

func (s *state[T]) Append(x Tokens[T]) {
	s.check(x)
	x.Q = dense.Matrix[T]{}
	if x.K.Rows == 1 {
		s.stepToken(dense.Matrix[T]{}, x)
		return
	}
	s.r.run(dense.Matrix[T]{}, x, s.sums, s.sums, s.dk, s.dv)
	for i := range x.K.Rows {
		s.count(x, i)
	}
}

func (s *state[T]) Attend(dst, q dense.Matrix[T]) dense.Matrix[T] {
	s.checkQueries(q)
	dst = dense.Ensure(dst, q.Rows, s.r.heads*s.dv)
	for i := range q.Rows {
		s.mapQueries(q.RowRange(i, i+1))
		for h := range s.r.heads {
			out := s.one.token[:s.dv]
			s.one.readToken(s.sumsOf(h*s.r.keyHeads/s.r.heads), s.queries.Rows(h+1).Row(h), out)
			copy(dst.Row(i)[h*s.dv:], out)
		}
	}
	return dst
}

func (s *state[T]) Step(dst dense.Matrix[T], x Tokens[T]) dense.Matrix[T] {
	s.check(x)
	s.r.checkQueries(x)
	dst = dense.Ensure(dst, x.K.Rows, s.r.heads*s.dv)
	for i := range x.K.Rows {
		s.stepToken(dst.RowRange(i, i+1), rowRange(x, i, i+1))
	}
	return dst
}

// stepToken takes in one token and answers its query, if there is one.
func (s *state[T]) stepToken(dst dense.Matrix[T], x Tokens[T]) {
	r, l := s.r, &s.one
	keys := s.keys.Rows(r.keyHeads)
	transform(r.key, keys, tokenOf(x.K, r.keyHeads))
	l.normalise(keys)
	if x.Q.Rows > 0 {
		s.mapQueries(x.Q)
	}
	group := r.heads / r.keyHeads
	for head := range r.keyHeads {
		own, sums := r.headOf(x, head, 0, 1), s.sumsOf(head)
		var g, q, out []T
		beta := T(0)
		if own.Decay.Rows > 0 {
			g = own.Decay.Row(0)
		}
		if own.Beta.Rows > 0 {
			beta = own.Beta.Row(0)[0]
		}
		if x.Q.Rows > 0 {
			q, out = s.queries.Rows(head*group+1).Row(head*group), l.token[:s.dv]
		}
		l.writeToken(sums, keys.Row(head), own.V.Row(0), g, beta, q, out)
		if out == nil {
			continue
		}
		for h := head * group; h < (head+1)*group; h++ {
			if h > head*group {
				l.readToken(sums, s.queries.Rows(h+1).Row(h), out)
			}
			copy(dst.Row(0)[h*s.dv:], out)
		}
	}
	s.count(x, 0)
}

// count counts token i of x.
func (s *state[T]) count(x Tokens[T], i int) {
	s.n++
	if s.past == nil {
		return
	}
	row := x.Decay.Row(i)
	for f := range s.past {
		s.past[f] += float64(row[f*len(row)/len(s.past)])
	}
}

// mapQueries keeps the queries of a token as they enter the recurrence, times the scale.
func (s *state[T]) mapQueries(q dense.Matrix[T]) {
	queries := s.queries.Rows(s.r.heads)
	transform(s.r.query, queries, tokenOf(q, s.r.heads))
	scaleRows(queries, s.one.scale)
}

// tokenOf returns the only row of x as a matrix of a row a head.
func tokenOf[T dense.Float](x dense.Matrix[T], heads int) dense.Matrix[T] {
	return dense.Of(heads, x.Cols/heads, x.Data[:x.Cols])
}

// sumsOf returns the sums of a head of keys.
func (s *state[T]) sumsOf(head int) dense.Matrix[T] {
	return s.sums.RowRange(head*s.dk, (head+1)*s.dk)
}

// check panics unless the tokens fit the state.
func (s *state[T]) check(x Tokens[T]) {
	s.r.check(x)
	if x.Lengths != nil {
		panic(fmt.Sprintf("recurrence: Tokens.Lengths is %v, want nil for a state, which has one sequence", x.Lengths))
	}
	if heads := s.r.keyHeads; x.K.Cols != heads*s.d || x.V.Cols != heads*s.dv {
		panic(fmt.Sprintf("recurrence: k is %d×%d, v is %d×%d, want n×%d and n×%d for %d heads of the state",
			x.K.Rows, x.K.Cols, x.V.Rows, x.V.Cols, heads*s.d, heads*s.dv, heads))
	}
	if err := frame.CheckAppend(s.n, x.K.Rows); err != nil {
		panic("recurrence: " + err.Error())
	}
}

// checkQueries panics unless q fits the state.
func (s *state[T]) checkQueries(q dense.Matrix[T]) {
	q.Check()
	if d := s.r.heads * s.d; q.Cols != d {
		panic(fmt.Sprintf("recurrence: q is %d×%d, want n×%d for %d heads of the state", q.Rows, q.Cols, d, s.r.heads))
	}
}
