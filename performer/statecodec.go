package performer

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/stream"
)

// A State as bytes, all numbers little endian:
//
//	 0  8 bytes  "rfstate" and a zero
//	 8  uint16   version, 2
//	10  uint8    bytes of an element, 4 or 8
//	11  uint8    flags: 1 unnormalised, 2 log-features
//	12  uint32   H, heads
//	16  uint32   d, dimension of queries and keys
//	20  uint32   m, features
//	24  uint32   dv, dimension of values
//	28  uint32   0
//	32  uint64   tokens, at most half of what an int counts
//	40  float64  marks of the m features of queries, then of those of keys
//
// then for each head
//
//	int64    m reference exponents, if log-features: −2⁶³ for a feature of no key
//	element  sums, m rows of dv, and one more unless unnormalised
//
// and at the end the CRC-32C of all that precedes it, a uint32.
const (
	stateName       = "rfstate\x00"
	stateVersion    = 2
	exponentSize    = 8
	flagUnnormalise = 1
	flagLogarithms  = 2
)

var (
	_ encoding.BinaryMarshaler   = (*State[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*State[float64])(nil)
	_ encoding.BinaryAppender    = (*State[float64])(nil)
)

// MarshalBinary returns the state as bytes, which any architecture can read. A state
// that reads them goes on with the bits with which s does from then on.
func (s *State[T]) MarshalBinary() ([]byte, error) {
	if s.a == nil {
		return nil, errNoState
	}
	return s.AppendBinary(make([]byte, 0, s.encodedSize()))
}

// AppendBinary appends what MarshalBinary returns to b.
func (s *State[T]) AppendBinary(b []byte) ([]byte, error) {
	if s.a == nil {
		return b, errNoState
	}
	s.settle()
	b = slices.Grow(b, s.encodedSize())
	from := len(b)
	b = s.header().Append(b)
	b = stream.AppendElements(b, s.a.marks())
	for _, acc := range s.heads {
		if acc.ref != nil {
			for _, n := range acc.ref.exponent {
				b = binary.LittleEndian.AppendUint64(b, uint64(n))
			}
		}
		sums := acc.sums()
		for f := range sums.Rows {
			b = stream.AppendElements(b, sums.Row(f))
		}
	}
	return stream.Seal(b, from), nil
}

// UnmarshalBinary makes s what the state was whose bytes these are, whatever s held
// before. s is one of NewState, of the same type, heads, dimensions and features as
// that state, so that memory is there and sums mean the same. It returns an error and
// leaves s as it is if anything differs or the bytes are no intact state. The checksum
// finds damage, not forgery; forged sums are at worst wrong.
func (s *State[T]) UnmarshalBinary(data []byte) error {
	if s.a == nil {
		return errNoState
	}
	tokens, body, err := s.header().Open(data, s.encodedSize())
	if err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	marks := make([]float64, 2*s.a.m)
	body = stream.ReadElements(marks, body)
	if err := s.a.checkMarks(marks); err != nil {
		return err
	}
	if err := s.checkSums(body); err != nil {
		return err
	}
	s.settle()
	s.n = tokens
	for _, acc := range s.heads {
		if acc.ref != nil {
			for f := range acc.ref.exponent {
				acc.ref.set(f, int64(binary.LittleEndian.Uint64(body[exponentSize*f:])))
			}
			body = body[exponentSize*acc.m:]
		}
		sums := acc.sums()
		for f := range sums.Rows {
			body = stream.ReadElements(sums.Row(f), body)
		}
	}
	return nil
}

// header returns what the bytes begin with.
func (s *State[T]) header() stream.Header {
	var flags byte
	if s.a.opts.Unnormalised {
		flags |= flagUnnormalise
	}
	if s.a.logKey != nil {
		flags |= flagLogarithms
	}
	return stream.Header{
		Name: stateName, Version: stateVersion, ElementSize: stream.ElementSize[T](),
		Flags: flags, FlagNames: "1 unnormalised, 2 log-features",
		Words: [...]stream.Word{
			{Name: "heads", Value: len(s.heads)}, {Name: "d", Value: s.a.d}, {Name: "m", Value: s.a.m},
			{Name: "dv", Value: s.dv}, {Name: "reserved word"},
		},
		Tokens: s.n,
	}
}

// encodedSize returns the number of bytes of the state.
func (s *State[T]) encodedSize() int {
	return stream.HeaderSize + 16*s.a.m + len(s.heads)*s.headSize() + stream.TrailerSize
}

// headSize returns the number of bytes of a head.
func (s *State[T]) headSize() int {
	perFeature := s.a.width(s.dv) * stream.ElementSize[T]()
	if s.a.logKey != nil {
		perFeature += exponentSize
	}
	return s.a.m * perFeature
}

// checkSums returns an error if the heads hold what no keys lead to: exponents of no
// finite T, or finite sums other than zero of a feature that has none.
func (s *State[T]) checkSums(heads []byte) error {
	if s.a.logKey == nil {
		return nil
	}
	row := make([]T, s.a.width(s.dv))
	for h := range s.heads {
		exponents := heads[h*s.headSize():]
		sums := exponents[exponentSize*s.a.m:]
		for f := range s.a.m {
			n := int64(binary.LittleEndian.Uint64(exponents[exponentSize*f:]))
			sums = stream.ReadElements(row, sums)
			if !isExponent[T](n) {
				return fmt.Errorf("performer: state with exponent %d, want that of a finite %T", n, T(0))
			}
			if n == none && slices.ContainsFunc(row, func(x T) bool { return x != 0 && x-x == 0 }) {
				return errors.New("performer: state with sums of a feature that no key has had")
			}
		}
	}
	return nil
}
