package near

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Call is one call of bidirectional attention. Keys are cut into pieces, so that the keys near a
// block of queries are complete pieces. Then:
//
//   - pieces are summed up, with the weights that the sample leaves to the base;
//   - for each block of queries the sums of the pieces before and after the near keys are added up.
//     Nothing is subtracted;
//   - by a Mixer, these sums are mixed;
//   - queries are answered.
//
// A Call keeps its memory for later calls. The zero Call is ready.
type Call[T dense.Float] struct {
	Base[T]
	tokens[T] // k and v are those of keys that count
	heads     int
	sample    sampled[T]

	cuts   []int // piece p holds the keys cuts[p] ≤ j < cuts[p+1]
	blocks []queryBlock
	parts  []queryPart
	groups int

	stage       stage
	pieces, far []*sums.Accumulator[T] // the sums of a piece, and those of a block
	running     *sums.Accumulator[T]   // while pieces are added up
}

// queryBlock is a run of queries lo ≤ i < hi with the same near keys, the pieces from ≤ p < to.
type queryBlock struct{ lo, hi, from, to int }

// queryPart is a run of queries lo ≤ i < hi of a block that are answered together.
type queryPart struct{ block, lo, hi int }

// partRows is the number of queries of a part.
const partRows = 128

// Open prepares the call: it cuts the keys, and draws a sample of so many of them, or none. k and v
// are the rows that count of so many keys, those that are valid, or all if valid is nil. The queries
// of the given number of heads are column blocks of q and dst.
func (w *Call[T]) Open(b Base[T], heads int, dst, q, k, v dense.Matrix[T], keys int, valid []bool, samples int, seed [2]uint64) {
	w.Base, w.tokens, w.heads = b, tokens[T]{dst, q, k, v}, heads
	w.cut(q.Rows, keys, valid)
	if samples > 0 {
		w.sample.weigh(w.Engine, k, w.Scores.Scale)
		w.sample.choose(samples)
		w.sample.toss(seed)
		w.sample.gather(k, v)
	}
}

// Left returns the weights that the sample leaves to the base, one a key, or nil without a sample.
func (w *Call[T]) Left() []T { return w.sample.rest }

// Close forgets what belongs to the caller.
func (w *Call[T]) Close() { w.Base, w.tokens = Base[T]{}, tokens[T]{} }

// cut cuts the keys that count into pieces, and the queries into blocks and parts. Nil valid says
// that all keys count.
func (w *Call[T]) cut(queries, keys int, valid []bool) {
	w.cuts, w.blocks, w.parts = w.cuts[:0], w.blocks[:0], w.parts[:0]
	window := w.Window
	if window == 0 {
		if valid != nil {
			keys = layout.Count(valid)
		}
		n := sums.SegmentsOf(keys)
		for s := range n + 1 {
			w.cuts = append(w.cuts, parallel.Share(keys, n, s))
		}
		w.blocks = append(w.blocks, queryBlock{hi: queries})
	} else {
		// Near keys begin at multiples of the stride, and end at such places plus rest.
		stride := w.Stride()
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
		for lo := q.lo; lo < q.hi; lo += partRows {
			w.parts = append(w.parts, queryPart{b, lo, min(lo+partRows, q.hi)})
		}
	}
}

// Answer computes the outputs.
func (w *Call[T]) Answer() {
	dv := w.v.Cols
	w.pieces, w.far = scratch.Resize(w.pieces, len(w.cuts)-1), scratch.Resize(w.far, len(w.blocks))
	for b := range w.far {
		w.far[b] = w.Engine.Accumulator(dv)
	}
	w.running = w.Engine.Accumulator(dv)
	w.do(sumPieces, len(w.pieces))
	w.groups = sums.MergeGroups(len(w.pieces), w.running)
	w.do(addPieces, w.groups)
	if w.Engine.Mixer != nil {
		w.do(mixBlocks, len(w.blocks))
	}
	w.do(answerParts, w.heads*len(w.parts))
	for _, all := range [][]*sums.Accumulator[T]{w.pieces, w.far} {
		for i, acc := range all {
			w.Engine.Drop(acc)
			all[i] = nil
		}
	}
	w.Engine.Drop(w.running)
	w.running = nil
}

// stage says what a piece of the task is.
type stage int

const (
	sumPieces   stage = iota // the keys of a piece
	addPieces                // the pieces that are far from each block, of some features
	mixBlocks                // the far sums of a block by a Mixer, with keys that have weights of their own
	answerParts              // a part of the queries of one head
)

// do takes the n pieces of a stage.
func (w *Call[T]) do(stage stage, n int) {
	w.stage = stage
	parallel.Do(n, w)
}

func (w *Call[T]) Piece(i int) {
	switch w.stage {
	case sumPieces:
		w.pieces[i] = w.Engine.Accumulator(w.v.Cols)
		w.Engine.Add(w.pieces[i], w.k, w.v, w.cuts[i], w.cuts[i+1], w.Left())
	case addPieces:
		w.add(i)
	case mixBlocks:
		w.Engine.Mixer.Mix(w.far[i], w.far[i], w.v, w.cuts[w.blocks[i].from], w.cuts[w.blocks[i].to])
	case answerParts:
		w.answer(i)
	}
}

// add adds up the pieces that are far from each block, of group g of the features.
func (w *Call[T]) add(g int) {
	lo, hi := parallel.Share(w.Engine.M, w.groups, g), parallel.Share(w.Engine.M, w.groups, g+1)
	p := 0
	for b, q := range w.blocks {
		for ; p < q.from; p++ {
			w.running.Merge(w.pieces[p], lo, hi)
		}
		w.far[b].Merge(w.running, lo, hi)
	}
	w.running.Clear(lo, hi)
	p = len(w.pieces)
	for b := len(w.blocks) - 1; b >= 0; b-- {
		for ; p > w.blocks[b].to; p-- {
			w.running.Merge(w.pieces[p-1], lo, hi)
		}
		w.far[b].Merge(w.running, lo, hi)
	}
}

// answer computes the outputs of a part of the queries of one head.
func (w *Call[T]) answer(i int) {
	e, part := w.Engine, w.parts[i%len(w.parts)]
	head, q := i/len(w.parts), w.blocks[part.block]
	near, end := w.cuts[q.from], w.cuts[q.to]
	queries, dst := layout.Head(w.q, head, w.heads).RowRange(part.lo, part.hi), layout.Head(w.dst, head, w.heads).RowRange(part.lo, part.hi)
	t, s := tiles.NewTile(w.Scores, queries, w.v.Cols), e.Workspace(w.v.Cols)
	t.Add(w.k.RowRange(near, end), w.v.RowRange(near, end), nil)
	w.sample.addTo(t, near, end)
	if near == 0 && end == w.k.Rows {
		t.Finish(dst)
	} else {
		for lo := 0; lo < queries.Rows; lo += e.Rows() {
			hi := min(lo+e.Rows(), queries.Rows)
			features, answers := s.Features.Rows(hi-lo), s.Sums.Rows(hi-lo)
			e.Features.Queries(features, queries.RowRange(lo, hi))
			w.far[part.block].ScaleQueries(features, s.Scales)
			matmul.Mul(1, features, w.far[part.block].Sums(), 0, answers)
			join(e, t, lo, dst.RowRange(lo, hi), answers, s.Scales)
		}
	}
	e.Release(s)
	t.Release()
}
