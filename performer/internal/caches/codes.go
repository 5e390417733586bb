package caches

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
)

const (
	// meanBits is the number of bits of the codes of means.
	meanBits = 16

	// loudest is how many times as large as the median of its block a token may be that counts for
	// the mean.
	loudest = 4
)

// encoding is a Memory that encodes the first tokens without codes. A piece is a head of keys.
type encoding[T dense.Float] Memory[T]

func (e *encoding[T]) Piece(h int) {
	s := (*Memory[T])(e)
	b := pool.Get[block[T]](&blocks)
	for _, x := range [...]*store[T]{&s.keys, &s.values} {
		recent := x.recent[h*s.recentRoom()*x.d:][:s.recentRoom()*x.d]
		b.encode(x, h*s.room+s.coded, recent[:s.together*x.d])
		copy(recent, recent[s.together*x.d:])
	}
	pool.Put(&blocks, b)
}

// block is scratch memory for the keys or values of a block of tokens.
type block[T dense.Float] struct {
	coder
	smaller, rotated []T
	rows             []float64 // rotated
	peaks, sorted    []float64 // of rows; NaN for rows that do not count for the mean
	mean, rest, row  []float64
}

var blocks pool.Pair[block[float32], block[float64]]

// encode writes the codes of the tokens x, from row at on, and the codes of their mean.
func (b *block[T]) encode(s *store[T], at int, x []T) {
	smaller := b.rotate(s, x, 1)
	if smaller != 1 {
		b.rotate(s, x, smaller)
	}
	b.meanOf(s.order)
	b.roundMean(s, at/s.together)
	clear(b.rest)
	count := 0
	for i := range s.together {
		row := b.rows[i*s.order:][:s.order]
		for l, m := range b.mean {
			b.row[l] = row[l] - m
		}
		good := b.round(&s.codes, at+i, b.row)
		if good {
			s.codes.scales[at+i] /= float32(smaller)
			good = s.codes.scales[at+i] <= math.MaxFloat32
		}
		switch {
		case !good:
			roundOdd(&b.coder, &s.codes, at+i, x[i*s.d:][:s.d])
		case b.peaks[i] == b.peaks[i]:
			for l, y := range b.decoded {
				b.rest[l] += b.row[l] - y
			}
			count++
		}
	}
	b.compensate(s, at/s.together, count)
	s.means.scales[at/s.together] /= float32(smaller)
}

// rotate sets b.rows to the rotated rows of x times factor. If the rotation overflows where x does
// not, rotate returns a smaller factor.
func (b *block[T]) rotate(s *store[T], x []T, factor float64) (smaller float64) {
	b.rows, b.rotated = scratch.Resize(b.rows, s.together*s.order), scratch.Resize(b.rotated, s.order)
	b.mean, b.rest, b.row = scratch.Resize(b.mean, s.order), scratch.Resize(b.rest, s.order), scratch.Resize(b.row, s.order)
	b.peaks = scratch.Resize(b.peaks, s.together)
	for i := range s.together {
		row := x[i*s.d:][:s.d]
		if factor != 1 {
			b.smaller = append(b.smaller[:0], row...)
			vecmath.Scale(b.smaller, T(factor))
			row = b.smaller
		}
		b.peaks[i] = 0
		for l, v := range s.rotation.ApplyVec(b.rotated, row) {
			b.rows[i*s.order+l] = float64(v)
			if size := math.Abs(float64(v)); size > b.peaks[i] {
				b.peaks[i] = size
			}
		}
		if !layout.Finite(dense.Of(1, s.order, b.rotated)) {
			b.peaks[i] = math.NaN()
			if layout.Finite(dense.Of(1, len(row), row)) {
				factor = coded.Smaller
			}
		}
	}
	return factor
}

// meanOf sets b.mean to the mean of the rows that count, or to zero.
func (b *block[T]) meanOf(order int) {
	b.sorted = b.sorted[:0]
	for _, peak := range b.peaks {
		if peak == peak {
			b.sorted = append(b.sorted, peak)
		}
	}
	clear(b.mean)
	if len(b.sorted) == 0 {
		return
	}
	slices.Sort(b.sorted)
	most, count := loudest*b.sorted[len(b.sorted)/2], 0.0
	most = min(most, 0x1p140) // or the mean may have no codes
	for i, peak := range b.peaks {
		if !(peak <= most) {
			b.peaks[i] = math.NaN()
			continue
		}
		count++
		for l, v := range b.rows[i*order:][:order] {
			b.mean[l] += v
		}
	}
	for l := range b.mean {
		b.mean[l] /= max(count, 1)
	}
}

// roundMean writes the codes of b.mean, and sets b.mean to what they stand for.
func (b *block[T]) roundMean(s *store[T], at int) {
	if !b.round(&s.means, at, b.mean) {
		clear(b.mean)
		b.round(&s.means, at, b.mean)
	}
	copy(b.mean, b.decoded)
}

// compensate adds what rounding left over of count rows, b.rest, to the mean of a block, unless
// rounding of the mean takes more.
func (b *block[T]) compensate(s *store[T], at, count int) {
	if count == 0 {
		return
	}
	before := 0.0
	for l, x := range b.rest {
		x /= float64(count)
		before += x * x
		b.rest[l], b.row[l] = b.mean[l]+x, b.mean[l]
	}
	copy(b.mean, b.rest)
	b.roundMean(s, at)
	after := 0.0
	for l, x := range b.mean {
		after += (x - b.rest[l]) * (x - b.rest[l])
	}
	if after > before {
		copy(b.mean, b.row)
		b.roundMean(s, at)
	}
}

// decode sets x to the elements that row at stands for.
func (b *block[T]) decode(s *store[T], x []T, at int) {
	if scale := s.codes.scales[at]; scale != scale {
		readOdd(&b.coder, &s.codes, at, x)
		return
	}
	b.read(&s.codes, at)
	b.row = append(b.row[:0], b.decoded...)
	b.read(&s.means, at/s.together)
	peak := 0.0
	for l, m := range b.decoded {
		b.row[l] += m
		peak = max(peak, math.Abs(b.row[l]))
	}
	b.rotated = scratch.Resize(b.rotated, s.order)
	clear(b.rotated)
	_, power := math.Frexp(peak) // the rotation may overflow where x does not
	for l, y := range b.row {
		b.rotated[l] = T(math.Ldexp(y, -power))
	}
	s.rotation.ApplyTransposedVec(x, b.rotated)
	for i, v := range x {
		x[i] = coded.Finite(T(math.Ldexp(float64(v), power)))
	}
}
