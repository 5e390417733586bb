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

// stepScratch is the scratch memory of one goroutine for the queries of one token that read one
// head of keys of a stream. Matrices of scores have a row for each key or cluster and a column for
// each query. These matrices have no gaps between rows, because often there is one query.
type stepScratch[T dense.Float] struct {
	scale float64

	// Elements of queries.
	peaks  []T // subtracted from scores
	raised []T // the peaks of all scores, including those of chosen clusters
	norms  []T // s²‖q‖²/2
	bounds []T // (τ·D)²
	totals []T
	zeros  []T

	extended        scratch.Buffer[T] // queries×(d+2)
	queries, points matmul.Packed[T]  // queries and extended queries
	weights         []T               // clusters×queries
	recent          []T               // recent keys×queries
	scored          []T               // keys of chosen clusters×queries
	sums            scratch.Buffer[T] // queries×(dv+1), weights in the last column
	chosen          []int             // clusters whose keys are scored
	listed          []int32
}

var stepScratches pool.Pair[stepScratch[float32], stepScratch[float64]]

// attend writes the outputs of the queries q over all tokens of s to dst.
func (w *stepScratch[T]) attend(s *store[T], dst, q dense.Matrix[T]) {
	w.begin(s, q)
	w.addClustersAndRecent(s)
	w.addChosen(s)
	finish(dst, w.sums.Rows(q.Rows), func(i int) { s.attendExactly(dst.RowRange(i, i+1), q.RowRange(i, i+1)) })
}

// begin packs the queries and makes room for their weights.
func (w *stepScratch[T]) begin(s *store[T], q dense.Matrix[T]) {
	n := q.Rows
	w.scale = s.a.scale(q.Cols)
	for _, x := range []*[]T{&w.peaks, &w.raised, &w.norms, &w.bounds, &w.totals, &w.zeros} {
		*x = scratch.Resize(*x, n)
	}
	clear(w.zeros)
	layout.Fill(w.peaks, T(math.Inf(-1)))
	w.listed = scratch.Resize(w.listed, n)
	w.sums.Shape(n, s.dv+1)
	extend(&w.extended, q, w.norms, w.scale)
	matmul.PackT(&w.points, w.extended.Rows(n))
	matmul.PackT(&w.queries, q)
}

// addClustersAndRecent adds up the recent tokens and the clusters whose keys no query scores. It
// lists the other clusters.
func (w *stepScratch[T]) addClustersAndRecent(s *store[T]) {
	n, m := len(w.peaks), &s.moments
	clusters := len(s.clusters)
	k, v := s.recent()
	weights, recent := shaped(&w.weights, clusters, n), shaped(&w.recent, k.Rows, n)
	if clusters > 0 {
		matmul.MulPacked(T(w.scale), m.terms, &w.points, 0, weights, nil)
	}
	matmul.MulPacked(T(w.scale), k, &w.queries, 0, recent, nil)
	raise(w.peaks, weights)
	raise(w.peaks, recent)
	w.weigh(weights, w.peaks)
	w.choose(m, weights, s.a.threshold)
	w.weigh(recent, w.peaks)
	sums := w.sums.Rows(n)
	clear(w.sums.Data)
	for i, total := range w.totals {
		sums.Row(i)[s.dv] = total
	}
	matmul.TMul(1, recent, v, 1, sums.ColRange(0, s.dv))
	if clusters > 0 {
		matmul.TMul(1, weights, m.means, 1, sums)
	}
}

// shaped returns a matrix in memory, with arbitrary elements.
func shaped[T dense.Float](memory *[]T, rows, cols int) dense.Matrix[T] {
	*memory = scratch.Resize(*memory, rows*cols)
	return dense.Of(rows, cols, *memory)
}

// raise replaces the peak of a query, its largest score so far, if its column of scores has a
// larger element.
func raise[T dense.Float](peaks []T, scores dense.Matrix[T]) {
	if scores.Cols == 1 {
		peaks[0] = max(peaks[0], vecmath.Peak(scores.Data))
		return
	}
	vecmath.PeakRows(peaks, scores.Data, scores.Stride, scores.Rows)
}

// weigh replaces scores by weights and sets the totals to the sums of the weights of each query.
func (w *stepScratch[T]) weigh(scores dense.Matrix[T], peaks []T) {
	clear(w.totals)
	if scores.Cols == 1 {
		vecmath.ExpMinus(scores.Data, scores.Data, peaks[0])
		w.totals[0] += vecmath.Sum(scores.Data)
		return
	}
	vecmath.ExpRows(scores.Data, scores.Stride, scores.Rows, peaks, w.zeros, w.totals)
}

// choose lists the clusters whose keys a query scores, and sets the weights of these clusters to
// zero.
func (w *stepScratch[T]) choose(m *moments[T], weights dense.Matrix[T], threshold T) {
	for i, total := range w.totals {
		w.bounds[i] = threshold * total * (threshold * total)
	}
	w.chosen = w.chosen[:0]
	for l := range weights.Rows {
		row := weights.Row(l)
		if m.uncertain(w.listed, l, row, w.norms, w.bounds) > 0 {
			w.chosen = append(w.chosen, l)
			clear(row)
		}
	}
}

// addChosen adds the keys of the chosen clusters.
func (w *stepScratch[T]) addChosen(s *store[T]) {
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

// attendExactly computes exact attention over all tokens.
func (s *store[T]) attendExactly(dst, q dense.Matrix[T]) {
	t := tiles.NewTile(tiles.Scores{Scale: s.a.scale(s.d)}, q, s.dv)
	for l := range s.clusters {
		k, v := s.members(l)
		t.Add(k, v)
	}
	k, v := s.recent()
	t.Add(k, v)
	t.Finish(dst)
	t.Release()
}
