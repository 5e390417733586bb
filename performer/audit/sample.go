package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// sample is a random sample of rows of q for each head.
type sample[T dense.Float] struct {
	input                input[T]
	sequences            performer.Sequences
	firstQuery, firstKey []int // of each sequence, and the number of all
	population           int   // the number of rows of q that may be sampled
	heads                []*headSample[T]
}

// headSample is the sample of one head.
type headSample[T dense.Float] struct {
	*sample[T]
	options performer.ExactOptions
	q, k, v dense.Matrix[T]
	rows    []int           // sampled rows of q, ascending
	exact   dense.Matrix[T] // exact outputs of the sampled rows
	average dense.Matrix[T] // outputs of the sampled rows with equal weights
}

// newSample draws opts.Rows rows of q for each head, and computes their average outputs.
func newSample[T dense.Float](exact performer.Batch[T], x input[T], opts Options, rng *rand.Rand) (*sample[T], error) {
	keys := opts.Sequences.Keys
	if keys == nil {
		keys = opts.Sequences.Queries
	}
	s := &sample[T]{
		input: x, sequences: opts.Sequences,
		firstQuery: layout.Starts(nil, opts.Sequences.Queries, x.q.Rows), firstKey: layout.Starts(nil, keys, x.k.Rows),
	}
	counted := countedRows(opts.Queries, x.q.Rows)
	if s.population = len(counted); s.population == 0 {
		return nil, fmt.Errorf("audit: q is %d×%d without a row that counts, want at least one", x.q.Rows, x.q.Cols)
	}
	heads, keyHeads, _ := exact.Dims()
	for h := range heads {
		keyHead := h / (heads / keyHeads)
		one := &headSample[T]{
			sample: s, options: exactOptions(exact, h), rows: counted,
			q: layout.Head(x.q, h, heads), k: layout.Head(x.k, keyHead, keyHeads), v: layout.Head(x.v, keyHead, keyHeads),
		}
		if opts.Rows < s.population {
			one.rows = make([]int, opts.Rows)
			for i, at := range rng.Perm(s.population)[:opts.Rows] {
				one.rows[i] = counted[at]
			}
			slices.Sort(one.rows)
		}
		one.exact = dense.New[T](len(one.rows), one.v.Cols)
		one.average = dense.New[T](len(one.rows), one.v.Cols)
		s.heads = append(s.heads, one)
	}
	parallel.Pieces(heads, func(h int) { s.heads[h].attendEqually() })
	return s, nil
}

// countedRows returns the indices of the n rows that count. A nil slice means that all rows count.
func countedRows(counts []bool, n int) []int {
	var rows []int
	for i := range n {
		if counts == nil || counts[i] {
			rows = append(rows, i)
		}
	}
	return rows
}

// block is some of the sampled rows of a head in one sequence, by their indices in the sample.
type block[T dense.Float] struct {
	*headSample[T]
	sequence int
	indices  []int
}

const (
	// The sampled rows of a block read the keys together. A larger number copies keys less often. A
	// smaller number gives work to more processors.
	blockRows = 16

	// attend checks its context after this number of blocks.
	blocksBetweenChecks = 64
)

// blocks divides sampled rows, whose indices ascend. Nil stands for all sampled rows.
func (h *headSample[T]) blocks(indices []int) []block[T] {
	if indices == nil {
		indices = countedRows(nil, len(h.rows))
	}
	var all []block[T]
	for s, end := range h.firstQuery[1:] {
		n, _ := slices.BinarySearchFunc(indices, end, func(i, end int) int { return h.rows[i] - end })
		for part := range slices.Chunk(indices[:n], blockRows) {
			all = append(all, block[T]{h, s, part})
		}
		indices = indices[n:]
	}
	return all
}

// attend computes the exact outputs of sampled rows of heads. attend returns the error of ctx.
func attend[T dense.Float](ctx context.Context, heads []*headSample[T], indices []int) error {
	var blocks []block[T]
	for _, h := range heads {
		blocks = append(blocks, h.blocks(indices)...)
	}
	for some := range slices.Chunk(blocks, blocksBetweenChecks) {
		if err := contextError(ctx); err != nil {
			return err
		}
		parallel.Pieces(len(some), func(i int) {
			if ctx.Err() == nil {
				some[i].attend()
			}
		})
	}
	return contextError(ctx)
}

// attend computes the exact outputs of the rows of a block.
func (b block[T]) attend() {
	x := b.view(b.sequence)
	mask := tiles.Mask[T]{Causal: b.options.Causal, Past: x.past, Valid: x.valid}
	q := dense.New[T](len(b.indices), x.q.Cols)
	for i, at := range b.indices {
		row := b.rows[at] - b.firstQuery[b.sequence]
		copy(q.Row(i), x.q.Row(row))
		mask.Places = append(mask.Places, row+x.past)
	}
	scores := tiles.Scores{Scale: scaleOf(b.options, q.Cols), Softcap: b.options.Softcap, Unnormalised: b.options.Unnormalised}
	out := dense.New[T](q.Rows, x.v.Cols)
	t := tiles.NewTile(scores, q, out.Cols)
	t.AddSeen(x.k, x.v, mask, 0)
	t.Finish(out)
	t.Release()
	for i, at := range b.indices {
		copy(b.exact.Row(at), out.Row(i))
	}
}

// scaleOf returns the scale of scores of d-dimensional points.
func scaleOf(o performer.ExactOptions, d int) float64 {
	if o.Scale == 0 {
		return 1 / math.Sqrt(float64(d))
	}
	return o.Scale
}

// view is one head of one sequence.
type view[T dense.Float] struct {
	q, k, v dense.Matrix[T]
	valid   []bool // the keys that count, or nil for all
	past    int
}

func (h *headSample[T]) view(sequence int) view[T] {
	from, to := h.firstKey[sequence], h.firstKey[sequence+1]
	x := view[T]{
		q: h.q.RowRange(h.firstQuery[sequence], h.firstQuery[sequence+1]),
		k: h.k.RowRange(from, to), v: h.v.RowRange(from, to),
	}
	if valid := h.sequences.Valid; valid != nil && slices.Contains(valid[from:to], false) {
		x.valid = valid[from:to]
	}
	if h.sequences.Past != nil {
		limit := max(x.q.Rows, x.k.Rows) // a Past beyond it has the same meaning
		x.past = min(max(h.sequences.Past[sequence], -limit), limit)
	}
	return x
}

// attendEqually computes the outputs of the sampled rows with equal weights.
func (h *headSample[T]) attendEqually() {
	i := 0
	for sequence, end := range h.firstQuery[1:] {
		x := h.view(sequence)
		sums := make([]float64, h.v.Cols)
		key, keys := 0, 0
		for ; i < len(h.rows) && h.rows[i] < end; i++ {
			seen := x.k.Rows
			if h.options.Causal {
				seen = min(max(h.rows[i]-h.firstQuery[sequence]+x.past+1, 0), seen)
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
			if h.options.Unnormalised {
				divisor = 1
			}
			for j, sum := range sums {
				h.average.Row(i)[j] = T(sum / divisor)
			}
		}
	}
}

// gather returns rows of x.
func gather[T dense.Float](x dense.Matrix[T], rows []int) dense.Matrix[T] {
	y := dense.New[T](len(rows), x.Cols)
	for i, row := range rows {
		copy(y.Row(i), x.Row(row))
	}
	return y
}

// deviation is the distance ‖out−exact‖ of a row of an output from exact attention, and ‖exact‖.
type deviation struct{ distance, size float64 }

// relative returns distance/size. relative is 0 if the distance is 0, and +Inf if the row is not
// finite.
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

// finite reports whether the row and the exact row are finite.
func (d deviation) finite() bool {
	return d.distance <= math.MaxFloat64 && d.size <= math.MaxFloat64
}

// deviations compares the rows of out with the rows of exact.
func deviations[T dense.Float](out, exact dense.Matrix[T]) []deviation {
	rows := make([]deviation, out.Rows)
	difference, truth := make([]float64, out.Cols), make([]float64, out.Cols)
	for i := range rows {
		row := out.Row(i)
		for j, x := range exact.Row(i) {
			truth[j] = float64(x)
			difference[j] = float64(row[j]) - truth[j]
		}
		rows[i] = deviation{distance: floats.Norm(difference, 2), size: floats.Norm(truth, 2)}
	}
	return rows
}
