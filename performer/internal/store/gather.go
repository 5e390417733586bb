package store

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

type place[T dense.Float] struct {
	slab *slab[T]
	row  int
}

// find finds the places of the tokens to read that have none yet, and of their segments.
func (w *choice[T]) find(l *slabs[T]) {
	for j := len(w.places); j < len(w.read); j++ {
		slab, row := l.at(w.token(w.read[j]), w.h)
		w.places = append(w.places, place[T]{slab, row})
		at := place[T]{slab, row / Segment}
		if n := len(w.segments); n == 0 || w.segments[n-1] != at {
			w.starts, w.segments = append(w.starts, j), append(w.segments, at)
		}
	}
}

// gatherRows copies codes of the rows at places: of keys, of values, or of the means of values of
// segments, for i = 0, 1 and 2.
func gatherRows[T dense.Float](to *rows, places []place[T], i int) {
	to.shape(codesToRead(places[0].slab, i), len(places))
	words := to.words
	for first, next := 0, 0; first < len(places); first = next {
		s := places[first].slab
		for next = first; next < len(places) && places[next].slab == s; {
			next++
		}
		from, some := codesToRead(s, i), places[first:next]
		for p, codes := range to.planes {
			codes = codes[first*words:]
			for j := 0; from.three && j < len(some); j++ {
				from.take(codes[j*words:][:words], p, some[j].row)
			}
			for j := 0; !from.three && j < len(some); j++ {
				dst, src := codes[j*words:][:words], from.planes[p][some[j].row*words:][:words]
				for ; len(src) >= 4 && len(dst) >= 4; dst, src = dst[4:], src[4:] {
					*(*[4]uint64)(dst) = *(*[4]uint64)(src)
				}
				if len(src) > 0 {
					copy(dst, src)
				}
			}
		}
		scales := to.scales[first:next]
		for j := range scales {
			scales[j] = from.scales[some[j].row]
		}
	}
}

func codesToRead[T dense.Float](s *slab[T], i int) *rows {
	return [...]*rows{&s.codes[0], &s.codes[1], &s.means[1]}[i]
}

func (w *choice[T]) sumCodes(c *codes[T], g int) {
	factors, offsets, digits := w.factors, w.offsets, w.digits
	w.factors, w.offsets = factors[g:g+1], offsets[g:g+1]
	for width, all := range digits {
		size := len(all) / len(factors)
		w.digits[width] = all[g*size:][:size]
	}
	n := len(w.read)
	w.means = scratch.Resize(w.means, (n+scan.PartRows-1)/scan.PartRows)
	clear(w.means)
	w.scores = w.products(w.scores, &w.codes[0], 0, n)
	w.score(&w.codes[0], w.scores, 0, 0, w.means)
	for j, i := range w.read {
		w.scores[j] += w.ofSegments[(g*w.tokens+i)/Segment]
	}
	w.factors, w.offsets, w.digits = factors, offsets, digits

	s, x := c.s, w.scores
	w.capRow(s.of.Scores[0], x)
	for j := 0; s.of.Places.Slope != 0 && j < n; j++ {
		x[j] -= float32(s.of.Places.Slope) * float32(w.place-w.token(w.read[j]))
	}
	r := &w.sums[1]
	r.lift, r.peak = 1, max(vecmath.Peak(x), -math.MaxFloat32)
	vecmath.ExpMinus(x, x, r.peak)
	r.total = vecmath.Sum(x)
	r.values = scratch.Resize(r.values, c.sides[1].order)
	clear(r.values)
	w.blocks = scratch.Resize(w.blocks, len(w.starts))
	for j, first := range w.starts {
		next := n
		if j+1 < len(w.starts) {
			next = w.starts[j+1]
		}
		w.blocks[j] = vecmath.Sum(x[first:next])
	}
	for _, of := range [...]struct {
		sums    *weighted
		rows    *rows
		weights []float32
	}{{&w.values, &w.codes[1], x}, {&w.valueMeans, &w.codes[2], w.blocks}} {
		of.sums.begin(of.rows, 1)
		of.sums.add(&w.weights, of.rows, of.weights, 0, len(of.weights))
		of.sums.collect(of.rows, r.values, &w.part)
	}
}

func (c *codes[T]) fetch(w *choice[T]) {
	for _, at := range w.places {
		for i := range at.slab.codes {
			at.slab.codes[i].fetch(at.row)
		}
	}
	for _, at := range w.segments {
		at.slab.means[1].fetch(at.row)
	}
}

func (c *codes[T]) read(w *choice[T], g int) {
	for token := max(w.near, w.low, w.runs[1].from); token < w.open; token++ {
		w.read = append(w.read, token-w.runs[1].from+w.runs[0].to)
	}
	w.find(&c.slabs)
	gatherRows(&w.codes[0], w.places, 0)
	gatherRows(&w.codes[1], w.places, 1)
	gatherRows(&w.codes[2], w.segments, 2)
	w.sumCodes(c, g)
	k, v := c.s.recent(w.h)
	c.add(w.tile, k, v, c.s.closed, w.first+g)
}
