package automl

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
	"github.com/seed-feabd252/randfeat/ridge/internal/platt"
)

// Landmarks returns the largest number of landmarks of a kernel of n rows.
var Landmarks = Options.landmarks

// Ranks returns numbers of rows, of which the least are a sample.
var Ranks = Options.ranks

// Chosen returns the targets of the rows that choose.
func Chosen[T dense.Float](t *testing.T, rows ridge.Rows[T], o Options, seed uint64) []float64 {
	drawn, err := draw(t.Context(), rows, o, rand.New(rand.NewPCG(seed, 2)))
	require.NoError(t, err)
	return drawn.all.Y.Data[:drawn.choose*drawn.all.Y.Cols]
}

// FoldsOfGroups returns the fold of each row.
var FoldsOfGroups = foldsOfGroups

// FitsKernel reports whether the last fit of n rows of d columns takes the kernel of all rows.
func FitsKernel(o Options, n, d int) bool {
	return o.fitsKernel(learnt{kernel: kernels.Gaussian{LengthScale: 1}}, n, d, max(1, o.Classes))
}

// KernelFit is the last fit of any number of rows with the kernel of all rows, of columns in units
// of deviations.
func KernelFit[T dense.Float](ctx context.Context, rows ridge.Rows[T], o Options, k kernels.Kernel, seed uint64) (*Result[T], bool, error) {
	src := rand.NewPCG(seed, 2)
	drawn, err := draw(ctx, rows, o, rand.New(src))
	if err != nil {
		return nil, false, err
	}
	at, err := standardised(drawn.all.X, deviations)
	if err != nil {
		return nil, false, err
	}
	p := pick{&candidate{explored: &explored{family: new(family)}, goal: new(goal), back: make([]back, drawn.all.Y.Cols)}, 1}
	found := choice{learnt: learnt{space: at, kernel: k, ratio: 0.1}, Report: Report{Classes: o.Classes, Outputs: drawn.all.Y.Cols, Kernel: "Gaussian"}, picks: []pick{p}}
	found.Folds = randomFolds
	s := &mixtureSearch{Options: o, ctx: ctx, src: src, rows: drawn.all, folds: []fold{{train: make([]int, drawn.n)}}, goals: []*goal{newGoal(drawn.all)}}
	t, f := newTask(s, p, found.learnt, rows, drawn, true), fitted[T]{member: member[T]{Weight: 1, Back: p.back}}
	done, err := kernelFit(s, &found, t, &f)
	var scores dense.Matrix[float64]
	if err == nil && o.Classes == 0 {
		f.Model, scores, err = withQuantiles(s, &found, t, []fitted[T]{f})
	}
	return &Result[T]{&Model[T]{[]member[T]{f.member}, scores}, found.Report}, done, err
}

// First returns the part of the largest weight.
func First[T dense.Float](m *Model[T]) *ridge.Model[T] { return m.members[0].Model }

// LogisticSlopes returns the slopes of the loss of logistic regression at its end.
func LogisticSlopes(ctx context.Context, x, y dense.Matrix[float64], weights []float64, ratio float64) dense.Matrix[float64] {
	gram := kernels.Gram(dense.Matrix[float64]{}, kernels.Gaussian{LengthScale: 1}, x, dense.Matrix[float64]{})
	s, err := gramian.NewSystem(ctx, gram.Clone(), weights, ratio)
	if err != nil {
		panic(err)
	}
	a, b := logistic(s, y)
	f := dense.New[float64](y.Rows, y.Cols)
	matmul.Mul(1, gram, a, 0, f)
	for i, w := range weights {
		floats.Add(f.Row(i), b)
		platt.Softmax(f.Row(i))
		for j, p := range f.Row(i) {
			f.Set(i, j, 2*w*(y.At(i, j)-p)-ratio*a.At(i, j))
		}
	}
	return f
}

// Curves returns the rows of other, moved by the curves of x.
func Curves(x, other dense.Matrix[float64]) (asRanks, asSquashed dense.Matrix[float64]) {
	return moved(ranks(x), other), moved(squashed(x), other)
}

// Quantile returns a quantile of sorted scores.
var Quantile = rankOf

// ErrorsWithout returns the errors of mixtures of two functions with the errors a and b, of which
// each half is a fold.
func ErrorsWithout(a, b []float64) []float64 {
	n := len(a)
	s := &mixtureSearch{members: 2, rows: ridge.Block[float64]{Y: dense.New[float64](n, 1), Weights: make([]float64, n)}, folds: make([]fold, 2)}
	s.goals = []*goal{{unit: []float64{1}}}
	for i := range n {
		s.rows.Weights[i], s.tested = 1, append(s.tested, i)
		s.folds[2*i/n].test = append(s.folds[2*i/n].test, i)
	}
	var pool []*candidate
	for _, errors := range [][]float64{a, b} {
		c := &candidate{held: dense.New[float64](n, 1)}
		floats.SubTo(c.held.Data, s.rows.Y.Data, errors)
		pool = append(pool, c)
	}
	return s.errorsWithout(pool).Data
}

// Factor returns the factor of exponentials for targets y and predictions f of their logarithms.
func Factor(y, f []float64) float64 {
	n := len(y)
	s := &mixtureSearch{rows: ridge.Block[float64]{Y: dense.Of(n, 1, y), Weights: make([]float64, n)}}
	logs := logarithms(dense.Of(n, 1, f))
	for i := range n {
		s.rows.Weights[i], s.tested = 1, append(s.tested, i)
	}
	s.goals = []*goal{{y: logs, mean: []float64{0}, unit: []float64{1}, logs: true}}
	c := &candidate{explored: &explored{mixtureSearch: s}, goal: s.goals[0], scores: logs}
	c.judge()
	return c.back[0].Factor
}
