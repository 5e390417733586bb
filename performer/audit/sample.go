package audit

import (
	"cmp"
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

type querySample[T dense.Float] struct {
	input      input[T]
	population int // the number of rows of q
	heads      []*headSample[T]
}

type headSample[T dense.Float] struct {
	*querySample[T]
	options performer.ExactOptions
	q, k, v dense.Matrix[T]
	weights []float64       // of all rows of q, for draws
	rows    []int           // sampled rows of q, ascending
	chances []float64       // the probabilities of the sampled rows
	least   []float64       // lower bounds of the probabilities of all rows of q, ascending
	exact   dense.Matrix[T] // exact outputs of the sampled rows
	average dense.Matrix[T] // outputs of the sampled rows with equal weights
}

func newSample[T dense.Float](exact performer.Batch[T], x input[T], rows int, rng *rand.Rand) (*querySample[T], error) {
	s := &querySample[T]{input: x, population: x.q.Rows}
	if s.population == 0 {
		return nil, fmt.Errorf("audit: q is %d×%d, want at least one row", x.q.Rows, x.q.Cols)
	}
	heads, keyHeads := headsOf(exact)
	for h := range heads {
		keyHead := h / (heads / keyHeads)
		one := &headSample[T]{
			querySample: s, options: exactOptions(exact, h),
			q: layout.Head(x.q, h, heads), k: layout.Head(x.k, keyHead, keyHeads), v: layout.Head(x.v, keyHead, keyHeads),
		}
		one.weights = rowWeights(one.q, one.options.Causal)
		s.heads = append(s.heads, one.draw(rows, rng))
	}
	parallel.Pieces(heads, func(h int) { s.heads[h].attendEqually() })
	return s, nil
}

func (h *headSample[T]) draw(n int, rng *rand.Rand) *headSample[T] {
	rows, least := draw(h.weights, n, rng)
	one := *h
	one.rows, one.chances, one.least = rows, pick(least, rows), least
	slices.Sort(least)
	one.exact, one.average = dense.New[T](len(rows), h.v.Cols), dense.New[T](len(rows), h.v.Cols)
	return &one
}

type headRows[T dense.Float] struct {
	*headSample[T]
	from, to int
}

const (
	// The sampled rows of a block read the keys together. A larger number copies keys less often. A
	// smaller number gives work to more processors.
	blockRows = 16

	blocksBetweenChecks = 64
)

func attend[T dense.Float](ctx context.Context, heads []*headSample[T]) error {
	var blocks []headRows[T]
	for _, h := range heads {
		for from := 0; from < len(h.rows); from += blockRows {
			blocks = append(blocks, headRows[T]{h, from, min(from+blockRows, len(h.rows))})
		}
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

func (b headRows[T]) attend() {
	o := b.options
	scores := tiles.Scores{Scale: scaleOf(o.Softmax, b.q.Cols), Softcap: o.Softcap, Sink: o.SinkWeight}
	b.weigh(b.exact, scores, o.Slope)
}

func (b headRows[T]) weigh(out dense.Matrix[T], scores tiles.Scores, slope float64) {
	o, rows := b.options, b.rows[b.from:b.to]
	t := tiles.NewTile(scores, layout.Rows(b.q, rows), out.Cols)
	t.AddSeen(b.k, b.v, tiles.Mask[T]{Causal: o.Causal, Places: rows, Window: o.Window, Sinks: o.Sinks, Chunk: o.Chunk, Slope: slope}, 0)
	t.Finish(out.RowRange(b.from, b.to))
	t.Release()
}

func scaleOf(s performer.Softmax, d int) float64 { return cmp.Or(s.Scale, 1/math.Sqrt(float64(d))) }

func (h *headSample[T]) attendEqually() {
	if h.options.Window != 0 || h.options.Chunk != 0 {
		for from := 0; from < len(h.rows); from += blockRows {
			headRows[T]{h, from, min(from+blockRows, len(h.rows))}.weigh(h.average, tiles.Scores{}, 0)
		}
		return
	}
	sums, keys := make([]float64, h.v.Cols), 0
	for i, row := range h.rows {
		seen := h.k.Rows
		if h.options.Causal {
			seen = min(row+1, seen)
		}
		for ; keys < seen; keys++ {
			for j, y := range h.v.Row(keys) {
				sums[j] += float64(y)
			}
		}
		for j, sum := range sums {
			h.average.Row(i)[j] = T(sum / float64(max(keys, 1)))
		}
	}
}

func pick[E any](x []E, at []int) []E {
	y := make([]E, len(at))
	for i, j := range at {
		y[i] = x[j]
	}
	return y
}

type deviation struct {
	distance, size float64
	chance         float64 // the probability that a sample has the row
}

// relative returns distance/size: 0 if the distance is 0, +Inf if the row is not finite.
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

func (d deviation) finite() bool {
	return d.distance <= math.MaxFloat64 && d.size <= math.MaxFloat64
}

func deviations[T dense.Float](out, exact dense.Matrix[T]) []deviation {
	rows := make([]deviation, out.Rows)
	difference, truth := make([]float64, out.Cols), make([]float64, out.Cols)
	for i := range rows {
		row := out.Row(i)
		for j, x := range exact.Row(i) {
			truth[j] = float64(x)
			difference[j] = float64(row[j]) - truth[j]
		}
		rows[i] = deviation{distance: floats.Norm(difference, 2), size: floats.Norm(truth, 2), chance: 1}
	}
	return rows
}

func (h *headSample[T]) deviations(out dense.Matrix[T]) []deviation {
	rows := deviations(out, h.exact)
	for i := range rows {
		rows[i].chance = h.chances[i]
	}
	return rows
}
