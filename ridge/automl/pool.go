package automl

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
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

// candidate is a function that was fitted to the rows outside of each fold.
type candidate struct {
	family *family
	index  int                                // of the family
	name   string                             // of the kernel
	of     func(start float64) kernels.Kernel // nil for the kernel of the space
	power  int                                // of 2: λ in units of the mean of ω·k(x, x)
	goal   *goal
	taught *goal  // from which the family has learnt
	parts  []part // of the family

	scores dense.Matrix[float64] // predictions of y at the held-out rows
	held   dense.Matrix[float64] // predictions of targets, or probabilities
	back   []back
	losses []float64 // of the held-out rows
	loss   float64   // their mean, of weighted rows
}

// prepare sets the goals and the folds for the rows b.
func (s *search) prepare(b ridge.Block[float64], parts int) error {
	s.rows = b
	if s.Classes > 0 {
		s.rows.Weights = slices.Clone(b.Weights)
		for i, c := range b.Y.Data {
			if s.ClassWeights != nil {
				s.rows.Weights[i] *= s.ClassWeights[int(c)]
			}
		}
		s.goals = []*goal{{y: indicators(b, s.Classes).Y}}
		if s.exact {
			s.goals = append(s.goals, &goal{y: s.goals[0].y, logistic: true})
		}
	} else {
		s.goals = []*goal{newGoal(b)}
		if s.positive {
			b.Y = logarithms(b.Y)
			s.goals = append(s.goals, newGoal(b))
			s.goals[1].logs = true
		}
	}
	s.teacher, s.least = s.goals[0], math.Inf(1)
	of, parts, err := s.divide(s.rows, parts)
	if err != nil {
		return err
	}
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
	return nil
}

func newGoal(b ridge.Block[float64]) *goal {
	g := new(goal)
	g.y, g.unit = standardTargets(b)
	for j, v := range b.Y.Row(0) {
		g.mean = append(g.mean, v-g.unit[j]*g.y.At(0, j))
	}
	return g
}

func logarithms[T dense.Float](y dense.Matrix[T]) dense.Matrix[T] {
	y = y.Clone()
	for i, v := range y.Data {
		y.Data[i] = T(math.Log(float64(v)))
	}
	return y
}

// part returns the rows with the numbers of points x, with the goal as targets.
func (s *search) part(x dense.Matrix[float64], g *goal, numbers []int) ridge.Block[float64] {
	b := ridge.Block[float64]{X: layout.Rows(x, numbers), Y: layout.Rows(g.y, numbers)}
	for _, i := range numbers {
		b.Weights = append(b.Weights, s.rows.Weights[i])
	}
	return b
}

// explored is a family at the rows outside of each fold.
type explored struct {
	*search
	family *family
	index  int
	taught *goal
	parts  []part
	pool   []*candidate
}

type part struct {
	space       space
	z, test     dense.Matrix[float64] // points in the space
	weights     []float64
	start       float64               // length-scale
	ratio       float64               // λ; 0 to choose it
	gram, cross dense.Matrix[float64] // of z, and of test and z
	unit        float64               // the mean of ω·k(x, x)
}

const (
	racedRows = 600 // the largest sample in which all candidates are fitted outside of all folds
	racers    = 2   // the candidates of a family and a goal that are fitted outside of other folds
	clearRace = 1.5 // the loss of a family outside of the first fold, in the least one, to go on
)

// explore returns candidates of a family. Families learn from logarithms of targets if the best
// candidate so far does. In large samples, the first fold tells the best kernels of a family, and
// whether the family is far worse than the best one.
func (s *search) explore(f *family, index int) (pool []*candidate, score float64, err error) {
	e := &explored{search: s, family: f, index: index}
	x := f.moved(s.rows.X)
	defer func() {
		for i := range e.parts { // memory
			e.parts[i].gram, e.parts[i].cross = dense.Matrix[float64]{}, dense.Matrix[float64]{}
		}
	}()
	races := len(s.rows.Weights) > racedRows && !s.Forward
	for k := range s.folds {
		if err := e.add(x, k); err != nil {
			return nil, math.NaN(), err
		}
		if races {
			break
		}
	}
	if f.fixed {
		name := "linear"
		if _, is := e.parts[0].space.kernel.(kernels.Boxes); is {
			name = "boxes of up to three columns"
		}
		_, err = e.try(name, nil)
	} else {
		err = e.climb()
	}
	if s.ctx.Err() != nil || len(e.pool) == 0 {
		return nil, math.NaN(), err
	}
	slices.SortStableFunc(e.pool, func(a, b *candidate) int { return cmp.Compare(a.loss, b.loss) })
	best := e.pool[0]
	if best.loss < s.least {
		if s.least = best.loss; s.Classes == 0 {
			s.teacher = best.goal
		}
	}
	if !races {
		return e.pool, s.score(best.losses), nil
	}
	if best.loss > clearRace*s.least {
		return nil, s.score(best.losses), nil
	}
	count := make(map[*goal]int)
	e.pool = slices.DeleteFunc(e.pool, func(c *candidate) bool {
		count[c.goal]++
		return count[c.goal] > racers
	})
	for k := 1; k < len(s.folds); k++ {
		if err := e.add(x, k); err != nil {
			return nil, math.NaN(), err
		}
	}
	for _, c := range e.pool {
		for i := 1; i < len(e.parts); i++ {
			if _, err := e.fill(&e.parts[i], c.of); err != nil {
				return nil, math.NaN(), err
			}
			f, err := e.predict(i, c.power, []*goal{c.goal})
			if err != nil {
				return nil, math.NaN(), err
			}
			c.scores.Data = append(c.scores.Data, f[0]...)
		}
		c.scores, c.parts = dense.Of(len(s.tested), c.goal.y.Cols, c.scores.Data), e.parts
		s.judge(c)
	}
	slices.SortStableFunc(e.pool, func(a, b *candidate) int { return cmp.Compare(a.loss, b.loss) })
	return e.pool, s.score(e.pool[0].losses), s.ctx.Err()
}

// add learns the space of the family outside of fold k.
func (e *explored) add(x dense.Matrix[float64], k int) error {
	fold := e.folds[k]
	if k == 0 {
		e.taught = e.teacher
	}
	b := e.part(x, e.taught, fold.train)
	p := part{weights: b.Weights}
	var err error
	if p.space, p.start, p.ratio, err = e.family.space(e.search, b); err != nil {
		return err
	}
	if !e.family.fixed && !(p.start > 0) {
		return errors.New("the rows are equal, which tells no length-scale")
	}
	z, err := p.space.points(x)
	if err != nil {
		return err
	}
	p.z, p.test = layout.Rows(z, fold.train), layout.Rows(z, fold.test)
	e.parts = append(e.parts, p)
	return e.ctx.Err()
}

// moved returns the columns of x with the curves of the family.
func (f *family) moved(x dense.Matrix[float64]) dense.Matrix[float64] { return moved(f.curves(x), x) }

func (f *family) curves(x dense.Matrix[float64]) curves {
	if f.curve == nil {
		return curves{}
	}
	return f.curve(x)
}

// climb tries length-scales and shapes of kernels, from the smoothest on.
func (e *explored) climb() error {
	var first error
	least, length := math.Inf(1), 1.0
	try := func(k shape, l float64) bool {
		name := fmt.Sprintf("%s, length-scale %.3g", k.name, l*e.parts[0].start)
		loss, err := e.try(name, func(start float64) kernels.Kernel { return k.of(l * start) })
		if err != nil || !(loss < least) {
			first = err
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
	for i := range e.parts {
		if err := e.ctx.Err(); err != nil {
			return 0, err
		}
		if _, err := e.fill(&e.parts[i], of); err != nil {
			return 0, err
		}
	}
	best, failed := make([]*candidate, len(e.goals)), error(nil)
	losses := func(power int) float64 {
		found, err := e.fit(power)
		if err != nil {
			failed = err
			return math.Inf(1)
		}
		least := math.Inf(1)
		for i, c := range found {
			c.name, c.of = name, of
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
			e.pool, least = append(e.pool, c), min(least, c.loss)
		}
	}
	if math.IsInf(least, 1) && failed == nil {
		failed = errors.New("errors at held-out rows are not finite")
	}
	return least, failed
}

// fill computes the values of the kernel, or of its Nyström approximation if there are fewer
// landmarks than rows, and returns the kernel.
func (s *search) fill(p *part, of func(start float64) kernels.Kernel) (kernels.Kernel, error) {
	k := p.space.kernel
	if of != nil {
		k = of(p.start)
	}
	n := p.z.Rows
	if _, linear := k.(kernels.DotProduct); s.Landmarks < n && !linear {
		phi, err := rff.Nystroem(k, p.z.RowRange(0, s.Landmarks))
		if err != nil {
			return k, err
		}
		features := phi.Transform(dense.Matrix[float64]{}, p.z)
		p.gram, p.cross = dense.Ensure(p.gram, n, n), dense.Ensure(p.cross, p.test.Rows, n)
		matmul.MulT(1, features, features, 0, p.gram)
		matmul.MulT(1, phi.Transform(dense.Matrix[float64]{}, p.test), features, 0, p.cross)
	} else {
		p.gram = kernels.Gram(p.gram, k, p.z, dense.Matrix[float64]{})
		p.cross = kernels.Gram(p.cross, k, p.test, p.z)
	}
	p.unit = unitOf(p.gram, p.weights)
	return k, nil
}

// fit returns a candidate of each goal with one λ.
func (e *explored) fit(power int) (all []*candidate, err error) {
	scores, n := make([][]float64, len(e.goals)), 0
	for i, p := range e.parts {
		parts, err := e.predict(i, power, e.goals)
		if err != nil {
			return nil, err
		}
		n += p.test.Rows
		for k, f := range parts {
			scores[k] = append(scores[k], f...)
		}
	}
	for k, g := range e.goals {
		c := &candidate{
			family: e.family, index: e.index, power: power, goal: g, taught: e.taught, parts: e.parts,
			scores: dense.Of(n, g.y.Cols, scores[k]),
		}
		e.judge(c)
		all = append(all, c)
	}
	return all, e.ctx.Err()
}

// predict returns predictions of the goals at the rows of fold i.
func (e *explored) predict(i, power int, goals []*goal) (scores [][]float64, err error) {
	p := e.parts[i]
	at, err := newSystem(e.ctx, p.gram, p.weights, p.lambda(power))
	if err != nil {
		return nil, err
	}
	for _, g := range goals {
		a, b := at.fitGoal(g, layout.Rows(g.y, e.folds[i].train))
		f := dense.New[float64](p.test.Rows, len(b))
		for r := range f.Rows {
			copy(f.Row(r), b)
		}
		matmul.Mul(1, p.cross, a, 1, f)
		scores = append(scores, f.Data)
	}
	return scores, nil
}

func (p *part) lambda(power int) float64 {
	if p.ratio > 0 {
		return p.ratio
	}
	return math.Ldexp(p.unit, power)
}

func (s *system) fitGoal(g *goal, y dense.Matrix[float64]) (a dense.Matrix[float64], b []float64) {
	if g.logistic {
		return s.logistic(y)
	}
	return s.fit(y)
}

// judge sets the predictions and the losses of the candidate.
func (s *search) judge(c *candidate) {
	g, n := c.goal, c.scores.Rows
	tested := s.tested[:n]
	c.back = nil
	c.held, c.losses = c.scores.Clone(), make([]float64, n)
	if s.Classes > 0 {
		beta := s.temperature(c.scores)
		for i := range n {
			row := c.held.Row(i)
			floats.Scale(beta, row)
			softmax(row)
		}
	} else {
		for j := range g.y.Cols {
			b, sum, all := back{}, 0.0, 0.0
			if g.logs {
				b = back{1, math.Inf(1), math.Inf(-1)}
				for i := range g.y.Rows {
					l := g.mean[j] + g.unit[j]*g.y.At(i, j)
					b.Low, b.High = min(b.Low, l), max(b.High, l)
				}
				b.Low, b.High = b.Low-g.unit[j], b.High+g.unit[j]
			}
			for at, i := range tested {
				f := g.mean[j] + g.unit[j]*c.scores.At(at, j)
				if g.logs { // the smearing factor
					sum += s.rows.Weights[i] * s.rows.Y.At(i, j) / b.at(f)
					all += s.rows.Weights[i]
				}
				c.held.Set(at, j, f)
			}
			if g.logs {
				b.Factor = sum / all
			}
			for at := range tested {
				c.held.Set(at, j, b.at(c.held.At(at, j)))
			}
			c.back = append(c.back, b)
		}
	}
	c.loss = s.losses(c.held, c.losses)
}

// losses writes the losses of predictions at the held-out rows, and returns the sum over weighted
// rows: log-losses, or mean squares of errors in deviations of the outputs.
func (s *search) losses(held dense.Matrix[float64], losses []float64) (sum float64) {
	for at := range losses {
		i, loss := s.tested[at], 0.0
		if s.Classes > 0 {
			loss = -math.Log(max(held.At(at, int(s.rows.Y.At(i, 0))), math.SmallestNonzeroFloat64))
		} else {
			for j, v := range s.rows.Y.Row(i) {
				e := (v - held.At(at, j)) / s.goals[0].unit[j]
				loss += e * e / float64(held.Cols)
			}
		}
		losses[at] = loss
		sum += s.rows.Weights[i] * loss
	}
	if sum != sum {
		return math.Inf(1)
	}
	return sum
}

// temperature returns the β of least mean log-loss of softmax(β·f), with one more row of mean loss,
// so that β is finite if all rows are right [Platt 1999].
func (s *search) temperature(f dense.Matrix[float64]) float64 {
	p, beta, total := make([]float64, f.Cols), 1.0, 0.0
	tested := s.tested[:f.Rows]
	for _, i := range tested {
		total += s.rows.Weights[i]
	}
	for range 40 {
		slope, curvature := 0.0, 1e-300
		for at, i := range tested {
			row := f.Row(at)
			floats.ScaleTo(p, beta, row)
			softmax(p)
			mean := floats.Dot(p, row)
			square := 0.0
			for j, v := range row {
				square += p[j] * (v - mean) * (v - mean)
			}
			w := s.rows.Weights[i]
			slope += w * (mean - row[int(s.rows.Y.At(i, 0))] + (mean-floats.Sum(row)/float64(len(row)))/total)
			curvature += w * square * (1 + 1/total)
		}
		next := min(max(beta-slope/curvature, beta/8), 8*beta, 1e6)
		if math.Abs(next-beta) < 1e-3*beta {
			return next
		}
		beta = next
	}
	return beta
}

const (
	picksOfMix  = 25 // with replacement, of candidates
	mostMembers = 6
)

// mix returns a mixture of candidates of small loss, in which each pick lowers the loss of the mean
// of the picks as far as possible [Caruana et al. 2004], and the mixture's predictions.
func (s *search) mix(pool []*candidate) []pick {
	n := len(s.tested)
	mean := dense.New[float64](n, pool[0].held.Cols)
	trial, losses := mean.Clone(), make([]float64, n)
	count := make(map[*candidate]float64)
	picks := picksOfMix
	if s.single {
		picks = 1
	}
	for step := range picks {
		var best *candidate
		least := math.Inf(1)
		for _, c := range pool {
			if len(count) == mostMembers && count[c] == 0 {
				continue
			}
			for i, v := range c.held.Data {
				trial.Data[i] = mean.Data[i] + (v-mean.Data[i])/float64(step+1)
			}
			if loss := s.losses(trial, losses); best == nil || loss < least {
				best, least = c, loss
			}
		}
		for i, v := range best.held.Data {
			mean.Data[i] += (v - mean.Data[i]) / float64(step+1)
		}
		count[best]++
	}
	var all []pick
	for _, c := range pool {
		if count[c] > 0 {
			all = append(all, pick{c, count[c] / float64(picks)})
		}
	}
	slices.SortStableFunc(all, func(a, b pick) int { return cmp.Compare(b.weight, a.weight) })
	return all
}

// learn returns the function of the candidate in the space that all rows of the sample teach. For
// classes, λ grows with the number n of rows, because temperatures are those of the scores of a
// smaller fit, and scores of a large λ are in proportion to n/λ.
func (c *candidate) learn(s *search, n int) (l learnt, err error) {
	x := c.family.moved(s.rows.X)
	every := make([]int, x.Rows)
	for i := range every {
		every[i] = i
	}
	b := s.part(x, c.taught, every)
	start := 0.0
	if l.space, start, l.ratio, err = c.family.space(s, b); err != nil {
		return l, err
	}
	if l.kernel = l.space.kernel; c.of != nil {
		l.kernel = c.of(start)
	}
	if l.ratio == 0 {
		z, err := l.space.points(x)
		if err != nil {
			return l, err
		}
		unit := 0.0
		for i, w := range b.Weights {
			unit += w * l.kernel.Eval(z.Row(i), z.Row(i)) / float64(len(b.Weights))
		}
		l.ratio = math.Ldexp(max(unit, 1e-300), c.power)
		if s.Classes > 0 {
			l.ratio *= float64(n) / float64(len(s.folds[0].train))
		}
	}
	return l, nil
}

// deviations returns the standard deviations of the predictions of the candidate at the held-out
// rows, in units of the targets.
func (s *search) deviations(c *candidate) (dense.Matrix[float64], error) {
	sd := dense.New[float64](len(s.tested), c.goal.y.Cols)
	at := 0
	for i, p := range c.parts {
		k, err := s.fill(&p, c.of)
		if err != nil {
			return sd, err
		}
		system, err := newSystem(s.ctx, p.gram, p.weights, p.lambda(c.power))
		if err != nil {
			return sd, err
		}
		y := layout.Rows(c.goal.y, s.folds[i].train)
		a, _ := system.fit(y)
		own := make([]float64, p.test.Rows)
		for r := range own {
			own[r] = k.Eval(p.test.Row(r), p.test.Row(r))
		}
		variances := system.variances(dense.Transpose(dense.Matrix[float64]{}, p.cross), own)
		for j := range y.Cols {
			prior := 0.0
			for r := range y.Rows {
				prior += y.At(r, j) * a.At(r, j) / float64(max(1, y.Rows-1))
			}
			for r, v := range variances {
				w := s.given[s.folds[i].test[r]]
				size := c.goal.unit[j] * math.Sqrt(max(prior, math.SmallestNonzeroFloat64)*(v+system.ratio/w))
				if c.goal.logs {
					size *= c.back[j].at(c.goal.mean[j] + c.goal.unit[j]*c.scores.At(at+r, j))
				}
				sd.Set(at+r, j, max(size, math.SmallestNonzeroFloat64))
			}
		}
		at += p.test.Rows
	}
	return sd, nil
}
