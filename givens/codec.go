package givens

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/planerot"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// A Product as bytes, all numbers little endian:
//
//	 0  8 bytes  "rfgivens"
//	 8  uint16   version, 1
//	10  uint16   bytes of an element, 4 or 8
//	12  uint32   0
//	16  uint64   d
//	24  uint64   N
//	32           for each rotation, the first one first: int32 i, int32 j, element cos θ, element sin θ
//	    uint32   CRC-32C of all that precedes it
const (
	productName    = "rfgivens"
	productVersion = 1
	productHead    = 22 // without name and version
)

// MarshalBinary encodes the product in 36 bytes and 16 bytes a rotation (24 in float64), with a
// version and a checksum. The bytes are the same on every platform. Later versions of this package
// read them.
//
// The error reports a zero Product.
func (p *Product[T]) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// AppendBinary appends the bytes of MarshalBinary to b.
func (p *Product[T]) AppendBinary(b []byte) ([]byte, error) {
	if p.d == 0 {
		return b, fmt.Errorf("givens: a zero Product, want one of RandomProduct to write it")
	}
	at := len(b)
	b = frame.Begin(b, productName, productVersion)
	b = binary.LittleEndian.AppendUint16(b, uint16(frame.ElementSize[T]()))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(p.d))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(p.turns)))
	for _, g := range p.turns {
		b = binary.LittleEndian.AppendUint32(b, uint32(g.I))
		b = binary.LittleEndian.AppendUint32(b, uint32(g.J))
		b = frame.AppendElements(b, []T{g.Cos, g.Sin})
	}
	return frame.Seal(b, at), nil
}

// UnmarshalBinary replaces p by the product that data encodes. No other goroutine may use p during
// the call. The results of p have the bits of the encoded product's results. p takes as much memory
// as data.
//
// The number of bytes does not limit the dimension d, because some axes may be in no rotation. If
// you do not trust the bytes, compare Dims with the d that you expect before you allocate vectors.
//
// The error reports bytes of another kind, version or element type, a wrong checksum, sizes that do
// not fit, a d whose vectors take more than 2⁴⁰ bytes, axes that are equal or not below d, and
// pairs that are not the cosine and the sine of an angle. After an error p is unchanged.
func (p *Product[T]) UnmarshalBinary(data []byte) error {
	body, err := frame.Open(data, "product", productName, productVersion, 0)
	if err != nil {
		return fmt.Errorf("givens: %w", err)
	}
	if len(body) < productHead {
		return fmt.Errorf("givens: a product in %d bytes without its head", len(data))
	}
	size := frame.ElementSize[T]()
	if got := int(binary.LittleEndian.Uint16(body)); got != size {
		return fmt.Errorf("givens: a product of %d-byte elements, want %d", got, size)
	}
	zero, d, n := binary.LittleEndian.Uint32(body[2:]), binary.LittleEndian.Uint64(body[6:]), binary.LittleEndian.Uint64(body[14:])
	body = body[productHead:]
	turn := 8 + 2*size
	if zero != 0 || len(body)%turn != 0 || uint64(len(body)/turn) != n {
		return fmt.Errorf("givens: a product in %d bytes of %d rotations", len(data), n)
	}
	if d < 1 || d > math.MaxInt32 {
		return fmt.Errorf("givens: a product of dimension %d, want 1 to %d", d, math.MaxInt32)
	}
	if err := limit.Memory[T](int(d)); err != nil {
		return fmt.Errorf("givens: a product of dimension %d: %w", d, err)
	}
	if err := limit.Memory[planerot.Turn[T]](int(n)); err != nil {
		return fmt.Errorf("givens: a product of %d rotations: %w", n, err)
	}
	turns := make([]planerot.Turn[T], n)
	var angle [2]T
	for k := range turns {
		i, j := binary.LittleEndian.Uint32(body), binary.LittleEndian.Uint32(body[4:])
		body = frame.ReadElements(angle[:], body[8:])
		cos, sin := angle[0], angle[1]
		if uint64(max(i, j)) >= d || i == j {
			return fmt.Errorf("givens: rotation %d of axes %d and %d, want two of %d", k, i, j, d)
		}
		// Written so that NaN is an error.
		if c, s := float64(cos), float64(sin); !(math.Abs(float64(c*c)+float64(s*s)-1) < 1e-5) {
			return fmt.Errorf("givens: rotation %d has cosine %v and sine %v, which are of no angle", k, cos, sin)
		}
		turns[k] = planerot.Turn[T]{I: int32(i), J: int32(j), Cos: cos, Sin: sin}
	}
	p.d, p.turns = int(d), turns
	return nil
}
