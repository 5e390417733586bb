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

// rows holds rows of codes of some bits in a slab. Element i of a row stands for
//
//	scale·(2c − (2^bits − 1)) + 2^(bits+11)·δ
//
// with its code c and the scale of the row. The lowest 16 bits of the scale are an integer between
// ±(2¹⁵ − 1), the zero point, and δ is what the zero point adds to the scale.
//
// Package scan knows codes of 4 and 8 bits, of which a row has so many words. Codes of 16 bits are
// two planes of 8 bits, the upper bits first. Codes of 3 bits become codes of 4 bits before package
// scan reads them.
type rows struct {
	bits, order  int
	width, words int
	three        bool  // whether planes are groups of 3 bits in package scan
	least        uint8 // the code of package scan for the code 0
	keys         bool  // of the tokens
	planes       [][]uint64
	scales       []float32
}

// widthOf returns the bits of codes of so many bits in package scan.
func widthOf(bits int) int { return max(4, min(bits, 8)) }

// Takes reports whether there are codes of so many bits.
func Takes(bits int) bool { return slices.Contains([]int{3, 4, 8, 16}, bits) }

func newRows[T dense.Float](s *slab[T], bits, order, tokens, all int) rows {
	r := rows{bits: bits, order: order, width: widthOf(bits), three: bits == 3}
	r.words = scan.Words(order, r.width)
	words, together := r.words, tokens
	if r.three {
		words, together, r.least = scan.ThreeWords(r.words), scan.GroupRows, 4
	}
	for range max(bits/8, 1) {
		r.planes = append(r.planes, newColumn[uint64](s, words, together, all).data)
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

func (r *rows) fetch(row int) {
	for _, codes := range r.planes {
		if r.three {
			scan.FetchThree(r.group(codes, row), r.words, row%scan.GroupRows)
		} else {
			cache.Fetch(codes[row*r.words:][:r.words])
		}
	}
	cache.Fetch(r.scales[row:][:1])
}

// group returns the group of codes of 3 bits with a row, and all groups after it.
func (r *rows) group(codes []uint64, row int) []uint64 {
	return codes[row/scan.GroupRows*scan.ThreeWords(r.words):]
}

// put writes a row of a plane. take reads it.
func (r *rows) put(plane, at int, row []uint64) {
	if codes := r.planes[plane]; r.three {
		scan.PutThree(r.group(codes, at), row, at%scan.GroupRows)
	} else {
		copy(codes[at*r.words:], row)
	}
}

func (r *rows) take(row []uint64, plane, at int) {
	if codes := r.planes[plane]; r.three {
		scan.TakeThree(row, r.group(codes, at), at%scan.GroupRows)
	} else {
		copy(row, codes[at*r.words:])
	}
}

// each calls f with n rows of a plane for package scan, from row at on: with all at once, or with
// multiples of scan.GroupRows, from row at + first on, in memory that the first cache holds.
func (r *rows) each(memory *[]uint64, plane, at, n int, f func(codes []uint64, first, n int)) {
	codes := r.planes[plane]
	if !r.three {
		f(codes[at*r.words:], 0, n)
		return
	}
	const words = 1 << 11
	most, in := max(words/(r.words*scan.GroupRows), 1)*scan.GroupRows, at%scan.GroupRows
	for first := 0; first < n; first += most {
		some := min(most, n-first)
		groups := (in + some + scan.GroupRows - 1) / scan.GroupRows
		*memory = scratch.Resize(*memory, groups*scan.GroupRows*r.words)
		scan.WidenThree(*memory, r.group(codes, at+first), groups, r.words)
		f((*memory)[in*r.words:], first, some)
	}
}

// lift returns the factor of δ. Elements are at most largest times the scale.
func (r *rows) lift() float32    { return float32(int(1) << (r.bits + 11)) }
func (r *rows) largest() float32 { return float32(int(9) << r.bits) }

type coder struct {
	codes   []uint16
	part    []uint8
	words   []uint64
	decoded []float64
}

func (c *coder) pack(r *rows, at int) {
	c.part, c.words = scratch.Resize(c.part, len(c.codes)), scratch.Resize(c.words, r.words)
	for i := range r.planes {
		for l, x := range c.codes {
			c.part[l] = uint8(x>>(8*(len(r.planes)-1-i))) + r.least
		}
		scan.Pack(c.words, c.part, r.width)
		r.put(i, at, c.words)
	}
}

func (c *coder) unpack(r *rows, at, n int) {
	c.codes, c.part, c.words = scratch.Resize(c.codes, n), scratch.Resize(c.part, n), scratch.Resize(c.words, r.words)
	clear(c.codes)
	for i := range r.planes {
		r.take(c.words, i, at)
		scan.Unpack(c.part, c.words, r.width)
		for l, x := range c.part {
			c.codes[l] = c.codes[l]<<8 | uint16(x-r.least)
		}
	}
}

// round writes codes of x into row at, and the elements that the row stands for into c.decoded. The
// least and the largest element are multiples of the scale apart from rounding of the zero point.
// round returns false if float32 has no such scale.
func (c *coder) round(r *rows, at int, x []float64) bool {
	if r.three {
		return c.fit(r, at, x)
	}
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

// fit is round for codes of 3 bits. Of some grids around zero it takes the one whose codes have the
// largest cosine to x. With the odd numbers c of the codes, keys have the scale ‖x‖²/cᵀx, with
// which products are unbiased over rotations, and values the scale cᵀx/‖c‖² of the least error.
func (c *coder) fit(r *rows, at int, x []float64) bool {
	peak, norm := 0.0, 0.0
	for _, v := range x {
		peak, norm = max(peak, math.Abs(v)), norm+float64(v*v)
	}
	if !(peak < math.MaxFloat32/64) || peak < 0x1p-120 && peak > 0 {
		return false
	}
	var best, least, step float64
	for share := 0.45; share < 1.2 && peak > 0; share += 0.1 {
		perStep := 3.5 / (share * peak)
		var product, squares float64
		for _, v := range x {
			level := float64(2*codeOf(float64(v*perStep)) - 7)
			product, squares = product+float64(level*v), squares+float64(level*level)
		}
		if product*product*least >= best*best*squares {
			best, least, step = product, squares, perStep
		}
	}
	scale := best / max(least, 1)
	if r.keys && peak > 0 {
		scale = norm / best
	}
	r.scales[at] = math.Float32frombits((math.Float32bits(float32(scale)) + 1<<15) &^ 0xffff)
	c.codes, c.decoded = scratch.Resize(c.codes, len(x)), scratch.Resize(c.decoded, len(x))
	for i, v := range x {
		code := codeOf(float64(v * step))
		c.codes[i], c.decoded[i] = uint16(code), float64(r.scales[at])*float64(2*code-7)
	}
	c.pack(r, at)
	return true
}

// codeOf returns the code of 3 bits for a number of steps.
func codeOf(steps float64) int { return max(0, min(int(steps+4), 7)) }

// read sets c.decoded to the elements that row at stands for.
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
