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

type view[T dense.Float] struct {
	ridge.Rows[T]
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
				b.Weights = weights
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func groupFit[T dense.Float](s *search, found *choice, rows ridge.Rows[T], drawn sample, r *Result[T]) error {
	all := drawn.all
	given := view[T]{rows, s.Classes, s.ClassWeights, nil}
	if s.fitsKernel(found, drawn.n, all.X.Cols) {
		name := found.Kernel
		err := refitKernel(s, found, given, drawn, r)
		if slow := new(ridge.NotConverged); !errors.As(err, &slow) {
			return err
		}
		found.Kernel = name
	}
	found.landmarks = min(s.Landmarks, all.X.Rows)
	phi, err := build[T](s.ctx, found.space, found.kernel, all.X.RowRange(0, found.landmarks))
	if err != nil {
		return err
	}
	return refit(s, found, given, drawn, r, func(rows view[T]) (*ridge.Model[T], error) {
		return regress(s.ctx, phi, rows, found.ratio)
	})
}

func refitKernel[T dense.Float](s *search, found *choice, rows view[T], drawn sample, r *Result[T]) error {
	b, err := collect(s.ctx, rows)
	if err != nil {
		return err
	}
	k := kernels.Pullback{K: found.kernel, A: found.space.matrix(), Centre: found.space.centre}
	found.Kernel += ", of all rows"
	return refit(s, found, view[T]{Rows: b}, drawn, r, func(rows view[T]) (*ridge.Model[T], error) {
		part, err := collect(s.ctx, rows)
		if err != nil {
			return nil, err
		}
		at, err := iterate(s, k, part, found.ratio, 0)
		if err != nil {
			return nil, err
		}
		return at.Model, nil
	})
}

func refit[T dense.Float](s *search, found *choice, rows view[T], drawn sample, r *Result[T], fit func(rows view[T]) (*ridge.Model[T], error)) error {
	m, err := fit(rows)
	if err != nil {
		return err
	}
	first, held := found.unseen(drawn.all.X.Rows)
	left, errs, scales := narrow[T](found.heldOut), found.heldErrors, found.heldScales
	if !held {
		if left, errs, scales, err = leaveFolds(s, drawn, first, rows, fit); err != nil {
			return err
		}
	}
	if s.Classes > 0 {
		r.Classifier, _, err = m.Classifier(left.Y, left.Weights, errs, s.Labels)
		r.Report = found.Report
		return err
	}
	ratios := errs.Clone()
	for i, v := range scales.Data {
		ratios.Data[i] = math.Abs(ratios.Data[i]) / v
	}
	r.Model, err = bandsOf(s.ctx, m, found, left, ratios, scales.Clone())
	r.Report = found.Report
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
		own = pick(own, func(i int) bool { return fold[drawn.numbers[first+i]] == k })
		if len(own.Weights) == 0 {
			continue
		}
		rows.keep = func(i int) bool { return s.trains(fold[i], k) }
		m, err := fit(rows)
		if err != nil {
			return left, errs, scales, err
		}
		part, err := collect(s.ctx, view[T]{narrow[T](own), s.Classes, s.ClassWeights, nil})
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
