package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// exactMemory is what exact attention keeps of a stream: all keys and values.
type exactMemory[T dense.Float] struct {
	form            Exact[T] // without Causal
	d, dv           int
	heads, keyHeads int

	tokens, room int
	keys, values []T // room×d and room×dv for each head of keys

	// The number of the call that brought each token, by which a Mark knows that its tokens
	// are still there.
	came  []uint64
	calls uint64

	dst, q dense.Matrix[T] // while a call lasts
}

func (e Exact[T]) newMemory(heads, keyHeads, d, dv int) (memory[T], error) {
	if err := limit.Memory[T](keyHeads, max(d, dv)); err != nil {
		return nil, fmt.Errorf("performer: d = %d, dv = %d, for %d heads: %w", d, dv, keyHeads, err)
	}
	e.Causal = false
	return &exactMemory[T]{form: e, d: d, dv: dv, heads: heads, keyHeads: keyHeads}, nil
}

// head returns the keys and values of a head of keys.
func (s *exactMemory[T]) head(h int) (k, v dense.Matrix[T]) {
	return rowsIn(s.keys, h*s.room, s.tokens, s.d), rowsIn(s.values, h*s.room, s.tokens, s.dv)
}

// rowsIn returns n rows of so many columns from row from of data on.
func rowsIn[T dense.Float](data []T, from, n, cols int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: n, Cols: cols, Data: data[from*cols : (from+n)*cols], Stride: cols}
}

// leastRoom is the number of tokens that memory has room for at first.
const leastRoom = 64

// extend adds n tokens, whatever keys and values they have.
func (s *exactMemory[T]) extend(n int) {
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
	s.calls++
	for range n {
		s.came = append(s.came, s.calls)
	}
	s.tokens += n
}

func (s *exactMemory[T]) append(k, v dense.Matrix[T]) {
	from := s.tokens
	s.extend(k.Rows)
	for h := range s.keyHeads {
		keys, values := s.head(h)
		dense.Copy(keys.RowRange(from, s.tokens), layout.Head(k, h, s.keyHeads))
		dense.Copy(values.RowRange(from, s.tokens), layout.Head(v, h, s.keyHeads))
	}
}

func (s *exactMemory[T]) attend(dst, q dense.Matrix[T]) {
	if q.Rows > 1 {
		s.attendMany(dst, q, s.form, 0)
		return
	}
	s.dst, s.q = dst, q
	if s.tokens*(s.d+s.dv) < fewElements {
		for h := range s.keyHeads {
			(*answeringToken[T])(s).Piece(h)
		}
	} else {
		parallel.Do(s.keyHeads, (*answeringToken[T])(s))
	}
	s.dst, s.q = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// fewElements is the number of elements of keys and values that is not worth another
// processor.
const fewElements = 1 << 14

// attendMany answers queries by form. If the form is causal, query i sees the tokens up to
// past + i.
func (s *exactMemory[T]) attendMany(dst, q dense.Matrix[T], form Exact[T], past int) {
	for h := range s.heads {
		k, v := s.head(h * s.keyHeads / s.heads)
		p := request[T]{gradients: gradients[T]{q: layout.Head(q, h, s.heads), k: k, v: v}, dst: layout.Head(dst, h, s.heads), past: past}
		form.attendHead(p)
	}
}

// answeringToken is the task of answering the queries of one token, a head of keys a piece:
// the queries that read the head are taken together.
type answeringToken[T dense.Float] exactMemory[T]

func (s *answeringToken[T]) Piece(h int) {
	k, v := (*exactMemory[T])(s).head(h)
	group := s.heads / s.keyHeads
	q, dst := rowsOfHeads(layout.Head(s.q, h, s.keyHeads), group), rowsOfHeads(layout.Head(s.dst, h, s.keyHeads), group)
	t := tiles.NewTile(s.form.scores(s.d), q, s.dv)
	t.Add(k, v, nil)
	t.Finish(dst)
	t.Release()
}

func (s *exactMemory[T]) step(dst, q, k, v dense.Matrix[T]) {
	past := s.tokens
	s.append(k, v)
	if q.Rows == 1 {
		s.attend(dst, q)
		return
	}
	causal := s.form
	causal.Causal = true
	s.attendMany(dst, q, causal, past)
}

func (s *exactMemory[T]) reset() { s.restore(nil, 0) }

func (s *exactMemory[T]) clone() memory[T] {
	c := *s
	c.keys, c.values, c.room, c.tokens, c.came = nil, nil, 0, 0, nil
	c.merge(s)
	return &c
}

func (s *exactMemory[T]) save(to *saved[T]) {
	to.last = 0
	if s.tokens > 0 {
		to.last = s.came[s.tokens-1]
	}
}

// holds reports whether the first tokens are those that there were at save. A later call that
// took some of them away and brought others has another number.
func (s *exactMemory[T]) holds(from *saved[T], tokens int) bool {
	return tokens == 0 || tokens <= s.tokens && s.came[tokens-1] == from.last
}

func (s *exactMemory[T]) restore(_ *saved[T], tokens int) {
	s.tokens, s.came = tokens, s.came[:tokens]
}

// check returns an error unless scale and denominators are those of other.
func (s *exactMemory[T]) check(other memory[T]) error {
	o, ok := other.(*exactMemory[T])
	if !ok {
		return errors.New("performer: other belongs to another form, the state to exact attention")
	}
	if a, b := s.form.scale(s.d), o.form.scale(s.d); a != b {
		return fmt.Errorf("performer: Scale = %v, but the state belongs to attention with %v", b, a)
	}
	if a, b := s.form.Unnormalised, o.form.Unnormalised; a != b {
		return fmt.Errorf("performer: Unnormalised = %v, but the state belongs to attention with %v", b, a)
	}
	return nil
}

func (s *exactMemory[T]) merge(other memory[T]) {
	o := other.(*exactMemory[T])
	from, n := s.tokens, o.tokens
	s.extend(n)
	for h := range s.keyHeads {
		keys, values := s.head(h)
		k, v := o.head(h)
		dense.Copy(keys.RowRange(from, s.tokens), k.RowRange(0, n))
		dense.Copy(values.RowRange(from, s.tokens), v.RowRange(0, n))
	}
}
