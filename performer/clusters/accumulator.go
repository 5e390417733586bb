package clusters

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// accumulator adds up weights and weighted values for a block of queries. The block has one or more
// parts. addClusters or addClustersAndRecent begins each part in order. addKeys then adds the keys
// of one cluster after another for the queries that score them. finish divides by the sums of
// weights.
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

	clusters   int
	listed     []int32 // the queries that score the keys of a cluster, by part and cluster
	starts     []int   // the beginning of the list of each part and cluster in listed
	keepShares bool
	shares     []T // if keepShares is set, the weights of the clusters for the listed queries

	points   scratch.Buffer[T] // part×(d+2)
	weights  scratch.Buffer[T] // clusters×part
	scores   scratch.Buffer[T] // keys×queries
	rows     scratch.Buffer[T] // listed queries, then their weighted sums of values
	packed   matmul.Packed[T]
	ones     scratch.Buffer[T] // values with a column of ones
	list     []int32
	shifts   []T
	totals   []T
	prefixes []int
	coded    codedScratch[T]
}

var accumulators pool.Pair[accumulator[float32], accumulator[float64]]

// begin makes room for n queries of dimension d and values of dimension dv, before the first part.
func (b *accumulator[T]) begin(n, d, dv int, scale float64, threshold T) {
	b.scale, b.threshold = scale, threshold
	b.sums.Shape(n, dv+1)
	clear(b.sums.Data)
	b.rows.Shape(n, max(d, dv))
	for _, x := range []*[]T{&b.peaks, &b.norms, &b.bounds, &b.zeros, &b.shifts, &b.totals} {
		*x = scratch.Resize(*x, n)
	}
	clear(b.zeros)
	b.listed, b.starts = b.listed[:0], b.starts[:0]
	b.keepShares, b.shares = false, b.shares[:0]
}

// addClusters begins the part of the queries lo ≤ i < hi. addClusters adds the clusters with the
// weights
//
//	w_ic = exp(s·q_i·μ_c + log n_c + s²‖q_i‖²·t_c/2 − peak_i)
//
// except clusters whose keys a query scores, which addClusters lists.
func (b *accumulator[T]) addClusters(m *moments[T], q dense.Matrix[T], lo, hi int) {
	weights := b.scoreClusters(m, q, lo, hi)
	b.choose(m, weights, lo, hi, b.weigh(weights, lo, hi))
	matmul.TMulPacked(1, weights, &m.packed, 1, b.sums.Rows(len(b.peaks)).RowRange(lo, hi), nil)
}

// scoreClusters returns the logarithms of the weights of clusters and sets the peaks of queries.
func (b *accumulator[T]) scoreClusters(m *moments[T], q dense.Matrix[T], lo, hi int) dense.Matrix[T] {
	n, c := hi-lo, m.terms.Rows
	extend(&b.points, q.RowRange(lo, hi), b.norms[lo:hi], b.scale)
	matmul.PackT(&b.packed, b.points.Rows(n))
	b.weights.Shape(c, n)
	weights := b.weights.Rows(c)
	matmul.MulPacked(T(b.scale), m.terms, &b.packed, 0, weights, nil)
	layout.Fill(b.peaks[lo:hi], T(math.Inf(-1)))
	vecmath.PeakRows(b.peaks[lo:hi], weights.Data, weights.Stride, c)
	return weights
}

// extend writes the rows (q, 1, s‖q‖²/2), whose products with the terms of moments are the
// logarithms of weights over s, to points, and s²‖q‖²/2 to norms.
func extend[T dense.Float](points *scratch.Buffer[T], q dense.Matrix[T], norms []T, scale float64) {
	d := q.Cols
	points.Shape(q.Rows, d+2)
	for i := range q.Rows {
		row, half := points.Rows(q.Rows).Row(i), vecmath.HalfSquaredNorm(q.Row(i))
		copy(row, q.Row(i))
		row[d], row[d+1] = 1, T(scale*half)
		norms[i] = T(scale * scale * half)
	}
}

// weigh replaces scores by weights and returns the sum of the weights of each query.
func (b *accumulator[T]) weigh(scores dense.Matrix[T], lo, hi int) []T {
	totals := b.totals[:hi-lo]
	clear(totals)
	vecmath.ExpRows(scores.Data, scores.Stride, scores.Rows, b.peaks[lo:hi], b.zeros[lo:hi], totals)
	return totals
}

// choose lists the queries that score the keys of each cluster, and sets the weight of the cluster
// for these queries to zero. totals are the sums of all weights.
func (b *accumulator[T]) choose(m *moments[T], weights dense.Matrix[T], lo, hi int, totals []T) {
	norms, bounds := b.norms[lo:hi], b.bounds[lo:hi]
	for i, total := range totals {
		bounds[i] = b.threshold * total * (b.threshold * total)
	}
	b.clusters = weights.Rows
	n := hi - lo
	for l := range weights.Rows {
		at := len(b.listed)
		b.starts = append(b.starts, at)
		row := weights.Row(l)
		b.listed = slices.Grow(b.listed, n)[:at+n]
		b.listed = b.listed[:at+m.uncertain(b.listed[at:], l, row, norms, bounds)]
		for j, i := range b.listed[at:] {
			if b.keepShares {
				b.shares = append(b.shares, row[i])
			}
			row[i] = 0
			b.listed[at+j] = int32(lo) + i
		}
	}
	b.starts = append(b.starts, len(b.listed))
}

// parts returns the number of parts of the block.
func (b *accumulator[T]) parts() int { return len(b.starts) / (b.clusters + 1) }

// queriesOf returns the queries of all parts that score the keys of a cluster. They are valid until
// the next call.
func (b *accumulator[T]) queriesOf(cluster int) []int32 {
	b.list = b.list[:0]
	for p := range b.parts() {
		b.list = append(b.list, b.queriesIn(cluster, p)...)
	}
	return b.list
}

// queriesIn returns the queries of part p that score the keys of a cluster.
func (b *accumulator[T]) queriesIn(cluster, p int) []int32 {
	at := p*(b.clusters+1) + cluster
	return b.listed[b.starts[at]:b.starts[at+1]]
}

// addKeys adds the keys of a cluster, with their values, to the sums of the queries in list. Query
// list[j] sees the first prefixes[j] keys, or all keys if prefixes is nil. prefixes is ascending.
func (b *accumulator[T]) addKeys(list []int32, q, keys, values dense.Matrix[T], prefixes []int) {
	n := len(list)
	if n == 0 {
		return
	}
	rows, shifts, totals := b.rows.Rows(n), b.shifts[:n], b.totals[:n]
	queries := rows.ColRange(0, q.Cols)
	for j, i := range list {
		copy(queries.Row(j), q.Row(int(i)))
		shifts[j] = b.peaks[i]
	}
	scores := b.scoreKeys(keys, queries)
	if prefixes != nil {
		hide(scores, prefixes)
	}
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

// scoreKeys returns the scores of queries with keys.
func (b *accumulator[T]) scoreKeys(keys, queries dense.Matrix[T]) dense.Matrix[T] {
	matmul.PackT(&b.packed, queries)
	b.scores.Shape(keys.Rows, queries.Rows)
	scores := b.scores.Rows(keys.Rows)
	matmul.MulPacked(T(b.scale), keys, &b.packed, 0, scores, nil)
	return scores
}

// hide sets the score of a key to −Inf for the queries that do not see the key. prefixes is
// ascending.
func hide[T dense.Float](scores dense.Matrix[T], prefixes []int) {
	blind := 0
	for j := prefixes[0]; j < scores.Rows; j++ {
		for blind < len(prefixes) && prefixes[blind] <= j {
			blind++
		}
		layout.Fill(scores.Row(j)[:blind], T(math.Inf(-1)))
	}
}

// finish writes the outputs, and calls exact for every query whose sum of weights is out of range.
func (b *accumulator[T]) finish(dst dense.Matrix[T], exact func(i int)) {
	finish(dst, b.sums.Rows(dst.Rows), exact)
}

// finish writes the quotients of weighted sums of values and sums of weights, the last column of
// sums, to dst. finish calls exact for every row whose sum of weights is out of range.
func finish[T dense.Float](dst, sums dense.Matrix[T], exact func(i int)) {
	for i := range dst.Rows {
		sum, total := sums.Row(i), sums.Row(i)[dst.Cols]
		if total > leastTotal && total-total == 0 {
			vecmath.Affine(dst.Row(i), sum[:dst.Cols], 1/total, 0)
		} else {
			exact(i)
		}
	}
}

// leastTotal is the least sum of weights whose terms have lost no accuracy to underflow: it exceeds
// the least normal float32 divided by the rounding error of float32.
const leastTotal = 1e-30
