package streams

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// Features is the memory of linear attention: sums, and the references of log-features.
type Features[T dense.Float] struct {
	kept[T]

	// In float32, m×Width sums over the last tokens for each head of keys, with the references of
	// sums.
	recent []scratch.Buffer[T]

	// Memory of one token, with a row for each head.
	queries, keys, values, out scratch.Buffer[T]
	scales                     []logscale.Scale // if unnormalised

	// During a call. A piece is a head of keys.
	dst, q, k, v dense.Matrix[T]
	answering    bool
}

// NewFeatures returns an empty memory of the given numbers of heads of queries and of keys, for
// values of dimension dv.
func NewFeatures[T dense.Float](e *sums.Engine[T], heads, keyHeads, dv int) (*Features[T], error) {
	width := e.Width(dv)
	err := limit.Memory[T](keyHeads, e.M, scratch.Stride[T](width))
	if err == nil {
		err = limit.Memory[T](heads, max(scratch.Stride[T](e.M), scratch.Stride[T](width)))
	}
	if err != nil {
		return nil, fmt.Errorf("performer: dv = %d, for %d heads of %d features: %w", dv, keyHeads, e.M, err)
	}
	s := &Features[T]{kept: kept[T]{engine: e, dv: dv, heads: heads, sums: make([]*sums.Accumulator[T], keyHeads)}}
	for h := range s.sums {
		s.sums[h] = e.Accumulator(dv)
	}
	if frame.ElementSize[T]() == 4 {
		s.recent = make([]scratch.Buffer[T], keyHeads)
		for h := range s.recent {
			s.recent[h].Shape(e.M, width)
			s.rows = append(s.rows, s.recent[h].Data)
		}
	}
	s.queries.Shape(heads, e.M)
	s.keys.Shape(keyHeads, e.M)
	s.values.Shape(keyHeads, width)
	s.out.Shape(heads, width)
	if e.Unnormalised {
		s.scales = make([]logscale.Scale, heads)
	}
	return s, nil
}

func (s *Features[T]) Append(k, v dense.Matrix[T]) {
	if k.Rows == 1 {
		s.appendToken(k, v)
		return
	}
	s.settle()
	s.k, s.v, s.answering = k, v, false
	parallel.Do(len(s.sums), s)
	s.k, s.v = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// fewQueries is the number of queries from which on the sums are packed.
const fewQueries = 4

func (s *Features[T]) Attend(dst, q dense.Matrix[T]) {
	if q.Rows < fewQueries {
		s.attendTokens(dst, q)
		return
	}
	s.settle()
	s.dst, s.q, s.answering = dst, q, true
	parallel.Do(len(s.sums), s)
	s.dst, s.q = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// Piece appends tokens, or computes outputs, of a head of keys as bidirectional attention does.
func (s *Features[T]) Piece(h int) {
	acc, n := s.sums[h], len(s.sums)
	if s.answering {
		s.engine.Outputs(s.group(), layout.Head(s.dst, h, n), layout.Head(s.q, h, n), acc, s.dv)
	} else {
		s.engine.Append(acc, layout.Head(s.k, h, n), layout.Head(s.v, h, n))
	}
}

func (s *Features[T]) Step(dst, q, k, v dense.Matrix[T]) {
	for i := range q.Rows {
		s.stepToken(dst.RowRange(i, i+1), q.RowRange(i, i+1), k.RowRange(i, i+1), v.RowRange(i, i+1))
	}
}

func (s *Features[T]) Reset() {
	s.settle()
	for _, acc := range s.sums {
		acc.Reset()
	}
}

func (s *Features[T]) Clone() Memory[T] {
	c, err := NewFeatures(s.engine, s.heads, len(s.sums), s.dv)
	if err != nil {
		panic(err) // NewFeatures has accepted the sizes for s
	}
	s.copyTo(&c.kept)
	return c
}

// Check returns an error unless other has the same features and options.
func (s *Features[T]) Check(other Memory[T]) error {
	o, ok := other.(*Features[T])
	if !ok {
		return errors.New("performer: other belongs to other attention, the state to linear attention")
	}
	switch a, b := s.engine, o.engine; {
	case a == b:
		return nil
	case a.M != b.M:
		return fmt.Errorf("performer: %d features of R^%d, but the state belongs to %d features of R^%d", b.M, b.D, a.M, a.D)
	case b.Logs != a.Logs:
		return errors.New("performer: logarithms of features cannot be added to features: the state belongs to others")
	}
	if err := s.Record().CheckMerge(o.Record()); err != nil {
		return err
	}
	return s.engine.CheckMarks(o.engine.Marks())
}

func (s *Features[T]) Merge(other Memory[T]) {
	o := other.(*Features[T])
	s.settle()
	for h, acc := range s.sums {
		acc.Merge(o.sums[h], 0, s.engine.M)
		if o.count > 0 && o.recent != nil {
			acc.MergeSums(o.sums[h].Ref, o.recent[h].Rows(s.engine.M))
		}
	}
}

func (s *Features[T]) Record() Record { return s.record() }

func (s *Features[T]) Size(int) (fixed, token int) {
	return s.marksSize() + len(s.sums)*s.sumsSize(), 0
}

func (s *Features[T]) Encode(b []byte) []byte {
	s.settle()
	b = frame.AppendElements(b, s.engine.Marks())
	for h := range s.sums {
		b = s.encodeSums(b, h)
	}
	return b
}

// Inspect returns an error unless the marks are the marks of s and every head has possible sums.
func (s *Features[T]) Inspect(b []byte, _ int) (rest []byte, err error) {
	if b, err = s.checkMarks(b); err != nil {
		return nil, err
	}
	for range s.sums {
		if err := s.inspectSums(b); err != nil {
			return nil, err
		}
		b = b[s.sumsSize():]
	}
	return b, nil
}

func (s *Features[T]) Decode(b []byte, _ int) (rest []byte) {
	s.settle()
	b = b[s.marksSize():]
	for h := range s.sums {
		b = s.decodeSums(b, h)
	}
	return b
}
