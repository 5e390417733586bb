// Package half converts between float32 or float64 and two 16-bit formats: binary16 of IEEE 754,
// which PyTorch calls float16, and bfloat16.
//
//	format     exponent   fraction   largest   smallest normal   unit roundoff
//	Float16    5 bits     10 bits    65504     2⁻¹⁴              2⁻¹¹
//	BFloat16   8 bits     7 bits     3.4e38    2⁻¹²⁶             2⁻⁸
//
// This module does not compute in numbers of 16 bits: Decode numbers, and Encode the results.
//
//	k := dense.TensorOf(b, h, l, d, half.Decode[float32](nil, stored)) // stored is a []half.Float16
//	out := half.Encode[half.Float16](nil, r.Out.Data)
package half

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// Float16 holds the bits of a number of IEEE 754 binary16: a sign, 5 bits of exponent e and 10 bits
// of fraction f, with the value ±2^(e−15)·(1 + f/2¹⁰) for 0 < e < 31, ±2⁻²⁴·f for e = 0, and for e
// = 31 ±Inf if f is 0 and NaN if not.
type Float16 uint16

// BFloat16 holds the upper 16 bits of a float32: sign, exponent and 7 bits of fraction.
type BFloat16 uint16

// Number is the set of the two 16-bit formats Float16 and BFloat16.
type Number interface{ Float16 | BFloat16 }

// Decode writes the exact values of the 16-bit numbers src into dst and returns dst; a nil dst is
// allocated. Decode keeps the sign and fraction of NaN, and panics if dst and src have different
// lengths, unless dst is nil.
func Decode[T dense.Float, H Number](dst []T, src []H) []T {
	dst = ensure(dst, len(src))
	switch src := any(src).(type) {
	case []Float16:
		for i, h := range src {
			dst[i] = widened[T](h.Float32())
		}
	case []BFloat16:
		for i, h := range src {
			dst[i] = widened[T](h.Float32())
		}
	}
	return dst
}

// Encode writes the numbers of the 16-bit format H that are nearest to the numbers of src, ties to
// even, into dst and returns dst; a nil dst is allocated. Encode rounds float64 once, not by way of
// float32. Numbers near 0 become multiples of the smallest subnormal number, with their sign.
// Numbers beyond the largest finite number of format H by half a unit of the last place or more
// become ±Inf, and NaN becomes NaN of equal sign. Encode panics if dst and src have different
// lengths, unless dst is nil.
func Encode[H Number, T dense.Float](dst []H, src []T) []H {
	dst = ensure(dst, len(src))
	switch dst := any(dst).(type) {
	case []Float16:
		for i, x := range src {
			dst[i] = Float16(nearest(widest(x), 10, 5))
		}
	case []BFloat16:
		for i, x := range src {
			dst[i] = BFloat16(nearest(widest(x), 7, 8))
		}
	}
	return dst
}

// Some processors, such as riscv64, drop the sign and the fraction of a NaN that they convert.
func widened[T dense.Float](x float32) T {
	if x == x {
		return T(x)
	}
	var v T
	switch v := any(&v).(type) {
	case *float32:
		*v = x
	case *float64:
		*v = widestNaN(x)
	}
	return v
}

func widest[T dense.Float](x T) float64 {
	if x == x {
		return float64(x)
	}
	if x, ok := any(x).(float32); ok {
		return widestNaN(x)
	}
	return float64(x)
}

func widestNaN(x float32) float64 {
	const exponent = 0x7ff << 52
	bits := uint64(math.Float32bits(x))
	return math.Float64frombits(bits>>31<<63 | exponent | bits<<41>>12)
}

func ensure[E any](dst []E, n int) []E {
	if dst == nil {
		return make([]E, n)
	}
	if len(dst) != n {
		panic(fmt.Sprintf("half: dst has length %d, src has length %d", len(dst), n))
	}
	return dst
}

// Float32 converts h to float32, exactly.
func (h Float16) Float32() float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31:
		exponent = 255
	default:
		exponent += 127 - 15
	}
	return math.Float32frombits(sign | exponent<<23 | fraction<<13)
}

// Float32 converts h to float32, exactly.
func (h BFloat16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// nearest rounds to the format with the given bits of fraction and of exponent.
func nearest(x float64, fraction, exponent int) uint16 {
	bits := math.Float64bits(x)
	sign, magnitude := uint16(bits>>63)<<15, bits&^(1<<63)
	bias := 1<<(exponent-1) - 1
	infinite := uint64(1<<exponent-1) << fraction
	switch {
	case magnitude > 0x7ff<<52: // NaN keeps its upper bits, and one of them is set
		return sign | uint16(infinite|magnitude<<12>>(64-fraction)|1<<(fraction-1))
	case magnitude == 0x7ff<<52:
		return sign | uint16(infinite)
	}
	shift := 52 - fraction
	if e := int(magnitude>>52) - 1023; e < 1-bias {
		// Subnormal numbers are multiples of the smallest one, 2^(1−bias−fraction).
		shift += 1 - bias - e
		if shift > 54 {
			return sign
		}
		magnitude = magnitude&(1<<52-1) | 1<<52
	} else {
		magnitude -= uint64(1023-bias) << 52
	}
	half := uint64(1) << (shift - 1)
	rounded := (magnitude + half - 1 + magnitude>>shift&1) >> shift
	return sign | uint16(min(rounded, infinite))
}
