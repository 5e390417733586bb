package automl

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge/internal/platt"
)

// judge sets the predictions and the losses of the candidate.
func (c *candidate) judge() {
	g, n := c.goal, c.scores.Rows
	c.held, c.losses, c.back = c.scores.Clone(), make([]float64, n), make([]back, g.y.Cols)
	if c.Classes > 0 {
		beta := c.temperature(c.scores)
		for i := range n {
			floats.Scale(beta, c.held.Row(i))
			platt.Softmax(c.held.Row(i))
		}
	} else {
		for j, b := range c.back {
			if g.logs {
				y := dense.Copy(dense.Matrix[float64]{}, g.y.ColRange(j, j+1)).Data
				b = back{1, g.mean[j] + g.unit[j]*(slices.Min(y)-0.5), g.mean[j] + g.unit[j]*(slices.Max(y)+0.5)}
			}
			sum, all := 0.0, 0.0
			for at, i := range c.tested[:n] {
				f := b.at(g.mean[j] + g.unit[j]*c.scores.At(at, j))
				c.held.Set(at, j, f)
				sum += c.rows.Weights[i] * c.rows.Y.At(i, j)
				all += c.rows.Weights[i] * f
			}
			if g.logs { // the mean of targets over predictions is far off if one prediction is too small
				b.Factor = sum / all
				for at := range n {
					c.held.Row(at)[j] *= b.Factor
				}
			}
			c.back[j] = b
		}
	}
	c.loss = c.mixtureSearch.losses(c.held, c.losses)
}

// losses writes the losses of predictions at the held-out rows, and returns the sum over weighted
// rows: log-losses, or mean squares of errors in deviations of the outputs.
func (s *mixtureSearch) losses(held dense.Matrix[float64], losses []float64) (sum float64) {
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

// temperature returns the temperature of scores at held-out rows, for one more effective row.
func (s *mixtureSearch) temperature(scores dense.Matrix[float64]) float64 {
	labels, weights := make([]int, scores.Rows), make([]float64, scores.Rows)
	for at, i := range s.tested[:scores.Rows] {
		labels[at], weights[at] = int(s.rows.Y.At(i, 0)), s.rows.Weights[i]
	}
	all := floats.Sum(weights)
	return platt.Temperature(scores, labels, weights, floats.Dot(weights, weights)/(all*all))
}

const (
	picksOfMix  = 25 // with replacement, of candidates
	mostMembers = 6  // of a mixture
	fewMembers  = 3  // of a mixture of more than exactRows rows
)

// pick is a candidate with its weight in the mixture.
type pick struct {
	*candidate
	weight float64
}

// mix returns a mixture of candidates of small loss, of which each pick lowers the loss of the mean
// of the picks as far as possible [Caruana et al. 2004].
func (s *mixtureSearch) mix(pool []*candidate) (all []pick) {
	mean, losses := dense.New[float64](len(s.tested), pool[0].held.Cols), make([]float64, len(s.tested))
	trial, count := mean.Clone(), make(map[*candidate]float64)
	for step := range picksOfMix {
		best, least := pool[0], math.Inf(1)
		for _, c := range pool {
			if len(count) == s.members && count[c] == 0 {
				continue
			}
			for i, v := range c.held.Data {
				trial.Data[i] = mean.Data[i] + (v-mean.Data[i])/float64(step+1)
			}
			if loss := s.losses(trial, losses); loss < least {
				best, least = c, loss
			}
		}
		for i, v := range best.held.Data {
			mean.Data[i] += (v - mean.Data[i]) / float64(step+1)
		}
		count[best]++
	}
	for _, c := range pool {
		if count[c] > 0 {
			all = append(all, pick{c, count[c] / picksOfMix})
		}
	}
	slices.SortStableFunc(all, func(a, b pick) int { return cmp.Compare(b.weight, a.weight) })
	return all
}

// errorsWithout returns the errors at held-out rows, for each fold of the mixture that the other
// folds choose from the pool: errors at rows that have chosen a mixture are too small.
func (s *mixtureSearch) errorsWithout(pool []*candidate) dense.Matrix[float64] {
	errors, from := dense.New[float64](len(s.tested), s.rows.Y.Cols), 0
	for _, f := range s.folds {
		own, end := *s, from+len(f.test)
		own.rows.Weights = slices.Clone(s.rows.Weights)
		for _, i := range f.test {
			own.rows.Weights[i] = 0
		}
		picks := own.mix(pool)
		for at := from; at < end; at++ {
			copy(errors.Row(at), s.rows.Y.Row(s.tested[at]))
			for _, p := range picks {
				floats.AddScaled(errors.Row(at), -p.weight, p.held.Row(at))
			}
		}
		from = end
	}
	return errors
}

// growth is the factor of λ from the fits outside of folds to a fit to n rows of classes, whose
// temperature is that of the scores outside of folds: scores of a large λ are in proportion to n/λ.
func (s *mixtureSearch) growth(n int) float64 { return float64(n) / float64(len(s.folds[0].train)) }

// learn returns the function of the candidate in the space that all rows of the sample teach, with
// the λ of n rows.
func (c *candidate) learn(s *mixtureSearch, n int) (l learnt, err error) {
	every := make([]int, c.x.Rows)
	for i := range every {
		every[i] = i
	}
	b, start := s.block(c.x, c.taught, every), 0.0
	if l.space, start, l.ratio, err = c.family.space(s, b); err != nil {
		return l, err
	}
	if l.kernel = l.space.kernel; c.of != nil {
		l.kernel = c.of(start)
	}
	if l.ratio > 0 {
		return l, nil
	}
	z, err := l.space.points(c.x)
	if err != nil {
		return l, err
	}
	for i, w := range b.Weights {
		l.ratio += w * l.kernel.Eval(z.Row(i), z.Row(i)) / float64(len(b.Weights))
	}
	l.ratio = math.Ldexp(max(l.ratio, 1e-300), c.power)
	if l.space.ratio > 0 {
		// All rows may have other length-scales than the folds, and λ for these. As the
		// length-scale ℓ of a linear column rises, λ falls as ℓ⁻².
		for _, p := range c.parts {
			l.ratio *= math.Pow(l.space.ratio/p.space.ratio, 1/float64(len(c.parts)))
		}
	}
	if s.Classes > 0 {
		l.ratio *= s.growth(n)
	}
	return l, nil
}
