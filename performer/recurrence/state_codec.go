package recurrence

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// The encoding of a State begins with these fields, all little endian:
//
//	 0  8 bytes  "rfrecur" and a zero
//	 8  uint16   version, 1
//	10  uint8    bytes of an element, 4 or 8
//	11  uint8    the rule, plus 16 if keys are normalised
//	12  uint32   Hk, heads of keys
//	16  uint32   dk, dimension of queries and keys
//	20  uint32   0
//	24  uint32   dv, dimension of values
//	28  uint32   H, heads of queries
//	32  uint64   tokens
//
// For the gated rule, Hk·dk float64 follow, the sums of decays. The elements of S follow, Hk·dk
// rows of dv. The last four bytes are a uint32, the CRC-32C of all bytes before.
const (
	stateName      = "rfrecur\x00"
	stateVersion   = 1
	flagNormalised = 16
)

func (s *state[T]) MarshalBinary() ([]byte, error) {
	b := s.header().Append(make([]byte, 0, s.encodedSize()))
	b = frame.AppendElements(b, s.decays)
	b = frame.AppendElements(b, s.matrix.Data)
	return frame.Seal(b, 0), nil
}

func (s *state[T]) UnmarshalBinary(data []byte) error {
	tokens, body, err := s.header().Open(data, s.encodedSize(), 0)
	if err != nil {
		return fmt.Errorf("recurrence: %w", err)
	}
	s.n = tokens
	frame.ReadElements(s.matrix.Data, frame.ReadElements(s.decays, body))
	return nil
}

// header returns the first fields of the encoding.
func (s *state[T]) header() frame.Header {
	flags := byte(s.r.opts.Rule)
	if s.r.opts.NormaliseKeys {
		flags |= flagNormalised
	}
	return frame.Header{
		Name: stateName, Version: stateVersion, ElementSize: frame.ElementSize[T](),
		Flags: flags, FlagNames: fmt.Sprintf("the %v rule, 16 normalised keys", s.r.opts.Rule),
		Words: [...]frame.Word{
			{Name: "keyHeads", Value: s.r.keyHeads}, {Name: "d", Value: s.dk}, {Name: "m"},
			{Name: "dv", Value: s.dv}, {Name: "heads", Value: s.r.heads},
		},
		Tokens: s.n,
	}
}

// encodedSize returns the number of bytes of the state.
func (s *state[T]) encodedSize() int {
	return frame.HeaderSize + 8*len(s.decays) + frame.ElementSize[T]()*len(s.matrix.Data) + frame.TrailerSize
}
