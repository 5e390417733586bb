package caches

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// work is the scratch memory of one goroutine.
type work[T dense.Float] struct {
	queries          scratch.Buffer[T]
	whole            []int16
	digits           [9][]uint64 // of the call, for a head
	factors, offsets []float32

	wide                    []uint64
	scores, lower           []float32
	means, blocks, ofBlocks []float32    // of each query: scores of means of parts, sums of weights of blocks, scores of means
	sums                    [2][]float32 // of planes of values
	shifts                  []float32    // sums of weights times zero points
	weights                 []uint64
	part, memory            []float32
}

var works pool.Pair[work[float32], work[float64]]

// codes sums a piece of the codes of a head.
func (w *work[T]) codes(s *Memory[T], h, piece int) {
	c := &s.call
	r := c.pieces[piece]
	first := (h*len(c.pieces) + piece) * c.count
	partials := c.partial[first:][:c.count]
	at, block, blocks := h*s.room, r.from/s.together, s.blocksOf(r.to)-r.from/s.together
	firstMean := h*s.room/s.together + block
	// The largest scales of the keys, the means of keys, the values, and the means of values.
	var peaks [4]float32
	for i, x := range [...]*store[T]{&s.keys, &s.values} {
		peaks[2*i] = vecmath.Peak(x.codes.scales[at+r.from : at+r.to])
		peaks[2*i+1] = vecmath.Peak(x.means.scales[firstMean:][:blocks])
	}
	// Products of codes are at most bound times the factor of a query.
	bound := scan.Largest * float32(s.keys.order) * max(s.keys.codes.largest()*peaks[0], s.keys.means.largest()*peaks[1], 0)
	for i, factor := range w.factors {
		partials[i] = partial{0, float32(math.Inf(-1))}
		if !(max(bound, bound*max(factor, -factor)) <= math.MaxFloat32/2) {
			partials[i].total = float32(math.NaN()) // scores may overflow
		}
	}
	lift := liftOf(max(s.values.codes.largest()*peaks[2], s.values.means.largest()*peaks[3]))
	c.lifts[h*len(c.pieces)+piece] = lift
	parts := s.together / scan.PartRows // of a block
	w.ofBlocks, w.means = w.products(w.ofBlocks, &s.keys.means, firstMean, blocks), w.means[:0]
	for i := range w.factors {
		row := w.ofBlocks[i*blocks:][:blocks]
		w.score(&s.keys.means, row, i, firstMean, noMeans[:])
		for _, x := range row {
			for range parts {
				w.means = append(w.means, x)
			}
		}
	}
	w.blocks, w.shifts = scratch.Resize(w.blocks, c.count*blocks), scratch.Resize(w.shifts, c.count)
	w.clearSums(&s.values.codes)
	for lo, n := r.from, 0; lo < r.to; lo += n {
		n = min(chunkRows, r.to-lo)
		if in := lo % s.together; in > 0 { // parts of groups of weights are parts of blocks
			n = min(s.together-in, n)
		}
		w.scores = w.products(w.scores, &s.keys.codes, at+lo, n)
		first := lo/s.together - block
		for i := range partials {
			w.weigh(s, &partials[i], i, at, lo, n, w.means[(i*blocks+first)*parts:], w.blocks[i*blocks:][:first])
		}
		if lift != 1 {
			vecmath.Scale(w.scores, 1/lift)
		}
		w.addSums(&s.values.codes, w.scores, at+lo, n)
		for i := range partials {
			weights := w.weights[i*scan.WeightWords(n):]
			for g := range s.blocksOf(n) {
				var sum float32
				for part := range parts {
					sum += scan.PartSum(weights, g*parts+part)
				}
				w.blocks[i*blocks+first+g] = sum
				partials[i].total += sum * lift
			}
		}
	}
	sums := c.sums[first*s.values.order:][:c.count*s.values.order]
	clear(sums)
	w.collect(&s.values.codes, sums)
	w.clearSums(&s.values.means)
	w.addSums(&s.values.means, w.blocks, firstMean, blocks)
	w.collect(&s.values.means, sums)
}

// noMeans are the means of the means of a piece.
var noMeans [pieceRows/few/scan.PartRows + 1]float32

// liftOf returns a power of two for values up to size. Weights over this power have products and
// sums that are normal numbers.
func liftOf(size float32) float32 {
	switch {
	case size > 0x1p98:
		return 0x1p40
	case size > 0 && size < 0x1p-84:
		return 0x1p-64
	}
	return 1
}

// begin sets the queries of w to those of a head.
func (w *work[T]) begin(s *Memory[T], h int) {
	c := &s.call
	w.factors, w.offsets = c.factors[h*c.count:][:c.count], c.offsets[h*c.count:][:c.count]
	for width, digits := range c.digits {
		size := len(digits) / s.keyHeads
		w.digits[width] = digits[h*size:][:size]
	}
}

// end forgets the queries of the call.
func (w *work[T]) end() { w.factors, w.offsets, w.digits = nil, nil, [9][]uint64{} }

// products returns the products of the queries, in units of their steps, with the codes of n rows
// from row at on, in dst.
func (w *work[T]) products(dst []float32, r *rows, at, n int) []float32 {
	count := len(w.factors)
	dst, w.lower = scratch.Resize(dst, count*n), scratch.Resize(w.lower, count*n)
	for i := range r.planes {
		to := dst
		if i > 0 {
			to = w.lower
		}
		for lo, part := 0, 0; lo < n; lo += part {
			part = r.most(n - lo)
			codes, width := r.multiplied(&w.wide, i, at+lo, part)
			scan.Products(to[lo:], codes, w.digits[r.width], part, r.wide, width, count, n)
		}
		if i > 0 {
			vecmath.Scale(dst, upper)
			vecmath.AddScaled(dst, to, 1)
		}
	}
	return dst
}

// upper is the factor of the upper plane of codes of 16 bits.
const upper = 1 << 8

// score turns products of query i with rows from row at on into scores, to which it adds scores of
// the means of their blocks.
func (w *work[T]) score(r *rows, x []float32, i, at int, means []float32) {
	scan.Score(x, r.scales[at:], means, w.factors[i], w.offsets[i]*r.lift())
}

// weigh replaces products of query i with n keys from key lo on by weights over exp(peak), after it
// has raised the peak and rescaled the sums, of which blocks are those of earlier blocks.
func (w *work[T]) weigh(s *Memory[T], p *partial, i, at, lo, n int, means, blocks []float32) {
	row, slope := w.scores[i*n:][:n], float32(s.places.Slope)
	w.score(&s.keys.codes, row, i, at+lo, means)
	if s.scores.Softcap != 0 {
		w.memory = scratch.Resize(w.memory, n)
		tiles.CapRow(s.scores.Scores, row, w.memory)
	}
	for from := lo; slope != 0 && from < lo+n; from += s.together {
		part, distance := row[from-lo:min(from-lo+s.together, n)], float32(s.call.places[i]+s.coded-s.place(from))
		vecmath.Affine(part, part, 1, -slope*distance)
		vecmath.AddScaled(part, ascending[:len(part)], slope)
	}
	lowest := float32(math.Inf(-1))
	if peak := vecmath.Peak(row); peak > p.peak {
		if p.peak > lowest {
			factor := float32(math.Exp(float64(p.peak - peak)))
			for _, all := range w.sums {
				size := len(all) / len(w.factors)
				vecmath.Scale(all[i*size:][:size], factor)
			}
			vecmath.Scale(blocks, factor)
			w.shifts[i] *= factor
			p.total *= factor
		}
		p.peak = peak
	}
	vecmath.ExpMinus(row, row, max(p.peak, -math.MaxFloat32))
}

// ascending holds the numbers from 0 on.
var ascending = func() (x [many]float32) {
	for i := range x {
		x[i] = float32(i)
	}
	return x
}()

// clearSums clears the sums of rows.
func (w *work[T]) clearSums(r *rows) {
	for i := range w.sums {
		w.sums[i] = w.sums[i][:0]
		if i < len(r.planes) {
			w.sums[i] = scratch.Resize(w.sums[i], len(w.factors)*scan.SumPlaces(r.wide, r.taken()))
			clear(w.sums[i])
		}
	}
	clear(w.shifts)
}

// addSums adds n rows from row at on, with weights for each query.
func (w *work[T]) addSums(r *rows, weights []float32, at, n int) {
	count, words := len(w.factors), scan.WeightWords(n)
	w.weights = scratch.Resize(w.weights, count*words)
	for k := range count {
		scan.Weigh(w.weights[k*words:], weights[k*n:][:n], r.scales[at:][:n], r.width)
		var zeros float32
		for g := range words / scan.WeightWords(1) {
			zeros += scan.ZeroSum(w.weights[k*words:], g)
		}
		w.shifts[k] += zeros * r.lift()
	}
	for i := range r.planes {
		for lo, part := 0, 0; lo < n; lo += part {
			part = r.most(n - lo)
			codes, width := r.multiplied(&w.wide, i, at+lo, part)
			scan.Sums(w.sums[i], codes, w.weights[scan.WeightWords(lo):], part, r.wide, width, count, words)
		}
	}
}

// collect adds the sums to dst, with a row for each query.
func (w *work[T]) collect(r *rows, dst []float32) {
	w.part = scratch.Resize(w.part, r.order)
	sums := w.sums[len(r.planes)-1]
	if len(r.planes) > 1 {
		vecmath.AddScaled(sums, w.sums[0], upper)
	}
	for k := range w.factors {
		row, size := dst[k*r.order:][:r.order], len(sums)/len(w.factors)
		scan.Collect(w.part, sums[k*size:][:size], r.wide, r.taken())
		vecmath.AddScaled(row, w.part, 1)
		vecmath.Affine(row, row, 1, w.shifts[k])
	}
}
