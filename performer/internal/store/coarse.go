package store

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// coarse holds, of the closed segments of a slab, what stands for keys that a query does not read:
// signs of keys in package scan, and codes of the means of keys and of values. Coarse codes follow
// from the segments, so that files do not have them.
type coarse struct {
	signs []uint64
	words int // of the signs of a segment
	means [2]rows
}

// newCoarse adds coarse codes to a slab, which has no other columns afterwards. The means of keys
// are those of the codes of the slab, if it has codes.
func newCoarse[T dense.Float](s *slab[T], sides *[2]side[T], all int) {
	s.own = len(s.columns)
	c := &s.coarse
	c.words = scan.SignWords(sides[0].order)
	c.signs = newColumn[uint64](s, c.words, Segment, all).data
	if c.means[0] = s.means[0]; c.means[0].bits == 0 {
		c.means[0] = newRows(s, meanBits, sides[0].order, Segment, all)
	}
	c.means[1] = newRows(s, meanBits, sides[1].order, Segment, all)
}

// coarsen makes coarse codes of the segments from token at on in a slab, for all heads. A piece is
// a segment of a head of keys.
type coarsen[T dense.Float] struct {
	sides *[2]side[T]
	into  *slab[T]
	place int // in the slab
	n     int // segments
}

func (c *keyChooser[T]) make(s *slab[T], place, tokens, heads int) {
	if c.given != nil {
		c.coarsen = coarsen[T]{&c.sides, s, place, tokens / Segment}
		parallel.Do(c.coarsen.n*heads, &c.coarsen)
		c.coarsen = coarsen[T]{}
	}
}

func (c *keyChooser[T]) remake(l *slabs[T], from, to int) {
	for n := 0; c.given != nil && from < to; from += n {
		n = min(to-from, l.size-from%l.size)
		s, _ := l.at(from, 0)
		c.make(s, from%l.size, n, l.heads)
	}
}

func (c *coarsen[T]) Piece(i int) {
	b := pool.Get[segmentScratch[T]](&blocks)
	b.coarsen(c, i/c.n*c.into.room+c.place+i%c.n*Segment)
	pool.Put(&blocks, b)
}

func (b *segmentScratch[T]) coarsen(c *coarsen[T], row int) {
	to, s, at := &c.into.coarse, c.into, row/Segment
	coded := s.elements[0] == nil
	b.take(c, 1, row)
	b.plainMean(c.sides[1].order)
	if coded {
		b.read(&s.means[1], at)
		for l, m := range b.decoded {
			b.mean[l] += m
		}
	}
	b.putMean(&to.means[1], at)
	b.take(c, 0, row)
	order := c.sides[0].order
	if !coded {
		b.meanOf(order)
		b.putMean(&to.means[0], at)
		for i := range Segment {
			for l, m := range b.decoded {
				b.rows[i*order+l] -= m
			}
		}
	}
	b.putSigns(to, at, order)
}

func (b *segmentScratch[T]) take(c *coarsen[T], side, row int) {
	if e := c.into.elements[side]; e != nil {
		b.rotate(&c.sides[side], dense.Of(Segment, e.width, e.of(row, Segment)))
		return
	}
	codes, order := &c.into.codes[side], c.sides[side].order
	b.resize(Segment, order)
	for j := range Segment {
		if b.read(codes, row+j); codes.scales[row+j] != codes.scales[row+j] {
			for l := range b.decoded {
				b.decoded[l] = math.NaN()
			}
		}
		copy(b.rows[j*order:], b.decoded)
	}
}

func (b *segmentScratch[T]) putMean(means *rows, at int) {
	if !b.round(means, at, b.mean) {
		means.scales[at] = float32(math.NaN())
		b.decoded = append(b.decoded[:0], b.mean...)
	}
}

func (b *segmentScratch[T]) plainMean(order int) {
	clear(b.mean)
	for i := range Segment {
		for l, v := range b.rows[i*order:][:order] {
			b.mean[l] += v
		}
	}
	for l := range b.mean {
		b.mean[l] /= Segment
	}
}

// putSigns writes the signs of b.rows and their factors. With the signs c of a row y the factor f =
// ‖y‖²/cᵀy makes f·c the estimate of y whose products are unbiased over rotations.
func (b *segmentScratch[T]) putSigns(to *coarse, at, order int) {
	group := to.signs[at*to.words:][:to.words]
	clear(group)
	for i := range Segment {
		y := b.rows[i*order:][:order]
		var squares, sum float64
		for _, v := range y {
			squares += float64(v * v)
			sum += math.Abs(v)
		}
		factor := 0.0
		if squares != 0 {
			factor = squares / sum
		}
		scan.PutSigns(group, i, y, float32(factor))
	}
}
