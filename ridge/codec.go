package ridge

import (
	"encoding"
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// MarshalBinary encodes Sums as little-endian numbers: the header of package frame with the name
// "rfridge" and a zero byte, version 3, the size of an element of the features, and the words
//
//	d, dimension of points
//	D, number of features
//	p, number of outputs
//	0
//	0
//
// and the number of rows, then in float64
//
//	D          marks of the features
//	1          Σω
//	1          Σ log ω
//	1          number of rows that the rows stand for
//	p          ȳ
//	p          Σω(y − ȳ)²
//	D          φ̄
//	D×p        Σω(φ − φ̄)(y − ȳ)ᵀ
//	D(D+1)/2   Σω(φ − φ̄)(φ − φ̄)ᵀ, the lower triangle row by row
//
// and at the end the CRC-32C of all earlier bytes, a uint32.
const (
	sumsName    = "rfridge\x00"
	sumsVersion = 3
)

var (
	_ encoding.BinaryMarshaler   = (*Sums[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*Sums[float64])(nil)
)

// MarshalBinary returns the bytes of s, about 4·D² + 8·D·p, which any architecture can read.
func (s *Sums[T]) MarshalBinary() ([]byte, error) {
	if s.phi == nil {
		return nil, errors.New("ridge: the Sums are zero, want those of NewSums")
	}
	return s.encode(s.header(), s.marks()), nil
}

// encode returns the bytes of m.
func (m *moments) encode(h frame.Header, marks []float64) []byte {
	b := h.Append(make([]byte, 0, m.encodedSize()))
	b = frame.AppendElements(b, marks)
	for _, part := range m.parts() {
		b = frame.AppendElements(b, part)
	}
	for r := range m.mean {
		b = frame.AppendElements(b, m.square.row(r))
	}
	return frame.Seal(b, 0)
}

// UnmarshalBinary replaces s by the sums in data. s must come from NewSums for the same type, map
// and number of outputs. UnmarshalBinary compares the features at a few points. The error reports
// any difference and damaged bytes; s is then unchanged. The checksum detects damage, not forgery;
// forged sums are at worst wrong. UnmarshalBinary allocates memory by the size of s, not of data.
func (s *Sums[T]) UnmarshalBinary(data []byte) error {
	return wrap(s.decode(s.header(), data, func(marks []float64) error { return frame.CheckMarks[T](s.marks(), marks) }))
}

// decode replaces m by the moments in data, unless check returns an error for the marks in data.
func (m *moments) decode(h frame.Header, data []byte, check func(marks []float64) error) error {
	n, body, err := h.Open(data, m.encodedSize(), 0)
	if err != nil {
		return err
	}
	marks := make([]float64, len(m.mean))
	body = frame.ReadElements(marks, body)
	if err := check(marks); err != nil {
		return err
	}
	scalars := make([]float64, 3)
	frame.ReadElements(scalars, body)
	if w := scalars[0]; !(w >= 0) || math.IsInf(w, 0) || (n > 0) != (w > 0) {
		return fmt.Errorf("sums of %d rows with the weight %v", n, w)
	}
	if r := scalars[2]; !(r >= 0) || math.IsInf(r, 0) || (n > 0) != (r > 0) {
		return fmt.Errorf("sums of %d rows that stand for %v", n, r)
	}
	m.n = n
	for i, part := range m.parts() {
		body = frame.ReadElements(part, body)
		if i == 0 {
			m.weight, m.logWeight, m.rows = part[0], part[1], part[2]
		}
	}
	for r := range m.mean {
		body = frame.ReadElements(m.square.row(r), body)
	}
	return nil
}

// parts returns all sums except the triangle, in the order of the bytes. All but the first share
// the memory of m.
func (m *moments) parts() [5][]float64 {
	return [...][]float64{{m.weight, m.logWeight, m.rows}, m.targets, m.squares, m.mean, m.cross.Data}
}

func (s *Sums[T]) header() frame.Header {
	return frame.Header{
		Name: sumsName, Version: sumsVersion, ElementSize: frame.ElementSize[T](), FlagNames: "none",
		Words: [...]frame.Word{
			{Name: "d", Value: s.d}, {Name: "D", Value: len(s.mean)}, {Name: "outputs", Value: len(s.targets)},
			{Name: "reserved word"}, {Name: "reserved word"},
		},
		Tokens: s.n,
	}
}

// encodedSize returns the number of bytes of m.
func (m *moments) encodedSize() int {
	width, outputs := len(m.mean), len(m.targets)
	numbers := 2*width + 3 + 2*outputs + width*outputs + width*(width+1)/2
	return frame.HeaderSize + 8*numbers + frame.TrailerSize
}
