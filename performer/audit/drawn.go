package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// audit is the task of computing exact attention of drawn rows.
type audit[T dense.Float] struct {
	truth           performer.Batch[T]
	heads, keyHeads int
	q, k, v         dense.Matrix[T]
	s               performer.Sequences
	fromQuery       []int             // where sequences begin, and where the last sequence ends
	fromKey         []int             // the same of keys
	of              int               // rows of a head that may be drawn
	drawn           [][]int           // rows of q for each head, ascending
	exact           []dense.Matrix[T] // outputs of these rows for each head
	average         []dense.Matrix[T] // outputs with equal weights
	pieces          []piece           // that are being computed
	from            int               // the first piece of a round
	ctx             context.Context   // up to whose end pieces are computed
}

// piece is some of the drawn rows of a head in one sequence, by their places among the drawn rows.
type piece struct {
	head, sequence int
	places         []int
}

// pieceRows is the number of drawn rows that go over the keys together. A larger number copies keys
// less often, and a smaller number gives work to more processors.
const pieceRows = 16

// roundPieces is the number of pieces between two looks at a context.
const roundPieces = 64

// drawRows draws rows of q for each head of the truth.
func drawRows[T dense.Float](truth performer.Batch[T], q, k, v dense.Matrix[T], opts Options, rng *rand.Rand) (*audit[T], error) {
	s := opts.Sequences
	keys := s.Keys
	if keys == nil {
		keys = s.Queries
	}
	a := &audit[T]{
		truth: truth, q: q, k: k, v: v, s: s,
		fromQuery: layout.Starts(nil, s.Queries, q.Rows), fromKey: layout.Starts(nil, keys, k.Rows),
	}
	a.heads, a.keyHeads, _ = truth.Dims()
	var candidates []int
	for i := range q.Rows {
		if opts.Queries == nil || opts.Queries[i] {
			candidates = append(candidates, i)
		}
	}
	if a.of = len(candidates); a.of == 0 {
		return nil, fmt.Errorf("audit: q is %d×%d, of whose rows none may be drawn, want at least one", q.Rows, q.Cols)
	}
	for range a.heads {
		drawn := candidates
		if opts.Rows < a.of {
			drawn = make([]int, opts.Rows)
			for i, at := range rng.Perm(a.of)[:opts.Rows] {
				drawn[i] = candidates[at]
			}
			slices.Sort(drawn)
		}
		a.drawn = append(a.drawn, drawn)
		a.exact = append(a.exact, dense.New[T](len(drawn), v.Cols/a.keyHeads))
		a.average = append(a.average, dense.New[T](len(drawn), v.Cols/a.keyHeads))
	}
	return a, nil
}

// allPieces returns the pieces for all drawn rows.
func (a *audit[T]) allPieces() []piece {
	var pieces []piece
	for h, drawn := range a.drawn {
		places := make([]int, len(drawn))
		for i := range places {
			places[i] = i
		}
		pieces = append(pieces, a.piecesOf(h, places)...)
	}
	return pieces
}

// piecesOf returns the pieces of a head for some of the drawn rows, whose places are ascending.
func (a *audit[T]) piecesOf(head int, places []int) []piece {
	var pieces []piece
	from := 0
	for s, end := range a.fromQuery[1:] {
		to := from
		for to < len(places) && a.drawn[head][places[to]] < end {
			to++
		}
		for ; from < to; from += pieceRows {
			pieces = append(pieces, piece{head, s, places[from:min(from+pieceRows, to)]})
		}
		from = to
	}
	return pieces
}

// attend computes the exact outputs of pieces, and reports the number of rounds that are
// done. The error is that of a context that is done.
func (a *audit[T]) attend(ctx context.Context, pieces []piece, report func(done int)) error {
	a.pieces, a.ctx = pieces, ctx
	for a.from = 0; a.from < len(a.pieces); a.from += roundPieces {
		if err := ended(ctx); err != nil {
			return err
		}
		parallel.Do(min(roundPieces, len(a.pieces)-a.from), a)
		if err := ended(ctx); err != nil {
			return err
		}
		report(a.from/roundPieces + 1)
	}
	return nil
}

func (a *audit[T]) Piece(i int) {
	if a.ctx.Err() != nil {
		return
	}
	p := a.pieces[a.from+i]
	form, _ := exactOf(a.truth.Head(p.head))
	x := a.view(p.sequence, p.head)
	dst := dense.New[T](len(p.places), a.exact[p.head].Cols)

	mask := tiles.Mask[T]{Causal: form.Causal, Past: x.past, Valid: x.valid}
	q := dense.New[T](len(p.places), x.q.Cols)
	for i, place := range p.places {
		row := a.drawn[p.head][place]
		copy(q.Row(i), x.q.Row(row-a.fromQuery[p.sequence]))
		mask.Places = append(mask.Places, row-a.fromQuery[p.sequence]+x.past)
	}
	scores := tiles.Scores{Scale: scaleOf(form, q.Cols), Softcap: form.Softcap, Unnormalised: form.Unnormalised}
	t := tiles.NewTile(scores, q, dst.Cols)
	t.AddSeen(x.k, x.v, mask, 0)
	t.Finish(dst)
	t.Release()
	for i, place := range p.places {
		copy(a.exact[p.head].Row(place), dst.Row(i))
	}
}

// scaleOf returns the factor of the products of d-dimensional points.
func scaleOf(e performer.ExactOptions, d int) float64 {
	if e.Scale == 0 {
		return 1 / math.Sqrt(float64(d))
	}
	return e.Scale
}

// view is the part of an audit for a head in a sequence.
type view[T dense.Float] struct {
	q, k, v dense.Matrix[T]
	valid   []bool // keys that count, or nil for all
	past    int
}

// view returns the part for a head in a sequence.
func (a *audit[T]) view(sequence, head int) view[T] {
	from, to := a.fromKey[sequence], a.fromKey[sequence+1]
	keyHead := head / (a.heads / a.keyHeads)
	x := view[T]{
		q:     layout.Head(a.q.RowRange(a.fromQuery[sequence], a.fromQuery[sequence+1]), head, a.heads),
		k:     layout.Head(a.k.RowRange(from, to), keyHead, a.keyHeads),
		v:     layout.Head(a.v.RowRange(from, to), keyHead, a.keyHeads),
		valid: a.validIn(from, to),
	}
	if a.s.Past != nil {
		limit := max(x.q.Rows, x.k.Rows) // a Past beyond it has the same meaning
		x.past = min(max(a.s.Past[sequence], -limit), limit)
	}
	return x
}

// validIn returns which of the keys from ≤ j < to count, or nil if all do.
func (a *audit[T]) validIn(from, to int) []bool {
	if a.s.Valid == nil || !slices.Contains(a.s.Valid[from:to], false) {
		return nil
	}
	return a.s.Valid[from:to]
}

// averages computes the outputs with equal weights.
func (a *audit[T]) averages() { parallel.Do(len(a.drawn), (*averaging[T])(a)) }

// averaging is the task of computing outputs with equal weights. A piece is a head.
type averaging[T dense.Float] audit[T]

func (a *averaging[T]) Piece(head int) {
	drawn, dst := a.drawn[head], a.average[head]
	form, _ := exactOf(a.truth.Head(head))
	sums := make([]float64, dst.Cols)
	at := 0
	for sequence, end := range a.fromQuery[1:] {
		x := (*audit[T])(a).view(sequence, head)
		clear(sums)
		key, keys := 0, 0
		for ; at < len(drawn) && drawn[at] < end; at++ {
			seen := x.k.Rows
			if form.Causal {
				seen = min(max(drawn[at]-a.fromQuery[sequence]+x.past+1, 0), seen)
			}
			for ; key < seen; key++ {
				if x.valid == nil || x.valid[key] {
					keys++
					for j, y := range x.v.Row(key) {
						sums[j] += float64(y)
					}
				}
			}
			divisor := float64(max(keys, 1))
			if form.Unnormalised {
				divisor = 1
			}
			for j, sum := range sums {
				dst.Row(at)[j] = T(sum / divisor)
			}
		}
	}
}

// outputs returns the outputs of the form for the drawn rows of each head, and how long the form
// took. The form computes all outputs if timed is set.
func (a *audit[T]) outputs(form performer.Attention[T], timed bool) ([]dense.Matrix[T], time.Duration) {
	outputs := make([]dense.Matrix[T], len(a.drawn))
	if !timed && rowwise(form) && len(a.fromQuery) == 2 {
		out, took := a.forward(form, a.drawnQueries())
		for h := range outputs {
			outputs[h] = layout.Head(out, h, a.heads)
		}
		return outputs, took
	}
	whole, took := a.forward(form, a.q)
	for h, rows := range a.drawn {
		outputs[h] = gather(layout.Head(whole, h, a.heads), rows)
	}
	return outputs, took
}

// drawnQueries returns a matrix whose columns of head h are the drawn rows of head h.
func (a *audit[T]) drawnQueries() dense.Matrix[T] {
	q := dense.New[T](len(a.drawn[0]), a.q.Cols)
	for h, rows := range a.drawn {
		dense.Copy(layout.Head(q, h, a.heads), gather(layout.Head(a.q, h, a.heads), rows))
	}
	return q
}

// forward returns the outputs of the form for the queries q, which are all of them, or some if the
// form is bidirectional and there is one sequence, and how long that took.
func (a *audit[T]) forward(form performer.Attention[T], q dense.Matrix[T]) (dense.Matrix[T], time.Duration) {
	start := time.Now()
	b, ok := form.(performer.Batch[T])
	if !ok {
		out := form.Forward(dense.Matrix[T]{}, q, a.k, a.v)
		return out, time.Since(start)
	}
	s := a.s
	if q.Rows != a.q.Rows {
		s = performer.Sequences{Valid: s.Valid}
	}
	out := b.ForwardSequences(dense.Matrix[T]{}, q, a.k, a.v, s)
	return out, time.Since(start)
}

// gather returns rows of x.
func gather[T dense.Float](x dense.Matrix[T], rows []int) dense.Matrix[T] {
	y := dense.New[T](len(rows), x.Cols)
	for i, row := range rows {
		copy(y.Row(i), x.Row(row))
	}
	return y
}

// compare returns what outputs for the drawn rows of each head say.
func (a *audit[T]) compare(outputs []dense.Matrix[T], confidence float64, rng *rand.Rand) Report {
	heads, averages := make([][]deviation, len(outputs)), make([][]deviation, len(outputs))
	for h, out := range outputs {
		heads[h], averages[h] = deviations(out, a.exact[h]), deviations(a.average[h], a.exact[h])
	}
	return reportHeads(heads, averages, a.of, confidence, (*ratio).interval, rng)
}

// reportHeads returns what rows of several heads say, for all heads and for each one.
func reportHeads(heads, averages [][]deviation, of int, confidence float64, ends ends, rng *rand.Rand) Report {
	all := report(heads, averages, of, confidence, ends, rng)
	if len(heads) > 1 {
		for h := range heads {
			all.Heads = append(all.Heads, report(heads[h:h+1], averages[h:h+1], of, confidence, ends, rng))
		}
	}
	return all
}

// deviation is how far a row of an output is from the truth: ‖out−exact‖ and ‖exact‖.
type deviation struct{ distance, size float64 }

// relative returns distance/size, 0 if the row is the truth, and +Inf if it is not finite.
func (d deviation) relative() float64 {
	switch {
	case !d.finite():
		return math.Inf(1)
	case d.distance == 0:
		return 0
	default:
		return d.distance / d.size
	}
}

// finite reports whether the row and the truth are finite.
func (d deviation) finite() bool {
	return d.distance <= math.MaxFloat64 && d.size <= math.MaxFloat64
}

// deviations compares the rows of out with those of exact.
func deviations[T dense.Float](out, exact dense.Matrix[T]) []deviation {
	rows := make([]deviation, out.Rows)
	difference, truth := make([]float64, out.Cols), make([]float64, out.Cols)
	for i := range rows {
		for j, x := range exact.Row(i) {
			truth[j] = float64(x)
			difference[j] = float64(out.At(i, j)) - truth[j]
		}
		rows[i] = deviation{distance: floats.Norm(difference, 2), size: floats.Norm(truth, 2)}
	}
	return rows
}
