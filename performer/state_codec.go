package performer

import (
	"encoding"
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// A State as bytes, all numbers little endian:
//
//	 0  8 bytes  "rfstate" and a zero
//	 8  uint16   version, 5
//	10  uint8    bytes of an element, 4 or 8
//	11  uint8    0
//	12  uint32   H, heads of queries
//	16  uint32   Hk, heads of keys
//	20  uint32   d, dimension of queries and keys
//	24  uint32   dv, dimension of values
//	28  uint32   runs of heads that have one attention
//	32  uint64   tokens, at most half of what an int counts
//
// then the parameters of each run of heads as words of 8 bytes, the tokens of each run, see package
// store, and at the end the CRC-32C of all earlier bytes, a uint32.
const (
	stateName    = "rfstate\x00"
	stateVersion = 5
)

var (
	_ encoding.BinaryMarshaler   = (*State[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*State[float64])(nil)
)

// MarshalBinary returns s as bytes, which any architecture can read. Later outputs of a State that
// reads the bytes have the bits of later outputs of s.
func (s *State[T]) MarshalBinary() ([]byte, error) {
	if s.units == nil {
		return nil, errNoState
	}
	b := s.header().Append(make([]byte, 0, s.size(s.n)))
	for _, u := range s.units {
		b = u.tokens.EncodeParameters(b)
	}
	for _, u := range s.units {
		b = u.tokens.Encode(b)
	}
	return frame.Seal(b, 0), nil
}

// UnmarshalBinary replaces the tokens of s by the tokens of the State that MarshalBinary has
// written. s must have the type, heads, dimensions and attention of that State; features are
// compared as by Merge. If these differ or the bytes are damaged, UnmarshalBinary returns an error
// and does not change s. The checksum does not protect against forgery; forged sums are at worst
// wrong. UnmarshalBinary allocates memory only for the keys and values in data.
func (s *State[T]) UnmarshalBinary(data []byte) error {
	if s.units == nil {
		return errNoState
	}
	tokens, body, err := s.header().OpenAnySize(data)
	if err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	for _, u := range s.units {
		if body, err = u.tokens.CheckParameters(body); err != nil {
			return err
		}
	}
	if err := frame.CheckSize(len(data), s.size(tokens), 0, tokens); err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	rest := body
	for _, u := range s.units {
		if rest, err = u.tokens.Inspect(rest, tokens); err != nil {
			return err
		}
	}
	for _, u := range s.units {
		body = u.tokens.Decode(body, tokens)
	}
	s.n = tokens
	return nil
}

// header returns the first bytes of the encoding.
func (s *State[T]) header() frame.Header {
	return frame.Header{
		Name: stateName, Version: stateVersion, ElementSize: frame.ElementSize[T](), FlagNames: "none",
		Words: [...]frame.Word{
			{Name: "heads", Value: s.heads}, {Name: "keyHeads", Value: s.keyHeads}, {Name: "d", Value: s.d},
			{Name: "dv", Value: s.dv}, {Name: "runs of heads", Value: len(s.units)},
		},
		Tokens: s.n,
	}
}

// size returns the number of bytes of so many tokens, or frame.MaxTokens if it is larger.
func (s *State[T]) size(tokens int) int {
	size := frame.HeaderSize + frame.TrailerSize
	for _, u := range s.units {
		size = min(size+u.tokens.Size(tokens), frame.MaxTokens)
	}
	return size
}
