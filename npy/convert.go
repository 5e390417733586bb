package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
)

// convert converts r.bytes to dst. at is the index of the element that an error reports.
func convert[E dense.Element](r *Reader, dst []E) (at int, err error) {
	switch dst := any(dst).(type) {
	case []bool: // ReadFile has checked that the file has booleans
		for i := range dst {
			dst[i] = r.bytes[i] != 0
		}
	case []float32:
		return convertNumbers(r, dst, 24)
	case []float64:
		return convertNumbers(r, dst, 53)
	}
	return 0, nil
}

func convertNumbers[T dense.Float](r *Reader, dst []T, digits int) (at int, err error) {
	switch r.Type {
	case "float64":
		for i := range dst {
			dst[i] = T(math.Float64frombits(r.word(i)))
		}
	case "float32":
		for i := range dst {
			dst[i] = T(math.Float32frombits(uint32(r.word(i))))
		}
	case "float16":
		for i := range dst {
			dst[i] = T(half.Float16(r.word(i)).Float32())
		}
	case "bfloat16":
		for i := range dst {
			dst[i] = T(half.BFloat16(r.word(i)).Float32())
		}
	case "bool":
		for i := range dst {
			dst[i] = T(min(r.bytes[i], 1))
		}
	default:
		unused := 64 - 8*r.width
		for i := range dst {
			magnitude, sign := r.word(i), ""
			if r.Type[0] == 'i' && int64(magnitude<<unused) < 0 {
				magnitude, sign = -magnitude<<unused>>unused, "-"
			}
			if bits.Len64(magnitude)-bits.TrailingZeros64(magnitude) > digits {
				return i, fmt.Errorf("%s %s%d is not exact in %T", r.Type, sign, magnitude, dst[i])
			}
			if dst[i] = T(magnitude); sign != "" {
				dst[i] = -dst[i]
			}
		}
	}
	return 0, nil
}

func (r *Reader) word(i int) uint64 {
	b := r.bytes[i*r.width:]
	switch {
	case r.width == 8 && r.big:
		return binary.BigEndian.Uint64(b)
	case r.width == 8:
		return binary.LittleEndian.Uint64(b)
	case r.width == 4 && r.big:
		return uint64(binary.BigEndian.Uint32(b))
	case r.width == 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case r.width == 2 && r.big:
		return uint64(binary.BigEndian.Uint16(b))
	case r.width == 2:
		return uint64(binary.LittleEndian.Uint16(b))
	}
	return uint64(b[0])
}
