package streams

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/local"
)

// Local is the memory of attention by landmarks: sums over earlier tokens, and at most Stride local
// tokens with exact weights.
type Local[T dense.Float] struct {
	kept[T]    // rows are the keys and values of local tokens
	base       local.Base[T]
	d          int
	earlier    []*local.Earlier[T] // one a head of keys
	stale      bool                // the sums have changed since Mix
	room       int                 // number of local tokens that fit
	keys, vals []T                 // room×d and room×dv for each head of keys
}

// NewLocal returns an empty memory of the given numbers of heads of queries and of keys, for points
// of dimension d and values of dimension dv.
func NewLocal[T dense.Float](b local.Base[T], heads, keyHeads, d, dv int) (*Local[T], error) {
	m, room := b.Engine.M, b.Stride()
	err := limit.Memory[T](keyHeads, m, scratch.Stride[T](b.Engine.Width(dv)))
	if err == nil {
		err = limit.Memory[T](keyHeads, 2, room, max(d, dv))
	}
	if err != nil {
		return nil, fmt.Errorf("performer: dv = %d, for %d heads of %d landmarks: %w", dv, keyHeads, m, err)
	}
	s := &Local[T]{kept: kept[T]{engine: b.Engine, dv: dv, heads: heads}, base: b, d: d, room: room}
	for range keyHeads {
		earlier := local.NewEarlier(b, dv)
		s.earlier, s.sums = append(s.earlier, earlier), append(s.sums, earlier.Sums())
	}
	s.keys, s.vals = make([]T, keyHeads*s.room*d), make([]T, keyHeads*s.room*dv)
	s.rows = [][]T{s.keys, s.vals}
	return s, nil
}

// head returns the local keys and values of a head of keys.
func (s *Local[T]) head(h int) (k, v dense.Matrix[T]) {
	return rowsIn(s.keys, h*s.room, s.count, s.d), rowsIn(s.vals, h*s.room, s.count, s.dv)
}

func (s *Local[T]) Append(k, v dense.Matrix[T]) {
	for from := 0; from < k.Rows; {
		if s.count == s.room {
			s.absorb(s.room)
		}
		n := min(k.Rows-from, s.room-s.count)
		s.count += n
		for h := range s.earlier {
			keys, values := s.head(h)
			dense.Copy(keys.RowRange(s.count-n, s.count), layout.Head(k, h, len(s.earlier)).RowRange(from, from+n))
			dense.Copy(values.RowRange(s.count-n, s.count), layout.Head(v, h, len(s.earlier)).RowRange(from, from+n))
		}
		from += n
	}
}

// absorb adds the n oldest local tokens to the sums over earlier tokens.
func (s *Local[T]) absorb(n int) {
	for h, w := range s.earlier {
		k, v := s.head(h)
		w.Absorb(k.RowRange(0, n), v.RowRange(0, n))
		copy(k.Data, k.Data[n*s.d:])
		copy(v.Data, v.Data[n*s.dv:])
	}
	s.count -= n
	s.beyond, s.stale = s.beyond || n > 0, true
}

func (s *Local[T]) Attend(dst, q dense.Matrix[T]) {
	for h, w := range s.earlier {
		if s.stale {
			w.Mix()
		}
		k, v := s.head(h)
		for i := h * s.group(); i < (h+1)*s.group(); i++ {
			w.Attend(layout.Head(dst, i, s.heads), layout.Head(q, i, s.heads), k, v, s.beyond)
		}
	}
	s.stale = false
}

func (s *Local[T]) Step(dst, q, k, v dense.Matrix[T]) {
	for i := range q.Rows {
		s.Append(k.RowRange(i, i+1), v.RowRange(i, i+1))
		s.Attend(dst.RowRange(i, i+1), q.RowRange(i, i+1))
	}
}

func (s *Local[T]) Reset() {
	s.count, s.beyond, s.stale = 0, false, true
	for _, acc := range s.sums {
		acc.Reset()
	}
}

func (s *Local[T]) Clone() Memory[T] {
	c, err := NewLocal(s.base, s.heads, len(s.earlier), s.d, s.dv)
	if err != nil {
		panic(err) // NewLocal has accepted the sizes for s
	}
	s.copyTo(&c.kept)
	c.stale = true
	return c
}

func (s *Local[T]) Restore(from *Saved[T], tokens int) {
	s.kept.Restore(from, tokens)
	s.stale = true
}

// Check returns an error unless other has the same landmarks, scale and division.
func (s *Local[T]) Check(other Memory[T]) error {
	o, ok := other.(*Local[T])
	if !ok {
		return errors.New("performer: other belongs to other attention, the state to attention with local and earlier tokens")
	}
	if s.engine.M != o.engine.M {
		return fmt.Errorf("performer: %d landmarks, but the state belongs to %d", o.engine.M, s.engine.M)
	}
	if err := s.Record().CheckMerge(o.Record()); err != nil || s.engine == o.engine {
		return err
	}
	return s.engine.CheckMarks(o.engine.Marks())
}

func (s *Local[T]) Merge(other Memory[T]) {
	o := other.(*Local[T])
	if s == o {
		o = s.Clone().(*Local[T])
	}
	s.absorb(s.count)
	for h, acc := range s.sums {
		acc.Merge(o.sums[h], 0, s.engine.M)
	}
	s.beyond = s.beyond || o.beyond
	for i, row := range s.rows {
		copy(row, o.rows[i])
	}
	s.count = o.count
}

func (s *Local[T]) Record() Record {
	r := s.record()
	r.Flags |= flagLocal | flagLandmarks
	r.Scale = s.base.Scores.Scale
	return r
}

// rowsSize returns the number of bytes of the local keys and values of a head of keys.
func (s *Local[T]) rowsSize() int { return s.room * (s.d + s.dv) * frame.ElementSize[T]() }

func (s *Local[T]) Size(int) (fixed, token int) {
	return s.marksSize() + 16 + len(s.earlier)*(s.sumsSize()+s.rowsSize()), 0
}

func (s *Local[T]) Encode(b []byte) []byte {
	b = frame.AppendElements(b, s.engine.Marks())
	b = binary.LittleEndian.AppendUint64(b, 0) // a window in earlier versions
	b = binary.LittleEndian.AppendUint64(b, uint64(s.count))
	for h := range s.earlier {
		b = s.encodeSums(b, h)
		k, v := s.head(h)
		for _, rows := range [...]dense.Matrix[T]{k, v} {
			b = frame.AppendElements(b, rows.Data)
			b = append(b, make([]byte, (s.room-s.count)*rows.Cols*frame.ElementSize[T]())...)
		}
	}
	return b
}

// Inspect returns an error if the marks differ, if there is a window, if the number of local tokens
// is impossible, or if the sums are impossible.
func (s *Local[T]) Inspect(b []byte, tokens int) (rest []byte, err error) {
	if b, err = s.checkMarks(b); err != nil {
		return nil, err
	}
	if window := binary.LittleEndian.Uint64(b); window != 0 {
		return nil, fmt.Errorf("performer: state with a window of %d, want 0", window)
	}
	if count := binary.LittleEndian.Uint64(b[8:]); count > uint64(min(tokens, s.room)) {
		return nil, fmt.Errorf("performer: state with %d local tokens, want at most %d", count, min(tokens, s.room))
	}
	b = b[16:]
	for range s.earlier {
		if err := s.inspectSums(b); err != nil {
			return nil, err
		}
		b = b[s.sumsSize()+s.rowsSize():]
	}
	return b, nil
}

func (s *Local[T]) Decode(b []byte, tokens int) (rest []byte) {
	b = b[s.marksSize()+8:]
	s.count, s.stale = int(binary.LittleEndian.Uint64(b)), true
	s.beyond = tokens > s.count
	b = b[8:]
	for h := range s.earlier {
		b = s.decodeSums(b, h)
		b = frame.ReadElements(rowsIn(s.keys, h*s.room, s.room, s.d).Data, b)
		b = frame.ReadElements(rowsIn(s.vals, h*s.room, s.room, s.dv).Data, b)
	}
	return b
}
