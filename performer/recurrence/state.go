package recurrence

import (
	"cmp"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// State is the state of a [Recurrence] after a stream of tokens: for keys of dimension dk and
// values of dimension dv, a dk×dv matrix S for each head of values. Neither the size of a State nor
// the time to append a token grows with the number of tokens. After Append of a token to a State,
// Attend with the query of the token returns, to rounding, the output of [Recurrence.Forward] for
// the token.
//
// The outputs of a State do not depend on GOMAXPROCS, bit for bit, but the rounding of outputs
// depends on how a stream is divided into calls. Goroutines must not share a State. Append, Attend
// and Step allocate nothing if dst is given and an earlier call had as many tokens.
type State[T dense.Float] interface {
	// Len returns the number of tokens that Append and Step have added to the State.
	Len() int

	// Matrix returns copies of the state matrices S of all heads of values in one matrix, head
	// below head. The matrix that Matrix returns may be the argument past of [Recurrence.Forward].
	Matrix() dense.Matrix[T]

	// Append updates the State with n tokens x in O(n·dk·dv) time per head, for keys of dimension
	// dk and values of dimension dv. Append does not read the queries x.Q. Append panics if
	// x.Lengths is not nil, or if the shapes of the matrices of x do not fit the State.
	Append(x Tokens[T])

	// For each row of queries of the matrix q, Attend writes the outputs scale·Sᵀq of all heads,
	// with the state S of the head, to a row of dst, and returns dst; a zero dst is allocated.
	// Attend takes O(n·dk·dv) time per head for n rows of queries of dimension dk and values of
	// dimension dv. The matrix dst of Attend may be exactly q if the shapes are equal, or share no
	// memory with q. Attend panics if the shape of q does not fit the State.
	Attend(dst, q dense.Matrix[T]) dense.Matrix[T]

	// Step updates the State with the tokens x one after another, writes the output of each token
	// right after the update to a row of dst, and returns dst; a zero dst is allocated. Step gives,
	// bit for bit, the outputs of Append and Attend for one token at a time. For many tokens that
	// are known at once, Forward and Append are faster than Step.
	//
	// The matrix dst of Step may be exactly x.Q, x.K or x.V if the shapes are equal, or share no
	// memory with the three. Step panics if the shapes of the matrices of x do not fit the State.
	Step(dst dense.Matrix[T], x Tokens[T]) dense.Matrix[T]

	// Clone returns a copy of the State that shares no memory with the State.
	Clone() State[T]

	// MarshalBinary encodes the State as bytes that any processor architecture can read. A State of
	// a Recurrence with equal options that UnmarshalBinary sets from the bytes of MarshalBinary
	// continues with the outputs of the encoded State, bit for bit.
	MarshalBinary() ([]byte, error)

	// UnmarshalBinary sets the State to a State that MarshalBinary has encoded. UnmarshalBinary
	// returns an error and leaves the State unchanged if the encoded State has other dimensions,
	// numbers of heads, NormaliseKeys or another Rule, or if the bytes are damaged. The checksum
	// that UnmarshalBinary checks finds damaged bytes, not forged bytes.
	UnmarshalBinary(data []byte) error
}

type state[T dense.Float] struct {
	r      *recurrence[T]
	dk, dv int
	n      int
	matrix dense.Matrix[T] // S, Hv·dk×dv
	one    scan[T]         // memory of one token

	queries, keys scratch.Buffer[T] // of one token, a row for each head
}

func (r *recurrence[T]) NewState(d, dv int) (State[T], error) {
	if d < 1 || dv < 1 {
		return nil, fmt.Errorf("recurrence: d = %d, dv = %d, want at least 1", d, dv)
	}
	if err := cmp.Or(limit.Memory[T](r.valueHeads, d, dv), limit.Memory[T](r.heads, scratch.Stride[T](d))); err != nil {
		return nil, fmt.Errorf("recurrence: d = %d, dv = %d, for %d heads of outputs and %d of values with %d×%d sums: %w", d, dv, r.heads, r.valueHeads, d, dv, err)
	}
	return r.newState(d, dv), nil
}

func (r *recurrence[T]) newState(dk, dv int) *state[T] {
	s := &state[T]{r: r, dk: dk, dv: dv, matrix: dense.New[T](r.valueHeads*dk, dv)}
	s.queries.Shape(r.queryHeads, dk)
	s.keys.Shape(r.keyHeads, dk)
	s.one = scan[T]{r: r, dk: dk, dv: dv, scale: r.scale(dk), token: make([]T, 2*(dv+dk)), norms: make([]T, r.keyHeads)}
	return s
}

func (s *state[T]) Len() int { return s.n }

func (s *state[T]) Matrix() dense.Matrix[T] { return s.matrix.Clone() }

func (s *state[T]) Clone() State[T] {
	c := s.r.newState(s.dk, s.dv)
	c.n = s.n
	copy(c.matrix.Data, s.matrix.Data)
	return c
}

func (s *state[T]) Append(x Tokens[T]) {
	s.check(x)
	x.Q = dense.Matrix[T]{}
	if x.K.Rows == 1 {
		s.stepToken(dense.Matrix[T]{}, x)
		return
	}
	s.r.run(dense.Matrix[T]{}, x, s.matrix, s.matrix, s.dk, s.dv)
	s.n += x.K.Rows
}

func (s *state[T]) Attend(dst, q dense.Matrix[T]) dense.Matrix[T] {
	s.checkQueries(q)
	dst = dense.Ensure(dst, q.Rows, s.r.heads*s.dv)
	for i := range q.Rows {
		s.setQueries(q.RowRange(i, i+1))
		for h := range s.r.heads {
			out := s.one.token[:s.dv]
			q := h * s.r.queryHeads / s.r.heads
			readToken(s.matrixOf(h*s.r.valueHeads/s.r.heads), s.queries.Rows(q+1).Row(q), out)
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

// stepToken writes the output of the query to dst unless x.Q is zero.
func (s *state[T]) stepToken(dst dense.Matrix[T], x Tokens[T]) {
	r, l := s.r, &s.one
	keys := s.keys.Rows(r.keyHeads)
	dense.Copy(keys, tokenOf(x.K, r.keyHeads))
	l.normalise(keys)
	if x.Q.Rows > 0 {
		s.setQueries(x.Q)
	}
	group := r.heads / r.valueHeads
	for head := range r.valueHeads {
		own, matrix := r.headOf(x, head, 0, 1), s.matrixOf(head)
		var g, q, out []T
		beta := T(0)
		if own.Decay.Rows > 0 {
			g = own.Decay.Row(0)
		}
		if own.Beta.Rows > 0 {
			beta = own.Beta.Row(0)[0]
		}
		if x.Q.Rows > 0 {
			first := r.keyOf(head) * group
			q, out = s.queries.Rows(first+1).Row(first), l.token[:s.dv]
		}
		l.writeToken(matrix, keys.Row(r.keyOf(head)), own.V.Row(0), g, beta, q, out)
		if out == nil {
			continue
		}
		for h := head * group; h < (head+1)*group; h++ {
			if h > head*group {
				readToken(matrix, s.queries.Rows(h+1).Row(h), out)
			}
			copy(dst.Row(0)[h*s.dv:], out)
		}
	}
	s.n++
}

func (s *state[T]) setQueries(q dense.Matrix[T]) {
	queries := s.queries.Rows(s.r.queryHeads)
	dense.Copy(queries, tokenOf(q, s.r.queryHeads))
	scaleRows(queries, s.one.scale)
}

func tokenOf[T dense.Float](x dense.Matrix[T], heads int) dense.Matrix[T] {
	return dense.Of(heads, x.Cols/heads, x.Data[:x.Cols])
}

func (s *state[T]) matrixOf(head int) dense.Matrix[T] {
	return s.matrix.RowRange(head*s.dk, (head+1)*s.dk)
}

func (s *state[T]) check(x Tokens[T]) {
	s.r.check(x)
	if x.Lengths != nil {
		panic(fmt.Sprintf("recurrence: Tokens.Lengths is %v, want nil for a state, which has one sequence", x.Lengths))
	}
	if keys, values := s.r.keyHeads*s.dk, s.r.valueHeads*s.dv; x.K.Cols != keys || x.V.Cols != values {
		panic(fmt.Sprintf("recurrence: k is %d×%d, v is %d×%d, want n×%d and n×%d for %d heads of the state",
			x.K.Rows, x.K.Cols, x.V.Rows, x.V.Cols, keys, values, s.r.valueHeads))
	}
	if err := limit.CheckAppend(s.n, x.K.Rows); err != nil {
		panic("recurrence: " + err.Error())
	}
}

func (s *state[T]) checkQueries(q dense.Matrix[T]) {
	q.Check()
	if d := s.r.queryHeads * s.dk; q.Cols != d {
		panic(fmt.Sprintf("recurrence: q is %d×%d, want n×%d for %d heads of the state", q.Rows, q.Cols, d, s.r.queryHeads))
	}
}
