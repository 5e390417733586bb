package tiles

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// fewQueries is the largest number of queries for which scores have a row for each query. A vector
// of scores of one key would be nearly empty for so few queries. The bits are the same.
const fewQueries = 8

type few[T dense.Float] struct {
	queries scratch.Buffer[T]
	scores  scratch.Buffer[T] // queries×Keys
	packed  bool              // whether the queries of the tile are packed as well
}

func (f *few[T]) begin(q dense.Matrix[T]) {
	f.queries.Shape(q.Rows, q.Cols)
	dense.Copy(f.queries.Rows(q.Rows), q)
	f.scores.Shape(q.Rows, Keys)
	f.packed = false
}

func (t *Tile[T]) addFew(k, v dense.Matrix[T]) {
	n := len(t.peaks)
	scores := t.few.scores.Rows(n).ColRange(0, k.Rows)
	matmul.MulT(T(t.scoring.Scale), t.few.queries.Rows(n), k, 0, scores)
	t.weighFew(scores)
	matmul.MulOnce(1, scores, v, 1, t.sums.Rows(n))
}

// weighFew replaces scores, with a row for each query, by weights, and adds the weights to totals.
func (t *Tile[T]) weighFew(scores dense.Matrix[T]) {
	for i := range scores.Rows {
		row := scores.Row(i)
		if t.scoring.Softcap != 0 {
			t.caps = scratch.Resize(t.caps, len(row))
			softcap(row, capIn[T](t.scoring.Softcap), t.caps)
		}
		t.raise(i, max(t.peaks[i], vecmath.Peak(row)))
		vecmath.ExpMinus(row, row, t.shift[i])
	}
	for i := 0; i < scores.Rows; i += totalsAtOnce {
		t.addTotals(scores, i)
	}
}

// rowsAhead is the distance, in rows of keys, at which AddRows prefetches.
const rowsAhead = 12

// AddRows adds keys and values that the only query of the tile sees. AddRows reads each row in
// place, wherever the row is in memory, and prefetches later rows.
func (t *Tile[T]) AddRows(k, v [][]T) {
	query, sums := t.few.queries.Rows(1).Row(0), t.sums.Rows(1).Row(0)
	for n := 0; len(k) > 0; k, v = k[n:], v[n:] {
		n = min(Keys, len(k))
		t.seen[0], t.unseen = true, 0
		scores := t.few.scores.Rows(1).ColRange(0, n)
		for j, row := range k[:n] {
			cache.Fetch(k[min(j+rowsAhead, len(k)-1)])
			cache.Fetch(v[j])
			scores.Data[j] = T(t.scoring.Scale) * vecmath.Dot(query, row)
		}
		t.weighFew(scores)
		for j, weight := range scores.Row(0) {
			vecmath.AddScaled(sums, v[j], weight)
		}
	}
}

// totalsAtOnce sums are computed together: each addition to a sum waits for the one before.
const totalsAtOnce = 4

func (t *Tile[T]) addTotals(weights dense.Matrix[T], i int) {
	if i+totalsAtOnce > weights.Rows {
		for ; i < weights.Rows; i++ {
			var added T
			for _, w := range weights.Row(i) {
				added += w
			}
			t.total[i] += added
		}
		return
	}
	a, b, c, d := weights.Row(i), weights.Row(i+1), weights.Row(i+2), weights.Row(i+3)
	b, c, d = b[:len(a)], c[:len(a)], d[:len(a)]
	var added [totalsAtOnce]T
	for j, w := range a {
		added[0] += w
		added[1] += b[j]
		added[2] += c[j]
		added[3] += d[j]
	}
	for l, x := range added {
		t.total[i+l] += x
	}
}

func (t *Tile[T]) raise(i int, peak T) {
	old := t.peaks[i]
	if peak == old {
		return
	}
	// Before the first finite score the sums do not change: they are zero, NaN or Inf.
	if old > T(math.Inf(-1)) {
		factor := T(math.Exp(float64(old - peak)))
		vecmath.Scale(t.sums.Rows(i+1).Row(i), factor)
		t.total[i] *= factor
	}
	t.peaks[i], t.shift[i] = peak, peak
}
