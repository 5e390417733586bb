package clusters

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// asking is the scratch memory of one goroutine for the queries of one token that read one head of
// keys of a stream. Matrices of scores have a row for each key or cluster, and a column for each
// query. Their rows follow one another without a gap, as there often is one query.
type asking[T dense.Float] struct {
	scale float64

	// Elements of queries.
	peaks  []T // subtracted from scores
	raised []T // the peaks with further scores
	norms  []T // s²‖q‖²/2
	bounds []T // (τ·D)²
	totals []T
	zeros  []T

	extended        scratch.Buffer[T] // queries×(d+2)
	queries, points matmul.Packed[T]  // queries, and those that are extended
	weights         []T               // clusters×queries
	recent          []T               // recent keys×queries
	scored          []T               // keys of chosen clusters×queries
	sums            scratch.Buffer[T] // queries×(dv+1), weights in the last column
	chosen          []int             // clusters
	hits            []int32
}

// Scratch memory of all queries.
var askings pool.Pair[asking[float32], asking[float64]]

// answer writes the outputs of the queries over all tokens of s.
func (w *asking[T]) answer(s *store[T], dst, q dense.Matrix[T]) {
	w.begin(s, q)
	w.sum(s)
	w.scoreChosen(s)
	sums := w.sums.Rows(q.Rows)
	for i := range q.Rows {
		total := sums.Row(i)[s.dv]
		if !inRange(total) {
			s.exact(dst.RowRange(i, i+1), q.RowRange(i, i+1))
			continue
		}
		vecmath.Affine(dst.Row(i), sums.Row(i)[:s.dv], 1/total, 0)
	}
}

// begin takes in the queries.
func (w *asking[T]) begin(s *store[T], q dense.Matrix[T]) {
	n, d := q.Rows, q.Cols
	w.scale = s.a.scale(d)
	for _, x := range []*[]T{&w.peaks, &w.raised, &w.norms, &w.bounds, &w.totals, &w.zeros} {
		*x = scratch.Resize(*x, n)
	}
	clear(w.zeros)
	layout.Fill(w.peaks, T(math.Inf(-1)))
	w.hits = scratch.Resize(w.hits, n)
	w.sums.Shape(n, s.dv+1)
	w.extended.Shape(n, d+2)
	points := w.extended.Rows(n)
	for i := range n {
		row, half := points.Row(i), vecmath.HalfSquaredNorm(q.Row(i))
		copy(row, q.Row(i))
		row[d], row[d+1] = 1, T(w.scale*half)
		w.norms[i] = T(w.scale * w.scale * half)
	}
	matmul.PackT(&w.points, points)
	matmul.PackT(&w.queries, q)
}

// sum sums up the recent tokens and the clusters that are far. It chooses the others.
func (w *asking[T]) sum(s *store[T]) {
	n, m := len(w.peaks), &s.moments
	clusters := len(s.clusters)
	k, v := s.recent()
	weights, near := shaped(&w.weights, clusters, n), shaped(&w.recent, k.Rows, n)
	if clusters > 0 {
		matmul.MulPacked(T(w.scale), m.terms, &w.points, 0, weights, nil)
	}
	matmul.MulPacked(T(w.scale), k, &w.queries, 0, near, nil)
	raise(w.peaks, weights)
	raise(w.peaks, near)
	clear(w.totals)
	w.weigh(weights, w.peaks)
	w.choose(m, weights, s.a.threshold)
	clear(w.totals)
	w.weigh(near, w.peaks)
	sums := w.sums.Rows(n)
	clear(w.sums.Data)
	for i, total := range w.totals {
		sums.Row(i)[s.dv] = total
	}
	matmul.TMul(1, near, v, 1, sums.ColRange(0, s.dv))
	if clusters > 0 {
		matmul.TMul(1, weights, m.means, 1, sums)
	}
}

// shaped returns rows×cols elements of memory, which hold anything.
func shaped[T dense.Float](memory *[]T, rows, cols int) dense.Matrix[T] {
	*memory = scratch.Resize(*memory, rows*cols)
	return dense.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: *memory}
}

// raise raises the peaks of queries to their largest scores.
func raise[T dense.Float](peaks []T, scores dense.Matrix[T]) {
	if scores.Cols == 1 {
		peaks[0] = max(peaks[0], vecmath.Peak(scores.Data))
		return
	}
	vecmath.PeakRows(peaks, scores.Data, scores.Stride, scores.Rows)
}

// weigh replaces scores by weights and adds these to the totals.
func (w *asking[T]) weigh(scores dense.Matrix[T], peaks []T) {
	if scores.Cols == 1 {
		vecmath.ExpMinus(scores.Data, scores.Data, peaks[0])
		w.totals[0] += vecmath.Sum(scores.Data)
		return
	}
	vecmath.ExpRows(scores.Data, scores.Stride, scores.Rows, peaks, w.zeros, w.totals)
}

// choose lists the clusters whose keys are to be scored for a query, and sets their weights to zero.
func (w *asking[T]) choose(m *moments[T], weights dense.Matrix[T], threshold T) {
	for i, total := range w.totals {
		w.bounds[i] = threshold * total * (threshold * total)
	}
	w.chosen = w.chosen[:0]
	for l := range weights.Rows {
		if m.counts[l] < 2 { // the mean is the key
			continue
		}
		row := weights.Row(l)
		if vecmath.Uncertain(w.hits, row, w.norms, 2*m.spread(l), 1/T(m.counts[l]), w.bounds) > 0 {
			w.chosen = append(w.chosen, l)
			clear(row)
		}
	}
}

// scoreChosen adds the keys of the chosen clusters.
func (w *asking[T]) scoreChosen(s *store[T]) {
	n, rows := len(w.peaks), 0
	for _, l := range w.chosen {
		rows += s.moments.counts[l]
	}
	if rows == 0 {
		return
	}
	scores := shaped(&w.scored, rows, n)
	at := 0
	for _, l := range w.chosen {
		k, _ := s.members(l)
		matmul.MulPacked(T(w.scale), k, &w.queries, 0, scores.RowRange(at, at+k.Rows), nil)
		at += k.Rows
	}
	sums := w.sums.Rows(n)
	copy(w.raised, w.peaks)
	raise(w.raised, scores)
	for i, peak := range w.raised {
		if old := w.peaks[i]; peak > old {
			vecmath.Scale(sums.Row(i), T(math.Exp(float64(old-peak))))
		}
	}
	clear(w.totals)
	w.weigh(scores, w.raised)
	at = 0
	for _, l := range w.chosen {
		k, v := s.members(l)
		matmul.TMul(1, scores.RowRange(at, at+k.Rows), v, 1, sums.ColRange(0, s.dv))
		at += k.Rows
	}
	for i, total := range w.totals {
		sums.Row(i)[s.dv] += total
	}
}

// exact answers queries by the weights of all tokens.
func (s *store[T]) exact(dst, q dense.Matrix[T]) {
	t := tiles.NewTile(tiles.Scores{Scale: s.a.scale(s.d)}, q, s.dv)
	for l := range s.clusters {
		k, v := s.members(l)
		t.Add(k, v, nil)
	}
	k, v := s.recent()
	t.Add(k, v, nil)
	t.Finish(dst)
	t.Release()
}
