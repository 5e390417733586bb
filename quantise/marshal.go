package quantise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// A quantiser as bytes, all numbers little endian:
//
//	 0  8 bytes  "rfquant\x00"
//	 8  uint16   version, 1
//	10  uint8    scheme
//	11  uint8    bits
//	12  uint32   drawnFlag if New drew the rotations, plus centredFlag with centres, plus stagedFlag
//	             with TwoStage
//	16  uint64   d
//	24  uint64   d'
//	32  2 uint64 seed of the rotations, or 0
//	48           with centres: their number, a uint64, and the centres as float64
//	    uint32   CRC-32C of all bytes before
const (
	quantiserName = "rfquant\x00"
	version       = 1
	quantiserSize = 52 // without centres

	drawnFlag, centredFlag, stagedFlag = 1, 2, 4
)

func (q *quantiser[T]) MarshalBinary() ([]byte, error) {
	b := frame.Begin(make([]byte, 0, quantiserSize), quantiserName, version)
	b = append(b, byte(q.options.Scheme), byte(q.options.Bits))
	var flags uint32
	if q.drawn {
		flags |= drawnFlag
	}
	if q.centres != nil {
		flags |= centredFlag
	}
	if q.options.TwoStage {
		flags |= stagedFlag
	}
	b = binary.LittleEndian.AppendUint32(b, flags)
	for _, v := range []uint64{uint64(q.in), uint64(q.out), q.seed[0], q.seed[1]} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	if q.centres != nil {
		b = slices.Grow(b, 8+8*q.in*(len(q.centres)-1)+frame.TrailerSize)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(q.centres)-1))
		for _, c := range q.centres[1:] {
			for _, v := range c.vector {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(v)))
			}
		}
	}
	return frame.Seal(b, 0), nil
}

// header is the content of the bytes of a quantiser.
type header struct {
	options  Options
	d, order int
	seed     [2]uint64
	centres  int
	vectors  []byte // the bytes of the centres
}

// headerOf reads and checks the bytes of a quantiser, and does not draw its rotations.
func headerOf(data []byte) (header, error) {
	var h header
	if _, err := frame.Open(data, "quantiser", quantiserName, version, quantiserSize); err != nil {
		return h, fmt.Errorf("quantise: %w", err)
	}
	flags := binary.LittleEndian.Uint32(data[12:])
	if flags > drawnFlag|centredFlag|stagedFlag {
		return h, fmt.Errorf("quantise: flags %#x, want up to %#x", flags, drawnFlag|centredFlag|stagedFlag)
	}
	if flags&drawnFlag == 0 {
		return h, errors.New("quantise: the quantiser has rotations of the caller, which the bytes do not hold: use NewRotated")
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	if word(16) > math.MaxInt {
		return h, fmt.Errorf("quantise: d = %d, want one that fits in an int", word(16))
	}
	h = header{options: Options{Scheme(data[10]), int(data[11]), flags&stagedFlag != 0}, d: int(word(16)), seed: [2]uint64{word(32), word(40)}}
	if err := h.check(); err != nil {
		return h, err
	}
	if uint64(h.order) != word(24) {
		return h, fmt.Errorf("quantise: d' = %d, want %d for d = %d", word(24), h.order, h.d)
	}
	var err error
	h.centres, h.vectors, err = centresOf(data, h.d)
	return h, err
}

// check checks the options and d, and sets the order.
func (h *header) check() (err error) {
	if h.options, err = h.options.check(); err == nil {
		h.order, err = orderOf(h.d)
	}
	return err
}

// centresOf returns the number of centres in the bytes of a quantiser, and the bytes of these
// centres.
func centresOf(data []byte, d int) (int, []byte, error) {
	rest := data[quantiserSize-frame.TrailerSize : len(data)-frame.TrailerSize]
	if binary.LittleEndian.Uint32(data[12:])&centredFlag == 0 {
		if len(rest) > 0 {
			return 0, nil, fmt.Errorf("quantise: quantiser of %d bytes, want %d", len(data), quantiserSize)
		}
		return 0, nil, nil
	}
	if len(rest) < 8+8 {
		return 0, nil, fmt.Errorf("quantise: quantiser with centres of %d bytes", len(data))
	}
	n, vectors := binary.LittleEndian.Uint64(rest), rest[8:]
	if n < 1 || uint64(len(vectors))%8 != 0 || uint64(len(vectors)/8)%n != 0 || uint64(len(vectors)/8)/n != uint64(d) {
		return 0, nil, fmt.Errorf("quantise: %d centres of dimension %d in %d bytes", n, d, len(vectors))
	}
	return int(n), vectors, nil
}

// vectorsOf returns the centres of a header.
func vectorsOf[T dense.Float](h header) dense.Matrix[T] {
	m := dense.New[T](h.centres, h.d)
	for i := range m.Data {
		m.Data[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(h.vectors[8*i:])))
	}
	return m
}
