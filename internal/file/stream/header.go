// Package stream holds what states of streams have in common: the count of their tokens, the
// frame of their bytes, and the marks that tell one draw of features from another.
package stream

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
)

// A state as bytes begins with a header, all numbers little endian:
//
//	 0  8 bytes  name
//	 8  uint16   version
//	10  uint8    bytes of an element, 4 or 8
//	11  uint8    flags
//	12  uint32   five words
//	32  uint64   tokens, at most MaxTokens
//
// and ends with the CRC-32C of all bytes before it, a uint32.
const (
	HeaderSize  = 40
	TrailerSize = 4
	words       = 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is the header of a state.
type Header struct {
	Name        string // 8 bytes
	Version     uint16
	ElementSize int
	Flags       byte
	FlagNames   string // what the flags mean, for errors
	Words       [words]Word
	Tokens      int
}

// Word is a number that has to be the same in the bytes and in the state that reads them.
type Word struct {
	Name  string
	Value int
}

// Append appends the header to b.
func (h Header) Append(b []byte) []byte {
	b = append(b, h.Name...)
	b = binary.LittleEndian.AppendUint16(b, h.Version)
	b = append(b, byte(h.ElementSize), h.Flags)
	for _, w := range h.Words {
		b = binary.LittleEndian.AppendUint32(b, uint32(w.Value))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(h.Tokens))
}

// Seal appends the checksum of b.
func Seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Open returns the number of tokens and the bytes between header and checksum. It returns an
// error unless data are undamaged, have size bytes and token more for each token, and have a header
// like h but for the number of tokens. What the header says is compared, never a size to allocate.
func (h Header) Open(data []byte, size, token int) (tokens int, body []byte, err error) {
	if len(data) < HeaderSize+TrailerSize {
		return 0, nil, fmt.Errorf("state of %d bytes, want at least %d", len(data), HeaderSize+TrailerSize)
	}
	if string(data[:8]) != h.Name {
		return 0, nil, fmt.Errorf("state begins with %q, want %q", data[:8], h.Name)
	}
	if v := binary.LittleEndian.Uint16(data[8:]); v != h.Version {
		return 0, nil, fmt.Errorf("state of version %d, want %d", v, h.Version)
	}
	end := len(data) - TrailerSize
	if got, want := crc32.Checksum(data[:end], castagnoli), binary.LittleEndian.Uint32(data[end:]); got != want {
		return 0, nil, fmt.Errorf("state has checksum %08x, but says %08x: it is damaged or cut off", got, want)
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
	if token == 0 && len(data) != size {
		return 0, nil, fmt.Errorf("state of %d bytes, want %d", len(data), size)
	}
	if n > MaxTokens {
		return 0, nil, fmt.Errorf("state of %d tokens, want at most %d", n, MaxTokens)
	}
	// A product with the number of tokens might overflow.
	if more := len(data) - size; token > 0 && (more < 0 || more%token != 0 || uint64(more/token) != n) {
		return 0, nil, fmt.Errorf("state of %d bytes, want %d and %d for each of %d tokens", len(data), size, token, n)
	}
	return int(n), data[HeaderSize:end], nil
}

// AppendElements appends the bits of x to b.
func AppendElements[T dense.Float](b []byte, x []T) []byte {
	for _, v := range x {
		if ElementSize[T]() == 4 {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(v)))
		}
	}
	return b
}

// ReadElements fills x from b and returns the bytes that follow.
func ReadElements[T dense.Float](x []T, b []byte) []byte {
	size := ElementSize[T]()
	for i := range x {
		if size == 4 {
			x[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		} else {
			x[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
	}
	return b[size*len(x):]
}

// ElementSize returns the number of bytes of a T.
func ElementSize[T dense.Float]() int {
	var x T
	return int(unsafe.Sizeof(x))
}
