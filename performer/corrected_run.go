package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// correctedCall is one call of bidirectional attention of a Corrected. Keys are cut into pieces, so
// that the keys near a block of queries are complete pieces. Then:
//
//   - pieces are summed up, with the weights that the sample leaves to the base;
//   - for each block of queries the sums of the pieces before and after the near keys are added up.
//     Nothing is subtracted;
//   - by landmarks, these sums are multiplied by G⁻¹;
//   - queries are answered.
type correctedCall[T dense.Float] struct {
	request[T] // k and v are those of keys that count
	a          *Attention[T]
	chosen     *landmarkCall[T] // whose the base is, if landmarks are chosen
	form       Exact[T]
	sample     sampled[T]

	cuts   []int // piece p holds the keys cuts[p] ≤ j < cuts[p+1]
	blocks []queryBlock
	parts  []queryPart
	groups int

	pieces, far []*accumulator[T] // the sums of a piece, and those of a block
	running     *accumulator[T]   // while pieces are added up
}

// queryBlock is a run of queries lo ≤ i < hi with the same near keys, the pieces from ≤ p < to.
type queryBlock struct{ lo, hi, from, to int }

// queryPart is a run of queries lo ≤ i < hi of a block that are answered together.
type queryPart struct{ block, lo, hi int }

// run answers a bidirectional request with the keys k and values v that count.
func (c *Corrected[T]) run(p request[T], k, v dense.Matrix[T]) {
	w := c.open(p, k, v)
	w.answer()
	c.close(w)
}

// open prepares a call for a bidirectional request with the keys k and values v that count: it cuts
// the keys and draws the sample.
func (c *Corrected[T]) open(p request[T], k, v dense.Matrix[T]) *correctedCall[T] {
	w := c.calls.Get()
	w.a, w.form = c.a, c.exact
	if c.landmarks != nil {
		w.a, w.chosen = c.landmarks.attention(k)
	}
	w.cut(c.opts.Window, p.q.Rows, p.k.Rows, p.valid)
	w.request = p
	w.k, w.v, w.valid = k, v, nil
	if c.opts.Samples > 0 {
		w.sample.weigh(w.a, k, w.form.scale(k.Cols))
		w.sample.choose(c.opts.Samples)
		w.sample.toss(c.seed)
		w.sample.gather(k, v)
	}
	return w
}

// close gives w back to its pool, without what belongs to the caller.
func (c *Corrected[T]) close(w *correctedCall[T]) {
	if c.landmarks != nil {
		c.landmarks.release(w.chosen)
	}
	w.request, w.a, w.chosen = request[T]{}, nil, nil
	c.calls.Put(w)
}

// cut cuts the keys that count into pieces, and the queries into blocks and parts. Nil valid says
// that all keys count.
func (w *correctedCall[T]) cut(window, queries, keys int, valid []bool) {
	w.cuts, w.blocks, w.parts = w.cuts[:0], w.blocks[:0], w.parts[:0]
	if window == 0 {
		if valid != nil {
			keys = count(valid)
		}
		n := segmentsOf(keys)
		for s := range n + 1 {
			w.cuts = append(w.cuts, parallel.Share(keys, n, s))
		}
		w.blocks = append(w.blocks, queryBlock{hi: queries})
	} else {
		// Near keys begin at multiples of the stride, and end at such places plus rest.
		stride := strideOf(w.a, window)
		rest, classes := 2*window%stride, 1
		if rest > 0 {
			classes = 2
		}
		at, before := 0, 0 // keys, and keys that count before them
		for p := 0; len(w.cuts) == 0 || at < keys; p++ {
			next := min(p/classes*stride+p%classes*rest, keys)
			for ; at < next; at++ {
				if valid == nil || valid[at] {
					before++
				}
			}
			w.cuts = append(w.cuts, before)
		}
		last := len(w.cuts) - 1
		for lo := 0; lo < queries; {
			b := len(w.blocks)
			hi := min(window+(b+1)*stride, queries)
			w.blocks = append(w.blocks, queryBlock{lo, hi, min(b*classes, last), min((b+1+2*window/stride)*classes+classes-1, last)})
			lo = hi
		}
	}
	for b, q := range w.blocks {
		for lo := q.lo; lo < q.hi; lo += answerRows {
			w.parts = append(w.parts, queryPart{b, lo, min(lo+answerRows, q.hi)})
		}
	}
}

// answer computes the outputs.
func (w *correctedCall[T]) answer() {
	dv := w.v.Cols
	w.pieces, w.far = scratch.Resize(w.pieces, len(w.cuts)-1), scratch.Resize(w.far, len(w.blocks))
	for b := range w.far {
		w.far[b] = w.a.accumulator(dv)
	}
	w.running = w.a.accumulator(dv)
	parallel.Do(len(w.pieces), (*summingPieces[T])(w))
	perPiece := w.a.m * w.running.sum.Rows(1).Stride
	w.groups = max(1, min(w.a.m/4, perPiece*len(w.pieces)/mergeGrain))
	parallel.Do(w.groups, (*addingPieces[T])(w))
	if w.a.landmarks != nil {
		parallel.Do(len(w.blocks), (*mixingBlocks[T])(w))
	}
	parallel.Do(w.heads*len(w.parts), (*answeringParts[T])(w))
	for _, all := range [][]*accumulator[T]{w.pieces, w.far} {
		for i, acc := range all {
			w.a.accumulators.Put(acc)
			all[i] = nil
		}
	}
	w.a.accumulators.Put(w.running)
	w.running = nil
}

// summingPieces is the task of summing up the keys of pieces.
type summingPieces[T dense.Float] correctedCall[T]

func (w *summingPieces[T]) Piece(p int) {
	a := w.a
	acc, s := a.accumulator(w.v.Cols), a.workspace(w.v.Cols)
	for lo, end := w.cuts[p], w.cuts[p+1]; lo < end; lo += a.rows {
		hi := min(lo+a.rows, end)
		prefetchAfter(w.k, hi, end, a.rows)
		prefetchAfter(w.v, hi, end, a.rows)
		keys := s.features.Rows(hi - lo)
		a.mapKeys(keys, w.k.RowRange(lo, hi))
		if a.landmarks != nil {
			a.landmarks.hide(keys, lo)
		}
		acc.add(keys, w.v.RowRange(lo, hi), w.sample.left(lo, hi), s.scratch)
	}
	w.pieces[p] = acc
	a.workspaces.Put(s)
}

// addingPieces is the task of adding up the pieces that are far from each block. A piece is some
// features.
type addingPieces[T dense.Float] correctedCall[T]

func (w *addingPieces[T]) Piece(g int) {
	lo, hi := parallel.Share(w.a.m, w.groups, g), parallel.Share(w.a.m, w.groups, g+1)
	p := 0
	for b, q := range w.blocks {
		for ; p < q.from; p++ {
			w.running.mergeFeatures(w.pieces[p], lo, hi)
		}
		w.far[b].mergeFeatures(w.running, lo, hi)
	}
	w.running.clear(lo, hi)
	p = len(w.pieces)
	for b := len(w.blocks) - 1; b >= 0; b-- {
		for ; p > w.blocks[b].to; p-- {
			w.running.mergeFeatures(w.pieces[p-1], lo, hi)
		}
		w.far[b].mergeFeatures(w.running, lo, hi)
	}
}

// mixingBlocks is the task of multiplying the far sums of blocks by G⁻¹, and adding the keys that
// are landmarks.
type mixingBlocks[T dense.Float] correctedCall[T]

func (w *mixingBlocks[T]) Piece(b int) {
	w.a.landmarks.mix(w.far[b], w.v, w.cuts[w.blocks[b].from], w.cuts[w.blocks[b].to])
}

// answeringParts is the task of computing outputs. A piece is a part of the queries of one head.
type answeringParts[T dense.Float] correctedCall[T]

func (w *answeringParts[T]) Piece(i int) {
	a, part := w.a, w.parts[i%len(w.parts)]
	head, q := i/len(w.parts), w.blocks[part.block]
	near, end := w.cuts[q.from], w.cuts[q.to]
	queries, dst := layout.Head(w.q, head, w.heads).RowRange(part.lo, part.hi), layout.Head(w.dst, head, w.heads).RowRange(part.lo, part.hi)
	t, s := tiles.NewTile(w.form.scores(w.k.Cols), queries, w.v.Cols), a.workspace(w.v.Cols)
	t.Add(w.k.RowRange(near, end), w.v.RowRange(near, end), nil)
	w.sample.addTo(t, near, end)
	if near == 0 && end == w.k.Rows {
		t.Finish(dst)
	} else {
		for lo := 0; lo < queries.Rows; lo += a.rows {
			hi := min(lo+a.rows, queries.Rows)
			features, sums := s.features.Rows(hi-lo), s.sums.Rows(hi-lo)
			a.mapQueries(features, queries.RowRange(lo, hi))
			w.far[part.block].scaleQueries(features, s.scales)
			matmul.Mul(1, features, w.far[part.block].sums(), 0, sums)
			a.join(t, lo, dst.RowRange(lo, hi), sums, s.scales)
		}
	}
	a.workspaces.Put(s)
	t.Release()
}
