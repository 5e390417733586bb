package store

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

type choice[T dense.Float] struct {
	work[T]
	of            *keyChooser[T]
	h, first      int    // head of keys and first query
	place         int    // of the queries
	low           int    // first token that the queries see, apart from sinks
	near, open    int    // first of the last closed tokens, which are read; first open token
	runs          [2]run // of closed tokens with estimates: whole segments
	tokens        int    // number of these
	tables        []uint64
	steps, shifts []float32 // of tables

	estimates  []float32 // of each query
	ofSegments []float32 // of each query: scores of the means of keys
	chosen     selection
	read       []int      // estimates of tokens that a query reads apart from the last ones
	places     []place[T] // of these tokens
	starts     []int      // the first of the tokens of a segment in places
	segments   []place[T] // of each of these
	tile       *tiles.Tile[T]
	sums       [2]rotatedSums // of the keys that are not read, and of codes that are
	combined   combined[T]
	elements   [2][][]T // of the tokens that a query reads
	codes      [3]rows  // or codes of their keys, values, and means of segments
}

var choices pool.Pair[choice[float32], choice[float64]]

func (w *choice[T]) begin(c *keyChooser[T], h, row int) {
	s := c.on.s
	w.of, w.h, w.first = c, h, row*c.on.group
	w.place = c.on.places[w.first]
	w.low, w.open = s.of.Places.first(w.place), s.closedOf(w.place+1)
	w.near = min(w.open, (w.place+1-Segment)/Segment*Segment)
	down := min(w.low/Segment*Segment, w.open)
	sinks := min((min(s.of.Places.Sinks, w.low)+Segment-1)/Segment*Segment, w.open)
	w.runs = [2]run{{0, sinks}, {down, w.open}}
	w.tokens = sinks + w.open - down
	w.round()
}

func (w *choice[T]) round() {
	c, keys := w.of, &w.of.sides[0]
	n := c.on.group
	w.factors, w.offsets = scratch.Resize(w.factors, n), scratch.Resize(w.offsets, n)
	w.steps, w.shifts = scratch.Resize(w.steps, n), scratch.Resize(w.shifts, n)
	words := scan.SignTableWords(keys.order)
	w.tables = scratch.Resize(w.tables, n*words)
	sizeDigits(&w.digits, keys, c.widths, n)
	scale := c.on.s.of.Scores[0].Scale
	for g := range n {
		rotated, step, sum := w.roundQuery(keys, c.widths, c.on.vector(c.on.q, w.h, w.first+g), &w.digits, g)
		w.factors[g], w.offsets[g] = float32(step*scale), float32(sum)
		step, shift := scan.SignTables(w.tables[g*words:], rotated)
		w.steps[g], w.shifts[g] = float32(step*scale), float32(shift*scale)
	}
}

// estimate estimates the scores of the queries. It returns false if the means of values are not
// numbers, or so large or small that sums may not be accurate.
func (w *choice[T]) estimate() bool {
	l, n, order := w.of.slabs, w.of.on.group, w.of.sides[0].order
	w.estimates, w.ofSegments = scratch.Resize(w.estimates, n*w.tokens), scratch.Resize(w.ofSegments, n*w.tokens/Segment)
	tables, at := scan.SignTableWords(order), 0
	var size float32
	for _, r := range w.runs {
		for lo, rows := r.from, 0; lo < r.to; lo, at = lo+rows, at+rows {
			rows = min(r.to-lo, l.size-lo%l.size)
			s, row := l.at(lo, w.h)
			c, first, count := &s.coarse, row/Segment, rows/Segment
			w.ofBlocks = w.products(w.ofBlocks, &c.means[0], first, count)
			for g := range n {
				means := w.ofBlocks[g*count:][:count]
				w.score(&c.means[0], means, g, first, noMeans[:])
				copy(w.ofSegments[(g*w.tokens+at)/Segment:], means)
				scan.SignScores(w.estimates[g*w.tokens+at:][:rows], c.signs[first*c.words:], w.tables[g*tables:], means, order, w.steps[g], w.shifts[g])
			}
			scales := c.means[1].scales[first:][:count]
			if v := vecmath.HalfSquaredNorm(scales); v != v {
				return false
			}
			size = max(size, c.means[1].largest()*vecmath.Peak(scales))
		}
	}
	return liftOf(size) == 1
}

// output computes the output of query g from so many keys. It returns false if that is not finite.
func (w *choice[T]) output(dst []T, g, keys int) bool {
	c, on := w.of, w.of.on
	scores := w.estimates[g*w.tokens:][:w.tokens]
	w.bias(scores)
	w.must(scores)
	for _, i := range w.chosen.highest(scores, keys) {
		scores[i] = hidden
		w.read = append(w.read, int(i))
	}
	w.places, w.starts, w.segments = w.places[:0], w.starts[:0], w.segments[:0]
	w.find(c.slabs)
	c.of.fetch(w)
	w.sumRest(scores)
	w.sums[1].total = 0
	w.tile = tiles.NewTile(on.s.of.Scores[0], on.queries(&w.queries, w.h, w.first+g, w.first+g+1), on.s.dims[1])
	c.of.read(w, g)
	ok := w.combined.output(dst, on.scores(w.h, w.first+g), &c.sides[1], w.tile, 0, w.sums[:], 1)
	w.tile.Release()
	clear(w.places)
	clear(w.segments)
	return ok
}

// hidden is the score of keys that do not count as estimates.
var hidden = float32(math.Inf(-1))

func (w *choice[T]) token(i int) int {
	if i < w.runs[0].to {
		return i
	}
	return i - w.runs[0].to + w.runs[1].from
}

func (w *choice[T]) bias(scores []float32) {
	s := w.of.on.s
	w.capRow(s.of.Scores[0], scores)
	for i := 0; s.of.Places.Slope != 0 && i < len(scores); i += Segment {
		slant(scores[i:i+Segment], float32(s.of.Places.Slope), w.place-w.token(i))
	}
}

// must sets the list of tokens to read to the first tokens, and hides the estimates of these, of
// the last tokens, which are read as well, and of tokens that the queries do not see.
func (w *choice[T]) must(scores []float32) {
	w.read = w.read[:0]
	sinks := min(w.of.on.s.of.Places.Sinks, w.low)
	for i := range scores[:min(firstTokens, sinks)] {
		w.read = append(w.read, i)
	}
	for token := max(sinks, w.low); token < min(firstTokens, w.near); token++ {
		w.read = append(w.read, token-w.runs[1].from+w.runs[0].to)
	}
	for _, i := range w.read {
		scores[i] = hidden
	}
	for i := sinks; i < w.runs[0].to; i++ {
		scores[i] = hidden
	}
	scores = scores[w.runs[0].to:]
	for i := range scores[:min(w.low, w.open)-w.runs[1].from] {
		scores[i] = hidden
	}
	for i := max(w.near-w.runs[1].from, 0); i < len(scores); i++ {
		scores[i] = hidden
	}
}

// sumRest sums the keys that are not read: each has the weight of its estimate and the mean value
// of its segment. No estimate is above the lowest of the chosen.
func (w *choice[T]) sumRest(scores []float32) {
	l, r := w.of.slabs, &w.sums[0]
	r.peak, r.lift = w.chosen.lowest, 1
	vecmath.ExpMinus(scores, scores, r.peak)
	w.blocks = scratch.Resize(w.blocks, len(scores)/Segment)
	for i := range w.blocks {
		w.blocks[i] = vecmath.Sum(scores[i*Segment:][:Segment])
	}
	r.total = vecmath.Sum(w.blocks)
	r.values = scratch.Resize(r.values, w.of.sides[1].order)
	clear(r.values)
	w.valueMeans.begin(&l.list[0].coarse.means[1], 1)
	at := 0
	for _, run := range w.runs {
		for lo, rows := run.from, 0; lo < run.to; lo, at = lo+rows, at+rows {
			rows = min(run.to-lo, l.size-lo%l.size)
			s, row := l.at(lo, w.h)
			w.valueMeans.add(&w.weights, &s.coarse.means[1], w.blocks[at/Segment:][:rows/Segment], row/Segment, rows/Segment)
		}
	}
	w.valueMeans.collect(&l.list[0].coarse.means[1], r.values, &w.part)
}
