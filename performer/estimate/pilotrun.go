package estimate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

const (
	pilotRows    = 32 // outputs of a round
	pilotLongest = 8  // the longest queries among them
	pilotSamples = 6  // frequencies of each distribution for an output
)

type pilotRun[T dense.Float] struct {
	u            *Unbiased[T]
	q, k         dense.Matrix[T]
	keys, values dense.Matrix[float64]
	a            float64 // of rff.SoftmaxOptimal
	order        []int   // queries from the longest to the shortest

	// Sums over the rounds, for all outputs.
	rounds    int
	variances []float64 // E‖Y−out‖² with 8, 16, …, 4096 features
	squares   []float64 // E‖Δ‖² with halves of 8, 16, … features
	rest      float64   // ‖E Y−out‖² with twice the last number of features of squares
}

func (u *Unbiased[T]) newPilotRun(q, k, v dense.Matrix[T]) *pilotRun[T] {
	l := &pilotRun[T]{
		u: u, q: q, k: k, a: u.damping(q, k), order: make([]int, q.Rows),
		keys: dense.Copy(dense.Matrix[float64]{}, k), values: dense.Copy(dense.Matrix[float64]{}, v),
		variances: make([]float64, pilotLevels), squares: make([]float64, pilotLevels+pilotDepth-1),
	}
	// Values relative to the first value: equal values have the variance 0.
	for j := range l.values.Rows {
		for c := range l.values.Row(j) {
			l.values.Row(j)[c] -= float64(v.At(0, c))
		}
	}
	lengths := make([]float64, q.Rows)
	for i := range lengths {
		l.order[i], lengths[i] = i, vecmath.HalfSquaredNorm(q.Row(i))
	}
	slices.SortStableFunc(l.order, func(i, j int) int { return cmp.Compare(lengths[j], lengths[i]) })
	return l
}

// round samples the 8 longest queries, and one of each of 24 sets of similar other queries.
func (l *pilotRun[T]) round(ctx context.Context) error {
	l.rounds++
	first, sets := len(l.order), 0
	if first > pilotRows {
		first, sets = pilotLongest, pilotRows-pilotLongest
	}
	for _, i := range l.order[:first] {
		if err := l.sample(ctx, i, 1); err != nil {
			return err
		}
	}
	share := float64(len(l.order)-first) / float64(sets)
	for r := range sets {
		at := first + int((float64(r)+l.u.rng.Float64())*share)
		if err := l.sample(ctx, l.order[min(at, len(l.order)-1)], share); err != nil {
			return err
		}
	}
	return nil
}

func (l *pilotRun[T]) sample(ctx context.Context, i int, represents float64) error {
	if err := contextError(ctx); err != nil {
		return err
	}
	o := l.u.exactRow(i, l.q, l.k)
	query, n := dense.Copy(dense.Matrix[float64]{}, l.q.RowRange(i, i+1)), len(o.scores)
	t, err := tilt(pilotSamples, o, query, l.keys.RowRange(0, n), l.values.RowRange(0, n), l.u.opts.Scale, l.a, l.u.rng)
	if err != nil {
		return err
	}
	l.rest += t.addTerms(l.variances, l.squares, minFeatures, represents)
	return nil
}

type exactRow struct {
	scores   []float64 // Scale·qᵀk_j
	norms    []float64 // Scale·‖q+k_j‖²
	weights  []float64 // exp(score)/total
	logTotal float64   // log Σ exp(score)
}

// exactRow returns exact attention of query i, in O(Lk·d) time and O(Lk) memory.
func (u *Unbiased[T]) exactRow(i int, q, k dense.Matrix[T]) exactRow {
	query := q.RowRange(i, i+1)
	if u.opts.Causal {
		k = k.RowRange(0, i+1)
	}
	products := dense.New[T](1, k.Rows)
	matmul.MulT(1, query, k, 0, products)
	o := exactRow{scores: make([]float64, k.Rows), norms: make([]float64, k.Rows), weights: make([]float64, k.Rows)}
	own := 2 * vecmath.HalfSquaredNorm(query.Row(0))
	for j, s := range products.Data {
		o.scores[j] = u.opts.Scale * float64(s)
		o.norms[j] = u.opts.Scale * (own + 2*vecmath.HalfSquaredNorm(k.Row(j)) + 2*float64(s))
	}
	copy(o.weights, o.scores)
	o.logTotal = logSoftmax(o.weights)
	return o
}

// logSoftmax replaces x by exp(x_j)/Σ exp(x_j) and returns the logarithm of the sum.
func logSoftmax(x []float64) float64 {
	peak := vecmath.Peak(x)
	vecmath.ExpMinus(x, x, peak)
	total := vecmath.Sum(x)
	vecmath.Scale(x, 1/total)
	return peak + math.Log(total)
}
