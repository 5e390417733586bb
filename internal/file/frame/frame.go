// Package frame encodes states and rotations as bytes. A frame has a name, a version
// and a checksum. A state also has a header with the number of tokens, and a fingerprint of the
// feature map.
package frame

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
)

// The frame is
//
//	 0  8 bytes  name
//	 8  uint16   version
//	10           body
//	    uint32   CRC-32C of all bytes before it
//
// with all numbers little endian.
const (
	nameSize    = 8
	bodyAt      = nameSize + 2
	TrailerSize = 4
)

// Castagnoli is the table of CRC-32C.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Begin appends the name, of 8 bytes, and the version to b.
func Begin(b []byte, name string, version uint16) []byte {
	return binary.LittleEndian.AppendUint16(append(b, name...), version)
}

// Seal appends the checksum of b[at:], where at is the length of b before Begin.
func Seal(b []byte, at int) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], Castagnoli))
}

// Open returns the body of the frame in data. It returns an error unless data has at least the
// given number of bytes, the given name and version, and a matching checksum. what names the value
// in errors.
func Open(data []byte, what, name string, version uint16, least int) (body []byte, err error) {
	if least = max(least, bodyAt+TrailerSize); len(data) < least {
		return nil, fmt.Errorf("%s of %d bytes, want at least %d", what, len(data), least)
	}
	if string(data[:nameSize]) != name {
		return nil, fmt.Errorf("%s begins with %q, want %q", what, data[:nameSize], name)
	}
	if v := binary.LittleEndian.Uint16(data[nameSize:]); v != version {
		return nil, fmt.Errorf("%s of version %d, want %d", what, v, version)
	}
	end := len(data) - TrailerSize
	if got, want := crc32.Checksum(data[:end], Castagnoli), binary.LittleEndian.Uint32(data[end:]); got != want {
		return nil, fmt.Errorf("%s has checksum %08x, but says %08x: it is damaged or cut off", what, got, want)
	}
	return data[bodyAt:end], nil
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
