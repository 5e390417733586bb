package store

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
)

// Element i of a row with the code c stands for scale·(2c − (2^bits − 1)) + 2^(bits+11)·δ. The
// lowest 16 bits of the scale are an integer between ±(2¹⁵ − 1), the zero point, and δ is what the
// zero point adds to the scale. Codes of 16 bits are two planes of 8 bits, the upper bits first.
type rows struct {
	bits, order  int
	width, words int
	tokens       int // of a row
	planes       [][]uint64
	scales       []float32
}

func Takes(bits int) bool { return slices.Contains([]int{4, 8, 16}, bits) }

func newRows[T dense.Float](s *slab[T], bits, order, tokens, all int) rows {
	r := rows{bits: bits, order: order, width: min(bits, 8), tokens: tokens}
	r.words = scan.Words(order, r.width)
	for range max(bits/8, 1) {
		r.planes = append(r.planes, newColumn[uint64](s, r.words, tokens, all).data)
	}
	r.scales = newColumn[float32](s, 1, tokens, all).data
	return r
}

func (r *rows) shape(like *rows, n int) {
	planes := r.planes
	for len(planes) < len(like.planes) {
		planes = append(planes, nil)
	}
	scales := r.scales
	*r = rows{bits: like.bits, order: like.order, width: like.width, words: like.words, planes: planes[:len(like.planes)], scales: scratch.Resize(scales, n)}
	for i := range r.planes {
		r.planes[i] = scratch.Resize(r.planes[i], n*r.words)
	}
}

func (r *rows) at(row int) int {
	if r.tokens == 1 {
		return row
	}
	return row / Segment
}

func (r *rows) fetch(row int) {
	at := r.at(row) * r.words
	for _, codes := range r.planes {
		cache.Fetch(codes[at:][:r.words])
	}
}

// lift returns the factor of δ. Elements are at most largest times the scale.
func (r *rows) lift() float32    { return float32(int(1) << (r.bits + 11)) }
func (r *rows) largest() float32 { return float32(int(9) << r.bits) }

type coder struct {
	codes   []uint16
	part    []uint8
	decoded []float64
}

func (c *coder) pack(r *rows, at int) {
	c.part = scratch.Resize(c.part, len(c.codes))
	for i, codes := range r.planes {
		for l, x := range c.codes {
			c.part[l] = uint8(x >> (8 * (len(r.planes) - 1 - i)))
		}
		scan.Pack(codes[at*r.words:][:r.words], c.part, r.width)
	}
}

func (c *coder) unpack(r *rows, at, n int) {
	c.codes, c.part = scratch.Resize(c.codes, n), scratch.Resize(c.part, n)
	clear(c.codes)
	for _, codes := range r.planes {
		scan.Unpack(c.part, codes[at*r.words:][:r.words], r.width)
		for l, x := range c.part {
			c.codes[l] = c.codes[l]<<8 | uint16(x)
		}
	}
}

// round writes codes of x into row at, and the elements that the row stands for into c.decoded. The
// least and the largest element are multiples of the scale apart from rounding of the zero point.
// round returns false if float32 has no such scale.
func (c *coder) round(r *rows, at int, x []float64) bool {
	low, high := x[0], x[0] // rotation spreads NaN to all elements
	for _, v := range x {
		if v < low {
			low = v
		} else if v > high {
			high = v
		}
	}
	levels, lift := float64(int(1)<<r.bits), float64(r.lift())
	least := max((high-low)/(2*levels-2-lift*0x1p-23), math.Abs(low)/(2.75*levels))
	c.codes, c.decoded = scratch.Resize(c.codes, len(x)), scratch.Resize(c.decoded, len(x))
	if !(least < math.MaxFloat32/4) || least < 0x1p-126 && least > 0 {
		return false
	}
	scale := float32(least)
	for upper := (math.Float32bits(scale) + 1<<15) &^ 0xffff; least > 0; upper += 1 << 16 {
		if upper&(1<<23-1) == 0 {
			continue // numbers below a power of two have other distances
		}
		step := float64(math.Float32frombits(upper+1)) - float64(math.Float32frombits(upper))
		scale = math.Float32frombits(upper)
		for range 3 { // the zero point changes the scale by less than one part in 128
			zero := math.Floor((low + float64((levels-1)*float64(scale))) / (lift * step))
			scale = math.Float32frombits(uint32(int(upper) + int(max(-1<<15+1, min(zero, 1<<15-1)))))
		}
		if float64(scale) >= least {
			break
		}
	}
	r.scales[at] = scale
	step, middle := 2*float64(scale), lift*float64(scan.Zero(scale))
	low, perStep := middle-float64((levels-1)*float64(scale)), 0.0
	if scale != 0 {
		perStep = 1 / step
	}
	for i, v := range x {
		code := max(0, min(int(float64((v-middle)*perStep)+levels/2), 1<<r.bits-1))
		c.codes[i] = uint16(code)
		c.decoded[i] = low + float64(step*float64(code))
	}
	c.pack(r, at)
	return true
}

func (c *coder) read(r *rows, at int) {
	scale := float64(r.scales[at])
	c.unpack(r, at, r.order)
	c.decoded = scratch.Resize(c.decoded, r.order)
	middle, odd := float64(r.lift()*scan.Zero(r.scales[at])), 1<<r.bits-1
	for i, x := range c.codes {
		c.decoded[i] = middle + float64(scale*float64(2*int(x)-odd))
	}
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

func (r *rows) oddCodes() (nan, zero int) {
	nan = 1<<r.bits - 1
	return nan, (nan - 3) / 2
}

func roundOdd[T dense.Float](c *coder, r *rows, at int, x []T) {
	nan, zero := r.oddCodes()
	var peak float64
	for _, v := range x {
		if v-v == 0 {
			peak = max(peak, math.Abs(float64(v)))
		}
	}
	fraction, power := math.Frexp(peak)
	_, more := math.Frexp(fraction / float64(zero))
	power += more
	c.codes = scratch.Resize(c.codes, len(x))
	for i, v := range x {
		switch v := float64(v); {
		case v != v:
			c.codes[i] = uint16(nan)
		case v > math.MaxFloat64:
			c.codes[i] = uint16(nan - 1)
		case v < -math.MaxFloat64:
			c.codes[i] = uint16(nan - 2)
		default:
			c.codes[i] = uint16(int(math.Round(math.Ldexp(v, -power))) + zero)
		}
	}
	c.pack(r, at)
	r.scales[at] = math.Float32frombits(quiet | uint32(power+noPowers)&powers)
}

func readOdd[T dense.Float](c *coder, r *rows, at int, x []T) {
	nan, zero := r.oddCodes()
	power := int(math.Float32bits(r.scales[at])&powers) - noPowers
	c.unpack(r, at, len(x))
	for i, code := range c.codes {
		switch int(code) {
		case nan:
			x[i] = T(math.NaN())
		case nan - 1:
			x[i] = T(math.Inf(1))
		case nan - 2:
			x[i] = T(math.Inf(-1))
		default:
			x[i] = coded.Finite(T(math.Ldexp(float64(int(code)-zero), power)))
		}
	}
}
