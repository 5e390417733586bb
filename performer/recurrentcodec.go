package performer

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// A RecurrentState as bytes, all numbers little endian:
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
	recurrentMagic   = "rfrecur\x00"
	recurrentVersion = 1
	flagNormalised   = 16
)

var (
	_ encoding.BinaryMarshaler   = (*RecurrentState[float32])(nil)
	_ encoding.BinaryUnmarshaler = (*RecurrentState[float64])(nil)
	_ encoding.BinaryAppender    = (*RecurrentState[float64])(nil)
)

// MarshalBinary returns the state as bytes, which any architecture can read. A state
// that reads them goes on with the bits with which s does.
func (s *RecurrentState[T]) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// AppendBinary appends what MarshalBinary returns to b.
func (s *RecurrentState[T]) AppendBinary(b []byte) ([]byte, error) {
	if s.r == nil {
		return b, errNoRecurrence
	}
	b = slices.Grow(b, s.encodedSize())
	from := len(b)
	b = s.appendHeader(b)
	b = appendElements(b, s.r.fingerprint.of(s.r))
	b = appendElements(b, s.past)
	b = appendElements(b, s.sums.Data)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli)), nil
}

// UnmarshalBinary makes s what the state was whose bytes these are, whatever s held before. s
// is one of NewState, of a recurrence like that of that state, as Check has it, and of the
// same dimensions. It returns an error and leaves s as it is if anything differs or the bytes
// are no intact state. The checksum finds damage, not forgery; forged sums are at worst
// wrong.
func (s *RecurrentState[T]) UnmarshalBinary(data []byte) error {
	if s.r == nil {
		return errNoRecurrence
	}
	if err := s.checkEncoded(data); err != nil {
		return err
	}
	tokens, err := encodedTokens(data)
	if err != nil {
		return err
	}
	marks := make([]float64, 2*s.r.m)
	body := readElements(marks, data[stateHeader:])
	if err := s.r.checkMarks(marks); err != nil {
		return err
	}
	s.n = tokens
	readElements(s.sums.Data, readElements(s.past, body))
	return nil
}

// appendHeader appends what precedes the marks.
func (s *RecurrentState[T]) appendHeader(b []byte) []byte {
	flags := byte(s.r.opts.Rule)
	if s.r.opts.NormaliseKeys {
		flags |= flagNormalised
	}
	b = append(b, recurrentMagic...)
	b = binary.LittleEndian.AppendUint16(b, recurrentVersion)
	b = append(b, byte(elementSize[T]()), flags)
	for _, n := range []int{s.r.keyHeads, s.d, s.r.m, s.dv, s.r.heads} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(s.n))
}

// encodedSize returns the number of bytes of the state.
func (s *RecurrentState[T]) encodedSize() int {
	return stateHeader + 16*s.r.m + 8*len(s.past) + elementSize[T]()*len(s.sums.Data) + stateTrailer
}

// checkEncoded returns an error unless data are intact and of a state like s, as far
// as the header tells. What the header says is compared, never a size to allocate.
func (s *RecurrentState[T]) checkEncoded(data []byte) error {
	if err := checkSealed(data, recurrentMagic, recurrentVersion); err != nil {
		return err
	}
	own := s.appendHeader(make([]byte, 0, stateHeader))
	if data[10] != own[10] {
		return fmt.Errorf("performer: state of %d-byte elements, want %d", data[10], own[10])
	}
	if data[11] != own[11] {
		return fmt.Errorf("performer: state with flags %#x, want %#x (the %v rule, 16 normalised keys)", data[11], own[11], s.r.opts.Rule)
	}
	if err := compareWords(data, own, "keyHeads", "d", "m", "dv", "heads"); err != nil {
		return err
	}
	if want := s.encodedSize(); len(data) != want {
		return fmt.Errorf("performer: state of %d bytes, want %d", len(data), want)
	}
	return nil
}

// checkSealed returns an error unless data begin as they should, are of this
// version, and have the checksum that they say.
func checkSealed(data []byte, magic string, version uint16) error {
	if len(data) < stateHeader+stateTrailer {
		return fmt.Errorf("performer: state of %d bytes, want at least %d", len(data), stateHeader+stateTrailer)
	}
	if string(data[:8]) != magic {
		return fmt.Errorf("performer: state begins with %q, want %q", data[:8], magic)
	}
	if v := binary.LittleEndian.Uint16(data[8:]); v != version {
		return fmt.Errorf("performer: state of version %d, want %d", v, version)
	}
	end := len(data) - stateTrailer
	if got, want := crc32.Checksum(data[:end], castagnoli), binary.LittleEndian.Uint32(data[end:]); got != want {
		return fmt.Errorf("performer: state has checksum %08x, but says %08x: it is damaged or cut off", got, want)
	}
	return nil
}

// compareWords returns an error unless the words from byte 12 on are those of own.
func compareWords(data, own []byte, names ...string) error {
	for i, name := range names {
		at := 12 + 4*i
		if got, want := binary.LittleEndian.Uint32(data[at:]), binary.LittleEndian.Uint32(own[at:]); got != want {
			return fmt.Errorf("performer: state with %s = %d, want %d", name, got, want)
		}
	}
	return nil
}
