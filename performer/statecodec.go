package performer

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
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
	stateMagic      = "rfstate\x00"
	stateVersion    = 2
	stateHeader     = 40
	stateTrailer    = 4
	exponentSize    = 8
	flagUnnormalise = 1
	flagLogarithms  = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
	b = s.appendHeader(b)
	for _, v := range s.a.fingerprint.of(s.a) {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	for _, acc := range s.heads {
		if acc.ref != nil {
			for _, n := range acc.ref.exponent {
				b = binary.LittleEndian.AppendUint64(b, uint64(n))
			}
		}
		sums := acc.sums()
		for f := range sums.Rows {
			b = appendElements(b, sums.Row(f))
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli)), nil
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
	if err := s.checkEncoded(data); err != nil {
		return err
	}
	tokens, err := encodedTokens(data)
	if err != nil {
		return err
	}
	body := data[stateHeader : len(data)-stateTrailer]
	marks := make([]float64, 2*s.a.m)
	for f := range marks {
		marks[f] = math.Float64frombits(binary.LittleEndian.Uint64(body[8*f:]))
	}
	if err := s.a.checkMarks(marks); err != nil {
		return err
	}
	body = body[8*len(marks):]
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
			body = readElements(sums.Row(f), body)
		}
	}
	return nil
}

// appendHeader appends what precedes the marks.
func (s *State[T]) appendHeader(b []byte) []byte {
	var flags byte
	if s.a.opts.Unnormalised {
		flags |= flagUnnormalise
	}
	if s.a.logKey != nil {
		flags |= flagLogarithms
	}
	b = append(b, stateMagic...)
	b = binary.LittleEndian.AppendUint16(b, stateVersion)
	b = append(b, byte(elementSize[T]()), flags)
	for _, n := range []int{len(s.heads), s.a.d, s.a.m, s.dv, 0} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(s.n))
}

// encodedSize returns the number of bytes of the state.
func (s *State[T]) encodedSize() int {
	return stateHeader + 16*s.a.m + len(s.heads)*s.headSize() + stateTrailer
}

// headSize returns the number of bytes of a head.
func (s *State[T]) headSize() int {
	perFeature := s.a.width(s.dv) * elementSize[T]()
	if s.a.logKey != nil {
		perFeature += exponentSize
	}
	return s.a.m * perFeature
}

// checkEncoded returns an error unless data are intact and of a state like s, as far
// as the header tells. What the header says is compared, never a size to allocate.
func (s *State[T]) checkEncoded(data []byte) error {
	if err := checkSealed(data, stateMagic, stateVersion); err != nil {
		return err
	}
	own := s.appendHeader(make([]byte, 0, stateHeader))
	if data[10] != own[10] {
		return fmt.Errorf("performer: state of %d-byte elements, want %d", data[10], own[10])
	}
	if data[11] != own[11] {
		return fmt.Errorf("performer: state with flags %#x, want %#x (1 unnormalised, 2 log-features)", data[11], own[11])
	}
	if err := compareWords(data, own, "heads", "d", "m", "dv", "reserved word"); err != nil {
		return err
	}
	if want := s.encodedSize(); len(data) != want {
		return fmt.Errorf("performer: state of %d bytes, want %d", len(data), want)
	}
	return nil
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
			sums = readElements(row, sums)
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

// appendElements appends the bits of x.
func appendElements[T dense.Float](b []byte, x []T) []byte {
	for _, v := range x {
		if elementSize[T]() == 4 {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(v)))
		}
	}
	return b
}

// readElements fills x and returns the bytes that follow.
func readElements[T dense.Float](x []T, b []byte) []byte {
	size := elementSize[T]()
	for i := range x {
		if size == 4 {
			x[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		} else {
			x[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
	}
	return b[size*len(x):]
}

// elementSize returns the number of bytes of a T.
func elementSize[T dense.Float]() int {
	var x T
	return int(unsafe.Sizeof(x))
}
