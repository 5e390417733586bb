package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// scores writes the scores or the weights of one head of queries, as asked for.
func (a *tensorCall[T]) scores(b, h int, dst dense.Matrix[T]) {
	form := exactOf(a.b.formOf(h))
	p := a.request(b, h, form)
	mask, scores := form.mask(p.past, p.valid), form.scores(p.q.Cols)
	mask.Pairs = p.pairs
	parallel.Rows(dst.Rows, block, func(lo, hi int) {
		rows := dst.RowRange(lo, hi)
		tiles.Raw(scores, rows, p.q.RowRange(lo, hi), p.k)
		if a.Scores >= CappedScores {
			tiles.Cap(scores, rows)
		}
		if a.Scores < BiasedScores {
			return
		}
		changes := dense.New[T](rows.Cols, rows.Rows)
		mask.Changes(changes, lo)
		for i := range rows.Rows {
			row, open := rows.Row(i), false
			for j := range row {
				if x := changes.At(j, i); x == T(math.Inf(-1)) {
					row[j] = x
				} else {
					row[j], open = row[j]+x, true
				}
			}
			switch {
			case a.Scores == Weights && open:
				tiles.Weigh(scores, row)
			case a.Scores == Weights:
				clear(row)
			}
		}
	})
}

// formOf returns the form of a head.
func (b *Batch[T]) formOf(h int) Form[T] {
	u := 0
	for len(b.units) > 1 && b.units[u].to <= h {
		u++
	}
	return b.units[u].form
}
