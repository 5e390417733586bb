package performer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/file/stream"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// nearMemory is what attention with a near field keeps of a stream: sums over far tokens, and at
// most window + stride near tokens.
type nearMemory[T dense.Float] struct {
	a              *Attention[T] // the base, with sums
	form           Exact[T]      // without Causal
	window, stride int
	d, dv          int
	queries        int              // heads
	heads          []*nearAndFar[T] // one a head of keys: the sums, and the task of answering
	stale          bool             // the sums have changed since they were made ready for queries
	near           int              // near tokens
	room           int              // for near tokens
	keys, val      []T              // room×d and room×dv for each head of keys
}

// NewState returns an empty [State] of one head, for queries and keys of dimension d and values of
// dimension dv. It returns an error if the landmarks are not causal, if d is not their dimension,
// if dv is below 1, or if the State takes more memory than the machine has.
func (l *Landmarks[T]) NewState(d, dv int) (*State[T], error) {
	return newState[T](1, 1, d, dv, []Form[T]{l})
}

func (l *Landmarks[T]) newMemory(heads, keyHeads, d, dv int) (memory[T], error) {
	if err := l.checkState(d); err != nil {
		return nil, err
	}
	return newNearMemory(l.given, l.exact, 0, heads, keyHeads, d, dv)
}

// checkState returns an error unless l can be kept of a stream of tokens of dimension d.
func (l *Landmarks[T]) checkState(d int) error {
	if !l.exact.Causal {
		return errors.New("performer: the Landmarks are not causal, want those of NewLandmarksAt with exact.Causal for a state")
	}
	if d != l.d {
		return fmt.Errorf("performer: d = %d, but the landmarks are points of R^%d", d, l.d)
	}
	return nil
}

func (c *Corrected[T]) newMemory(heads, keyHeads, d, dv int) (memory[T], error) {
	switch {
	case c.opts.Samples > 0 || c.opts.Window == 0:
		return nil, fmt.Errorf("performer: Window = %d, Samples = %d, want a window and no samples for a state", c.opts.Window, c.opts.Samples)
	case c.a != nil && d != c.a.d:
		return nil, fmt.Errorf("performer: d = %d, but the maps take points of R^%d", d, c.a.d)
	case c.a != nil:
		return newNearMemory(c.a, c.exact, c.opts.Window, heads, keyHeads, d, dv)
	}
	if err := c.landmarks.checkState(d); err != nil {
		return nil, err
	}
	return newNearMemory(c.landmarks.given, c.exact, c.opts.Window, heads, keyHeads, d, dv)
}

func newNearMemory[T dense.Float](a *Attention[T], form Exact[T], window, heads, keyHeads, d, dv int) (memory[T], error) {
	stride := strideOf(a, window)
	err := limit.Memory[T](keyHeads, a.m, scratch.Stride[T](a.width(dv)))
	if err == nil {
		err = limit.Memory[T](keyHeads, 2, stride, max(d, dv))
	}
	if err != nil {
		return nil, fmt.Errorf("performer: dv = %d, for %d heads of %d features and a window of %d: %w", dv, keyHeads, a.m, window, err)
	}
	form.Causal = false
	s := &nearMemory[T]{a: a, form: form, window: window, stride: stride, d: d, dv: dv, queries: heads, room: window + stride}
	for range keyHeads {
		w := &nearAndFar[T]{form: form, window: window, stride: stride, a: a}
		w.prepare(dv)
		s.heads = append(s.heads, w)
	}
	s.keys, s.val = make([]T, keyHeads*s.room*d), make([]T, keyHeads*s.room*dv)
	return s, nil
}

// head returns the near keys and values of a head of keys.
func (s *nearMemory[T]) head(h int) (k, v dense.Matrix[T]) {
	return rowsIn(s.keys, h*s.room, s.near, s.d), rowsIn(s.val, h*s.room, s.near, s.dv)
}

func (s *nearMemory[T]) append(k, v dense.Matrix[T]) {
	for from := 0; from < k.Rows; {
		if s.near == s.room {
			s.absorb(s.stride)
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
func (s *nearMemory[T]) absorb(n int) {
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

func (s *nearMemory[T]) attend(dst, q dense.Matrix[T]) {
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

func (s *nearMemory[T]) step(dst, q, k, v dense.Matrix[T]) {
	for i := range q.Rows {
		s.append(k.RowRange(i, i+1), v.RowRange(i, i+1))
		s.attend(dst.RowRange(i, i+1), q.RowRange(i, i+1))
	}
}

func (s *nearMemory[T]) reset() {
	s.near, s.stale = 0, true
	for _, w := range s.heads {
		clear(w.far.sum.Data)
		if w.far.ref != nil {
			w.far.ref.setAll(none)
		}
		w.seen = false
	}
}

func (s *nearMemory[T]) clone() memory[T] {
	m, err := newNearMemory(s.a, s.form, s.window, s.queries, len(s.heads), s.d, s.dv)
	if err != nil {
		panic(err) // the sizes were good enough for s
	}
	var all saved[T]
	s.save(&all)
	m.restore(&all, 0)
	return m
}

func (s *nearMemory[T]) save(to *saved[T]) {
	to.sums = scratch.Resize(to.sums, len(s.heads))
	to.references = scratch.Resize(to.references, len(s.heads))
	for h, w := range s.heads {
		to.sums[h].Shape(w.far.m, s.a.width(s.dv))
		copy(to.sums[h].Data, w.far.sum.Data)
		to.seen = w.seen
		if w.far.ref == nil {
			continue
		}
		if to.references[h] == nil || len(to.references[h].exponent) != w.far.m {
			to.references[h] = newReference[T](w.far.m)
		}
		to.references[h].copyOf(w.far.ref)
	}
	to.keys, to.values = append(to.keys[:0], s.keys...), append(to.values[:0], s.val...)
	to.near = s.near
}

// holds returns true: a Mark has copies of all.
func (s *nearMemory[T]) holds(*saved[T], int) bool { return true }

func (s *nearMemory[T]) restore(from *saved[T], _ int) {
	for h, w := range s.heads {
		copy(w.far.sum.Data, from.sums[h].Data)
		if w.far.ref != nil {
			w.far.ref.copyOf(from.references[h])
		}
		w.seen = from.seen
	}
	copy(s.keys, from.keys)
	copy(s.val, from.values)
	s.near, s.stale = from.near, true
}

// check returns an error unless features, window, scale and denominators are those of other.
func (s *nearMemory[T]) check(other memory[T]) error {
	o, ok := other.(*nearMemory[T])
	another := errors.New("performer: other belongs to another form, the state to attention with near and far tokens")
	if !ok {
		return another
	}
	switch a, b := s.record(), o.record(); {
	case s.a.m != o.a.m || s.window != o.window:
		return fmt.Errorf("performer: %d features with a window of %d, but the state belongs to %d with %d", o.a.m, o.window, s.a.m, s.window)
	case s.form.Unnormalised != o.form.Unnormalised:
		return fmt.Errorf("performer: Unnormalised = %v, but the state belongs to attention with %v", o.form.Unnormalised, s.form.Unnormalised)
	case a.scale != b.scale:
		return fmt.Errorf("performer: Scale = %v, but the state belongs to attention with %v", b.scale, a.scale)
	case a != b:
		return another
	case s.a == o.a:
		return nil
	}
	return s.a.checkMarks(o.a.marks())
}

func (s *nearMemory[T]) merge(other memory[T]) {
	o := other.(*nearMemory[T])
	count, seen := o.near, o.heads[0].seen
	keys, values := o.keys, o.val
	if s == o {
		keys, values = slices.Clone(keys), slices.Clone(values)
	}
	far := make([]*accumulator[T], len(o.heads))
	for h, w := range o.heads {
		if far[h] = w.far; s == o {
			far[h] = &accumulator[T]{sum: w.far.sum, m: w.far.m}
			far[h].sum.Data = slices.Clone(w.far.sum.Data)
			if w.far.ref != nil {
				far[h].ref = newReference[T](w.far.m)
				far[h].ref.copyOf(w.far.ref)
			}
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

func (s *nearMemory[T]) record() record {
	r := record{flags: flagNear, features: s.a.m, scale: s.form.scale(s.d)}
	if s.form.Unnormalised {
		r.flags |= flagUnnormalise
	}
	if s.a.logs {
		r.flags |= flagLogarithms
	}
	if s.a.landmarks != nil {
		r.flags |= flagLandmarks
	}
	return r
}

func (s *nearMemory[T]) size() (fixed, token int) {
	element := stream.ElementSize[T]()
	sums := s.a.m * s.a.width(s.dv) * element
	if s.a.logs {
		sums += s.a.m * exponentSize
	}
	return 16*s.a.m + 16 + len(s.heads)*sums + (len(s.keys)+len(s.val))*element, 0
}

func (s *nearMemory[T]) encode(b []byte) []byte {
	b = stream.AppendElements(b, s.a.marks())
	b = binary.LittleEndian.AppendUint64(b, uint64(s.window))
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
func (s *nearMemory[T]) inspect(b []byte, tokens int) (rest []byte, err error) {
	fixed, _ := s.size()
	rest = b[fixed:]
	marks := make([]float64, 2*s.a.m)
	b = stream.ReadElements(marks, b)
	if err := s.a.checkMarks(marks); err != nil {
		return nil, err
	}
	if window := binary.LittleEndian.Uint64(b); window != uint64(s.window) {
		return nil, fmt.Errorf("performer: state with a window of %d, want %d", window, s.window)
	}
	if near := binary.LittleEndian.Uint64(b[8:]); near > uint64(min(tokens, s.room)) {
		return nil, fmt.Errorf("performer: state with %d near tokens, want at most %d", near, min(tokens, s.room))
	}
	b = b[16:]
	row, element := make([]T, s.a.width(s.dv)), stream.ElementSize[T]()
	for range s.heads {
		if !s.a.logs {
			b = b[s.a.m*len(row)*element:]
		} else if b, err = inspectSums(b, s.a.m, row); err != nil {
			return nil, err
		}
		b = b[(len(s.keys)+len(s.val))/len(s.heads)*element:]
	}
	return rest, nil
}

func (s *nearMemory[T]) decode(b []byte, tokens int) (rest []byte) {
	b = b[16*s.a.m+8:]
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
