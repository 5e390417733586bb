package store

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
)

const (
	// meanBits is the number of bits of the codes of means.
	meanBits = 16

	// A token counts for the mean if it is at most loudest medians of its block.
	loudest = 4
)

type encoding[T dense.Float] struct {
	sides *[2]side[T]
	into  *slab[T]
	place int // in the slab
	in    *groups[T]
	from  int // row of in
}

func (e *encoding[T]) Piece(h int) {
	b := pool.Get[segmentScratch[T]](&blocks)
	for i := range e.sides {
		row := h*e.into.room + e.place
		b.encode(&e.sides[i], &e.into.codes[i], &e.into.means[i], row, e.in[i][h].RowRange(e.from, e.from+Segment))
	}
	pool.Put(&blocks, b)
}

type segmentScratch[T dense.Float] struct {
	coder
	rotated         []T
	rows            []float64 // rotated
	peaks, sorted   []float64 // of rows; NaN for rows that do not count for the mean
	mean, rest, row []float64
}

var blocks pool.Pair[segmentScratch[float32], segmentScratch[float64]]

func (b *segmentScratch[T]) encode(s *side[T], codes, means *rows, at int, x dense.Matrix[T]) {
	b.rotate(s, x)
	b.meanOf(s.order)
	b.roundMean(means, at/Segment)
	clear(b.rest)
	count := 0
	for i := range x.Rows {
		row := b.rows[i*s.order:][:s.order]
		for l, m := range b.mean {
			b.row[l] = row[l] - m
		}
		switch {
		case !b.round(codes, at+i, b.row):
			roundOdd(&b.coder, codes, at+i, x.Row(i))
		case b.peaks[i] == b.peaks[i]:
			for l, y := range b.decoded {
				b.rest[l] += b.row[l] - y
			}
			count++
		}
	}
	b.compensate(means, at/Segment, count)
}

func (b *segmentScratch[T]) resize(n, order int) {
	b.rows = scratch.Resize(b.rows, n*order)
	b.mean, b.rest, b.row = scratch.Resize(b.mean, order), scratch.Resize(b.rest, order), scratch.Resize(b.row, order)
}

func (b *segmentScratch[T]) rotate(s *side[T], x dense.Matrix[T]) {
	b.resize(x.Rows, s.order)
	b.rotated, b.peaks = scratch.Resize(b.rotated, s.order), scratch.Resize(b.peaks, x.Rows)
	for i := range x.Rows {
		b.peaks[i] = 0
		for l, v := range s.rotation.ApplyVec(b.rotated, x.Row(i)) {
			b.rows[i*s.order+l] = float64(v)
			if size := math.Abs(float64(v)); size > b.peaks[i] {
				b.peaks[i] = size
			}
		}
		if !layout.Finite(dense.Of(1, s.order, b.rotated)) {
			b.peaks[i] = math.NaN()
		}
	}
}

func (b *segmentScratch[T]) meanOf(order int) {
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

func (b *segmentScratch[T]) roundMean(means *rows, at int) {
	if !b.round(means, at, b.mean) {
		clear(b.mean)
		b.round(means, at, b.mean)
	}
	copy(b.mean, b.decoded)
}

// compensate adds what rounding left of rows, b.rest, to a mean, unless its rounding takes more.
func (b *segmentScratch[T]) compensate(means *rows, at, count int) {
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
	b.roundMean(means, at)
	after := 0.0
	for l, x := range b.mean {
		after += (x - b.rest[l]) * (x - b.rest[l])
	}
	if after > before {
		copy(b.mean, b.row)
		b.roundMean(means, at)
	}
}

func (b *segmentScratch[T]) decode(s *side[T], codes, means *rows, x []T, at int) {
	if scale := codes.scales[at]; scale != scale {
		readOdd(&b.coder, codes, at, x)
		return
	}
	b.read(codes, at)
	b.row = append(b.row[:0], b.decoded...)
	b.read(means, at/Segment)
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
