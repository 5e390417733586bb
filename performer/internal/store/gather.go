package store

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

type place[T dense.Float] struct {
	slab *slab[T]
	row  int
}

func (w *choice[T]) find(l *slabs[T]) {
	w.places = scratch.Resize(w.places, len(w.read))
	for j, i := range w.read {
		w.places[j].slab, w.places[j].row = l.at(w.token(i), w.h)
	}
}

func (w *choice[T]) gather() {
	n := len(w.places)
	for i := range w.codes {
		to := &w.codes[i]
		to.shape(codesToRead(w.places[0].slab, i), n)
		for p, codes := range to.planes {
			for j, at := range w.places {
				from := codesToRead(at.slab, i)
				from.take(codes[j*to.words:][:to.words], p, from.at(at.row))
			}
		}
		for j, at := range w.places {
			from := codesToRead(at.slab, i)
			to.scales[j] = from.scales[from.at(at.row)]
		}
	}
}

func codesToRead[T dense.Float](s *slab[T], i int) *rows {
	if i == 2 {
		return &s.means[1]
	}
	return &s.codes[i]
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
	if s.of.Scores[0].Softcap != 0 {
		w.memory = scratch.Resize(w.memory, n)
		tiles.CapRow(s.of.Scores[0], x, w.memory)
	}
	for j := 0; s.of.Places.Slope != 0 && j < n; j++ {
		x[j] -= float32(s.of.Places.Slope) * float32(w.place-w.token(w.read[j]))
	}
	r := &w.sums[1]
	r.lift, r.peak = 1, max(vecmath.Peak(x), -math.MaxFloat32)
	vecmath.ExpMinus(x, x, r.peak)
	r.total = vecmath.Sum(x)
	r.values = scratch.Resize(r.values, c.sides[1].order)
	clear(r.values)
	for _, of := range [...]struct {
		sums *weighted
		rows *rows
	}{{&w.values, &w.codes[1]}, {&w.valueMeans, &w.codes[2]}} {
		of.sums.begin(of.rows, 1)
		of.sums.add(&w.weights, of.rows, x, 0, n)
		of.sums.collect(of.rows, r.values, &w.part)
	}
}

func (c *codes[T]) fetch(places []place[T]) {
	for _, at := range places {
		for i := range at.slab.codes {
			at.slab.codes[i].fetch(at.row)
		}
		at.slab.means[1].fetch(at.row)
	}
}

func (c *codes[T]) read(w *choice[T], g int) {
	for token := max(w.near, w.low, w.runs[1].from); token < w.open; token++ {
		w.read = append(w.read, token-w.runs[1].from+w.runs[0].to)
	}
	w.find(&c.slabs)
	w.gather()
	w.sumCodes(c, g)
	k, v := c.s.recent(w.h)
	c.add(w.tile, k, v, c.s.closed, w.first+g)
}
