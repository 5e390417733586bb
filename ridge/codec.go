package ridge

import (
	"encoding"
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/stream"
	"github.com/seed-feabd252/randfeat/internal/instance"
)

// Sums as bytes, all numbers little endian: the header of package stream with the name "rfridge"
// and a zero, version 2, the size of an element of the features, and the words
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
//	p          ȳ
//	p          Σω(y − ȳ)²
//	D          φ̄
//	D×p        Σω(φ − φ̄)(y − ȳ)ᵀ
//	D(D+1)/2   Σω(φ − φ̄)(φ − φ̄)ᵀ, the lower triangle row by row
//
// and at the end the CRC-32C of all that precedes it, a uint32.
const (
	sumsName    = "rfridge\x00"
	sumsVersion = 2
)

var (
	_ encoding.BinaryMarshaler   = (*Sums[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*Sums[float64])(nil)
)

// MarshalBinary returns the sums as bytes, which any architecture can read: 4·D² + 8·D·p bytes and
// a few more.
func (s *Sums[T]) MarshalBinary() ([]byte, error) {
	return instance.Of(&sumsMarshalBinaryBoth, (*Sums[T]).MarshalBinary)(s)
}

var sumsMarshalBinaryBoth = instance.Both{sumsMarshalBinary[float32], sumsMarshalBinary[float64]}

func sumsMarshalBinary[T dense.Float](s *Sums[T]) ([]byte, error) {
	if s.phi == nil {
		return nil, errors.New("ridge: the Sums are zero, want those of NewSums")
	}
	b := s.header().Append(make([]byte, 0, s.encodedSize()))
	b = stream.AppendElements(b, s.marks())
	for _, part := range s.parts() {
		b = stream.AppendElements(b, part)
	}
	for r := range s.width {
		b = stream.AppendElements(b, s.square.row(r))
	}
	return stream.Seal(b, 0), nil
}

// UnmarshalBinary replaces s by the sums that data encodes. s is one of NewSums for the same type,
// map and number of outputs; features are compared by their values at a few points. UnmarshalBinary
// returns an error and leaves s as it is if anything differs or the bytes are damaged. The checksum
// finds damage, not forgery; forged sums are at worst wrong. Memory does not depend on the bytes.
func (s *Sums[T]) UnmarshalBinary(data []byte) error {
	return instance.Of(&sumsUnmarshalBinaryBoth, (*Sums[T]).UnmarshalBinary)(s, data)
}

var sumsUnmarshalBinaryBoth = instance.Both{sumsUnmarshalBinary[float32], sumsUnmarshalBinary[float64]}

func sumsUnmarshalBinary[T dense.Float](s *Sums[T], data []byte) error {
	n, body, err := s.header().Open(data, s.encodedSize(), 0)
	if err != nil {
		return wrap(err)
	}
	marks := make([]float64, s.width)
	body = stream.ReadElements(marks, body)
	if err := stream.CheckMarks[T](s.marks(), marks); err != nil {
		return wrap(err)
	}
	scalars := make([]float64, 2)
	stream.ReadElements(scalars, body)
	if w := scalars[0]; !(w >= 0) || math.IsInf(w, 0) || (n > 0) != (w > 0) {
		return fmt.Errorf("ridge: sums of %d rows with the weight %v", n, w)
	}
	s.n = n
	for i, part := range s.parts() {
		body = stream.ReadElements(part, body)
		if i == 0 {
			s.weight, s.logWeight = part[0], part[1]
		}
	}
	for r := range s.width {
		body = stream.ReadElements(s.square.row(r), body)
	}
	return nil
}

// parts returns the sums but the triangle, in the order of the bytes. All but the first are the
// memory of s.
func (s *Sums[T]) parts() [5][]float64 {
	return [...][]float64{{s.weight, s.logWeight}, s.targets, s.squares, s.mean, s.cross.Data}
}

func (s *Sums[T]) header() stream.Header {
	return stream.Header{
		Name: sumsName, Version: sumsVersion, ElementSize: stream.ElementSize[T](), FlagNames: "none",
		Words: [...]stream.Word{
			{Name: "d", Value: s.d}, {Name: "D", Value: s.width}, {Name: "outputs", Value: s.outputs},
			{Name: "reserved word"}, {Name: "reserved word"},
		},
		Tokens: s.n,
	}
}

// encodedSize returns the number of bytes of the sums.
func (s *Sums[T]) encodedSize() int {
	numbers := 2*s.width + 2 + 2*s.outputs + s.width*s.outputs + s.width*(s.width+1)/2
	return stream.HeaderSize + 8*numbers + stream.TrailerSize
}
