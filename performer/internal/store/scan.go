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

type work[T dense.Float] struct {
	queries          scratch.Buffer[T]
	whole            []int16
	rotated          []T
	digits           [9][]uint64 // of the call, for a head
	factors, offsets []float32

	scores, lower           []float32
	means, blocks, ofBlocks []float32 // of each query: scores of means, sums of weights, scores
	values, valueMeans      weighted
	weights, wide           []uint64
	part, memory            []float32
}

var works pool.Pair[work[float32], work[float64]]

func (w *work[T]) sum(c *codes[T], h, piece int) {
	r := c.pieces[piece]
	first := (h*len(c.pieces) + piece) * c.count
	s, _ := c.at(r.from, h)
	order := [2]int{s.codes[0].order, s.codes[1].order}
	sums, values, bounds := c.sums[first:][:c.count], c.memory[first*order[1]:][:c.count*order[1]], c.bounds(h, r)
	// Products of codes are at most products times the factor of a query.
	products, lift := scan.Largest*float32(order[0])*bounds[0], liftOf(bounds[1])
	for i, factor := range w.factors {
		sums[i] = rotatedSums{0, hidden, lift, values[i*order[1]:][:order[1]]}
		if !(max(products, products*max(factor, -factor)) <= math.MaxFloat32/2) {
			sums[i].total = float32(math.NaN()) // scores may overflow
		}
	}
	w.values.begin(&s.codes[1], c.count)
	w.valueMeans.begin(&s.means[1], c.count)
	for lo, n := r.from, 0; lo < r.to; lo += n {
		n = min(r.to-lo, c.size-lo%c.size)
		w.addSlab(c, h, lo, n, sums, lift)
	}
	clear(values)
	w.values.collect(&s.codes[1], values, &w.part)
	w.valueMeans.collect(&s.means[1], values, &w.part)
}

func (c *codes[T]) bounds(h int, r run) (most [2]float32) {
	for lo, n := r.from, 0; lo < r.to; lo += n {
		n = min(r.to-lo, c.size-lo%c.size)
		s, at := c.at(lo, h)
		for i := range most {
			codes, means := &s.codes[i], &s.means[i]
			most[i] = max(most[i], codes.largest()*vecmath.Peak(codes.scales[at:at+n]),
				means.largest()*vecmath.Peak(means.scales[at/Segment:(at+n+Segment-1)/Segment]))
		}
	}
	return most
}

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

func (w *work[T]) addSlab(c *codes[T], h, from, n int, sums []rotatedSums, lift float32) {
	s, at := c.at(from, h)
	firstMean := at / Segment
	blocks := (at+n+Segment-1)/Segment - firstMean
	w.ofBlocks, w.means = w.products(w.ofBlocks, &s.means[0], firstMean, blocks), w.means[:0]
	for i := range w.factors {
		row := w.ofBlocks[i*blocks:][:blocks]
		w.score(&s.means[0], row, i, firstMean, noMeans[:])
		for _, mean := range row {
			for range partsOf {
				w.means = append(w.means, mean)
			}
		}
	}
	w.blocks = scratch.Resize(w.blocks, len(sums)*blocks)
	for lo, rows := 0, 0; lo < n; lo += rows {
		rows = min(chunkRows, n-lo)
		if in := (at + lo) % Segment; in > 0 { // parts of groups of weights are parts of segments
			rows = min(Segment-in, rows)
		}
		w.scores = w.products(w.scores, &s.codes[0], at+lo, rows)
		first := (at+lo)/Segment - firstMean
		for i := range sums {
			w.weigh(c, &s.codes[0], &sums[i], i, at+lo, from+lo, rows, w.means[(i*blocks+first)*partsOf:], w.blocks[i*blocks:][:first])
		}
		if lift != 1 {
			vecmath.Scale(w.scores, 1/lift)
		}
		w.values.add(&w.weights, &s.codes[1], w.scores, at+lo, rows)
		for i := range sums {
			weights := w.weights[i*scan.WeightWords(rows):]
			for g := range (rows + Segment - 1) / Segment {
				var sum float32
				for part := range partsOf {
					sum += scan.PartSum(weights, g*partsOf+part)
				}
				w.blocks[i*blocks+first+g] = sum
				sums[i].total += sum * lift
			}
		}
	}
	w.valueMeans.add(&w.weights, &s.means[1], w.blocks, firstMean, blocks)
}

const partsOf = Segment / scan.PartRows

var noMeans [pieceRows/Segment/scan.PartRows + 1]float32

func (w *work[T]) begin(c *codes[T], h int) {
	w.factors, w.offsets = c.factors[h*c.count:][:c.count], c.offsets[h*c.count:][:c.count]
	for width, digits := range c.digits {
		size := len(digits) / c.s.of.KeyHeads
		w.digits[width] = digits[h*size:][:size]
	}
}

func (w *work[T]) end() { w.factors, w.offsets, w.digits = nil, nil, [9][]uint64{} }

// The products are in units of the steps of the queries.
func (w *work[T]) products(dst []float32, r *rows, at, n int) []float32 {
	count := len(w.factors)
	dst, w.lower = scratch.Resize(dst, count*n), scratch.Resize(w.lower, count*n)
	for i := range r.planes {
		to := dst
		if i > 0 {
			to = w.lower
		}
		r.each(&w.wide, i, at, n, func(codes []uint64, first, some int) {
			scan.Products(to[first:], codes, w.digits[r.width], some, r.words, r.width, count, n)
		})
		if i > 0 {
			vecmath.Scale(dst, upper)
			vecmath.AddScaled(dst, to, 1)
		}
	}
	return dst
}

const upper = 1 << 8

// score turns products of query i with rows from row at on into scores, to which it adds scores of
// the means of their blocks.
func (w *work[T]) score(r *rows, x []float32, i, at int, means []float32) {
	scan.Score(x, r.scales[at:], means, w.factors[i], w.offsets[i]*r.lift())
}

// weigh replaces products by weights over exp(peak), after it has raised the peak and rescaled the
// sums, of which blocks are those of earlier segments.
func (w *work[T]) weigh(c *codes[T], keys *rows, p *rotatedSums, i, at, token, n int, means, blocks []float32) {
	row, slope := w.scores[i*n:][:n], float32(c.s.of.Places.Slope)
	w.score(keys, row, i, at, means)
	w.capRow(c.s.of.Scores[0], row)
	for from := 0; slope != 0 && from < n; from += Segment {
		slant(row[from:min(from+Segment, n)], slope, c.places[c.first+i]-token-from)
	}
	if peak := vecmath.Peak(row); peak > p.peak {
		if p.peak > hidden {
			factor := float32(math.Exp(float64(p.peak - peak)))
			w.values.rescale(i, factor)
			w.valueMeans.rescale(i, factor)
			vecmath.Scale(blocks, factor)
			p.total *= factor
		}
		p.peak = peak
	}
	vecmath.ExpMinus(row, row, max(p.peak, -math.MaxFloat32))
}

func (w *work[T]) capRow(scores tiles.Scores, row []float32) {
	if scores.Softcap != 0 {
		w.memory = scratch.Resize(w.memory, len(row))
		tiles.CapRow(scores, row, w.memory)
	}
}

// slant subtracts slope times distance. The first of at most 64 keys has the given distance.
func slant(scores []float32, slope float32, distance int) {
	vecmath.Affine(scores, scores, 1, -slope*float32(distance))
	vecmath.AddScaled(scores, ascending[:len(scores)], slope)
}

var ascending = func() (x [Segment]float32) {
	for i := range x {
		x[i] = float32(i)
	}
	return x
}()

type weighted struct {
	sums   [2][]float32 // of each plane
	shifts []float32    // sums of weights times zero points
	wide   []uint64
}

func (s *weighted) begin(r *rows, count int) {
	for i := range s.sums {
		s.sums[i] = s.sums[i][:0]
		if i < len(r.planes) {
			s.sums[i] = scratch.Resize(s.sums[i], count*scan.SumPlaces(r.words, r.width))
			clear(s.sums[i])
		}
	}
	s.shifts = scratch.Resize(s.shifts, count)
	clear(s.shifts)
}

func (s *weighted) rescale(i int, factor float32) {
	for _, all := range s.sums {
		size := len(all) / len(s.shifts)
		vecmath.Scale(all[i*size:][:size], factor)
	}
	s.shifts[i] *= factor
}

func (s *weighted) add(memory *[]uint64, r *rows, weights []float32, at, n int) {
	count, words := len(s.shifts), scan.WeightWords(n)
	*memory = scratch.Resize(*memory, count*words)
	rounded := *memory
	for k := range count {
		scan.Weigh(rounded[k*words:], weights[k*n:][:n], r.scales[at:][:n], r.width)
		var zeros float32
		for g := range words / scan.WeightWords(1) {
			zeros += scan.ZeroSum(rounded[k*words:], g)
		}
		s.shifts[k] += zeros * r.lift()
	}
	for i := range r.planes {
		r.each(&s.wide, i, at, n, func(codes []uint64, first, some int) {
			scan.Sums(s.sums[i], codes, rounded[scan.WeightWords(first):], some, r.words, r.width, count, words)
		})
	}
}

func (s *weighted) collect(r *rows, dst []float32, part *[]float32) {
	*part = scratch.Resize(*part, r.order)
	sums := s.sums[len(r.planes)-1]
	if len(r.planes) > 1 {
		vecmath.AddScaled(sums, s.sums[0], upper)
	}
	for k, shift := range s.shifts {
		row, size := dst[k*r.order:][:r.order], len(sums)/len(s.shifts)
		scan.Collect(*part, sums[k*size:][:size], r.words, r.width)
		vecmath.AddScaled(row, *part, 1)
		vecmath.Affine(row, row, 1, shift)
	}
}
