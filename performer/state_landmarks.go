package performer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/layout"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/scratch"
	"github.com/seed-feabd252/randfeat/internal/stream"
)

// landmarkMemory is what attention by landmarks keeps of a stream: sums over far tokens, and at
// most two blocks of near tokens.
type landmarkMemory[T dense.Float] struct {
	l         *Landmarks[T]
	call      *landmarkCall[T]
	d, dv     int
	queries   int                   // heads
	heads     []*causalLandmarks[T] // one a head of keys: the sums, and the task of answering
	stale     bool                  // the sums have changed since they were made ready for queries
	near      int                   // near tokens
	room      int                   // for near tokens
	keys, val []T                   // room×d and room×dv for each head of keys
}

// NewState returns an empty [State] of one head, for queries and keys of dimension d and values of
// dimension dv. It returns an error if the landmarks have no window, as only causal ones have, if d
// is not their dimension, if dv is below 1, or if the State takes more memory than the machine has.
func (l *Landmarks[T]) NewState(d, dv int) (*State[T], error) {
	return newState[T](1, 1, d, dv, []Form[T]{l})
}

func (l *Landmarks[T]) newMemory(heads, keyHeads, d, dv int) (memory[T], error) {
	if l.window == 0 {
		return nil, errors.New("performer: the Landmarks has no window, want one of NewLandmarksAt that is causal for a state")
	}
	if d != l.d {
		return nil, fmt.Errorf("performer: d = %d, but the landmarks are points of R^%d", d, l.d)
	}
	err := limit.Memory[T](keyHeads, l.n, scratch.Stride[T](dv+1))
	if err == nil {
		err = limit.Memory[T](keyHeads, 2, l.stride(), max(d, dv))
	}
	if err != nil {
		return nil, fmt.Errorf("performer: dv = %d, for %d heads of %d landmarks and a window of %d: %w", dv, keyHeads, l.n, l.window, err)
	}
	s := &landmarkMemory[T]{l: l, call: l.call(dense.Matrix[T]{Cols: d}), d: d, dv: dv, queries: heads, room: l.window + l.stride()}
	form := l.exact
	form.Causal = false
	for range keyHeads {
		a := &s.call.a
		s.heads = append(s.heads, &causalLandmarks[T]{form: form, window: l.window, stride: l.stride(), call: s.call, far: a.accumulator(dv), mixed: a.accumulator(dv)})
	}
	s.keys, s.val = make([]T, keyHeads*s.room*d), make([]T, keyHeads*s.room*dv)
	return s, nil
}

// head returns the near keys and values of a head of keys.
func (s *landmarkMemory[T]) head(h int) (k, v dense.Matrix[T]) {
	return rowsIn(s.keys, h*s.room, s.near, s.d), rowsIn(s.val, h*s.room, s.near, s.dv)
}

func (s *landmarkMemory[T]) append(k, v dense.Matrix[T]) {
	for from := 0; from < k.Rows; {
		if s.near == s.room {
			s.absorb(s.l.stride())
		}
		n := min(k.Rows-from, s.room-s.near)
		s.near += n
		for h := range s.heads {
			keys, values := s.head(h)
			dense.Copy(keys.RowRange(s.near-n, s.near), layout.Head(k, h, len(s.heads)).RowRange(from, from+n))
			dense.Copy(values.RowRange(s.near-n, s.near), layout.Head(v, h, len(s.heads)).RowRange(from, from+n))
		}
		from += n
	}
}

// absorb makes the n oldest of the near tokens far.
func (s *landmarkMemory[T]) absorb(n int) {
	for h, w := range s.heads {
		w.k, w.v = s.head(h)
		w.near = n
		for w.absorbed = 0; w.absorbed < n; {
			w.absorb()
		}
		copy(w.k.Data, w.k.Data[n*s.d:])
		copy(w.v.Data, w.v.Data[n*s.dv:])
	}
	s.near -= n
	s.stale = true
}

func (s *landmarkMemory[T]) attend(dst, q dense.Matrix[T]) {
	for h, w := range s.heads {
		if s.stale {
			w.mix()
		}
		k, v := s.head(h)
		group := s.queries / len(s.heads)
		for i := h * group; i < (h+1)*group; i++ {
			w.request = request[T]{gradients: gradients[T]{q: layout.Head(q, i, s.queries), k: k, v: v}, dst: layout.Head(dst, i, s.queries)}
			w.lo, w.hi, w.near = 0, q.Rows, 0
			parallel.Do((q.Rows+block-1)/block, w)
		}
		w.request = request[T]{}
	}
	s.stale = false
}

func (s *landmarkMemory[T]) step(dst, q, k, v dense.Matrix[T]) {
	for i := range q.Rows {
		s.append(k.RowRange(i, i+1), v.RowRange(i, i+1))
		s.attend(dst.RowRange(i, i+1), q.RowRange(i, i+1))
	}
}

func (s *landmarkMemory[T]) reset() {
	s.near, s.stale = 0, true
	for _, w := range s.heads {
		clear(w.far.sum.Data)
		w.far.ref.setAll(none)
		w.seen = false
	}
}

func (s *landmarkMemory[T]) clone() memory[T] {
	m, err := s.l.newMemory(s.queries, len(s.heads), s.d, s.dv)
	if err != nil {
		panic(err) // the sizes were good enough for s
	}
	var all saved[T]
	s.save(&all)
	m.restore(&all, 0)
	return m
}

func (s *landmarkMemory[T]) save(to *saved[T]) {
	to.sums = scratch.Resize(to.sums, len(s.heads))
	to.references = scratch.Resize(to.references, len(s.heads))
	for h, w := range s.heads {
		to.sums[h].Shape(w.far.m, s.call.a.width(s.dv))
		copy(to.sums[h].Data, w.far.sum.Data)
		if to.references[h] == nil || len(to.references[h].exponent) != w.far.m {
			to.references[h] = newReference[T](w.far.m)
		}
		to.references[h].copyOf(w.far.ref)
		to.seen = w.seen
	}
	to.keys, to.values = append(to.keys[:0], s.keys...), append(to.values[:0], s.val...)
	to.near = s.near
}

// holds returns true: a Mark has copies of all.
func (s *landmarkMemory[T]) holds(*saved[T], int) bool { return true }

func (s *landmarkMemory[T]) restore(from *saved[T], _ int) {
	for h, w := range s.heads {
		copy(w.far.sum.Data, from.sums[h].Data)
		w.far.ref.copyOf(from.references[h])
		w.seen = from.seen
	}
	copy(s.keys, from.keys)
	copy(s.val, from.values)
	s.near, s.stale = from.near, true
}

// check returns an error unless landmarks, window and denominators are those of other.
func (s *landmarkMemory[T]) check(other memory[T]) error {
	o, ok := other.(*landmarkMemory[T])
	switch {
	case !ok:
		return errors.New("performer: other belongs to another form, the state to attention by landmarks")
	case s.l == o.l:
		return nil
	case s.l.n != o.l.n || s.l.window != o.l.window:
		return fmt.Errorf("performer: %d landmarks with a window of %d, but the state belongs to %d with %d", o.l.n, o.l.window, s.l.n, s.l.window)
	case s.l.exact.Unnormalised != o.l.exact.Unnormalised:
		return fmt.Errorf("performer: Unnormalised = %v, but the state belongs to attention with %v", o.l.exact.Unnormalised, s.l.exact.Unnormalised)
	}
	return s.call.a.checkMarks(o.call.a.marks())
}

func (s *landmarkMemory[T]) merge(other memory[T]) {
	o := other.(*landmarkMemory[T])
	count, seen := o.near, o.heads[0].seen
	keys, values := o.keys, o.val
	if s == o {
		keys, values = slices.Clone(keys), slices.Clone(values)
	}
	far := make([]*accumulator[T], len(o.heads))
	for h, w := range o.heads {
		if far[h] = w.far; s == o {
			far[h] = &accumulator[T]{ref: newReference[T](w.far.m), sum: w.far.sum, m: w.far.m}
			far[h].ref.copyOf(w.far.ref)
			far[h].sum.Data = slices.Clone(w.far.sum.Data)
		}
	}
	s.absorb(s.near)
	for h, w := range s.heads {
		w.far.mergeFeatures(far[h], 0, w.far.m)
		w.seen = w.seen || seen
	}
	copy(s.keys, keys)
	copy(s.val, values)
	s.near = count
}

func (s *landmarkMemory[T]) record() record {
	r := record{flags: flagLandmarks, features: s.l.n, scale: s.call.set.scale}
	if s.l.exact.Unnormalised {
		r.flags |= flagUnnormalise
	}
	return r
}

func (s *landmarkMemory[T]) size() (fixed, token int) {
	element := stream.ElementSize[T]()
	sums := s.l.n * (exponentSize + s.call.a.width(s.dv)*element)
	return 16*s.l.n + 16 + len(s.heads)*sums + (len(s.keys)+len(s.val))*element, 0
}

func (s *landmarkMemory[T]) encode(b []byte) []byte {
	b = stream.AppendElements(b, s.call.a.marks())
	b = binary.LittleEndian.AppendUint64(b, uint64(s.l.window))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.near))
	for h, w := range s.heads {
		b = w.far.encode(b)
		k, v := s.head(h)
		for _, near := range []struct {
			m    dense.Matrix[T]
			cols int
		}{{k, s.d}, {v, s.dv}} {
			b = stream.AppendElements(b, near.m.Data)
			b = append(b, make([]byte, (s.room-s.near)*near.cols*stream.ElementSize[T]())...)
		}
	}
	return b
}

// inspect returns an error if the marks or the window are not those of s, if the number of near
// tokens is not that of a stream, or if the sums are none that keys lead to.
func (s *landmarkMemory[T]) inspect(b []byte, tokens int) (rest []byte, err error) {
	fixed, _ := s.size()
	rest = b[fixed:]
	marks := make([]float64, 2*s.l.n)
	b = stream.ReadElements(marks, b)
	if err := s.call.a.checkMarks(marks); err != nil {
		return nil, err
	}
	if window := binary.LittleEndian.Uint64(b); window != uint64(s.l.window) {
		return nil, fmt.Errorf("performer: state with a window of %d, want %d", window, s.l.window)
	}
	if near := binary.LittleEndian.Uint64(b[8:]); near > uint64(min(tokens, s.room)) {
		return nil, fmt.Errorf("performer: state with %d near tokens, want at most %d", near, min(tokens, s.room))
	}
	b = b[16:]
	row := make([]T, s.call.a.width(s.dv))
	for range s.heads {
		if b, err = inspectSums(b, s.l.n, row); err != nil {
			return nil, err
		}
		b = b[(len(s.keys)+len(s.val))/len(s.heads)*stream.ElementSize[T]():]
	}
	return rest, nil
}

func (s *landmarkMemory[T]) decode(b []byte, tokens int) (rest []byte) {
	b = b[16*s.l.n+8:]
	s.near, s.stale = int(binary.LittleEndian.Uint64(b)), true
	b = b[8:]
	keys, values := len(s.keys)/len(s.heads), len(s.val)/len(s.heads)
	for h, w := range s.heads {
		b = w.far.decode(b)
		b = stream.ReadElements(s.keys[h*keys:(h+1)*keys], b)
		b = stream.ReadElements(s.val[h*values:(h+1)*values], b)
		w.seen = tokens > s.near
	}
	return b
}
