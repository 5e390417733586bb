package streams

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// kept is the part of Features that Save copies and Encode writes.
type kept[T dense.Float] struct {
	engine *sums.Engine[T]
	dv     int
	heads  int                    // of queries
	sums   []*sums.Accumulator[T] // one a head of keys

	// Sums over the last tokens, and their number.
	rows  [][]T
	count int
}

// group returns the number of heads of queries for each head of keys.
func (s *kept[T]) group() int { return s.heads / len(s.sums) }

func (s *kept[T]) Save(to *Saved[T]) {
	to.sums, to.rows = scratch.Resize(to.sums, len(s.sums)), scratch.Resize(to.rows, len(s.rows))
	for h, acc := range s.sums {
		to.sums[h].Copy(acc)
	}
	for i, row := range s.rows {
		to.rows[i] = append(to.rows[i][:0], row...)
	}
	to.count = s.count
}

// Holds returns true, because Save copies everything.
func (s *kept[T]) Holds(*Saved[T], int) bool { return true }

func (s *kept[T]) Restore(from *Saved[T], _ int) {
	for h, acc := range s.sums {
		acc.Copy(&from.sums[h])
	}
	for i, row := range s.rows {
		copy(row, from.rows[i])
	}
	s.count = from.count
}

// copyTo sets to, which has the same sizes, to s.
func (s *kept[T]) copyTo(to *kept[T]) {
	var all Saved[T]
	s.Save(&all)
	to.Restore(&all, 0)
}

// record returns the flags of the sums.
func (s *kept[T]) record() Record {
	r := Record{Features: s.engine.M}
	if s.engine.Unnormalised {
		r.Flags |= FlagUnnormalised
	}
	if s.engine.Logs {
		r.Flags |= flagLogarithms
	}
	return r
}

const exponentSize = 8

// marksSize returns the number of bytes of the marks of features of queries and keys.
func (s *kept[T]) marksSize() int { return 16 * s.engine.M }

// sumsSize returns the number of bytes of the sums of a head of keys.
func (s *kept[T]) sumsSize() int {
	perFeature := s.engine.Width(s.dv) * frame.ElementSize[T]()
	if s.engine.Logs {
		perFeature += exponentSize
	}
	return s.engine.M * perFeature
}

// checkMarks returns an error unless b begins with the marks of the features. rest is b after the
// marks.
func (s *kept[T]) checkMarks(b []byte) (rest []byte, err error) {
	marks := make([]float64, 2*s.engine.M)
	rest = frame.ReadElements(marks, b)
	return rest, s.engine.CheckMarks(marks)
}

// encodeSums appends the exponents, if there are references, and the sums of a head.
func (s *kept[T]) encodeSums(b []byte, h int) []byte {
	acc := s.sums[h]
	if acc.Ref != nil {
		for _, n := range acc.Ref.Exponents() {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	all := acc.Sums()
	for f := range all.Rows {
		b = frame.AppendElements(b, all.Row(f))
	}
	return b
}

// decodeSums reads the bytes of encodeSums, and returns the bytes after them.
func (s *kept[T]) decodeSums(b []byte, h int) (rest []byte) {
	acc := s.sums[h]
	if acc.Ref != nil {
		for f := range s.engine.M {
			acc.Ref.Set(f, int64(binary.LittleEndian.Uint64(b[exponentSize*f:])))
		}
		b = b[exponentSize*s.engine.M:]
	}
	all := acc.Sums()
	for f := range all.Rows {
		b = frame.ReadElements(all.Row(f), b)
	}
	return b
}

// inspectSums returns an error if the bytes of encodeSums are impossible: an exponent of no finite
// T, or finite sums other than zero of a feature without a reference.
func (s *kept[T]) inspectSums(b []byte) error {
	if !s.engine.Logs {
		return nil
	}
	m, row := s.engine.M, make([]T, s.engine.Width(s.dv))
	rest := b[exponentSize*m:]
	for f := range m {
		n := int64(binary.LittleEndian.Uint64(b[exponentSize*f:]))
		rest = frame.ReadElements(row, rest)
		if !logscale.IsExponent[T](n) {
			return fmt.Errorf("performer: state with exponent %d, want that of a finite %T", n, T(0))
		}
		if n == logscale.None && slices.ContainsFunc(row, func(x T) bool { return x != 0 && x-x == 0 }) {
			return errors.New("performer: state with sums of a feature that no key has had")
		}
	}
	return nil
}
