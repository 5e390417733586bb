package automl

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// judge sets the predictions and the losses of the candidate.
func (c *candidate) judge() {
	g, n := c.goal, c.scores.Rows
	c.held, c.losses, c.back = c.scores.Clone(), make([]float64, n), make([]back, g.y.Cols)
	if c.Classes > 0 {
		beta := c.temperature(c.scores)
		for i := range n {
			floats.Scale(beta, c.held.Row(i))
			softmax(c.held.Row(i))
		}
	} else {
		for j, b := range c.back {
			sum, all := 0.0, 0.0
			if g.logs {
				y := dense.Copy(dense.Matrix[float64]{}, g.y.ColRange(j, j+1)).Data
				b = back{1, g.mean[j] + g.unit[j]*(slices.Min(y)-1), g.mean[j] + g.unit[j]*(slices.Max(y)+1)}
			}
			for at, i := range c.tested[:n] {
				f := b.at(g.mean[j] + g.unit[j]*c.scores.At(at, j))
				c.held.Set(at, j, f)
				sum += c.rows.Weights[i] * c.rows.Y.At(i, j) / f
				all += c.rows.Weights[i]
			}
			for at := range n {
				if g.logs { // the smearing factor
					c.held.Row(at)[j] *= sum / all
					b.Factor = sum / all
				}
			}
			c.back[j] = b
		}
	}
	c.loss = c.search.losses(c.held, c.losses)
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
	p, beta, total, squares := make([]float64, f.Cols), 1.0, 0.0, 0.0
	for _, i := range s.tested[:f.Rows] {
		total, squares = total+s.rows.Weights[i], squares+s.rows.Weights[i]*s.rows.Weights[i]
	}
	one := squares / (total * total) // of an effective row
	for range 40 {
		slope, curvature := 0.0, 1e-300
		for at, i := range s.tested[:f.Rows] {
			row, square := f.Row(at), 0.0
			floats.ScaleTo(p, beta, row)
			softmax(p)
			mean := floats.Dot(p, row)
			for j, v := range row {
				square += p[j] * (v - mean) * (v - mean)
			}
			w := s.rows.Weights[i]
			slope += w * (mean - row[int(s.rows.Y.At(i, 0))] + (mean-floats.Sum(row)/float64(len(row)))*one)
			curvature += w * square * (1 + one)
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
func (s *search) mix(pool []*candidate) (all []pick) {
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

// learn returns the function of the candidate in the space that all rows of the sample teach. For
// classes, except with a kernel of all rows that has a temperature of its own, λ grows with the
// number n of rows, because temperatures are those of the scores of a smaller fit, and scores of a
// large λ are in proportion to n/λ.
func (c *candidate) learn(s *search, n int) (l learnt, err error) {
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
	if s.Classes > 0 && (s.Groups != nil || !s.fitsKernel(l, n, c.x.Cols, s.Classes, fewMembers)) {
		l.ratio *= float64(n) / float64(len(s.folds[0].train))
	}
	return l, nil
}
