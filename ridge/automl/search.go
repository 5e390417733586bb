package automl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

type search struct {
	Options
	ctx        context.Context
	src        rand.Source
	done, most int   // parts of the work
	group      []int // of the rows to learn from; nil without Options.Groups
	power      *int  // of two, of the last λ that was chosen by group
}

type learnt struct {
	space      space
	kernel     kernels.Kernel // nil for a linear function
	name       string         // of the kernel
	ratio      float64        // λ; 0 to choose it with all rows
	lambda     float64        // λ of the fit
	model      *ridge.Model[float64]
	classifier *ridge.Classifier[float64]
	score      float64               // log evidence, or minus the loss of leave-one-out
	left       dense.Matrix[float64] // errors at left-out groups; no rows without groups
}

type choice struct {
	learnt
	Report
	learns    bool                 // the family, from the targets
	landmarks int                  // the number of first rows that the map has seen
	folds     int                  // of the rows
	heldOut   ridge.Block[float64] // held-out rows with their targets, or with indicators of classes
	// sizes of errors of held-out rows or indicators, and standard deviations of predictions
	heldErrors, heldScales dense.Matrix[float64]
	// the variance of the noise of each output of a fit to all rows with normal noise
	noise []float64
}

func (s *search) progress(family string) {
	s.done++
	if s.Progress != nil {
		s.Progress(s.done, s.most, family)
	}
}

// foldsOf returns the number of folds of n rows with d columns, and how many of them are held out.
// If there are few rows for the columns, a fit to two thirds of them may miss the columns that a
// fit to all rows finds, so that there are up to ten folds.
func foldsOf(n, d int) (folds, held int) {
	switch {
	case n > 500:
		return 3, 1
	case fewRows(n, d):
		folds = min(max(1500/n, 3), 10)
		return folds, folds
	}
	return 3, 3
}

// choose measures all families at held-out rows, and learns the best one again from all rows of b,
// which are in random order. If the context ends after a family, choose returns the best family so
// far, as learnt from a part of the rows, and the error of the context.
func (s *search) choose(b ridge.Block[float64]) (c choice, err error) {
	folds, parts := foldsOf(b.X.Rows, b.X.Cols)
	c.Folds = randomFolds
	switch {
	case s.Forward:
		folds, parts, c.Folds = forwardFolds, forwardFolds, forwardInTime
	case s.group != nil:
		folds = max(min(folds, len(slices.Compact(slices.Sorted(slices.Values(s.group))))), 3)
		parts, c.Folds = folds, groupFolds
	}
	var families []family
	for _, f := range everyFamily {
		if f.applies(b.X, s.Classes) {
			families = append(families, f)
		}
	}
	c.Classes, c.Outputs, c.Best, c.folds = s.Classes, b.Y.Cols, -1, folds
	unit, scale := slices.Repeat([]float64{1}, b.Y.Cols), 1.0 // of the outputs, and of the scores
	if s.Classes == 0 {
		b.Y, unit = standardTargets(b)
	}
	if b.Y.Cols == 1 {
		scale = unit[0]
	}
	fold, parts, err := s.divide(b, folds, parts)
	if err != nil {
		return c, err
	}
	s.most = parts*len(families) + 2
	var best *heldOut
	var first error
	var kept []learnt // the fits of the best family to parts of the rows
	for i, f := range families {
		if s.ctx.Err() != nil {
			break
		}
		h, t := new(heldOut), Trial{Family: f.name, Score: math.NaN()}
		var fits []learnt
		for k := range parts {
			if t.Err == nil {
				var m learnt
				trains, tests := func(i int) bool { return s.trains(fold[i], k) }, func(i int) bool { return fold[i] == k }
				together := s.on(tests).group // rows that depend on each other
				if s.Forward {
					together = slices.Repeat([]int{k}, len(together))
				}
				if m, t.Err = s.on(trains).learn(f, pick(b, trains)); t.Err == nil {
					t.Err = interrupt.Await(s.ctx, func() { h.add(pick(b, tests), m, together) })
					fits = append(fits, m)
				}
			}
			if s.ctx.Err() != nil {
				break
			}
			s.progress(f.name)
		}
		if s.ctx.Err() != nil && (t.Err != nil || len(fits) < parts) {
			break
		}
		if t.Err == nil {
			t.Score = scale * h.score()
		}
		first = cmp.Or(first, t.Err)
		c.Trials = append(c.Trials, t)
		if t.Err == nil && (best == nil || h.better(best, f.learns)) {
			c.Best, best, kept = i, h, fits
		}
	}
	if best == nil {
		return c, cmp.Or(s.ctx.Err(), first)
	}
	f := families[c.Best]
	c.learnt, err = s.learn(f, b)
	if s.ctx.Err() != nil {
		c.learnt, err = kept[0], nil
	}
	if err != nil {
		c.Best = -1
		return c, err
	}
	// The search may have ended in a worse maximum than a search on a part of the rows.
	for _, part := range kept {
		if s.ctx.Err() == nil && f.learns && (part.ratio == 0 || part.left.Rows > 0) {
			at, err := s.fit(b, part.space, part.kernel, 0)
			if err == nil && at.score > c.score {
				at.name = part.name
				c.learnt = at
			}
		}
	}
	if s.ctx.Err() == nil {
		s.progress(f.name)
	}
	c.Kernel, c.learns = cmp.Or(c.name, "linear"), f.learns
	c.HeldOut = len(best.losses)
	n, p := len(best.weights), b.Y.Cols
	if s.Classes > 0 {
		c.Accuracy, c.Calibration = stat.Mean(best.right, best.weights), best.calibration()
		if p = s.Classes; s.group == nil {
			return c, s.ctx.Err()
		}
	} else {
		c.Deviation = scale * best.deviation(p)
		for i := range best.errors {
			best.errors[i] *= unit[i%p]
			best.scales[i] *= unit[i%p]
		}
		c.heldScales = dense.Of(n, p, best.scales)
	}
	c.heldErrors = dense.Of(n, p, best.errors)
	c.heldOut = ridge.Block[float64]{X: dense.Of(n, b.X.Cols, best.points), Y: dense.Of(n, p, best.targets), Weights: best.weights}
	for i := range best.weights {
		if s.ClassWeights != nil {
			best.weights[i] *= s.ClassWeights[floats.MaxIdx(c.heldOut.Y.Row(i))]
		}
	}
	return c, s.ctx.Err()
}

// divide returns the fold of each row, of which the first parts are held out. Folds have equal
// shares of the classes. The fold is -1 for a row that other rows need: for the only row of a
// class, and for a row without which an output would not vary in the other folds. Forward in time,
// parts becomes the number of folds that have rows.
func (s *search) divide(b ridge.Block[float64], folds, parts int) ([]int, int, error) {
	var fold []int
	if s.group != nil {
		fold = foldsOfGroups(s.group, folds, s.Forward)
	} else {
		fold = s.scatter(b, folds)
	}
	s.release(fold, indicators(b, s.Classes).Y, parts)
	if s.Forward {
		used := slices.Compact(slices.Sorted(slices.Values(fold)))
		used = slices.DeleteFunc(used, func(k int) bool { return k < 0 })
		for i, k := range fold {
			if k >= 0 {
				fold[i] = slices.Index(used, k)
			}
		}
		parts = max(len(used), 2)
	}
	for k := range parts {
		if !slices.Contains(fold, k) {
			if s.group != nil {
				return nil, 0, fmt.Errorf("too few of %d rows can be held out: want more groups, and in them each class and different values", len(fold))
			}
			return nil, 0, fmt.Errorf("too few of %d rows can be held out, because the only row of a class or of a value is in every fit", len(fold))
		}
	}
	return fold, parts, nil
}

func (s *search) scatter(b ridge.Block[float64], folds int) []int {
	fold := make([]int, b.X.Rows)
	offset := 0 // of the next class, so that classes of a few rows are in different folds
	for c := range max(s.Classes, 1) {
		for i := range fold {
			if s.Classes == 0 || int(b.Y.At(i, 0)) == c {
				fold[i] = offset % folds
				offset++
			}
		}
	}
	return fold
}

// release sets the fold of a row to −1 if an output would not vary without the fold of the row, or
// the folds of all rows of its group.
func (s *search) release(fold []int, y dense.Matrix[float64], parts int) {
	for j := range y.Cols {
		for k := range parts {
			var own, others []int
			for i, f := range fold {
				if f == k {
					own = append(own, i)
				} else if s.trains(f, k) {
					others = append(others, i)
				}
			}
			if s.Forward {
				if !slices.ContainsFunc(others, func(i int) bool { return y.At(i, j) != y.At(others[0], j) }) {
					for _, i := range own {
						fold[i] = -1
					}
				}
				continue
			}
			differs := func(i int) bool { return len(others) == 0 || y.At(i, j) != y.At(others[0], j) }
			at := slices.IndexFunc(own, differs)
			if at < 0 || slices.ContainsFunc(others, differs) {
				continue
			}
			fold[own[at]] = -1
			for i, g := range s.group {
				if g == s.group[own[at]] {
					fold[i] = -1
				}
			}
		}
	}
}

func standardTargets(b ridge.Block[float64]) (y dense.Matrix[float64], unit []float64) {
	y, unit = b.Y.Clone(), make([]float64, b.Y.Cols)
	centre(y, b.Weights)
	all := floats.Sum(b.Weights)
	for i := range y.Rows {
		for j, v := range y.Row(i) {
			unit[j] += v * v * b.Weights[i] / all
		}
	}
	for j, v := range unit {
		unit[j] = math.Sqrt(v)
	}
	for i := range y.Rows {
		floats.Div(y.Row(i), unit)
	}
	return y, unit
}

func pick(b ridge.Block[float64], keep func(i int) bool) (part ridge.Block[float64]) {
	for i := range b.X.Rows {
		if keep(i) {
			part.X.Data, part.Y.Data = append(part.X.Data, b.X.Row(i)...), append(part.Y.Data, b.Y.Row(i)...)
			part.Weights = append(part.Weights, b.Weights[i])
		}
	}
	part.X, part.Y = dense.Of(len(part.Weights), b.X.Cols, part.X.Data), dense.Of(len(part.Weights), b.Y.Cols, part.Y.Data)
	return part
}

func (s *search) learn(f family, b ridge.Block[float64]) (learnt, error) {
	at, start, ratio, err := f.space(s, b)
	if err != nil {
		return learnt{}, err
	}
	if f.fixed {
		found, err := s.fit(b, at, at.kernel, ratio)
		if at.kernel != nil {
			found.name = "boxes of up to three columns"
		}
		return found, err
	}
	if !(start > 0) {
		return learnt{}, errors.New("the rows are equal, which tells no length-scale")
	}
	best, first := learnt{score: math.Inf(-1)}, error(nil)
	try := func(k shape, l float64) bool {
		if s.ctx.Err() != nil {
			return false
		}
		found, err := s.fit(b, at, k.of(l), 0)
		if first = cmp.Or(first, err); err != nil || !(found.score > best.score) {
			return false
		}
		best = found
		best.name = fmt.Sprintf("%s, length-scale %.3g", k.name, l)
		return true
	}
	chosen := shapes[0]
	for _, k := range shapes {
		l, better := start, try(k, start)
		for _, step := range []float64{2, 0.5} {
			for next := l * step; next < 100*start && next > start/100 && try(k, next); next *= step {
				l, better = next, true
			}
			if l != start {
				break
			}
		}
		if !better {
			break
		}
		chosen, start = k, l
	}
	_ = try(chosen, start*math.Sqrt2) || try(chosen, start/math.Sqrt2)
	if best.kernel == nil || s.ctx.Err() != nil {
		return learnt{}, cmp.Or(s.ctx.Err(), first)
	}
	return best, nil
}

type shape struct {
	name string
	of   func(l float64) kernels.Kernel
}

var shapes = []shape{
	{"Gaussian", func(l float64) kernels.Kernel { return kernels.Gaussian{LengthScale: l} }},
	{"Matérn 5/2", func(l float64) kernels.Kernel { return kernels.Matern{Nu: 2.5, LengthScale: l} }},
	{"Matérn 3/2", func(l float64) kernels.Kernel { return kernels.Matern{Nu: 1.5, LengthScale: l} }},
}

func (s *search) fit(b ridge.Block[float64], at space, k kernels.Kernel, ratio float64) (learnt, error) {
	if s.Classes == 0 {
		return s.regression(b, at, k, ratio)
	}
	l := learnt{space: at, kernel: k, ratio: ratio}
	if s.group != nil {
		return s.classes(b, at, k, ratio)
	}
	phi, err := s.landmarks(b, at, k)
	if err != nil {
		return l, err
	}
	found, err := ridge.Classify(s.ctx, []rff.Map[float64]{phi}, b, ridge.ClassifyOptions{Classes: s.Classes, ClassWeights: s.ClassWeights})
	if err == nil {
		l.classifier, l.score, l.lambda = found.Classifier, -found.Trials[0].Score, found.Ratio
	}
	return l, err
}

func (s *search) regression(b ridge.Block[float64], at space, k kernels.Kernel, ratio float64) (learnt, error) {
	l := learnt{space: at, kernel: k, ratio: ratio}
	phi, err := s.landmarks(b, at, k)
	if err != nil {
		return l, err
	}
	if s.group != nil && ratio == 0 {
		if l.ratio, l.score, l.left, err = s.byGroup(phi, b); err != nil {
			return l, err
		}
	}
	if l.model, err = regress(s.ctx, phi, b, l.ratio); err != nil {
		return l, err
	}
	l.lambda = l.model.Noise()[0] / l.model.Prior()[0]
	if l.left.Rows == 0 {
		l.score = l.model.LogEvidence()
	}
	return l, nil
}

func (s *search) landmarks(b ridge.Block[float64], at space, k kernels.Kernel) (rff.Map[float64], error) {
	return build[float64](s.ctx, at, k, b.X.RowRange(0, min(b.X.Rows, s.Landmarks)))
}

// The evidence of targets that are an exact function of the features has no maximum.
const leastRatio = 1e-7

func regress[T dense.Float](ctx context.Context, phi rff.Map[T], rows ridge.Rows[T], ratio float64) (*ridge.Model[T], error) {
	sums, err := ridge.Sum(ctx, phi, rows)
	if err != nil {
		return nil, err
	}
	m, err := sums.Fit(ctx, ridge.Options{Ratio: ratio})
	if ratio > 0 || ctx.Err() != nil {
		return m, err
	}
	weight, _, _ := sums.Features()
	if least := leastRatio * weight / float64(sums.Rows()); err != nil || m.Noise()[0] < least*m.Prior()[0] {
		if again, failed := sums.Fit(ctx, ridge.Options{Ratio: least}); failed == nil {
			return again, nil
		}
	}
	return m, err
}
