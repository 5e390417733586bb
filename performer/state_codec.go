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
// then for each run of heads a record
//
//	uint32   flags: 1 unnormalised, 2 log-features, 4 keys and values, 8 landmarks, 16 exact weights of last
//	         tokens, 32 clusters, 64 codes
//	uint32   heads of queries
//	uint32   m, features or landmarks; 0 for keys and values
//	uint32   0
//	float64  scale of exact weights; 0 for linear attention
//
// and in the record for exact attention
//
//	float64  softcap
//	uint64   window
//	uint64   sinks
//	uint64   chunk
//	float64  slope
//	float64  sink weight, for each of its heads of queries
//	uint64   bits of codes of keys, then of values, with codes
//
// and in the record for clusters
//
//	uint64   clusters
//	float64  threshold
//	uint64   iterations
//	uint64   bits
//	uint64   two words of src
//
// After the records, for each run of heads, come for linear attention
//
//	float64  marks of the m features of queries, then of those of keys
//
// with for each of its heads of keys
//
//	int64    m reference exponents, if log-features: −2⁶³ for a feature of no key
//	element  sums, m rows of dv, and one more unless unnormalised
//
// for exact attention without codes
//
//	uint64   tokens that are kept
//
// and for exact attention without codes and clusters, for each of its heads of keys
//
//	element  keys, a row of d a token, then values, a row of dv a token
//
// and, if a window drops tokens, zeros up to the largest number of kept tokens; for exact attention
// in codes, for each of its heads of keys
//
//	uint64   for each plane of the codes, the upper bits first, the rows of codes of the first n keys,
//	         in the layout of package scan
//	float32  their scales, which hold the zero points in the lowest 16 bits
//	uint64   codes of the means of blocks of keys, in two planes of 8 bits
//	float32  their scales
//	...      codes, scales and means of as many values
//	element  keys, a row of d for each token without codes, then values
//
// where n is max(⌊tokens/64⌋ − 1, 0)·64. With a window all complete blocks of 64
// tokens have codes, or of 16 tokens if the window is below 2048.
// If earlier tokens are dropped, the codes are the blocks of the sinks, and after them, in the same
// order, the blocks from the first token that the last query sees on; for landmarks
//
//	float64  marks of the landmarks, as for linear attention
//	uint64   0
//	uint64   last tokens, which have exact weights
//
// with for each of its heads of keys the exponents and sums of linear attention, and the keys and
// values of m last tokens as for exact attention, with zeros if there are fewer
//
// and at the end the CRC-32C of all earlier bytes, a uint32.
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
	fixed, token := s.sizes(s.n)
	b := s.header().Append(make([]byte, 0, fixed+s.n*token))
	for _, u := range s.units {
		b = u.memory.Record().Append(b, u.to-u.from)
	}
	for _, u := range s.units {
		b = u.memory.Encode(b)
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
		r := u.memory.Record()
		if len(body) < r.Size() {
			break
		}
		if err := r.Check(body, u.to-u.from); err != nil {
			return err
		}
		body = body[r.Size():]
	}
	fixed, token := s.sizes(tokens)
	if err := frame.CheckSize(len(data), fixed, token, tokens); err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	rest := body
	for _, u := range s.units {
		if rest, err = u.memory.Inspect(rest, tokens); err != nil {
			return err
		}
	}
	for _, u := range s.units {
		body = u.memory.Decode(body, tokens)
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

// sizes returns the number of bytes of so many tokens: fixed bytes, and token bytes for each token.
func (s *State[T]) sizes(tokens int) (fixed, token int) {
	fixed = frame.HeaderSize + frame.TrailerSize
	for _, u := range s.units {
		f, t := u.memory.Size(tokens)
		fixed, token = min(fixed+u.memory.Record().Size()+f, frame.MaxTokens), token+t
	}
	return fixed, token
}
