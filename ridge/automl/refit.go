package automl

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

// view is rows in which others have the weight 0, with an output for each class if classes > 0.
type view[T dense.Float] struct {
	ridge.Rows[T]
	curves  curves // of columns
	logs    bool   // logarithms of targets
	classes int
	factors []float64        // of the weights of classes, or nil
	keep    func(i int) bool // row i; nil for all
}

func (v view[T]) Blocks() iter.Seq2[ridge.Block[T], error] {
	return func(yield func(ridge.Block[T], error) bool) {
		read := 0
		for b, err := range v.Rows.Blocks() {
			if err == nil {
				weights := make([]T, b.X.Rows)
				for i := range weights {
					if v.keep == nil || v.keep(read+i) {
						weights[i] = T(b.Weight(i))
					}
					if v.factors != nil {
						weights[i] *= T(v.factors[int(b.Y.At(i, 0))])
					}
				}
				read += b.X.Rows
				b = indicators(b, v.classes)
				b.X, b.Weights = moved(v.curves, b.X), weights
				if v.logs {
					b.Y = logarithms(b.Y)
				}
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// groupFit fits a pick to all rows, with bands or probabilities from errors at groups that a fit
// has not seen.
func groupFit[T dense.Float](s *search, found *choice, t task[T], f *fitted[T]) error {
	all := t.drawn.all
	if s.fitsKernel(t.learnt, t.drawn.n, all.X.Cols, max(found.Outputs, s.Classes)) {
		name := found.Kernel
		err := refitKernel(s, found, t, f)
		if slow := new(ridge.NotConverged); !errors.As(err, &slow) {
			return err
		}
		found.Kernel = name
	}
	found.landmarks = min(s.Landmarks, all.X.Rows)
	phi, err := build[T](s.ctx, t.space, t.kernel, all.X.RowRange(0, found.landmarks))
	if err != nil {
		return err
	}
	return refit(s, found, t.rows, t.drawn, f, func(rows view[T]) (*ridge.Model[T], error) {
		return regress(s.ctx, phi, rows, t.ratio)
	})
}

func refitKernel[T dense.Float](s *search, found *choice, t task[T], f *fitted[T]) error {
	b, err := collect(s.ctx, t.rows)
	if err != nil {
		return err
	}
	k := kernels.Pullback{K: t.kernel, A: t.space.matrix(), Centre: t.space.centre}
	found.Kernel += ", of all rows"
	return refit(s, found, view[T]{Rows: b}, t.drawn, f, func(rows view[T]) (*ridge.Model[T], error) {
		part, err := collect(s.ctx, rows)
		if err != nil {
			return nil, err
		}
		at, err := iterate(s, k, part, t.ratio, 0)
		if err != nil {
			return nil, err
		}
		return at.Model, nil
	})
}

// refit fits all rows, and those without each fold of groups, and sets the model.
func refit[T dense.Float](s *search, found *choice, rows view[T], drawn sample, f *fitted[T], fit func(rows view[T]) (*ridge.Model[T], error)) error {
	m, err := fit(rows)
	if err != nil {
		return err
	}
	f.Model = m
	first := 0
	if found.learns {
		first = sampleRows
	}
	if found.learns && drawn.n < first+unseenRows { // errors of the choice tell as much
		return nil
	}
	left, errs, scales, err := leaveFolds(s, drawn, first, rows, fit)
	switch {
	case err != nil:
		return err
	case s.Classes > 0:
		f.Classifier, _, err = m.Classifier(left.Y, left.Weights, errs, s.Labels)
		f.Model = nil
		return err
	}
	for i, v := range scales.Data {
		errs.Data[i] = math.Abs(errs.Data[i]) / v
	}
	f.Model, err = bandsOf(s.ctx, m, found, left, errs, scales)
	f.banded = true
	return err
}

// leaveFolds returns sampled rows from the row first on, their errors in fits without the fold of
// the row, and the standard deviations of these predictions.
func leaveFolds[T dense.Float](s *search, drawn sample, first int, rows view[T], fit func(rows view[T]) (*ridge.Model[T], error)) (left ridge.Block[T], errs, scales dense.Matrix[float64], err error) {
	folds := 5
	switch {
	case s.Forward:
		folds = forwardFolds
	case drawn.n <= sampleRows:
		folds = 10
	}
	fold := s.foldsOfAll(drawn, folds)
	for k := range folds {
		own := drawn.all.RowRange(first, drawn.all.X.Rows)
		own = filter(own, func(i int) bool { return fold[drawn.numbers[first+i]] == k })
		if len(own.Weights) == 0 {
			continue
		}
		rows.keep = func(i int) bool { return s.trains(fold[i], k) }
		m, err := fit(rows)
		if err != nil {
			return left, errs, scales, err
		}
		part, err := collect(s.ctx, view[T]{Rows: narrow[T](own), classes: s.Classes, factors: s.ClassWeights})
		if err != nil {
			return left, errs, scales, err
		}
		rest, g, lacking, err := residuals(s.ctx, m, part)
		if err != nil {
			return left, errs, scales, err
		}
		for i, w := range part.Weights {
			for j, v := range m.Noise() {
				sd := math.Sqrt(v)
				errs.Data = append(errs.Data, rest.At(i, j)*sd)
				scales.Data = append(scales.Data, sd*math.Sqrt(1/float64(w)+g[i]+lacking[i]))
			}
		}
		left.X.Data, left.Y.Data, left.Weights = append(left.X.Data, part.X.Data...), append(left.Y.Data, part.Y.Data...), append(left.Weights, part.Weights...)
	}
	n := len(left.Weights)
	if n < 2 {
		return left, errs, scales, fmt.Errorf("%d rows can be held out of the last fit, want more groups", n)
	}
	p := len(errs.Data) / n
	left.X, left.Y = dense.Of(n, drawn.all.X.Cols, left.X.Data), dense.Of(n, p, left.Y.Data)
	return left, dense.Of(n, p, errs.Data), dense.Of(n, p, scales.Data), nil
}

// foldsOfAll returns the folds of all rows. Rows of weight 0 and groups that other rows need, as in
// divide, are in every fit.
func (s *search) foldsOfAll(drawn sample, folds int) []int {
	fold, active := slices.Repeat([]int{-1}, len(s.Groups)), []int{}
	for i, g := range s.Groups {
		if !drawn.idle[i] {
			active = append(active, g)
		}
	}
	of := foldsOfGroups(active, folds, s.Forward)
	for i := range fold {
		if !drawn.idle[i] {
			fold[i], of = of[0], of[1:]
		}
	}
	own, known := *s, make([]int, len(drawn.numbers))
	own.group = make([]int, len(known))
	for at, i := range drawn.numbers {
		own.group[at], known[at] = s.Groups[i], fold[i]
	}
	own.release(known, indicators(drawn.all, s.Classes).Y, folds)
	needed := make(map[int]bool)
	for at, i := range drawn.numbers {
		needed[s.Groups[i]] = needed[s.Groups[i]] || known[at] < 0
	}
	for i, g := range s.Groups {
		if needed[g] {
			fold[i] = min(fold[i], -1)
		}
	}
	return fold
}

func narrow[T dense.Float](b ridge.Block[float64]) ridge.Block[T] {
	part := ridge.Block[T]{X: dense.Copy(dense.Matrix[T]{}, b.X), Y: dense.Copy(dense.Matrix[T]{}, b.Y)}
	part.Weights = dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(b.Weights), b.Weights)).Data
	return part
}
