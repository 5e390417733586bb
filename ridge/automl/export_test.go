package automl

import (
	"context"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Landmarks returns the largest number of landmarks of a kernel of n rows.
var Landmarks = Options.landmarks

// Ranks returns numbers of rows, of which the least are a sample.
var Ranks = Options.ranks

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
	found := choice{learnt: learnt{space: at, kernel: k}, Report: Report{Classes: o.Classes, Outputs: drawn.all.Y.Cols, Kernel: "Gaussian"}, picks: []pick{p}}
	found.Folds = randomFolds
	s := &search{Options: o, ctx: ctx, src: src, rows: drawn.all}
	t, f := newTask(s, p, found.learnt, rows, drawn, true), fitted[T]{member: member[T]{Weight: 1, Back: p.back}}
	done, err := kernelFit(s, &found, t, &f)
	if err == nil && o.Classes == 0 {
		f.Model, err = withBands(s, &found, t, []fitted[T]{f})
	}
	return &Result[T]{&Model[T]{[]member[T]{f.member}}, found.Report}, done, err
}

// First returns the part of the largest weight.
func First[T dense.Float](m *Model[T]) *ridge.Model[T] { return m.members[0].Model }
