package clusters

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// block is the scratch memory of one goroutine for a block of queries. First, far and close add what
// clusters and close keys weigh, part by part of the block; then near adds the scored keys of one
// cluster after another; finish divides.
//
// Matrices of scores have a row for each key or cluster and a column for each query, so that queries
// are the operand that is packed.
type block[T dense.Float] struct {
	scale     float64
	threshold T
	sums      scratch.Buffer[T] // queries×(dv+1), weights in the last column

	// Elements of queries.
	peaks  []T // subtracted from scores
	norms  []T // s²‖q‖²/2
	bounds []T // (τ·D)²
	zeros  []T

	clusters int
	listed   []int32 // the queries for which keys of clusters are scored, by part and cluster
	starts   []int   // where the list of a cluster and part begins in listed
	shared   bool    // whether shares are kept
	shares   []T     // parallel to listed, the weights of clusters

	points  scratch.Buffer[T] // part×(d+2)
	weights scratch.Buffer[T] // clusters×part
	scores  scratch.Buffer[T] // keys×queries
	rows    scratch.Buffer[T] // listed queries, and what their keys sum to
	packed  matmul.Packed[T]
	ones    scratch.Buffer[T]
	list    []int32
	shifts  []T
	totals  []T
	seen    []int
	coding  coding[T]
}

// begin makes room for n queries of dimension d and values of dimension dv, before the first part.
func (b *block[T]) begin(n, d, dv int, scale float64, threshold T) {
	b.scale, b.threshold = scale, threshold
	b.sums.Shape(n, dv+1)
	clear(b.sums.Data)
	b.rows.Shape(n, max(d, dv))
	for _, x := range []*[]T{&b.peaks, &b.norms, &b.bounds, &b.zeros, &b.shifts, &b.totals} {
		*x = scratch.Resize(*x, n)
	}
	clear(b.zeros)
	b.listed, b.starts = b.listed[:0], b.starts[:0]
	b.shared, b.shares = false, b.shares[:0]
}

// far begins with the queries lo ≤ i < hi: it adds the clusters to their sums by the weights
//
//	w_ic = exp(s·q_i·μ_c + log n_c + s²‖q_i‖²·t_c/2 − peak_i)
//
// but those whose keys are to be scored, which it lists.
func (b *block[T]) far(m *moments[T], q dense.Matrix[T], lo, hi int) {
	weights := b.scoreClusters(m, q, lo, hi)
	b.choose(m, weights, lo, hi, b.weigh(weights, lo, hi))
	matmul.TMulPacked(1, weights, &m.packed, 1, b.sums.Rows(len(b.peaks)).RowRange(lo, hi), nil)
}

// scoreClusters returns the logarithms of the weights of clusters and sets the peaks of queries.
func (b *block[T]) scoreClusters(m *moments[T], q dense.Matrix[T], lo, hi int) dense.Matrix[T] {
	n, d, c := hi-lo, q.Cols, m.terms.Rows
	b.points.Shape(n, d+2)
	points := b.points.Rows(n)
	for i := range n {
		row := points.Row(i)
		copy(row, q.Row(lo+i))
		half := vecmath.HalfSquaredNorm(q.Row(lo + i))
		row[d], row[d+1] = 1, T(b.scale*half)
		b.norms[lo+i] = T(b.scale * b.scale * half)
		b.peaks[lo+i] = T(math.Inf(-1))
	}
	matmul.PackT(&b.packed, points)
	b.weights.Shape(c, n)
	weights := b.weights.Rows(c)
	matmul.MulPacked(T(b.scale), m.terms, &b.packed, 0, weights, nil)
	vecmath.PeakRows(b.peaks[lo:hi], weights.Data, weights.Stride, c)
	return weights
}

// weigh replaces scores by weights and returns their sums.
func (b *block[T]) weigh(scores dense.Matrix[T], lo, hi int) []T {
	totals := b.totals[:hi-lo]
	clear(totals)
	vecmath.ExpRows(scores.Data, scores.Stride, scores.Rows, b.peaks[lo:hi], b.zeros[lo:hi], totals)
	return totals
}

// choose lists the queries for which the keys of a cluster are to be scored, and sets their weights
// of the cluster to zero. totals are the sums of all weights.
func (b *block[T]) choose(m *moments[T], weights dense.Matrix[T], lo, hi int, totals []T) {
	norms, bounds := b.norms[lo:hi], b.bounds[lo:hi]
	for i, total := range totals {
		bounds[i] = b.threshold * total * (b.threshold * total)
	}
	b.clusters = weights.Rows
	n := hi - lo
	for l := range weights.Rows {
		at := len(b.listed)
		b.starts = append(b.starts, at)
		if m.counts[l] < 2 { // the mean is the key
			continue
		}
		row := weights.Row(l)
		b.listed = slices.Grow(b.listed, n)[:at+n]
		found := vecmath.Uncertain(b.listed[at:], row, norms, 2*m.spread(l), 1/T(m.counts[l]), bounds)
		b.listed = b.listed[:at+found]
		if b.shared {
			for _, i := range b.listed[at:] {
				b.shares = append(b.shares, row[i])
			}
		}
		for j, i := range b.listed[at:] {
			row[i] = 0
			b.listed[at+j] = int32(lo) + i
		}
	}
	b.starts = append(b.starts, len(b.listed))
}

// parts returns the number of parts of the block.
func (b *block[T]) parts() int { return len(b.starts) / (b.clusters + 1) }

// queriesOf returns the queries of parts from ≤ p < to that are listed for a cluster. They are valid
// until the next call.
func (b *block[T]) queriesOf(cluster, from, to int) []int32 {
	b.list = b.list[:0]
	for p := from; p < to; p++ {
		b.list = append(b.list, b.listedIn(cluster, p)...)
	}
	return b.list
}

// listedIn returns the queries of part p that are listed for a cluster.
func (b *block[T]) listedIn(cluster, p int) []int32 {
	at := p*(b.clusters+1) + cluster
	return b.listed[b.starts[at]:b.starts[at+1]]
}

// near adds the keys of a cluster, with their values, to the sums of the queries in list. Query j of
// the list sees as many keys as seen says for it, from the first on, or all if seen is nil.
func (b *block[T]) near(list []int32, q, keys, values dense.Matrix[T], seen []int) {
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
	matmul.PackT(&b.packed, queries)
	b.scores.Shape(keys.Rows, n)
	scores := b.scores.Rows(keys.Rows)
	matmul.MulPacked(T(b.scale), keys, &b.packed, 0, scores, nil)
	if seen != nil {
		hide(scores, seen)
	}
	clear(totals)
	vecmath.ExpRows(scores.Data, scores.Stride, keys.Rows, shifts, b.zeros[:n], totals)
	dv := values.Cols
	found := rows.ColRange(0, dv)
	matmul.TMul(1, scores, values, 0, found)
	sums := b.sums.Rows(len(b.peaks))
	for j, i := range list {
		sum := sums.Row(int(i))
		vecmath.AddScaled(sum[:dv], found.Row(j), 1)
		sum[dv] += totals[j]
	}
}

// hide sets the scores of keys that queries do not see to −Inf. seen is ascending.
func hide[T dense.Float](scores dense.Matrix[T], seen []int) {
	blind := 0
	for j := seen[0]; j < scores.Rows; j++ {
		for blind < len(seen) && seen[blind] <= j {
			blind++
		}
		row := scores.Row(j)[:blind]
		for i := range row {
			row[i] = T(math.Inf(-1))
		}
	}
}

// finish writes the outputs. It calls exact for the rows whose weights are out of range.
func (b *block[T]) finish(dst dense.Matrix[T], exact func(i int)) {
	sums := b.sums.Rows(dst.Rows)
	for i := range dst.Rows {
		sum := sums.Row(i)
		total := sum[dst.Cols]
		if !inRange(total) {
			exact(i)
			continue
		}
		vecmath.Affine(dst.Row(i), sum[:dst.Cols], 1/total, 0)
	}
}

// inRange reports whether the sum of the weights of a query is finite and so large that no weight
// that counts has lost digits to underflow.
func inRange[T dense.Float](total T) bool { return total > leastTotal && total-total == 0 }

// leastTotal is above the least normal number of float32 over its rounding.
const leastTotal = 1e-30
