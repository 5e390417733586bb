package caches

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
)

// encoding is a Memory that encodes the first tokens without codes. A piece is a head of keys.
type encoding[T dense.Float] Memory[T]

func (e *encoding[T]) Piece(h int) {
	s := (*Memory[T])(e)
	b := pool.Get[rows[T]](&rowsPool)
	for _, x := range [...]*store[T]{&s.keys, &s.values} {
		recent := x.recent[h*recentRoom*x.d:][:recentRoom*x.d]
		at := h*s.room + s.coded
		for i := range together {
			x.scales[at+i] = b.encode(x, x.codes[(at+i)*x.words:][:x.words], recent[i*x.d:][:x.d], s.bits)
		}
		copy(recent, recent[together*x.d:])
	}
	pool.Put(&rowsPool, b)
}

// rows is scratch memory for rows and their codes.
type rows[T dense.Float] struct {
	rotated []T
	codes   []uint8
}

var rowsPool pool.Pair[rows[float32], rows[float64]]

// encode writes the codes of x into row and returns the scale.
func (b *rows[T]) encode(s *store[T], row []uint64, x []T, bits int) (scale float32) {
	b.rotated = scratch.Resize(b.rotated, s.order)
	scale = scan.Encode(row, s.rotation.ApplyVec(b.rotated, x), bits)
	if scale != scale { // the rotation may overflow where x does not
		smaller := slices.Clone(x)
		vecmath.Scale(smaller, coded.Smaller)
		scale = scan.Encode(row, s.rotation.ApplyVec(b.rotated, smaller), bits) / coded.Smaller
	}
	if scale-scale != 0 || scale == 0 && !layout.IsZero(x) {
		return b.encodeOdd(row, x, bits)
	}
	return scale
}

// decode sets x to the elements that a row of codes stands for.
func (b *rows[T]) decode(s *store[T], x []T, row []uint64, scale float32, bits int) {
	if scale != scale {
		b.decodeOdd(x, row, scale, bits)
		return
	}
	b.rotated, b.codes = scratch.Resize(b.rotated, s.order), scratch.Resize(b.codes, s.order)
	scan.Unpack(b.codes, row, bits)
	odd := 1<<bits - 1
	for i, c := range b.codes {
		b.rotated[i] = T(2*int(c) - odd)
	}
	s.rotation.ApplyTransposedVec(x, b.rotated)
	for i, v := range x {
		x[i] = finite(v * T(scale))
	}
}

// finite returns x, or the largest number of its sign if x is infinite.
func finite[T dense.Float](x T) T {
	if x-x == 0 {
		return x
	}
	largest := math.MaxFloat64
	if T(largest)-T(largest) != 0 {
		largest = math.MaxFloat32
	}
	return T(math.Copysign(largest, float64(x)))
}

// An odd row has elements that are not finite, or a scale beyond the range of float32. It is not
// rotated. The largest three codes stand for NaN, +Inf and −Inf, and the others for multiples of a
// power of two, from −h to h for the code h of zero. The scale is NaN with the exponent of the
// power in its bits.
const (
	quiet    = 0x7fc00000
	powers   = 1<<12 - 1
	noPowers = 1 << 11 // the bits of 2⁰
)

// oddCodes returns the codes of NaN and of zero.
func oddCodes(bits int) (nan, zero int) {
	nan = 1<<bits - 1
	return nan, (nan - 3) / 2
}

// encodeOdd writes the codes of an odd row and returns the scale.
func (b *rows[T]) encodeOdd(row []uint64, x []T, bits int) (scale float32) {
	nan, zero := oddCodes(bits)
	var peak float64
	for _, v := range x {
		if v-v == 0 {
			peak = max(peak, math.Abs(float64(v)))
		}
	}
	fraction, power := math.Frexp(peak)
	_, more := math.Frexp(fraction / float64(zero))
	power += more
	b.codes = scratch.Resize(b.codes, len(x))
	for i, v := range x {
		switch v := float64(v); {
		case v != v:
			b.codes[i] = uint8(nan)
		case v > math.MaxFloat64:
			b.codes[i] = uint8(nan - 1)
		case v < -math.MaxFloat64:
			b.codes[i] = uint8(nan - 2)
		default:
			b.codes[i] = uint8(int(math.Round(math.Ldexp(v, -power))) + zero)
		}
	}
	scan.Pack(row, b.codes, bits)
	return math.Float32frombits(quiet | uint32(power+noPowers)&powers)
}

// decodeOdd sets x to the elements that the codes of an odd row stand for.
func (b *rows[T]) decodeOdd(x []T, row []uint64, scale float32, bits int) {
	nan, zero := oddCodes(bits)
	power := int(math.Float32bits(scale)&powers) - noPowers
	b.codes = scratch.Resize(b.codes, len(x))
	scan.Unpack(b.codes, row, bits)
	for i, c := range b.codes {
		switch int(c) {
		case nan:
			x[i] = T(math.NaN())
		case nan - 1:
			x[i] = T(math.Inf(1))
		case nan - 2:
			x[i] = T(math.Inf(-1))
		default:
			x[i] = finite(T(math.Ldexp(float64(int(c)-zero), power)))
		}
	}
}
