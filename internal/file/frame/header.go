package frame

import (
	"encoding/binary"
	"fmt"
)

// A state as bytes is a frame that begins with a header, all numbers little endian:
//
//	 0  8 bytes  name
//	 8  uint16   version
//	10  uint8    bytes of an element, 4 or 8
//	11  uint8    flags
//	12  uint32   five words
//	32  uint64   tokens, at most MaxTokens
const (
	HeaderSize = 40
	words      = 5
)

// Header is the header of a state.
type Header struct {
	Name        string // 8 bytes
	Version     uint16
	ElementSize int
	Flags       byte
	FlagNames   string // the meaning of the flags, for errors
	Words       [words]Word
	Tokens      int
}

// Word is a number that must be equal in the bytes and in the state that reads them.
type Word struct {
	Name  string
	Value int
}

// Append appends the header to b.
func (h Header) Append(b []byte) []byte {
	b = append(Begin(b, h.Name, h.Version), byte(h.ElementSize), h.Flags)
	for _, w := range h.Words {
		b = binary.LittleEndian.AppendUint32(b, uint32(w.Value))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(h.Tokens))
}

// Open returns the number of tokens and the bytes between header and checksum. It returns an error
// unless the checksum matches, data has size bytes plus token bytes for each token, and the header
// equals h except for the number of tokens. Open allocates nothing.
func (h Header) Open(data []byte, size, token int) (tokens int, body []byte, err error) {
	if tokens, body, err = h.OpenAnySize(data); err == nil {
		err = CheckSize(len(data), size, token, tokens)
	}
	if err != nil {
		return 0, nil, err
	}
	return tokens, body, nil
}

// OpenAnySize is Open without a size, which the caller compares.
func (h Header) OpenAnySize(data []byte) (tokens int, body []byte, err error) {
	if _, err := Open(data, "state", h.Name, h.Version, HeaderSize+TrailerSize); err != nil {
		return 0, nil, err
	}
	if int(data[10]) != h.ElementSize {
		return 0, nil, fmt.Errorf("state of %d-byte elements, want %d", data[10], h.ElementSize)
	}
	if data[11] != h.Flags {
		return 0, nil, fmt.Errorf("state with flags %#x, want %#x (%s)", data[11], h.Flags, h.FlagNames)
	}
	for i, w := range h.Words {
		if got := binary.LittleEndian.Uint32(data[12+4*i:]); got != uint32(w.Value) {
			return 0, nil, fmt.Errorf("state with %s = %d, want %d", w.Name, got, uint32(w.Value))
		}
	}
	n := binary.LittleEndian.Uint64(data[32:])
	if n > MaxTokens {
		return 0, nil, fmt.Errorf("state of %d tokens, want at most %d", n, MaxTokens)
	}
	return int(n), data[HeaderSize : len(data)-TrailerSize], nil
}

// CheckSize returns an error unless n bytes are size bytes plus token bytes for each of some
// tokens.
func CheckSize(n, size, token, tokens int) error {
	switch more := n - size; {
	case token == 0 && more != 0:
		return fmt.Errorf("state of %d bytes, want %d", n, size)
	case token > 0 && (more < 0 || more%token != 0 || more/token != tokens): // a product may overflow
		return fmt.Errorf("state of %d bytes, want %d and %d for each of %d tokens", n, size, token, tokens)
	}
	return nil
}
