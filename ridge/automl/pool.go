package automl

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

// goal is what a fit predicts in place of the targets.
type goal struct {
	y          dense.Matrix[float64] // of the rows of the sample
	mean, unit []float64             // y = (t − mean)/unit for the targets or their logarithms t
	logs       bool                  // t are logarithms
	logistic   bool                  // y are indicators, and the fit is logistic regression
}

// fold has the numbers of the rows of a fit, and of those that are held out.
type fold struct{ train, test []int }

// explored is a family at the rows outside of each fold.
type explored struct {
	*mixtureSearch
	family *family
	index  int
	x      dense.Matrix[float64] // moved by the curves of the family
	taught *goal                 // from which the family learns
	parts  []foldFit
	pool   []*candidate
}

type foldFit struct {
	space       space
	kernel      kernels.Kernel
	train       []int                 // the numbers of the rows of the fit
	z, test     dense.Matrix[float64] // points in the space
	weights     []float64
	start       float64               // length-scale
	ratio       float64               // λ; 0 to choose it
	gram, cross dense.Matrix[float64] // of z, and of test and z
	root        dense.Matrix[float64] // the memory of a factorisation
	unit        float64               // the mean of ω·k(x, x)
}

// candidate is a function that was fitted to the rows outside of each fold.
type candidate struct {
	*explored
	name  string                             // of the kernel
	of    func(start float64) kernels.Kernel // nil for the kernel of the space
	power int                                // of 2: λ in units of the mean of ω·k(x, x)
	goal  *goal

	scores dense.Matrix[float64] // predictions of y at the held-out rows
	held   dense.Matrix[float64] // predictions of targets, or probabilities
	back   []back
	losses []float64 // of the held-out rows
	loss   float64   // their sum over weighted rows
}

// prepare sets the goals and the folds for the rows b.
func (s *mixtureSearch) prepare(b ridge.Block[float64], parts int) error {
	if s.rows = b; s.Classes == 0 {
		s.goals = []*goal{newGoal(b)}
		if s.positive {
			b.Y = logarithms(b.Y)
			s.goals = append(s.goals, newGoal(b))
			s.goals[1].logs = true
		}
	} else {
		s.rows.Weights = slices.Clone(b.Weights)
		for i, c := range b.Y.Data {
			if s.ClassWeights != nil {
				s.rows.Weights[i] *= s.ClassWeights[int(c)]
			}
		}
		y := indicators(b, s.Classes).Y
		if s.goals = []*goal{{y: y}}; s.exact {
			s.goals = append(s.goals, &goal{y: y, logistic: true})
		}
	}
	s.teacher, s.least = s.goals[0], math.Inf(1)
	of, parts, err := s.divide(s.rows, parts)
	for k := range parts {
		var f fold
		for i, own := range of {
			if s.trains(own, k) {
				f.train = append(f.train, i)
			} else if own == k {
				f.test = append(f.test, i)
			}
		}
		s.folds, s.tested = append(s.folds, f), append(s.tested, f.test...)
	}
	return err
}

func newGoal(b ridge.Block[float64]) *goal {
	g := new(goal)
	g.y, g.unit = standardTargets(b)
	for j, v := range b.Y.Row(0) {
		g.mean = append(g.mean, v-g.unit[j]*g.y.At(0, j))
	}
	return g
}

// logarithms returns those of targets above 0. Rows of weight 0 may have others.
func logarithms[T dense.Float](y dense.Matrix[T]) dense.Matrix[T] {
	y = y.Clone()
	for i, v := range y.Data {
		y.Data[i] = T(math.Log(max(float64(v), math.SmallestNonzeroFloat64)))
	}
	return y
}

// block returns the rows with the numbers of points x, with the goal as targets.
func (s *mixtureSearch) block(x dense.Matrix[float64], g *goal, numbers []int) ridge.Block[float64] {
	b := ridge.Block[float64]{X: layout.Rows(x, numbers), Y: layout.Rows(g.y, numbers)}
	for _, i := range numbers {
		b.Weights = append(b.Weights, s.rows.Weights[i])
	}
	return b
}

const (
	racedRows = 600 // the largest sample in which all candidates are fitted outside of all folds
	clearRace = 1.2 // the loss of a family outside of the first fold, in the least one, to go on
)

// explore returns candidates of a family, and the score of the best one. Families learn from
// logarithms of targets if the best candidate so far does. In large samples, half of the rows
// outside of the first fold tell the best kernel of a family for each goal, and whether the family
// is far worse than the best.
func (s *mixtureSearch) explore(f *family, index int) (pool []*candidate, score float64, err error) {
	e := &explored{mixtureSearch: s, family: f, index: index, taught: s.teacher, x: moved(f.curves(s.rows.X), s.rows.X)}
	defer func() {
		for i := range e.parts { // memory
			p, none := &e.parts[i], dense.Matrix[float64]{}
			p.gram, p.cross, p.root = none, none, none
		}
	}()
	folds, races := s.folds, len(s.rows.Weights) > racedRows && !s.Forward
	if races {
		train := s.folds[0].train
		folds = []fold{{train[:len(train)/2], s.folds[0].test}}
	}
	err = e.learn(folds)
	if err == nil && f.fixed {
		_, err = e.try(f.name, nil)
	} else if err == nil {
		err = e.climb()
	}
	if s.ctx.Err() != nil || len(e.pool) == 0 {
		return nil, math.NaN(), err
	}
	best := e.best()
	err = nil
	if s.least = min(s.least, best.loss); s.least == best.loss && s.Classes == 0 {
		s.teacher = best.goal
	}
	if !races {
		return e.pool, s.score(best.losses), nil
	}
	all := e.pool
	if e.pool = nil; best.loss > clearRace*s.least {
		return nil, s.score(best.losses), nil
	}
	err = e.learn(s.folds)
	filled := ""
	for _, g := range e.goals {
		at := slices.IndexFunc(all, func(c *candidate) bool { return c.goal == g })
		if at < 0 || err != nil {
			continue
		}
		c := all[at]
		if c.name != filled {
			err = e.fill(c.of)
			filled = c.name
		}
		if err == nil {
			var again []*candidate
			again, err = e.fit(c.name, c.of, c.power, g)
			e.pool = append(e.pool, again...)
		}
	}
	if err != nil {
		return nil, math.NaN(), err
	}
	return e.pool, s.score(e.best().losses), s.ctx.Err()
}

// best returns the candidate of least loss, after which it sorts the others.
func (e *explored) best() *candidate {
	slices.SortStableFunc(e.pool, func(a, b *candidate) int { return cmp.Compare(a.loss, b.loss) })
	return e.pool[0]
}

func (f *family) curves(x dense.Matrix[float64]) curves {
	if f.curve == nil {
		return curves{}
	}
	return f.curve(x)
}

// learn learns the space of the family outside of each fold.
func (e *explored) learn(folds []fold) (err error) {
	e.parts = make([]foldFit, len(folds))
	for i, fold := range folds {
		p, b := &e.parts[i], e.block(e.x, e.taught, fold.train)
		p.train, p.weights = fold.train, b.Weights
		if p.space, p.start, p.ratio, err = e.family.space(e.mixtureSearch, b); err != nil {
			return err
		}
		if !e.family.fixed && !(p.start > 0) {
			return errors.New("the rows are equal, which tells no length-scale")
		}
		z, err := p.space.points(e.x)
		if err != nil {
			return err
		}
		p.z, p.test = layout.Rows(z, fold.train), layout.Rows(z, fold.test)
	}
	return e.ctx.Err()
}

// climb tries length-scales and shapes of kernels, from the smoothest on.
func (e *explored) climb() (first error) {
	least, length := math.Inf(1), 1.0
	try := func(k kernelShape, l float64) bool {
		name := fmt.Sprintf("%s, length-scale %.3g", k.name, l*e.parts[0].start)
		loss, err := e.try(name, func(start float64) kernels.Kernel { return k.of(l * start) })
		if first = cmp.Or(first, err); err != nil || !(loss < least) {
			return false
		}
		least = loss
		return true
	}
	for _, k := range shapes {
		from := length
		better := try(k, length)
		for _, step := range []float64{2, 0.5} {
			for next := from * step; next < 32 && next > 0.03 && try(k, next); next *= step {
				length, better = next, true
			}
			if length != from {
				break
			}
		}
		if !better {
			break
		}
	}
	return first
}

// try fits a kernel with several λ, and keeps the best candidate of each goal. It returns their
// least loss.
func (e *explored) try(name string, of func(start float64) kernels.Kernel) (float64, error) {
	if err := e.fill(of); err != nil {
		return 0, err
	}
	best, failed := make([]*candidate, len(e.goals)), error(nil)
	losses := func(power int) float64 {
		if power < leastPower && e.Groups != nil && e.Classes > 0 && !e.exact {
			// kernelFit would take leastOfClasses with the temperature of a smaller λ
			return math.Inf(1)
		}
		found, err := e.fit(name, of, power, e.goals...)
		failed = cmp.Or(failed, err)
		least := math.Inf(1)
		for i, c := range found {
			if c.loss < math.Inf(1) && (best[i] == nil || c.loss < best[i].loss) {
				best[i] = c
			}
			least = min(least, c.loss)
		}
		return least
	}
	if e.parts[0].ratio > 0 {
		losses(0)
	} else {
		e.choice = descend(e.choice, losses)
	}
	least := math.Inf(1)
	for _, c := range best {
		if c != nil {
			e.pool, least, failed = append(e.pool, c), min(least, c.loss), nil
		}
	}
	if math.IsInf(least, 1) && failed == nil {
		failed = errors.New("errors at held-out rows are not finite")
	}
	return least, failed
}

// fill computes the values of the kernel, or of its Nyström approximation if there are fewer
// landmarks than rows.
func (e *explored) fill(of func(start float64) kernels.Kernel) error {
	for i := range e.parts {
		p := &e.parts[i]
		if p.kernel = p.space.kernel; of != nil {
			p.kernel = of(p.start)
		}
		n := p.z.Rows
		if _, linear := p.kernel.(kernels.DotProduct); e.landmarks < n && !linear {
			phi, err := rff.Nystroem(p.kernel, p.z.RowRange(0, e.landmarks))
			if err != nil {
				return err
			}
			features := phi.Transform(dense.Matrix[float64]{}, p.z)
			p.gram, p.cross = dense.Ensure(p.gram, n, n), dense.Ensure(p.cross, p.test.Rows, n)
			matmul.MulT(1, features, features, 0, p.gram)
			matmul.MulT(1, phi.Transform(dense.Matrix[float64]{}, p.test), features, 0, p.cross)
		} else {
			p.gram = gramian.Gram(p.gram, p.kernel, p.z, dense.Matrix[float64]{})
			p.cross = gramian.Gram(p.cross, p.kernel, p.test, p.z)
		}
		p.unit = max(gramian.Unit(p.gram, p.weights), 1e-300)
		if err := e.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// fit returns a candidate of each goal with one λ.
func (e *explored) fit(name string, of func(start float64) kernels.Kernel, power int, goals ...*goal) (all []*candidate, err error) {
	for _, g := range goals {
		all = append(all, &candidate{explored: e, name: name, of: of, power: power, goal: g})
	}
	n := 0
	for i := range e.parts {
		p := &e.parts[i]
		p.root = dense.Copy(p.root, p.gram)
		at, err := gramian.NewSystem(e.ctx, p.root, p.weights, cmp.Or(p.ratio, math.Ldexp(p.unit, power)))
		if err != nil {
			return nil, err
		}
		n += p.test.Rows
		for _, c := range all {
			a, b := c.goal.fit(at, layout.Rows(c.goal.y, p.train))
			f := dense.New[float64](p.test.Rows, len(b))
			for r := range f.Rows {
				copy(f.Row(r), b)
			}
			matmul.Mul(1, p.cross, a, 1, f)
			c.scores.Data = append(c.scores.Data, f.Data...)
		}
	}
	for _, c := range all {
		c.scores = dense.Of(n, c.goal.y.Cols, c.scores.Data)
		c.judge()
	}
	return all, e.ctx.Err()
}
