package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// scores writes the scores or weights of one head of queries that AttendArgs.Scores names.
func (a *tensorPass[T]) scores(b, h int, dst dense.Matrix[T]) {
	e := a.b.Head(h).(exact[T])
	s := a.arguments(b, h, e)
	mask, scores := e.mask(s.Past, s.Valid), e.scores(s.Q.Cols)
	mask.Pairs = s.Pairs
	parallel.Rows(dst.Rows, block, func(lo, hi int) {
		rows := dst.RowRange(lo, hi)
		tiles.Raw(scores, rows, s.Q.RowRange(lo, hi), s.K)
		if a.Scores >= ScoresAfterSoftcap {
			tiles.Cap(scores, rows)
		}
		if a.Scores < ScoresAfterBias {
			return
		}
		if a.Scores == ScoresAfterSoftmax {
			weighSeen(scores, &mask, rows, lo)
		} else {
			mask.AddTo(rows, lo)
		}
	})
}

// weighSeen replaces the scores of the queries from query lo on by weights. The weights of a query
// that sees no key are zero.
func weighSeen[T dense.Float](scores tiles.Scores, mask *tiles.Mask[T], rows dense.Matrix[T], lo int) {
	open := mask.AddTo(rows, lo)
	for i := range rows.Rows {
		if open[i] {
			tiles.Weigh(scores, rows.Row(i))
		} else {
			clear(rows.Row(i))
		}
	}
}
