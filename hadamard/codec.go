package hadamard

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// A Rotation as bytes, all numbers little endian:
//
//	 0  8 bytes  "rfhadama"
//	 8  uint16   version, 1
//	10  uint16   0
//	12  uint32   k, factors
//	16  uint64   d
//	24  uint64   d'
//	32  uint64   ⌈d'/64⌉ words for each factor: bit b of word j is 1 if coordinate 64j + b has −1
//	    uint32   CRC-32C of all that precedes it
const (
	rotationName    = "rfhadama"
	rotationVersion = 1
	rotationHead    = 22 // without name and version
)

// MarshalBinary encodes the rotation in 36 bytes and about one bit for each of the k·d' signs, with
// a version and a checksum. The bytes are the same on every platform, and later versions of this
// package read them. The bytes do not depend on T: a rotation of the other element type that reads
// them has the same signs.
//
// The error reports a zero Rotation, and more than 2³²−1 factors.
func (r *Rotation[T]) MarshalBinary() ([]byte, error) { return r.AppendBinary(nil) }

// AppendBinary appends the bytes of MarshalBinary to b.
func (r *Rotation[T]) AppendBinary(b []byte) ([]byte, error) {
	if n := len(r.factors); n == 0 || int64(n) > math.MaxUint32 {
		return b, fmt.Errorf("hadamard: a rotation of %d factors, want 1 to %d to write it", n, uint32(math.MaxUint32))
	}
	at := len(b)
	b = frame.Begin(b, rotationName, rotationVersion)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.factors)))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.in))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.plan.order()))
	for _, f := range r.factors {
		for lo := 0; lo < len(f); lo += 64 {
			var word uint64
			for j, v := range f[lo:min(lo+64, len(f))] {
				if v < 0 {
					word |= 1 << j
				}
			}
			b = binary.LittleEndian.AppendUint64(b, word)
		}
	}
	return frame.Seal(b, at), nil
}

// UnmarshalBinary replaces r by the rotation that data encodes. No other goroutine may use r during
// the call. The results of r have the bits of the encoded rotation's results. UnmarshalBinary
// allocates one T for each bit of data.
//
// The error reports bytes of another kind or version, a wrong checksum, and sizes that do not fit.
// After an error r is unchanged.
func (r *Rotation[T]) UnmarshalBinary(data []byte) error {
	body, err := frame.Open(data, "rotation", rotationName, rotationVersion, 0)
	if err != nil {
		return fmt.Errorf("hadamard: %w", err)
	}
	if len(body) < rotationHead || body[0] != 0 || body[1] != 0 {
		return fmt.Errorf("hadamard: a rotation in %d bytes without its head", len(data))
	}
	factors := uint64(binary.LittleEndian.Uint32(body[2:]))
	d, order := binary.LittleEndian.Uint64(body[6:]), binary.LittleEndian.Uint64(body[14:])
	body = body[rotationHead:]
	bytes := uint64(len(body))
	if order < 1 || order > min(8*bytes, math.MaxInt) || bytes%wordBytes(order) != 0 || bytes/wordBytes(order) != factors {
		return fmt.Errorf("hadamard: a rotation in %d bytes of %d factors of order %d", len(data), factors, order)
	}
	if !isOrder(int(order)) || d < 1 || d > order {
		return fmt.Errorf("hadamard: a rotation from R^%d into R^%d, want an order that is not below d", d, order)
	}
	if err := limit.Memory[T](int(factors), int(order)); err != nil {
		return fmt.Errorf("hadamard: a rotation of %d factors of order %d: %w", factors, order, err)
	}
	next := func() uint64 {
		word := binary.LittleEndian.Uint64(body)
		body = body[8:]
		return word
	}
	read := make([][]T, factors)
	for i := range read {
		last := body[wordBytes(order)-8:]
		if unused := binary.LittleEndian.Uint64(last) >> ((order-1)%64 + 1); unused != 0 {
			return fmt.Errorf("hadamard: a rotation into R^%d with signs beyond it", order)
		}
		read[i] = signs(int(order), scale[T](int(order), i, len(read)), next)
	}
	r.in, r.plan, r.factors = int(d), planOf("order", int(order)), read
	r.scratch = pool.Of[[]T]{} // its vectors may have another length
	return nil
}

// wordBytes returns the number of bytes of the signs of a factor.
func wordBytes(order uint64) uint64 { return (order + 63) / 64 * 8 }
