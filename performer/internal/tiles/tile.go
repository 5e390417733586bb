package tiles

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// Keys is the number of keys of a tile, whose scores are computed together. The scores stay in the
// second cache, and a product with the values of these keys is a single sum.
const Keys = 256

// Tile is the scratch memory of one goroutine for a block of queries. It holds their scores for
// Keys keys, with a row for each key. For each query it holds the sums, the sum of the weights and
// the largest score so far.
//
// The scores are transposed: the queries are the packed operand, and are packed once for all tiles.
// The sum of the weights takes one addition for each score, for all queries at once, in the order
// of the sums of values.
type Tile[T dense.Float] struct {
	scoring Scores
	queries matmul.Packed[T]  // transposed
	scores  scratch.Buffer[T] // Keys×queries
	sums    scratch.Buffer[T] // queries×dv
	changes scratch.Buffer[T] // Keys×queries, of pairs
	clean   scratch.Buffer[T] // Keys×dv
	few     few[T]
	mask    Mask[T] // of AddSeen
	parts   []Part
	slopes  slopes[T]
	seen    []bool // queries that have seen a key
	unseen  int    // number of other queries
	caps    []T    // memory of softcap

	// One element for each query.
	peaks, raised []T // largest finite score so far, before and with a tile
	shift         []T // subtracted from scores: the peak, or 0 if there is none
	total, added  []T // the sum of the weights, and the sum over a tile
	zeros         []T
}

// NewTile returns a tile from a pool for the queries q and values of dimension dv, before the first
// key.
func NewTile[T dense.Float](scoring Scores, q dense.Matrix[T], dv int) *Tile[T] {
	t := pool.Get[Tile[T]](&tiles)
	n := q.Rows
	t.scoring = scoring
	t.scores.Shape(Keys, n)
	t.sums.Shape(n, dv)
	clear(t.sums.Data)
	for _, x := range []*[]T{&t.peaks, &t.raised, &t.shift, &t.total, &t.added, &t.zeros} {
		*x = scratch.Resize(*x, n)
		clear(*x)
	}
	layout.Fill(t.peaks, T(math.Inf(-1)))
	if scoring.Softcap != 0 {
		t.caps = scratch.Resize(t.caps, n)
	}
	t.seen, t.unseen = scratch.Resize(t.seen, n), n
	clear(t.seen)
	if n <= fewQueries {
		t.few.begin(q)
	} else {
		matmul.PackT(&t.queries, q)
	}
	return t
}

func (t *Tile[T]) Release() {
	t.mask = Mask[T]{}
	pool.Put(&tiles, t)
}

// AddSeen adds the keys and values that the queries of the tile see. These are the queries from
// query first on of the mask. Keys that no query sees are not read, and tiles without a seen key
// cost no products. Outputs do not depend on how queries are divided into tiles.
func (t *Tile[T]) AddSeen(k, v dense.Matrix[T], mask Mask[T], first int) {
	end := first + len(t.peaks)
	if end == first {
		return
	}
	t.mask = mask
	for _, p := range t.Parts(&t.mask, first, k.Rows) {
		if !mask.Pairs.blind(first, end, p.From, p.To) {
			t.AddPart(k.RowRange(p.From, p.To), v.RowRange(p.From, p.To), &t.mask, first, p)
		}
	}
}

// Parts returns the parts of n keys that the queries of the tile see, see [Mask.AppendParts]. They
// are valid until the next call.
func (t *Tile[T]) Parts(mask *Mask[T], first, n int) []Part {
	t.parts = mask.AppendParts(t.parts[:0], first, first+len(t.peaks), n)
	return t.parts
}

// AddPart adds the keys k and values v of a part that the queries of the tile see.
func (t *Tile[T]) AddPart(k, v dense.Matrix[T], mask *Mask[T], first int, p Part) {
	w := mask.view(first, first+len(t.peaks), p.From, p.To, &t.changes, &t.slopes)
	t.add(k, v, &w)
}

func (t *Tile[T]) add(k, v dense.Matrix[T], w *maskView[T]) {
	if !t.markSeen(w, k.Rows) {
		return
	}
	if len(t.peaks) <= fewQueries && !w.closed && w.slopes == nil {
		t.addFew(k, v)
		return
	}
	if n := len(t.peaks); n <= fewQueries && !t.few.packed {
		matmul.PackT(&t.queries, t.few.queries.Rows(n))
		t.few.packed = true
	}
	scores := t.scores.Rows(k.Rows)
	matmul.MulPacked(T(t.scoring.Scale), k, &t.queries, 0, scores, nil)
	if t.scoring.Softcap != 0 {
		for j := range scores.Rows {
			softcap(scores.Row(j), capIn[T](t.scoring.Softcap), t.caps)
		}
	}
	if w.closed || w.slopes != nil {
		for j := range scores.Rows {
			w.apply(j, scores.Row(j))
		}
	}
	t.weigh(scores)
	w.product(addWeighted, t.sums.Rows(len(t.peaks)), scores, v, 1, false, &t.clean)
}

func addWeighted[T dense.Float](s, v, sums dense.Matrix[T]) { matmul.TMul(1, s, v, 1, sums) }

func (t *Tile[T]) markSeen(w *maskView[T], n int) bool {
	switch {
	case !w.closed:
		for i := range t.seen {
			t.seen[i] = true
		}
		t.unseen = 0
		return true
	case w.changes.Rows > 0:
		return t.markSeenPairs(w)
	}
	any := false
	for j := range n {
		from, to := w.mask.Queries(w.lo+j, w.first, w.end)
		if from >= to {
			continue
		}
		if any = true; t.unseen == 0 {
			break
		}
		for i := from; i < to; i++ {
			if !t.seen[i] {
				t.seen[i] = true
				t.unseen--
			}
		}
	}
	return any
}

func (t *Tile[T]) markSeenPairs(w *maskView[T]) bool {
	closed, any := T(math.Inf(-1)), false
	layout.Fill(t.raised, closed)
	vecmath.PeakRows(t.raised, w.changes.Data, w.changes.Stride, w.changes.Rows)
	for i, peak := range t.raised {
		if peak == closed && !w.mask.Pairs.Bias.IsZero() { // biases of NaN and +Inf are no peaks
			for j := 0; j < w.changes.Rows && peak == closed; j++ {
				peak = w.changes.Row(j)[i]
			}
		}
		if peak != closed {
			t.seen[i], any = true, true
		}
	}
	return any
}

func (t *Tile[T]) weigh(scores dense.Matrix[T]) {
	t.raiseAll(scores)
	clear(t.added)
	vecmath.ExpRows(scores.Data, scores.Stride, scores.Rows, t.shift, t.zeros, t.added)
	vecmath.AddScaled(t.total, t.added, 1)
}

func (t *Tile[T]) raiseAll(scores dense.Matrix[T]) {
	copy(t.raised, t.peaks)
	vecmath.PeakRows(t.raised, scores.Data, scores.Stride, scores.Rows)
	for i, peak := range t.raised {
		t.raise(i, peak)
	}
}

// Finish writes the outputs of the queries. The output of a query that has seen no key is zero.
func (t *Tile[T]) Finish(dst dense.Matrix[T]) {
	for i := range dst.Rows {
		t.FinishRow(t.scoring, dst.Row(i), i)
	}
}

// FinishRow writes the output of query i. scoring is the scoring of the tile, or has another Sink.
func (t *Tile[T]) FinishRow(scoring Scores, dst []T, i int) {
	if !t.seen[i] {
		clear(dst)
		return
	}
	sums, total, peak := t.Sums(i)
	Output(scoring, dst, sums, total, peak)
}

// logSums sets dst to log(Σ_j A_ij + Sink) for the queries i that have seen a key.
func (t *Tile[T]) logSums(dst []T) {
	for i := range dst {
		if !t.seen[i] {
			continue
		}
		_, sum, peak := t.Sums(i)
		log := math.Log(float64(sum))
		if !math.IsInf(peak, -1) {
			log += peak
		}
		if sink := math.Log(t.scoring.Sink); !math.IsInf(sink, -1) {
			log = max(log, sink) + math.Log1p(math.Exp(-math.Abs(log-sink)))
		}
		dst[i] = T(log)
	}
}

// Output writes the output for the sums Σ_j A_ij v_j and total Σ_j A_ij, over exp(peak).
func Output[T dense.Float](scoring Scores, dst, sums []T, total T, peak float64) {
	logscale.Divide(dst, sums, T(scoring.Total(float64(total), peak)))
}

// Sums returns Σ_j A_ij v_j and Σ_j A_ij over exp(peak); peak is −Inf without a finite score.
func (t *Tile[T]) Sums(i int) (sums []T, total T, peak float64) {
	return t.sums.Rows(i + 1).Row(i), t.total[i], float64(t.peaks[i])
}

var tiles pool.Pair[Tile[float32], Tile[float64]]
