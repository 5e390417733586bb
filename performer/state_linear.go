package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/stream"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// linearMemory is what linear attention keeps of a stream: sums, and for log-features the
// references that they are relative to.
type linearMemory[T dense.Float] struct {
	a          *Attention[T]
	dv         int
	queryHeads int
	heads      []*accumulator[T] // one a head of keys

	// In float32, m×width sums of the last tokens, a head of keys each, under the references
	// of heads, and the number of these tokens.
	recent []scratch.Buffer[T]
	fresh  int

	// Memory of one token, a row a head.
	queries, keys, values, sums scratch.Buffer[T]
	scales                      []scale // if unnormalised

	call struct{ dst, q, k, v dense.Matrix[T] } // while it lasts
}

func (a *Attention[T]) newMemory(heads, keyHeads, d, dv int) (memory[T], error) {
	if d != a.d {
		return nil, fmt.Errorf("performer: d = %d, but the maps take points of R^%d", d, a.d)
	}
	width := a.width(dv)
	err := limit.Memory[T](keyHeads, a.m, scratch.Stride[T](width))
	if err == nil {
		err = limit.Memory[T](heads, max(scratch.Stride[T](a.m), scratch.Stride[T](width)))
	}
	if err != nil {
		return nil, fmt.Errorf("performer: dv = %d, for %d heads of %d features: %w", dv, keyHeads, a.m, err)
	}
	s := &linearMemory[T]{a: a, dv: dv, queryHeads: heads, heads: make([]*accumulator[T], keyHeads)}
	for h := range s.heads {
		s.heads[h] = a.accumulator(dv)
	}
	if stream.ElementSize[T]() == 4 {
		s.recent = make([]scratch.Buffer[T], keyHeads)
		for h := range s.recent {
			s.recent[h].Shape(a.m, width)
		}
	}
	s.queries.Shape(heads, a.m)
	s.keys.Shape(keyHeads, a.m)
	s.values.Shape(keyHeads, width)
	s.sums.Shape(heads, width)
	if a.opts.Unnormalised {
		s.scales = make([]scale, heads)
	}
	return s, nil
}

// group returns the number of heads of queries that read a head of keys.
func (s *linearMemory[T]) group() int { return s.queryHeads / len(s.heads) }

func (s *linearMemory[T]) append(k, v dense.Matrix[T]) {
	if k.Rows == 1 {
		s.appendToken(k, v)
	} else {
		s.appendChunk(k, v)
	}
}

// fewQueries is the number of queries for which the sums are worth packing.
const fewQueries = 4

func (s *linearMemory[T]) attend(dst, q dense.Matrix[T]) {
	if q.Rows < fewQueries {
		s.attendTokens(dst, q)
	} else {
		s.attendChunk(dst, q)
	}
}

func (s *linearMemory[T]) step(dst, q, k, v dense.Matrix[T]) {
	for i := range q.Rows {
		s.stepToken(dst.RowRange(i, i+1), q.RowRange(i, i+1), k.RowRange(i, i+1), v.RowRange(i, i+1))
	}
}

func (s *linearMemory[T]) reset() {
	s.settle()
	for _, acc := range s.heads {
		clear(acc.sum.Data)
		if acc.ref != nil {
			acc.ref.setAll(none)
		}
	}
}

func (s *linearMemory[T]) clone() memory[T] {
	m, err := s.a.newMemory(s.queryHeads, len(s.heads), s.a.d, s.dv)
	if err != nil {
		panic(err) // the sizes were good enough for s
	}
	c := m.(*linearMemory[T])
	var all saved[T]
	s.save(&all)
	c.restore(&all, 0)
	return c
}

func (s *linearMemory[T]) save(to *saved[T]) {
	to.sums = scratch.Resize(to.sums, len(s.heads))
	to.references = scratch.Resize(to.references, len(s.heads))
	for h, acc := range s.heads {
		to.sums[h].Shape(s.a.m, s.a.width(s.dv))
		copy(to.sums[h].Data, acc.sum.Data)
		if acc.ref == nil {
			continue
		}
		if to.references[h] == nil || len(to.references[h].exponent) != s.a.m {
			to.references[h] = newReference[T](s.a.m)
		}
		to.references[h].copyOf(acc.ref)
	}
	to.fresh = s.fresh
	if s.fresh == 0 || s.recent == nil {
		return
	}
	to.recent = scratch.Resize(to.recent, len(s.recent))
	for h := range s.recent {
		to.recent[h].Shape(s.a.m, s.a.width(s.dv))
		copy(to.recent[h].Data, s.recent[h].Data)
	}
}

// holds returns true: a Mark has copies of all.
func (s *linearMemory[T]) holds(*saved[T], int) bool { return true }

func (s *linearMemory[T]) restore(from *saved[T], _ int) {
	for h, acc := range s.heads {
		copy(acc.sum.Data, from.sums[h].Data)
		if acc.ref != nil {
			acc.ref.copyOf(from.references[h])
		}
	}
	for h := range s.recent {
		if from.fresh > 0 {
			copy(s.recent[h].Data, from.recent[h].Data)
		} else if s.fresh > 0 {
			clear(s.recent[h].Data)
		}
	}
	s.fresh = from.fresh
}

// check returns an error unless the features and the options are those of other.
func (s *linearMemory[T]) check(other memory[T]) error {
	o, ok := other.(*linearMemory[T])
	if !ok {
		return errors.New("performer: other belongs to another form, the state to linear attention")
	}
	switch a, b := s.a, o.a; {
	case a == b:
		return nil
	case a.m != b.m:
		return fmt.Errorf("performer: %d features of R^%d, but the state belongs to %d features of R^%d", b.m, b.d, a.m, a.d)
	case b.logs != a.logs:
		return errors.New("performer: logarithms of features cannot be added to features: the state belongs to others")
	case b.opts.Unnormalised != a.opts.Unnormalised:
		return fmt.Errorf("performer: Unnormalised = %v, but the state belongs to attention with %v", b.opts.Unnormalised, a.opts.Unnormalised)
	default:
		return a.checkMarks(b.marks())
	}
}

func (s *linearMemory[T]) merge(other memory[T]) {
	o := other.(*linearMemory[T])
	s.settle()
	for h, acc := range s.heads {
		from := o.heads[h]
		acc.mergeFeatures(from, 0, acc.m)
		if o.fresh > 0 && o.recent != nil {
			acc.mergeFeatures(&accumulator[T]{ref: from.ref, sum: o.recent[h], m: from.m}, 0, acc.m)
		}
	}
}

// marks returns the marks of the (log-)features that sums are made of.
func (a *Attention[T]) marks() []float64 {
	return stream.Of(&a.fingerprint, a.d, a.m, a.mapQueries, a.mapKeys)
}

// checkMarks returns an error unless these are the marks of a.
func (a *Attention[T]) checkMarks(marks []float64) error {
	if err := stream.CheckMarks[T](a.marks(), marks); err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	return nil
}
