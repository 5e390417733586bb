package clusters

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
)

// accumulator adds up weights and weighted values for a block of queries of one or more parts.
// addPart begins each part in order. addKeys and addCodedKeys then add the keys of one cluster
// after another for the queries that score them. finish divides by the sums of weights.
//
// Matrices of scores have a row for each key or cluster and a column for each query, so that
// queries are the packed operand of products.
type accumulator[T dense.Float] struct {
	scale     float64
	threshold T
	sums      scratch.Buffer[T] // queries×(dv+1), weights in the last column

	// Elements of queries.
	peaks  []T // subtracted from scores
	norms  []T // s²‖q‖²/2
	bounds []T // (τ·D)²
	zeros  []T
	roots  []T // s‖q‖, of a part
	limits []T // peak_i + log(τ·D), of a part

	lists
	shares []T // weights of the clusters for the listed queries, or logarithms if not above 0

	weights scratch.Buffer[T] // clusters×part
	logs    scratch.Buffer[T] // of the weights, clusters×part
	scores  scratch.Buffer[T] // keys×queries
	rows    scratch.Buffer[T] // listed queries, then their weighted sums of values
	packed  matmul.Packed[T]
	list    []int32
	shifts  []T
	totals  []T
	bad     []int32 // queries whose sums are out of range
	encoded bool    // whether coded has the codes of the queries
	coded   codedScratch[T]
}

// lists are the queries of a block that score the keys of each cluster.
type lists struct {
	parts  []part
	listed []int32 // by part and cluster
	starts []int   // the beginning of the list of each part and cluster in listed
}

// part is the first of starts of a run of queries of a block.
type part int

// span returns where listed has the queries of a part that score the keys of a cluster.
func (s *lists) span(p part, cluster int) (from, to int) {
	return s.starts[int(p)+cluster], s.starts[int(p)+cluster+1]
}

var accumulators pool.Pair[accumulator[float32], accumulator[float64]]

// begin makes room for n queries of dimension d and values of dimension dv, before the first part.
func (b *accumulator[T]) begin(n, d, dv int, scale float64, threshold T) {
	b.scale, b.threshold = scale, threshold
	b.sums.Shape(n, dv+1)
	clear(b.sums.Data)
	b.rows.Shape(n, max(d, dv))
	for _, x := range []*[]T{&b.peaks, &b.norms, &b.bounds, &b.zeros, &b.roots, &b.limits, &b.shifts, &b.totals} {
		*x = scratch.Resize(*x, n)
	}
	clear(b.zeros)
	layout.Fill(b.peaks, T(math.Inf(-1)))
	b.parts, b.listed, b.starts, b.shares = b.parts[:0], b.listed[:0], b.starts[:0], b.shares[:0]
}

// most is the largest u_ic of weights. Beyond it the weight of a cluster is about that of its
// largest key, which the normal model overrates: other clusters would seem negligible.
const most = 8

// addPart begins the part of the queries lo ≤ i < hi. addPart adds the clusters with the weights
//
//	w_ic = exp(s·q_i·μ_c + log n_c + u_ic − peak_i),  u_ic = min(s²‖q_i‖²·t_c/2, most)
//
// except clusters whose keys a query scores, which addPart lists. These include clusters whose u_ic
// is beyond most and not negligible.
func (b *accumulator[T]) addPart(x *division[T], q dense.Matrix[T], lo, hi int) {
	clusters, n := x.clusters(), hi-lo
	b.weights.Shape(clusters, bytedot.Padded(n))
	weights := b.weights.Rows(clusters)
	norms, largest := b.norms[lo:hi], T(0)
	for i := range norms {
		norms[i] = T(b.scale * b.scale * vecmath.HalfSquaredNorm(q.Row(lo+i)))
		if norms[i] > largest { // and not max: NaN in a query leaves other queries alone
			largest = norms[i]
		}
	}
	matmul.PackT(&b.packed, q.RowRange(lo, hi))
	offsets := b.scoreMeans(x, weights, lo, n)
	capped := false
	for l := range clusters {
		row, t, offsets := weights.Row(l)[:n], x.variances[l], offsets
		if !x.hasCode(l) {
			offsets = b.zeros[:n]
		}
		if n < fewQueries {
			for i, y := range offsets {
				row[i] = row[i] + y + x.logs[l]
			}
		} else {
			vecmath.AffineEach(row, 1, offsets, x.logs[l])
		}
		vecmath.AddScaled(row, norms, t)
		if largest*t > most {
			capped = true
			excess := b.totals[:n]
			vecmath.Affine(excess, norms, t, -most)
			vecmath.Max0(excess, 1)
			vecmath.AddScaled(row, excess, -1)
		}
	}
	weights.Cols = n
	peaks := b.peaks[lo:hi]
	vecmath.PeakRows(peaks, weights.Data, weights.Stride, clusters)
	if capped {
		b.logs.Shape(clusters, n)
		dense.Copy(b.logs.Rows(clusters), weights)
	}
	sums := b.sums.Rows(len(b.peaks)).RowRange(lo, hi)
	totals := b.totals[:n]
	clear(totals)
	vecmath.ExpRows(weights.Data, weights.Stride, clusters, peaks, b.zeros[:n], totals)
	b.choose(x, weights, lo, totals, capped)
	matmul.TMul(1, weights, x.values, 1, sums)
}

// fewQueries is a number of queries from which on vectors of queries are faster.
const fewQueries = 8

// scoreMeans computes the scores s·q_i·μ_c of n queries from query lo on. If codes stand for μ_c,
// these are scores less offsets, which scoreMeans returns. The scores of a cluster do not depend on
// other clusters.
func (b *accumulator[T]) scoreMeans(x *division[T], scores dense.Matrix[T], lo, n int) (offsets []T) {
	single, codes := any(scores).(dense.Matrix[float32])
	if codes = codes && b.encoded; codes {
		b.coded.beginPart(lo, lo+n, b.scale)
		bytedot.Scores(single, b.coded.unused, &x.codes.means, &b.coded.part, b.coded.partScales)
		b.coded.offsets.Shape(1, n)
		row := b.coded.offsets.Rows(1)
		matmul.MulPacked(T(b.scale), dense.Of(1, len(x.codes.centre), x.codes.centre), &b.packed, 0, row, nil)
		offsets = row.Row(0)
	}
	scores.Cols = n
	for from := 0; from < scores.Rows; from++ {
		to := from
		for to < scores.Rows && !(codes && x.hasCode(to)) {
			to++
		}
		if to > from {
			matmul.MulPacked(T(b.scale), x.means.RowRange(from, to), &b.packed, 0, scores.RowRange(from, to), nil)
		}
		from = to
	}
	return offsets
}

// choose lists the queries that score the keys of each cluster, and sets the weight of the cluster
// for these queries to zero. totals are the sums of all weights. If capped is set, b.logs has the
// logarithms of weights.
func (b *accumulator[T]) choose(x *division[T], weights dense.Matrix[T], lo int, totals []T, capped bool) {
	n := len(totals)
	norms, bounds := b.norms[lo:lo+n], b.bounds[lo:lo+n]
	for i, total := range totals {
		bounds[i] = b.threshold * total * (b.threshold * total)
		if capped {
			b.roots[i], b.limits[i] = T(math.Sqrt(2*float64(norms[i]))), b.peaks[lo+i]+T(math.Log(float64(b.threshold*total)))
		}
	}
	b.parts = append(b.parts, part(len(b.starts)))
	for l := range weights.Rows {
		at, row, count := len(b.listed), weights.Row(l), x.count(l)
		b.starts = append(b.starts, at)
		if count < 2 { // the mean is the key
			continue
		}
		b.listed = slices.Grow(b.listed, n)[:at+n]
		b.listed = b.listed[:at+vecmath.Uncertain(b.listed[at:], row, norms, 2*x.spreads[l], 1/T(count), bounds)]
		for _, i := range b.listed[at:] {
			b.shares = append(b.shares, row[i])
			row[i] = -1
		}
		if capped {
			b.chooseExtreme(x, l, row, norms, lo)
		}
		for j, i := range b.listed[at:] {
			row[i] = 0
			b.listed[at+j] = int32(lo) + i
		}
	}
	b.starts = append(b.starts, len(b.listed))
}

// chooseExtreme lists the queries with u_ic > most that score the keys of cluster l although its
// weight is small. The scores of its n keys have the standard deviation σ = √(2·u'_ic). The largest
// of n normal numbers is about √(2·log n). Such a query scores the keys if a key that is σ·1.5
// beyond it has a weight above τ·D.
func (b *accumulator[T]) chooseExtreme(x *division[T], l int, row, norms []T, lo int) {
	logs, t := b.logs.Rows(l+1).Row(l), x.variances[l]
	reach := T((math.Sqrt(2*float64(x.logs[l])) + 1.5) * math.Sqrt(float64(x.spreads[l])))
	for i, root := range b.roots[:len(row)] {
		if logs[i]-x.logs[l]-most+T(reach*root) > b.limits[i] && norms[i]*t > most && row[i] >= 0 {
			b.listed, b.shares = append(b.listed, int32(i)), append(b.shares, min(logs[i]-b.peaks[lo+i], 0))
		}
	}
}

// scorers returns the queries of all parts that score the keys of a cluster, with its weights for
// them. They are valid until the next call.
func (b *accumulator[T]) scorers(cluster int) (list []int32, shares []T) {
	b.list, b.coded.shares = b.list[:0], b.coded.shares[:0]
	for _, p := range b.parts {
		from, to := b.span(p, cluster)
		b.list, b.coded.shares = append(b.list, b.listed[from:to]...), append(b.coded.shares, b.shares[from:to]...)
	}
	return b.list, b.coded.shares
}

// addScored adds the keys of the clusters for the queries that score them.
func (b *accumulator[T]) addScored(s *division[T], q dense.Matrix[T]) {
	for l := range s.clusters() {
		list, shares := b.scorers(l)
		b.addCluster(s, l, list, shares, q)
	}
}

// addCluster adds the keys of cluster l for the queries in list, in whose weights the cluster has
// shares.
func (b *accumulator[T]) addCluster(s *division[T], l int, list []int32, shares []T, q dense.Matrix[T]) {
	const most = 128 // queries whose codes and scores stay in the first or second cache
	for at := 0; at < len(list); at += most {
		end := min(at+most, len(list))
		if s.coded && s.codes.has[l] {
			b.addCodedKeys(s, l, list[at:end], shares[at:end])
		} else {
			b.addKeys(list[at:end], q, s.keysOf(l), s.valuesOf(l))
		}
	}
}

// addKeys adds the keys of a cluster, with their values, to the sums of the queries in list.
func (b *accumulator[T]) addKeys(list []int32, q, keys, values dense.Matrix[T]) {
	n := len(list)
	rows, shifts, totals := b.rows.Rows(n), b.shifts[:n], b.totals[:n]
	queries := rows.ColRange(0, q.Cols)
	for j, i := range list {
		copy(queries.Row(j), q.Row(int(i)))
		shifts[j] = b.peaks[i]
	}
	matmul.PackT(&b.packed, queries)
	b.scores.Shape(keys.Rows, n)
	scores := b.scores.Rows(keys.Rows)
	matmul.MulPacked(T(b.scale), keys, &b.packed, 0, scores, nil)
	clear(totals)
	vecmath.ExpRows(scores.Data, scores.Stride, keys.Rows, shifts, b.zeros[:n], totals)
	dv := values.Cols
	products := rows.ColRange(0, dv)
	matmul.TMul(1, scores, values, 0, products)
	sums := b.sums.Rows(len(b.peaks))
	for j, i := range list {
		sum := sums.Row(int(i))
		vecmath.AddScaled(sum[:dv], products.Row(j), 1)
		sum[dv] += totals[j]
	}
}

// finish writes the quotients of weighted sums of values and sums of weights to dst, and returns
// the queries whose sums are out of range, until the next call.
func (b *accumulator[T]) finish(dst dense.Matrix[T]) (bad []int32) {
	sums := b.sums.Rows(dst.Rows)
	b.bad = b.bad[:0]
	for i := range dst.Rows {
		if !quotient(dst.Row(i), sums.Row(i)) {
			b.bad = append(b.bad, int32(i))
		}
	}
	return b.bad
}

// quotient writes the quotient of a weighted sum of values and the sum of weights to dst, unless
// the sums are out of range.
func quotient[T dense.Float](dst, sums []T) bool {
	sum, total := sums[:len(dst)], sums[len(dst)]
	all := vecmath.Sum(sum)
	if !(total > leastTotal && total-total == 0 && all-all == 0) {
		return false
	}
	vecmath.Affine(dst, sum, 1/total, 0)
	return true
}

// leastTotal is the least sum of weights whose terms have lost no accuracy to underflow: it exceeds
// the least normal float32 divided by the rounding error of float32.
const leastTotal = 1e-30

// codedScratch is the scratch memory of one goroutine for products of codes. Matrices have a column
// for each query.
type codedScratch[T dense.Float] struct {
	queries    bytedot.Rows    // codes of the queries of a block
	part       bytedot.Columns // of the queries of a part
	partScales []float32       // scales of their codes times the scale of scores
	partList   []int32
	offsets    scratch.Buffer[T]
	shares     []T             // weights of a cluster for the listed queries
	columns    bytedot.Columns // listed queries
	weights    bytedot.Columns
	scores     scratch.Buffer[float32] // keys×queries
	products   scratch.Buffer[float32] // columns of values×queries

	// Elements of listed queries, padded to whole vectors.
	scales  []float32 // scales of codes times the scale of scores, in octaves
	peaks   []float32 // the largest scores
	factors []float32 // of the integer weights
	sizes   []float32 // sums of integer weights times their factors
	unused  []float32
	totals  []int32 // sums of integer weights
}

// octaves is the factor from natural logarithms to the units of bytedot.Weigh.
const octaves = math.Log2E * bytedot.Octave

// encode computes the codes of the queries of a block.
func (b *accumulator[T]) encode(a *attention[T], q dense.Matrix[T]) {
	if b.encoded = a.codes(q.Cols); b.encoded {
		e := pool.Get[rotateScratch[T]](&rotatePool)
		bytedot.QuantiseRows(&b.coded.queries, e.rotate(coded.Rotation[T](q.Cols), q), nil)
		pool.Put(&rotatePool, e)
	}
}

// beginPart gathers the codes of the queries lo ≤ i < hi.
func (w *codedScratch[T]) beginPart(lo, hi int, scale float64) {
	w.partList = w.partList[:0]
	for i := lo; i < hi; i++ {
		w.partList = append(w.partList, int32(i))
	}
	w.part.Gather(&w.queries, w.partList)
	n := bytedot.Padded(hi - lo)
	w.partScales, w.unused = scratch.Resize(w.partScales, n), scratch.Resize(w.unused, n)
	vecmath.Affine(w.partScales, w.part.Scales, float32(scale), 0)
}

// addCodedKeys adds the keys of cluster l to the sums of the queries in list. shares are the
// weights w_ic of the cluster for these queries. The scores of the mean of the cluster follow from
// them:
//
//	exp(s·q_i·μ_c − peak_i) = w_ic·exp(−u_ic)/n_c.
//
// A share of at most 0 is the logarithm of a weight.
func (b *accumulator[T]) addCodedKeys(s *division[T], l int, list []int32, shares []T) {
	w, n, count := &b.coded, len(list), s.count(l)
	sums := b.sums.Rows(len(b.peaks))
	dv, padded := sums.Cols-1, bytedot.Padded(n)
	for _, x := range []*[]float32{&w.scales, &w.peaks, &w.factors, &w.sizes} {
		*x = scratch.Resize(*x, padded)
	}
	w.totals = scratch.Resize(w.totals, padded)
	clear(w.totals)
	layout.Fill(w.peaks, float32(math.Inf(-1)))
	w.columns.Gather(&w.queries, list)
	vecmath.Affine(w.scales, w.columns.Scales, float32(b.scale*octaves), 0)
	rows := (count + 3) &^ 3
	w.scores.Shape(rows, padded)
	bytedot.Scores(w.scores.Rows(count), w.peaks, &s.codes.keys[l], &w.columns, w.scales)
	bytedot.Weigh(&w.weights, count, n, w.totals, w.scores.Rows(rows), w.peaks)
	variance := s.variances[l]
	for j, i := range list {
		w.factors[j] = w.peaks[j]*(1/octaves) - float32(min(b.norms[i]*variance, most)-min(shares[j], 0))
	}
	clear(w.factors[n:])
	vecmath.Exp(w.factors, w.factors)
	unit := 1 / T(255*count)
	for j, i := range list {
		share := shares[j]
		if share <= 0 {
			share = 1
		}
		w.factors[j] *= float32(share * unit)
		w.sizes[j] = w.factors[j] * float32(w.totals[j])
		sums.Data[int(i)*sums.Stride+dv] += T(w.sizes[j])
	}
	w.products.Shape(n, bytedot.Padded(dv))
	products := w.products.Rows(n)
	values := &s.codes.values[l]
	bytedot.Weighted(products, &w.weights, w.totals, w.factors, values)
	bytedot.AddRows(sums.ColRange(0, dv), list, products, w.sizes, s.values.Row(l)[:dv], w.factors, values)
}
