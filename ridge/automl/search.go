package automl

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// mixtureSearch chooses a mixture with a sample of the rows.
type mixtureSearch struct {
	Options
	ctx        context.Context
	src        rand.Source
	done, most int   // parts of the work
	members    int   // of the mixture at most
	landmarks  int   // of a kernel at most
	group      []int // of the rows to learn from; nil without Options.Groups
	power      int   // of 2, of the last λ that was chosen
	positive   bool  // all targets, so that they have logarithms
	exact      bool  // the last fits take the kernel of all rows directly

	rows    ridge.Block[float64] // of the sample
	goals   []*goal
	folds   []fold
	tested  []int // the numbers of the held-out rows
	teacher *goal // of the best candidate so far
	least   float64
	choice  int       // the power of 2 of the last λ that was best at held-out rows
	given   []float64 // the weights of the sample, which outliers have not changed
}

// learnt is a function of a family: a kernel in a space, and λ.
type learnt struct {
	space  space
	kernel kernels.Kernel
	ratio  float64 // λ
}

type choice struct {
	learnt // of the first of the picks
	Report
	picks []pick
	// errors at held-out rows of mixtures without the fold of the row
	heldErrors dense.Matrix[float64]
}

func (s *mixtureSearch) progress(family string) {
	s.done++
	if s.Progress != nil {
		s.Progress(s.done, s.most, family)
	}
}

// folds returns the number of folds of n rows with d columns. A fit to two thirds of few rows may
// miss what a fit to all rows finds, so that there are up to five folds, or up to ten if the rows
// are few for the columns. Classes, and HeavyTails, whose fits are slow, have three: with five,
// probabilities of a few hundred rows were no better.
func (o Options) folds(n, d int) int {
	switch {
	case fewRows(n, d):
		return min(max(1500/n, 3), 10)
	case o.HeavyTails || o.Classes > 0:
		return 3
	}
	return min(max(1000/n, 3), 5)
}

// choose compares functions of all families at held-out rows of b, which are in random order, and
// mixes the best ones. If the context ends after a family, choose returns the best mixture so far
// and the error of the context.
func (s *mixtureSearch) choose(b ridge.Block[float64]) (c choice, err error) {
	parts := s.Options.folds(b.X.Rows, b.X.Cols)
	c.Folds = randomFolds
	switch {
	case s.Forward:
		parts, c.Folds = forwardFolds, forwardInTime
	case s.group != nil:
		parts = max(min(parts, len(slices.Compact(slices.Sorted(slices.Values(s.group))))), 3)
		c.Folds = groupFolds
	}
	var families []family
	for _, f := range everyFamily {
		if f.applies(b.X, s.Classes) {
			families = append(families, f)
		}
	}
	c.Classes, c.Outputs, c.Best = s.Classes, b.Y.Cols, -1
	if err := s.prepare(b, parts); err != nil {
		return c, err
	}
	s.most = len(families) + 2
	var pool []*candidate
	var first error
	for i, f := range families {
		if s.ctx.Err() != nil {
			break
		}
		found, score, err := s.explore(&families[i], i)
		if s.ctx.Err() != nil {
			break
		}
		t := Trial{Family: f.name, Score: score, Err: err}
		first = cmp.Or(first, err)
		pool, c.Trials = append(pool, found...), append(c.Trials, t)
		s.progress(f.name)
	}
	if len(pool) == 0 {
		return c, cmp.Or(s.ctx.Err(), first)
	}
	c.picks = s.mix(pool)
	lead := c.picks[0]
	for _, p := range c.picks {
		c.Trials[p.index].Weight += p.weight
	}
	c.Best, c.Kernel = lead.index, lead.name
	s.report(&c, pool)
	if s.ctx.Err() == nil {
		s.progress("")
	}
	return c, s.ctx.Err()
}

// divide returns the fold of each row. Folds have equal shares of the classes. The fold is -1 for a
// row that other rows need: for the only row of a class, and for a row without which an output
// would not vary in the other folds. Forward in time, parts becomes the number of folds that have
// rows.
func (s *mixtureSearch) divide(b ridge.Block[float64], parts int) ([]int, int, error) {
	var fold []int
	if s.group != nil {
		fold = foldsOfGroups(s.group, parts, s.Forward)
	} else {
		fold = s.scatter(b, parts)
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

func (s *mixtureSearch) scatter(b ridge.Block[float64], folds int) []int {
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
func (s *mixtureSearch) release(fold []int, y dense.Matrix[float64], parts int) {
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

// kernelShape makes kernels of a length-scale.
type kernelShape struct {
	name string
	of   func(l float64) kernels.Kernel
}

var shapes = []kernelShape{
	{"Gaussian", func(l float64) kernels.Kernel { return kernels.Gaussian{LengthScale: l} }},
	{"Matérn 5/2", func(l float64) kernels.Kernel { return kernels.Matern{Nu: 2.5, LengthScale: l} }},
	{"Matérn 3/2", func(l float64) kernels.Kernel { return kernels.Matern{Nu: 1.5, LengthScale: l} }},
}

// leastRatio is a λ, in units of the mean weight of a row, for targets that are an exact function
// of the features. The evidence of such targets has no maximum.
const leastRatio = 1e-7

func regress[T dense.Float](ctx context.Context, phi rff.Map[T], rows ridge.Rows[T], ratio float64) (*ridge.Model[T], error) {
	sums, err := ridge.Sum(ctx, phi, rows)
	if err != nil {
		return nil, err
	}
	m, err := sums.Fit(ctx, ridge.Options{Ratio: ratio})
	for again := ratio; err != nil && ratio > 0 && again < 1e6*ratio && ctx.Err() == nil; again *= 4 {
		// exact targets tell no noise of a small λ
		m, err = sums.Fit(ctx, ridge.Options{Ratio: again})
	}
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
