package quantise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/scan"
)

// A quantiser as bytes, all numbers little endian:
//
//	 0  8 bytes  "rfquant\x00"
//	 8  uint16   version, 1
//	10  uint8    scheme
//	11  uint8    bits
//	12  uint32   1 if the rotations were drawn, 0 if they are the caller's
//	16  uint64   d
//	24  uint64   d'
//	32  2 uint64 seed of the rotations, or 0
//	48  uint32   CRC-32C of all bytes before
const (
	quantiserName = "rfquant\x00"
	version       = 1
	quantiserSize = 52
	checksumSize  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MarshalBinary returns the quantiser as 52 bytes: options, dimensions and the seed of the
// rotations, from which UnmarshalBinary draws the same rotations in every later version and on
// every platform. Rotations of the caller are not among the bytes; UnmarshalBinary returns an error
// for such a quantiser. The error reports a zero Quantiser.
func (q *Quantiser[T]) MarshalBinary() ([]byte, error) {
	if q.rotations == nil {
		return nil, errZero
	}
	b := append(make([]byte, 0, quantiserSize), quantiserName...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = append(b, byte(q.options.Scheme), byte(q.options.Bits))
	var drawn uint32
	if q.drawn {
		drawn = 1
	}
	b = binary.LittleEndian.AppendUint32(b, drawn)
	for _, v := range []uint64{uint64(q.in), uint64(q.out), q.seed[0], q.seed[1]} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return seal(b), nil
}

// UnmarshalBinary makes a zero Quantiser the one that the bytes are of. It returns an error, and
// leaves q as it was, if q is in use already, if the bytes are not those of a quantiser, damaged or
// of another version, if they are of one over rotations of the caller, if d' is not the one of d, or
// if New would return an error. Time and memory are those of New, O(d'·Bits), which follow from d and
// not from the number of bytes.
func (q *Quantiser[T]) UnmarshalBinary(data []byte) error {
	if q.rotations != nil {
		return errors.New("quantise: the quantiser is in use, want a zero one")
	}
	h, err := headerOf(data)
	if err != nil {
		return err
	}
	r, err := drawn[T](h.d, h.options, h.seed)
	if err != nil {
		return err
	}
	q.options, q.in, q.out, q.rotations, q.seed, q.drawn = r.options, r.in, r.out, r.rotations, r.seed, r.drawn
	q.width, q.cells, q.edges, q.starts, q.levels, q.words = r.width, r.cells, r.edges, r.starts, r.levels, r.words
	q.unit, q.table = r.unit, r.table
	return nil
}

// header is what the bytes of a quantiser hold.
type header struct {
	options  Options
	d, order int
	seed     [2]uint64
}

// headerOf reads bytes of a quantiser without drawing anything.
func headerOf(data []byte) (header, error) {
	var h header
	if err := open(data, quantiserName, quantiserSize); err != nil {
		return h, err
	}
	if len(data) != quantiserSize {
		return h, fmt.Errorf("quantise: quantiser of %d bytes, want %d", len(data), quantiserSize)
	}
	if binary.LittleEndian.Uint32(data[12:]) != 1 {
		return h, errors.New("quantise: the quantiser has rotations of the caller, which the bytes do not hold: use NewRotated")
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	if word(16) > math.MaxInt {
		return h, fmt.Errorf("quantise: d = %d, want one that fits in an int", word(16))
	}
	options, err := Options{Scheme(data[10]), int(data[11])}.check()
	if err != nil {
		return h, err
	}
	h = header{options: options, d: int(word(16)), seed: [2]uint64{word(32), word(40)}}
	if h.order, err = orderOf(h.d); err != nil {
		return h, err
	}
	if uint64(h.order) != word(24) {
		return h, fmt.Errorf("quantise: d' = %d, want %d for d = %d", word(24), h.order, h.d)
	}
	return h, nil
}

// usedBits returns the bits of the words of a row in which its elements have their codes.
func usedBits(elements, words, width int) []uint64 {
	used, codes := make([]uint64, words), make([]uint8, elements)
	for i := range codes {
		codes[i] = uint8(1<<width - 1)
	}
	scan.Pack(used, codes, width)
	return used
}

// seal appends the checksum.
func seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// open checks name, version and checksum of data of at least size bytes.
func open(data []byte, name string, size int) error {
	if len(data) < size {
		return fmt.Errorf("quantise: %d bytes, want at least %d", len(data), size)
	}
	if string(data[:8]) != name {
		return fmt.Errorf("quantise: bytes begin with %q, want %q", data[:8], name)
	}
	if v := binary.LittleEndian.Uint16(data[8:]); v != version {
		return fmt.Errorf("quantise: version %d, want %d", v, version)
	}
	end := len(data) - checksumSize
	if got, want := crc32.Checksum(data[:end], castagnoli), binary.LittleEndian.Uint32(data[end:]); got != want {
		return fmt.Errorf("quantise: checksum %08x, but the bytes say %08x: they are damaged or cut off", got, want)
	}
	return nil
}
