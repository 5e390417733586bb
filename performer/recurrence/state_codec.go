package recurrence

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// A State as bytes, all numbers little endian:
//
//	 0  8 bytes  "rfrecur" and a zero
//	 8  uint16   version, 1
//	10  uint8    bytes of an element, 4 or 8
//	11  uint8    the rule, and 16 if keys are normalised
//	12  uint32   Hk, heads of keys
//	16  uint32   d, dimension of queries and keys
//	20  uint32   m, features, 0 without maps
//	24  uint32   dv, dimension of values
//	28  uint32   H, heads of queries
//	32  uint64   tokens
//	40  float64  marks of the m features of queries, then of those of keys
//
// then, for the gated rule, Hk·dk float64, the sums of decays; elements S, Hk·dk rows of dv;
// and at the end the CRC-32C of all that precedes it, a uint32.
const (
	stateName      = "rfrecur\x00"
	stateVersion   = 1
	flagNormalised = 16
)

func (s *state[T]) MarshalBinary() ([]byte, error) {
	b := s.header().Append(make([]byte, 0, s.encodedSize()))
	b = frame.AppendElements(b, s.r.marks())
	b = frame.AppendElements(b, s.past)
	b = frame.AppendElements(b, s.sums.Data)
	return frame.Seal(b, 0), nil
}

func (s *state[T]) UnmarshalBinary(data []byte) error {
	tokens, body, err := s.header().Open(data, s.encodedSize(), 0)
	if err != nil {
		return fmt.Errorf("recurrence: %w", err)
	}
	marks := make([]float64, 2*s.r.m)
	body = frame.ReadElements(marks, body)
	if err := s.r.checkMarks(marks); err != nil {
		return err
	}
	s.n = tokens
	frame.ReadElements(s.sums.Data, frame.ReadElements(s.past, body))
	return nil
}

// header returns what the bytes begin with.
func (s *state[T]) header() frame.Header {
	flags := byte(s.r.opts.Rule)
	if s.r.opts.NormaliseKeys {
		flags |= flagNormalised
	}
	return frame.Header{
		Name: stateName, Version: stateVersion, ElementSize: frame.ElementSize[T](),
		Flags: flags, FlagNames: fmt.Sprintf("the %v rule, 16 normalised keys", s.r.opts.Rule),
		Words: [...]frame.Word{
			{Name: "keyHeads", Value: s.r.keyHeads}, {Name: "d", Value: s.d}, {Name: "m", Value: s.r.m},
			{Name: "dv", Value: s.dv}, {Name: "heads", Value: s.r.heads},
		},
		Tokens: s.n,
	}
}

// encodedSize returns the number of bytes of the state.
func (s *state[T]) encodedSize() int {
	return frame.HeaderSize + 16*s.r.m + 8*len(s.past) + frame.ElementSize[T]()*len(s.sums.Data) + frame.TrailerSize
}
