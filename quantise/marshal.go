package quantise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
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
//
// Codes as bytes:
//
//	 0  8 bytes  "rfcodes\x00"
//	 8  uint16   version, 1
//	10  6 bytes  0
//	16  uint64   rows
//	24  52 bytes the quantiser
//	76  float32  norms, then ratios if the scheme has them, then the uint64 words of all rows
//	    uint32   CRC-32C of all bytes before
const (
	quantiserName, codesName = "rfquant\x00", "rfcodes\x00"

	version       = 1
	quantiserSize = 52
	codesHeader   = 24 + quantiserSize
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

// MarshalBinary returns the codes, and what MarshalBinary of their quantiser returns, as bytes. The
// error reports zero Codes.
func (c *Codes[T]) MarshalBinary() ([]byte, error) {
	if c.q == nil {
		return nil, errZero
	}
	quantiser, err := c.q.MarshalBinary()
	if err != nil {
		return nil, err
	}
	all := c.rows()
	b := append(make([]byte, 0, codesHeader+all.n*c.q.rowBytes()+checksumSize), codesName...)
	b = append(binary.LittleEndian.AppendUint16(b, version), 0, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(all.n))
	b = append(b, quantiser...)
	all.each(0, all.n, func(from *block, lo, hi int) { b = appendNumbers(b, from.norms[lo:hi]) })
	if c.q.options.hasRatios() {
		all.each(0, all.n, func(from *block, lo, hi int) { b = appendNumbers(b, from.ratios[lo:hi]) })
	}
	all.each(0, all.n, func(from *block, lo, hi int) {
		for _, w := range from.words[lo*c.q.words : hi*c.q.words] {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	})
	return seal(b), nil
}

func appendNumbers(b []byte, list []float32) []byte {
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// UnmarshalBinary replaces c by the codes that the bytes hold. If c is zero, the quantiser comes
// from the bytes as well. If c comes from Encode, its quantiser has to be the same: options,
// dimensions and seed are compared. That is the way for quantisers over rotations of the caller,
// who knows the rotations. Other goroutines may use c at the same time only if it comes from Encode.
//
// It returns an error, and leaves c as it was, if the bytes are not those of codes, damaged or of
// another version, if a norm is out of range, if a row has codes beyond d', if the quantisers differ,
// or if UnmarshalBinary of the quantiser returns one. The number of bytes is compared with that of
// the rows before anything is drawn.
func (c *Codes[T]) UnmarshalBinary(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := open(data, codesName, codesHeader+checksumSize); err != nil {
		return err
	}
	own := data[24:codesHeader]
	q := c.q
	var options Options
	var elements int
	if q == nil {
		h, err := headerOf(own)
		if err != nil {
			return err
		}
		options, elements = h.options, h.order*h.options.rotations()
	} else {
		if want, err := q.MarshalBinary(); err != nil || string(want) != string(own) {
			return errors.New("quantise: the codes are of another quantiser")
		}
		options, elements = q.options, q.elements()
	}
	n := binary.LittleEndian.Uint64(data[16:])
	body := data[codesHeader : len(data)-checksumSize]
	words := scan.Words(elements, options.width())
	row := 4 + 8*words
	if options.hasRatios() {
		row += 4
	}
	if len(body)%row != 0 || uint64(len(body)/row) != n {
		return fmt.Errorf("quantise: codes of %d bytes, want %d for each of %d rows", len(body), row, n)
	}
	if err := limit.Memory[byte](len(body)); err != nil {
		return fmt.Errorf("quantise: %d rows: %w", n, err)
	}
	read := newBlock(0, int(n), words, options.hasRatios())
	for k, list := range [][]float32{read.norms, read.ratios} {
		most := [...]float32{0x1p101, 0x1p24}[k] // what Append writes is smaller
		for i := range list {
			v := math.Float32frombits(binary.LittleEndian.Uint32(body))
			if !(v >= 0 && v <= most) {
				return fmt.Errorf("quantise: row %d has the norm or ratio %v", i, v)
			}
			list[i] = v
			body = body[4:]
		}
	}
	used := usedBits(elements, words, options.width())
	for i := range read.words {
		w := binary.LittleEndian.Uint64(body)
		if w&^used[i%words] != 0 {
			return fmt.Errorf("quantise: row %d has codes beyond its %d", i/words, elements)
		}
		read.words[i] = w
		body = body[8:]
	}
	if q == nil {
		q = new(Quantiser[T])
		if err := q.UnmarshalBinary(own); err != nil {
			return err
		}
		c.q = q
	}
	c.now.Store(&rows{int(n), []*block{read}})
	return nil
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
