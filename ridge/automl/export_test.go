package automl

import (
	"context"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"gonum.org/v1/gonum/floats"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
	"github.com/seed-feabd252/randfeat/ridge/internal/platt"
)

// Landmarks returns the largest number of landmarks of a kernel of n rows.
var Landmarks = Options.landmarks

// Ranks returns numbers of rows, of which the least are a sample.
var Ranks = Options.ranks

// FoldsOfGroups returns the fold of each row.
var FoldsOfGroups = foldsOfGroups

// FitsKernel reports whether the last fit of n rows of d columns takes the kernel of all rows.
func FitsKernel(o Options, n, d int) bool {
	return o.fitsKernel(learnt{kernel: kernels.Gaussian{LengthScale: 1}}, n, d, max(1, o.Classes), 1)
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
	s := &search{Options: o, ctx: ctx, src: src, rows: drawn.all, folds: []fold{{train: make([]int, drawn.n)}}}
	t, f := newTask(s, p, found.learnt, rows, drawn, true), fitted[T]{member: member[T]{Weight: 1, Back: p.back}}
	done, err := kernelFit(s, &found, t, &f)
	if err == nil && o.Classes == 0 {
		f.Model, err = withBands(s, &found, t, []fitted[T]{f})
	}
	return &Result[T]{&Model[T]{[]member[T]{f.member}}, found.Report}, done, err
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
