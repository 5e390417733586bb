package performer

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// tileKeys is the number of keys whose scores are computed together. The scores stay in the second
// cache, and a product over these keys is a single sum.
const tileKeys = 4 * block

// tile is the scratch memory of one goroutine for a block of queries. It has their scores for
// tileKeys keys, one row for each key. For each query it has the sums, the sum of the weights and
// the largest score so far.
//
// The scores are transposed. So the queries are the operand that is packed, once for all tiles. The
// sum of the weights takes one addition for each score, for all queries at once, in the order in
// which products sum the values.
type tile[T dense.Float] struct {
	form    Exact[T]
	scale   T
	queries matmul.Packed[T]  // transposed
	valid   []bool            // keys that count; nil are all
	last    []int             // the last key that each query sees, ascending, if causal
	scores  scratch.Buffer[T] // tileKeys×queries
	values  scratch.Buffer[T] // tileKeys×dv, of the keys that count
	sums    scratch.Buffer[T] // queries×dv

	pairs   *pairing[T]       // nil if nothing but form, valid and last changes scores
	first   int               // the number of query 0, for pairs
	changes scratch.Buffer[T] // tileKeys×queries, of pairs
	open    []bool            // which queries have seen a key, for pairs
	caps    []T               // memory of softcap

	// One element a query.
	peaks, raised []T // the largest finite score so far, before and with a tile
	shift         []T // subtracted from scores: the peak, or 0 if there is none
	total, added  []T // the sum of the weights, and the sum over a tile
	zeros         []T
}

// prepare makes room for n queries of dimension d and values of dimension dv, before the first key.
func (t *tile[T]) prepare(n, dv int, form Exact[T], d int) {
	t.form, t.scale = form, T(form.scale(d))
	t.scores.Shape(tileKeys, n)
	t.sums.Shape(n, dv)
	clear(t.sums.Data)
	for _, x := range []*[]T{&t.peaks, &t.raised, &t.shift, &t.total, &t.added, &t.zeros} {
		*x = scratch.Resize(*x, n)
		clear(*x)
	}
	for i := range t.peaks {
		t.peaks[i] = T(math.Inf(-1))
	}
	if form.Softcap != 0 {
		t.caps = scratch.Resize(t.caps, n)
	}
	t.open = scratch.Resize(t.open, n)
	clear(t.open)
}

// attend computes the outputs of a block of queries. Query 0 of the block is aligned with key
// number first.
func (t *tile[T]) attend(dst, q, k, v dense.Matrix[T], first int) {
	t.align(q.Rows, first)
	t.attendUpTo(dst, q, k, v)
}

// align lets query i of n see the keys up to first + i if the form is causal.
func (t *tile[T]) align(n, first int) {
	t.last = scratch.Resize(t.last, n)
	for i := range t.last {
		t.last[i] = first + i
	}
}

// attendUpTo computes the outputs of a block of queries. If the form is causal, t.last says which
// keys each query sees.
func (t *tile[T]) attendUpTo(dst, q, k, v dense.Matrix[T]) {
	t.sum(q, k, v)
	t.finish(dst)
}

// finish writes the outputs of the queries.
func (t *tile[T]) finish(dst dense.Matrix[T]) {
	sums := t.sums.Rows(dst.Rows)
	for i := range dst.Rows {
		switch peak := float64(t.peaks[i]); {
		case t.pairs != nil && !t.open[i]:
			clear(dst.Row(i))
		case !t.form.Unnormalised:
			divide(dst.Row(i), sums.Row(i), t.total[i])
		case math.IsInf(peak, -1):
			applyScale(dst.Row(i), sums.Row(i), scale{factor: 1})
		default:
			applyScale(dst.Row(i), sums.Row(i), newScale(peak, 0))
		}
	}
}

// sum adds the keys that attendUpTo takes to the sums of a block of queries.
func (t *tile[T]) sum(q, k, v dense.Matrix[T]) {
	t.pack(q)
	t.add(k, v, nil)
}

// pack makes q the block of queries.
func (t *tile[T]) pack(q dense.Matrix[T]) { matmul.PackT(&t.queries, q) }

// add adds keys to the sums of the queries that are packed. Weights are multiplied by exp(logs),
// unless logs is nil.
func (t *tile[T]) add(k, v dense.Matrix[T], logs []T) {
	end := k.Rows
	if t.form.Causal {
		end = min(t.last[len(t.last)-1]+1, k.Rows)
	}
	for lo := 0; lo < end; lo += tileKeys {
		hi := min(lo+tileKeys, end)
		var valid []bool
		if t.valid != nil {
			valid = t.valid[lo:hi]
		}
		var more []T
		if logs != nil {
			more = logs[lo:hi]
		}
		t.take(k.RowRange(lo, hi), v.RowRange(lo, hi), valid, more, lo)
	}
}

// take adds a tile of keys and values, which begins at key number lo, to the sums of the queries.
// Scores are raised by logs, unless logs is nil.
func (t *tile[T]) take(k, v dense.Matrix[T], valid []bool, logs []T, lo int) {
	if t.pairs != nil {
		t.takePairs(k, v, lo)
		return
	}
	n := len(t.peaks)
	scores, sums := t.scores.Rows(k.Rows), t.sums.Rows(n)
	t.score(scores, k)
	for j, x := range logs {
		vecmath.Affine(scores.Row(j), scores.Row(j), 1, x)
	}
	diagonal := t.form.Causal && t.last[0]-lo+1 < k.Rows
	if diagonal {
		blind := 0 // queries that do not see the key
		for j := max(t.last[0]-lo+1, 0); j < k.Rows; j++ {
			for blind < n && t.last[blind]-lo < j {
				blind++
			}
			fill(scores.Row(j)[:blind], T(math.Inf(-1)))
		}
	}
	if slices.Contains(valid, false) {
		v = t.leaveOut(scores, v, valid)
	}
	t.weigh(scores, sums)
	if !diagonal || finite(v) {
		matmul.TMul(1, scores, v, 1, sums)
		return
	}
	// Keys that do not count are left out rather than multiplied by zero.
	for i := range n {
		if seen := min(t.last[i]-lo+1, k.Rows); seen > 0 {
			matmul.TMul(1, scores.RowRange(0, seen).ColRange(i, i+1), v.RowRange(0, seen), 1, sums.RowRange(i, i+1))
		}
	}
}

// score writes the scores of keys.
func (t *tile[T]) score(scores, k dense.Matrix[T]) {
	matmul.MulPacked(t.scale, k, &t.queries, 0, scores, nil)
	if t.form.Softcap != 0 {
		for j := range scores.Rows {
			softcap(scores.Row(j), capIn[T](t.form.Softcap), t.caps)
		}
	}
}

// weigh replaces scores by weights, and adds the weights to the sums of weights.
func (t *tile[T]) weigh(scores, sums dense.Matrix[T]) {
	t.raise(scores, sums)
	clear(t.added)
	vecmath.ExpRows(scores.Data, scores.Stride, scores.Rows, t.shift, t.zeros, t.added)
	vecmath.AddScaled(t.total, t.added, 1)
}

// raise updates the peaks by the scores, and rescales the sums of queries whose peak has grown.
func (t *tile[T]) raise(scores, sums dense.Matrix[T]) {
	inf := T(math.Inf(1))
	copy(t.raised, t.peaks)
	vecmath.PeakRows(t.raised, scores.Data, scores.Stride, scores.Rows)
	for i, peak := range t.raised {
		old := t.peaks[i]
		if peak == old {
			continue
		}
		// Before the first finite score the sums do not change: they are zero, or NaN or Inf from a
		// score that is NaN or Inf.
		if old > -inf {
			factor := T(math.Exp(float64(old - peak)))
			vecmath.Scale(sums.Row(i), factor)
			t.total[i] *= factor
		}
		t.peaks[i], t.shift[i] = peak, peak
	}
}

// leaveOut leaves out the keys that are not valid. Their scores become −Inf, and their values are
// zero in the copy of the values that leaveOut returns.
func (t *tile[T]) leaveOut(scores, values dense.Matrix[T], valid []bool) dense.Matrix[T] {
	t.values.Shape(tileKeys, values.Cols)
	kept := t.values.Rows(values.Rows)
	for j, counts := range valid {
		if counts {
			copy(kept.Row(j), values.Row(j))
		} else {
			fill(scores.Row(j), T(math.Inf(-1)))
			clear(kept.Row(j))
		}
	}
	return kept
}

// fill sets every element of x to v.
func fill[T dense.Float](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// Scratch memory of all calls of Exact.
var (
	exacts pool.Both[exact[float32], exact[float64]]
	tiles  pool.Both[tile[float32], tile[float64]]
)
