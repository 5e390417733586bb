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

// find finds the places of the tokens to read that have none yet.
func (w *choice[T]) find(l *slabs[T]) {
	for _, i := range w.read[len(w.places):] {
		slab, row := l.at(w.token(i), w.h)
		w.places = append(w.places, place[T]{slab, row})
	}
}

// gather copies the codes of the tokens to read, and the means of values of their segments.
func (w *choice[T]) gather() {
	w.starts = w.starts[:0]
	for j, at := range w.places {
		if j == 0 || at.row/Segment != w.places[j-1].row/Segment || at.slab != w.places[j-1].slab {
			w.starts = append(w.starts, j)
		}
	}
	like, means := w.places[0].slab, &w.codes[2]
	for side := range like.codes {
		to := &w.codes[side]
		to.shape(&like.codes[side], len(w.places))
		for j, at := range w.places {
			to.copy(j, &at.slab.codes[side], at.row)
		}
	}
	means.shape(&like.means[1], len(w.starts))
	for j, first := range w.starts {
		at := w.places[first]
		means.copy(j, &at.slab.means[1], at.row/Segment)
	}
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

func (c *codes[T]) fetch(places []place[T]) {
	for _, at := range places {
		for i := range at.slab.codes {
			at.slab.codes[i].fetch(at.row)
		}
		at.slab.means[1].fetch(at.row / Segment)
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
