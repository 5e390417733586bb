// Package scalar converts the numbers of files to floats.
package scalar

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
)

// Floats sets x to the little-endian numbers in data, which has one for each element of x. The kind
// of the numbers is 'f' for float16, float32 or float64, 'b' for bfloat16 or bool, 'i' for integers
// and 'u' for unsigned integers. The error of Floats is that of an integer, the number at, that T
// does not represent exactly.
func Floats[T dense.Float](x []T, kind byte, data []byte) (at int, err error) {
	if len(x) == 0 {
		return 0, nil
	}
	width := len(data) / len(x)
	switch {
	case kind == 'f' && width == 8:
		for i := range x {
			x[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:])))
		}
	case kind == 'f' && width == 4:
		for i := range x {
			x[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
		}
	case kind == 'f':
		for i := range x {
			x[i] = T(half.Float16(binary.LittleEndian.Uint16(data[2*i:])).Float32())
		}
	case kind == 'b' && width == 2:
		for i := range x {
			x[i] = T(half.BFloat16(binary.LittleEndian.Uint16(data[2*i:])).Float32())
		}
	case kind == 'b':
		for i, b := range data {
			x[i] = T(min(b, 1))
		}
	default:
		return integers(x, kind == 'i', data)
	}
	return 0, nil
}

func integers[T dense.Float](x []T, signed bool, data []byte) (at int, err error) {
	digits := 24
	if _, double := any(x).([]float64); double {
		digits = 53
	}
	width := len(data) / len(x)
	for i := range x {
		magnitude, sign := uint64(0), ""
		switch width {
		case 8:
			magnitude = binary.LittleEndian.Uint64(data[8*i:])
		case 4:
			magnitude = uint64(binary.LittleEndian.Uint32(data[4*i:]))
		case 2:
			magnitude = uint64(binary.LittleEndian.Uint16(data[2*i:]))
		default:
			magnitude = uint64(data[i])
		}
		if unused := 64 - 8*width; signed && int64(magnitude<<unused) < 0 {
			magnitude, sign = -magnitude<<unused>>unused, "-"
		}
		if bits.Len64(magnitude)-bits.TrailingZeros64(magnitude) > digits {
			return i, fmt.Errorf("%s%d is not exact in %T", sign, magnitude, x[i])
		}
		if x[i] = T(magnitude); sign != "" {
			x[i] = -x[i]
		}
	}
	return 0, nil
}
