package automl

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

// deviationRows is the largest number of landmarks from which the first part of a mixture has
// standard deviations.
const deviationRows = 1000

// task is a pick to fit to all rows, with columns moved by its curves, and logarithms as targets if
// its goal has them.
type task[T dense.Float] struct {
	pick
	learnt
	curves curves
	rows   memberRows[T]
	drawn  trainingSample
	first  bool // of the picks
}

// fitted is a part of a mixture, with errors at rows left out of the fit if they are known.
type fitted[T dense.Float] struct {
	member[T]
	left dense.Matrix[float64] // (n×p), in units of the targets
	rows ridge.Block[T]        // with the errors, moved
}

func newTask[T dense.Float](s *mixtureSearch, p pick, l learnt, rows ridge.Rows[T], drawn trainingSample, first bool) task[T] {
	c := p.family.curves(s.rows.X)
	t := task[T]{pick: p, learnt: l, curves: c, drawn: drawn, first: first, rows: memberRows[T]{
		Rows: rows, columns: drawn.all.X.Cols, outputs: drawn.all.Y.Cols, unit: drawn.unit,
		curves: c, logs: p.goal.logs, classes: s.Classes, factors: s.ClassWeights,
	}}
	t.drawn.all.X = moved(c, drawn.all.X)
	if p.goal.logs {
		t.drawn.all.Y = logarithms(drawn.all.Y)
	}
	return t
}

// fitTask fits a pick to all rows. It takes the kernel of all rows, if that is affordable, or
// landmarks.
func fitTask[T dense.Float](s *mixtureSearch, found *choice, t task[T]) (f fitted[T], err error) {
	f.Weight, f.Curves, f.Back = t.weight, t.curves, t.back
	_, linear := t.kernel.(kernels.DotProduct)
	done := true
	switch {
	case s.exact && (!linear || t.goal.logistic):
		f.Model, err = exactFit(s, t)
	case !linear && s.fitsKernel(t.learnt, t.drawn.n, t.drawn.all.X.Cols, max(found.Outputs, s.Classes)):
		done, err = kernelFit(s, found, t, &f)
	default:
		done = false
	}
	if !done && err == nil {
		var phi rff.Map[T]
		phi, err = build[T](s.ctx, t.space, t.kernel, t.drawn.all.X.RowRange(0, min(s.landmarks, t.drawn.all.X.Rows)))
		if err == nil {
			f.Model, err = regress(s.ctx, phi, t.rows, t.ratio)
		}
	}
	if err != nil {
		return f, err
	}
	if s.HeavyTails {
		own := *found
		own.learnt = t.learnt
		f.Model, _, err = heavy(s, &own, reweighted[T]{s.ctx, t.rows, f.Model, math.Inf(1)}, t.drawn.all, s.rows.Weights)
		if t.first {
			found.Tails = own.Tails
		}
	}
	if s.Classes > 0 && f.Classifier == nil {
		y := narrow[T](s.block(s.rows.X, s.goals[0], s.tested))
		left := layout.Rows(s.goals[0].y, s.tested)
		for i, v := range t.scores.Data {
			left.Data[i] -= v
		}
		err = f.classify(s, y.Y, y.Weights, left)
	}
	return f, err
}

// classify replaces the model by the classifier of its scores.
func (f *fitted[T]) classify(s *mixtureSearch, y dense.Matrix[T], weights []T, left dense.Matrix[float64]) error {
	var c *ridge.Classifier[T]
	var err error
	m := f.Model
	if stop := interrupt.Await(s.ctx, func() { c, _, err = m.Classifier(y, weights, left, s.Labels) }); stop != nil {
		return stop // c and err may change yet
	}
	f.Classifier, f.Model = c, nil
	return err
}

// exactFit fits the kernel of all rows directly.
func exactFit[T dense.Float](s *mixtureSearch, t task[T]) (*ridge.Model[T], error) {
	b, err := collect(s.ctx, t.rows)
	if err != nil {
		return nil, err
	}
	wide, y, n := dense.Copy(dense.Matrix[float64]{}, b.X), dense.Copy(dense.Matrix[float64]{}, b.Y), b.X.Rows
	weights := dense.Copy(dense.Matrix[float64]{}, dense.Of(1, n, b.Weights)).Data
	mean := make([]float64, y.Cols)
	if !t.goal.logistic {
		for j := range mean {
			mean[j] = y.At(0, j)
			for i := range n {
				y.Row(i)[j] -= mean[j]
			}
		}
	}
	z, err := t.space.points(wide)
	if err != nil {
		return nil, err
	}
	var a dense.Matrix[float64]
	var constant []float64
	stop := interrupt.Await(s.ctx, func() {
		gram := gramian.Gram(dense.Matrix[float64]{}, t.kernel, z, dense.Matrix[float64]{})
		var system *gramian.System
		if system, err = gramian.NewSystem(s.ctx, gram, weights, t.ratio); err == nil {
			a, constant = t.goal.fit(system, y)
		}
	})
	if stop != nil { // err may change yet
		return nil, stop
	}
	if err != nil {
		return nil, err
	}
	noise := make([]float64, y.Cols)
	for j := range noise {
		for i := range n {
			noise[j] += t.ratio * a.At(i, j) * (y.At(i, j) - constant[j]) / float64(n-1)
		}
		noise[j] = max(noise[j], 0x1p-500*t.ratio)
		constant[j] += mean[j]
	}
	rank := 1
	if t.first && s.Classes == 0 {
		rank = min(n, deviationRows)
	}
	var m *ridge.Model[T]
	stop = interrupt.Await(s.ctx, func() {
		k := kernels.Pullback{K: t.kernel, A: t.space.matrix(), Centre: t.space.centre}
		var phi rff.Map[T]
		if phi, err = rff.Nystroem(k, dense.Copy(dense.Matrix[T]{}, t.drawn.all.X.RowRange(0, rank))); err != nil {
			return
		}
		zeros := ridge.Block[T]{X: b.X, Y: dense.New[T](n, y.Cols), Weights: b.Weights}
		if m, err = ridge.Fit(s.ctx, phi, zeros, ridge.Options{Noise: t.ratio, Prior: 1}); err == nil {
			m, err = m.WithKernel(b.X, a, constant, noise)
		}
	})
	if stop != nil {
		return nil, stop
	}
	return m, err
}
