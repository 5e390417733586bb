// Package sealed frames the bytes of a rotation: a name and a version at the beginning, a checksum
// at the end.
package sealed

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
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
	nameSize = 8
	bodyAt   = nameSize + 2
	tailSize = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Begin appends the name, of 8 bytes, and the version to b.
func Begin(b []byte, name string, version uint16) []byte {
	return binary.LittleEndian.AppendUint16(append(b, name...), version)
}

// Seal appends the checksum of b from the byte at on, where Begin began.
func Seal(b []byte, at int) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// Open returns the body of data. It returns an error unless data have this name, this version and
// an intact checksum.
func Open(data []byte, name string, version uint16) (body []byte, err error) {
	if len(data) < bodyAt+tailSize {
		return nil, fmt.Errorf("%d bytes, want at least %d", len(data), bodyAt+tailSize)
	}
	if string(data[:nameSize]) != name {
		return nil, fmt.Errorf("bytes that begin with %q, want %q", data[:nameSize], name)
	}
	if v := binary.LittleEndian.Uint16(data[nameSize:]); v != version {
		return nil, fmt.Errorf("bytes of version %d, want %d", v, version)
	}
	end := len(data) - tailSize
	if got, want := crc32.Checksum(data[:end], castagnoli), binary.LittleEndian.Uint32(data[end:]); got != want {
		return nil, fmt.Errorf("bytes with checksum %08x that say %08x: they are damaged or cut off", got, want)
	}
	return data[bodyAt:end], nil
}
