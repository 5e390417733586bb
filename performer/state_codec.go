package performer

import (
	"encoding"
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
)

// A State as bytes, all numbers little endian:
//
//	 0  8 bytes  "rfstate" and a zero
//	 8  uint16   version, 3
//	10  uint8    bytes of an element, 4 or 8
//	11  uint8    0
//	12  uint32   H, heads of queries
//	16  uint32   Hk, heads of keys
//	20  uint32   d, dimension of queries and keys
//	24  uint32   dv, dimension of values
//	28  uint32   runs of heads that have one form
//	32  uint64   tokens, at most half of what an int counts
//
// then for each run of heads
//
//	uint32   flags: 1 unnormalised, 2 log-features, 4 keys and values, 8 landmarks, 16 near and far, 32 places,
//	         64 clusters, 128 codes
//	uint32   heads of queries
//	uint32   m, features or landmarks; 0 for keys and values
//	uint32   0
//	float64  scale of exact weights; 0 for linear attention
//
// and for linear attention
//
//	float64  marks of the m features of queries, then of those of keys
//
// with for each of its heads of keys
//
//	int64    m reference exponents, if log-features: −2⁶³ for a feature of no key
//	element  sums, m rows of dv, and one more unless unnormalised
//
// for exact attention with places
//
//	uint64   window
//	uint64   sinks
//	float64  slope
//	uint64   tokens that are kept
//
// for clusters
//
//	uint64   parameters of the form, 7 of them
//
// and for all exact attention and clusters, for each of its heads of keys
//
//	element  keys, a row of d a token, then values, a row of dv a token
//
// and zeros in place of the tokens that are not kept, up to the most that are, if a window drops
// tokens; for exact attention in codes
//
//	uint64   bits of a code, 8 or 4
//	uint64   window, 0 for none
//	uint64   sinks
//	uint64   n, tokens that are kept
//
// with for each of its heads of keys
//
//	uint64   rows of codes of the first max(⌊n/64⌋ − 1, 0)·64 keys, in the layout of package scan
//	float32  their scales
//	uint64   rows of codes of as many values
//	float32  their scales
//	element  keys, a row of d for each other token, then values
//
// and zeros, up to the bytes of 127 tokens in elements and of codes of all tokens, or of the most that are kept; for
// near and far tokens
//
//	float64  marks of the landmarks, as for linear attention
//	uint64   0
//	uint64   near tokens, those with exact weights
//
// with for each of its heads of keys the exponents and sums of linear attention, and the keys and
// values of m tokens as of exact attention, zeros where fewer are near
//
// and at the end the CRC-32C of all that precedes it, a uint32.
const (
	stateName    = "rfstate\x00"
	stateVersion = 3
)

var (
	_ encoding.BinaryMarshaler   = (*State[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*State[float64])(nil)
)

// MarshalBinary returns the state as bytes, which any architecture can read. A state
// that reads them goes on with the bits with which s does from then on.
func (s *State[T]) MarshalBinary() ([]byte, error) {
	if s.units == nil {
		return nil, errNoState
	}
	b := s.header().Append(make([]byte, 0, s.encodedSize()))
	for _, u := range s.units {
		b = u.memory.Encode(u.memory.Record().Append(b, u.to-u.from))
	}
	return frame.Seal(b, 0), nil
}

// UnmarshalBinary makes s what the state was whose bytes these are, whatever s held before. s
// is one of NewState, of the same type, heads, dimensions and forms as that state, so that what
// the bytes hold means the same; features are compared as Merge compares them. UnmarshalBinary
// returns an error and leaves s as it is if anything differs or the bytes are no intact state.
// The checksum finds damage, not forgery; forged sums are at worst wrong. Memory is allocated
// for keys and values alone, as many as data hold.
func (s *State[T]) UnmarshalBinary(data []byte) error {
	if s.units == nil {
		return errNoState
	}
	fixed, token := s.sizes()
	tokens, body, err := s.header().Open(data, fixed, token)
	if err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	rest := body
	for _, u := range s.units {
		if err := u.memory.Record().Check(rest, u.to-u.from); err != nil {
			return err
		}
		if rest, err = u.memory.Inspect(rest[streams.RecordSize:], tokens); err != nil {
			return err
		}
	}
	for _, u := range s.units {
		body = u.memory.Decode(body[streams.RecordSize:], tokens)
	}
	s.n = tokens
	return nil
}

// header returns what the bytes begin with.
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

// sizes returns the number of bytes without tokens, and how many more each token takes.
func (s *State[T]) sizes() (fixed, token int) {
	fixed = frame.HeaderSize + frame.TrailerSize
	for _, u := range s.units {
		f, t := u.memory.Size()
		fixed, token = fixed+streams.RecordSize+f, token+t
	}
	return fixed, token
}

// encodedSize returns the number of bytes of the state.
func (s *State[T]) encodedSize() int {
	fixed, token := s.sizes()
	return fixed + s.n*token
}
