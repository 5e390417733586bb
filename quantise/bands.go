package quantise

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// spectrum is what Learn finds. A vector x has the coordinates y = D(x − mean), where the rows of D
// are the directions. Bands divide the coordinates.
type spectrum struct {
	Mean       []float64             // nil if nothing is subtracted; otherwise D·mean = 0
	Directions dense.Matrix[float32] `archive:"rotation"` // d'×d
	Bands      []band
}

// band is some coordinates whose codes have the same number of bits. Its directions are a uniformly
// random rotation of principal directions, unless it has no bits.
type band struct {
	Size, Bits int
	Step       float64 // the width of a cell
	Unit       float64 // levels are odd multiples of Unit
	Share      float64 // the mean of ‖y‖² in the band, over the rows of the sample
	Noise      float64 // the mean squared error along one direction of the band, likewise
	Weight     float64 // in the bound of the bias, which is the same for all rows
}

func (s *spectrum) check(d int) error {
	if s.Directions.Rows != learnedOrder(d) || s.Directions.Cols != d || s.Mean != nil && len(s.Mean) != d {
		return fmt.Errorf("quantise: %d×%d directions and a mean of %d elements for d = %d", s.Directions.Rows, s.Directions.Cols, len(s.Mean), d)
	}
	for i := range s.Directions.Rows {
		for _, v := range s.Directions.Row(i) {
			if !(math.Abs(float64(v)) <= 1.001) {
				return fmt.Errorf("quantise: direction %d has the element %v", i, v)
			}
		}
	}
	square := 0.0
	for _, v := range s.Mean {
		square += v * v
	}
	if s.Mean != nil && !(square >= leastMean*leastMean && square <= 1/(leastMean*leastMean)) {
		return fmt.Errorf("quantise: the mean has the norm %.3g, want from 2⁻²⁴ to 2²⁴", math.Sqrt(square))
	}
	const least, most = 0x1p-40, 0x1p40
	sum := 0
	for k, b := range s.Bands {
		within := true
		for _, v := range []float64{b.Step, b.Unit, b.Share, b.Noise, b.Weight} {
			within = within && v >= least && v <= most
		}
		if !within || b.Size < 1 || b.Size > s.Directions.Rows-sum || b.Bits < 0 || b.Bits > 8 {
			return fmt.Errorf("quantise: band %d is %+v", k, b)
		}
		sum += b.Size
	}
	if sum != s.Directions.Rows || s.Bands[0].Bits == 0 {
		return fmt.Errorf("quantise: bands of %d coordinates for d = %d, and one with bits at first", sum, s.Directions.Rows)
	}
	return nil
}

// With norms of rows from 2⁻¹⁰⁰ to 2¹⁰⁰, float32 then represents the products of rows and the mean.
const leastMean = 0x1p-24

func (s *spectrum) key() (key [2]uint64) {
	h := fnv.New128a()
	_ = binary.Write(h, binary.LittleEndian, s.Mean)
	for _, b := range s.Bands {
		_ = binary.Write(h, binary.LittleEndian, []float64{float64(b.Size), float64(b.Bits), b.Step, b.Unit, b.Share, b.Noise, b.Weight})
	}
	for i := range s.Directions.Rows {
		_ = binary.Write(h, binary.LittleEndian, s.Directions.Row(i))
	}
	sum := h.Sum(nil)
	return [2]uint64{binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])}
}

// bands are the bands of a quantiser and the parts of their rows. A row has a part for each of the
// widths 8, 4, 2 and 1. A code of 7 bits, for example, has its highest 4 bits in one part, the next
// 2 bits in another and the last bit in a third: its odd multiple 2k − 127 is the sum of those of
// the three parts times 8, 2 and 1.
type bands struct {
	list    []band
	typical float64 // Σ Share·Noise
	several bool    // the error is not that of one random rotation
	parts   []part
}

type part struct {
	width, elements, words int
	places                 []uint32
	pieces                 []piece
}

// The digits of coordinates [from, from+n) of a band are elements [at, at+n) of the part.
type piece struct{ at, from, n, shift, band int }

func bandsOf(list []band) *bands {
	b := &bands{list: list, several: len(list) > 1}
	for _, one := range list {
		b.typical += float64(one.Share * one.Noise)
	}
	for width := 8; width > 0; width /= 2 {
		p, from := part{width: width}, 0
		for k, one := range list {
			if one.Bits&width != 0 {
				p.pieces = append(p.pieces, piece{p.elements, from, one.Size, one.Bits & (width - 1), k})
				p.elements += one.Size
			}
			from += one.Size
		}
		if p.elements > 0 {
			pieces := p.pieces
			p = newPart(width, p.elements)
			p.pieces = pieces
			b.parts = append(b.parts, p)
		}
	}
	return b
}

func newPart(width, elements int) part {
	words := scan.Words(elements, width)
	return part{width: width, elements: elements, words: words, places: scan.ListedPlaces(elements, words, width)}
}

// pack writes codes to the words of a row. digits is working memory of their number.
func (b *bands) pack(words []uint64, codes, digits []uint8) {
	for _, p := range b.parts {
		for _, s := range p.pieces {
			own := digits[s.at:][:s.n]
			for i, k := range codes[s.from:][:s.n] {
				own[i] = k >> s.shift & (1<<p.width - 1)
			}
		}
		scan.Pack(words[:p.words], digits[:p.elements], p.width)
		words = words[p.words:]
	}
}

func (b *bands) unpack(codes []uint8, words []uint64, digits []uint8) {
	clear(codes)
	for _, p := range b.parts {
		scan.Unpack(digits[:p.elements], words[:p.words], p.width)
		words = words[p.words:]
		for _, s := range p.pieces {
			own := codes[s.from:][:s.n]
			for i, k := range digits[s.at:][:s.n] {
				own[i] |= k << s.shift
			}
		}
	}
}

func decodeBands[T dense.Float](s []T, codes []uint8, b *bands, scale float64) {
	at := 0
	for _, one := range b.list {
		for i, k := range codes[at:][:one.Size] {
			s[at+i] = 0
			if one.Bits > 0 {
				s[at+i] = T(scale * one.Unit * float64(2*int(k)+1-1<<one.Bits))
			}
		}
		at += one.Size
	}
}

type bandSums struct{ along, square, energy float64 } // sᵀu, ‖s‖², ‖u‖²

func writeBands[T dense.Float](codes []uint8, all []bandSums, b *bands, y []T, norm float64) {
	at := 0
	for k, one := range b.list {
		own, some := codes[at:][:one.Size], y[at:][:one.Size]
		at += one.Size
		all[k] = bandSums{energy: 2 * vecmath.HalfSquaredNorm(some) / (norm * norm)}
		if one.Bits == 0 {
			clear(own)
			continue
		}
		n := 1 << (one.Bits - 1)
		if n == 1 {
			encodeBits(own, some)
		} else {
			encodeSteps(own, some, T(1/(one.Step*norm)), n)
		}
		along, square := 0.0, 0
		for i, c := range own {
			odd := 2*int(c) + 1 - 2*n
			along += float64(float64(odd) * float64(some[i]))
			square += odd * odd
		}
		all[k].along, all[k].square = along*one.Unit/norm, float64(square)*float64(one.Unit*one.Unit)
	}
}

// combine returns the numbers of a row. ratio makes the estimate exact for a query that is the row
// within the bands with bits, so that bands err by their own rotations and by a small bias. Over
// the rotations of bands B, the estimate of uᵀq is
//
//	Σ_B share_B·uᵀq in B, share = ratio·sᵀu/‖u‖², plus an error of the variance
//	Σ_B (‖q‖²−(uᵀq/‖u‖)²)·error_B, error = ratio²·(‖s‖² − (sᵀu)²/‖u‖²)/(size − 1).
//
// variance is the mean of error_B over that of the sample, both with the weights Share. A band
// without bits has share 0, and its uᵀq is an error whose mean square is that of its rows. The bias
// is at most bias·√(Σ Weight·‖q‖²).
func (b *bands) combine(all []bandSums) (ratio, variance, bias float64) {
	ratio = b.ratio(all)
	for k, one := range b.list {
		short, noise := one.errors(all[k], ratio)
		variance += float64(one.Share * noise)
		bias += float64(float64(short*short)*all[k].energy) / one.Weight
	}
	return ratio, variance / b.typical, math.Sqrt(bias)
}

func (b *bands) ratio(all []bandSums) float64 {
	along, energy := 0.0, 0.0
	for k, one := range b.list {
		if one.Bits > 0 {
			along, energy = along+all[k].along, energy+all[k].energy
		}
	}
	if along > 0 {
		return energy / along
	}
	return 0
}

// errors returns 1 − share and error of a band, for combine.
func (b *band) errors(s bandSums, ratio float64) (short, noise float64) {
	if b.Bits == 0 {
		return 1, s.energy / float64(b.Size)
	}
	noise = s.square
	if s.energy > 0 {
		short, noise = 1-ratio*s.along/s.energy, max(0, s.square-float64(s.along*s.along)/s.energy)
	}
	return short, noise * float64(ratio*ratio) / float64(max(b.Size-1, 1))
}

// The last 8 bits of the ratio of a row hold a bound of its bias, if there are several bands. The
// bound k is 2^((k−biasOne)/8), and 0 for k = 0.
const (
	biasBits = 1<<8 - 1
	biasOne  = 160
)

var biasBounds = func() (bounds [biasBits + 1]float64) {
	for k := 1; k <= biasBits; k++ {
		bounds[k] = float64(float32(math.Exp2(float64(k-biasOne) / 8)))
	}
	return bounds
}()

func withBias(ratio float32, bias float64) float32 {
	k := uint32(0)
	for int(k) < biasBits && biasBounds[k] < bias {
		k++
	}
	return math.Float32frombits(math.Float32bits(ratio)&^biasBits | k)
}

func (q *quantiser[T]) roundBands(dst *rounded, norm float64, p *preparer[T]) {
	b := q.bands
	dst.several, dst.coordinates, dst.perDimension, dst.bias = b.several, float64(q.out), 0, 0
	dst.dimensions = math.Inf(1)
	noise, bias, at := 0.0, 0.0, 0
	for _, one := range b.list {
		square := 2 * vecmath.HalfSquaredNorm(p.rotated[at:][:one.Size])
		at += one.Size
		noise += float64(one.Noise * square)
		bias += float64(one.Weight * square)
	}
	p.digits = scratch.Resize(p.digits, q.elements)
	for k, one := range b.parts {
		digits := p.digits[:one.elements]
		for _, s := range one.pieces {
			unit := T(math.Ldexp(b.list[s.band].Unit, s.shift))
			own := digits[s.at:][:s.n]
			copy(own, p.rotated[s.from:])
			vecmath.Scale(own, unit)
		}
		rounding := roundPart(dst, k, b.parts, digits, norm, p)
		// the mean square of evenly distributed odd multiples
		odd := float64(int(1)<<(2*one.width)-1) / 3
		noise += float64(rounding*rounding) * float64(norm*norm) * odd * float64(one.elements)
	}
	if norm > 0 {
		dst.dimensions, dst.perDimension, dst.bias = norm*norm/noise, noise/(norm*norm), math.Sqrt(bias)/norm
	}
}

// Every product and every sum is rounded, so that the bits are the same on every processor.
type directions[T dense.Float] struct{ rows, columns dense.Matrix[T] } // D and Dᵀ

func directionsOf[T, S dense.Float](d dense.Matrix[S]) directions[T] {
	rows := dense.Copy(dense.New[T](d.Rows, d.Cols), d)
	return directions[T]{rows, dense.Transpose(dense.Matrix[T]{}, rows)}
}

func (d directions[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return multiplyRows(dst, x, d.columns)
}

func (d directions[T]) ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] {
	return multiplyRows(dst, y, d.rows)
}

func multiplyRows[T dense.Float](dst, x, a dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, a.Cols)
	for lo := 0; lo < x.Rows; lo += 4 {
		hi := min(lo+4, x.Rows)
		for i := lo; i < hi; i++ {
			clear(dst.Row(i))
		}
		for j := range a.Rows {
			row := a.Row(j)
			for i := lo; i < hi; i++ {
				vecmath.AddScaled(dst.Row(i), row, x.Row(i)[j])
			}
		}
	}
	return dst
}

func learned[T dense.Float](opts Options, d int, s *spectrum) (Quantiser[T], error) {
	if err := s.check(d); err != nil {
		return nil, err
	}
	c := &coder[T]{options: opts, in: d, out: s.Directions.Rows, seed: s.key(), rotation: directionsOf[T](s.Directions), mean: s.Mean}
	c.spectrum = s
	c.bands = bandsOf(s.Bands)
	c.digits = c.bands.parts
	q := &quantiser[T]{coder: c, layout: opts.learnedLayout(s)}
	if s.Mean != nil {
		v := make([]T, d)
		for i, m := range s.Mean {
			v[i] = T(m)
		}
		q.centres = []centre[T]{{vector: v, square: 2 * vecmath.HalfSquaredNorm(v)}}
	}
	c.theory = sync.OnceValue(func() codelaw.Moments {
		return codelaw.Moments{Along: 1, AlongSquare: 1, Square: 1 + float64(c.out-1)*c.bands.typical}
	})
	return q, nil
}
