package ard

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// x has logarithms of the relevance of columns that vary, and log λ unless λ is given.
type scales struct {
	search
	view *survey
	all  points
	on   points // of the current search
}

// gain is the evidence per target that three iterations must gain.
const gain = 1e-3

func learn(ctx context.Context, rows points, src rand.Source, o Options) (*scales, error) {
	s := &scales{search: search{ctx: ctx, o: o}}
	s.fit = func(x []float64) (model, bool, error) {
		o := s.o.Options
		if i := len(s.view.varying); i < len(x) {
			o.Ratio = math.Exp(x[i])
		}
		return s.on.fit(s.ctx, s.view.rates(x), o)
	}
	s.slope = s.slopes
	var sample points
	var err error
	if s.view, sample, s.all, err = rows.look(ctx, o.Sample, src); err != nil {
		return nil, err
	}
	n := len(s.view.weights)
	s.begin(sample, n)
	starts, err := s.starts()
	if err != nil {
		return nil, err
	}
	best, from := trial{value: math.Inf(-1)}, 0
	for i, x := range starts {
		if err := s.climbFrom(i, x); err != nil {
			return nil, err
		}
		if s.best.value > best.value {
			best, from = s.best, i
		}
	}
	s.best = best
	if s.view.n > n {
		s.begin(s.all, s.view.n)
		return s, s.climbFrom(from, best.x[:len(s.view.varying)])
	}
	return s, nil
}

func (s *scales) begin(on points, n int) {
	s.on, s.rows, s.gain = on, n, gain*float64(n)*float64(s.view.outputs)
}

func (s *scales) climbFrom(start int, x []float64) error {
	s.now, s.best = trial{}, trial{value: math.Inf(-1)}
	if !s.at(x) {
		return s.end()
	}
	if o := s.o.Options; o.Ratio == 0 && (o.Noise == 0 || o.Prior == 0) {
		x = append(slices.Clone(x), math.Log(s.now.model.Noise()[0]/s.now.model.Prior()[0]))
	}
	return s.climb(start, x)
}

func (s *scales) slopes(dst []float64, m model) error {
	e, err := s.on.derivatives(s.ctx, m, s.o.NoIntercept)
	if err != nil {
		return err
	}
	for i, j := range s.view.varying {
		dst[i] = e.scales[j] // the parameter is log(1/ℓ), so the sign changes
	}
	if i := len(s.view.varying); i < len(dst) {
		// λ changes σ² if s² is given, and s² otherwise. At maximum evidence it is flat in σ².
		for j, v := range e.prior {
			if s.o.Prior > 0 {
				v = -e.noise[j]
			}
			dst[i] += v
		}
	}
	return nil
}

// Searches begin at one relevance for all columns, the best of five, and at the own relevance of
// each column that explains the targets alone.
func (s *scales) starts() ([][]float64, error) {
	width := len(s.view.varying)
	var same []float64
	value := math.Inf(-1)
	for _, part := range [...]float64{0.25, 0.5, 1, 2, 4} {
		x := slices.Repeat([]float64{-math.Log(part * math.Sqrt(2*float64(width)))}, width)
		if s.at(x) && s.now.value > value {
			same, value = x, s.now.value
		}
		if s.fatal != nil {
			return nil, s.fatal
		}
	}
	if same == nil {
		return nil, s.failed
	}
	own := slices.Clone(same)
	if found, err := s.alone(own); err != nil || !found {
		return [][]float64{same}, err
	}
	return [][]float64{same, own}, nil
}

// alone sets the relevance of each column whose features have a larger evidence than a constant, by
// 3 plus the logarithm of the number of columns.
func (s *scales) alone(x []float64) (found bool, err error) {
	phis, err := narrow()
	if err != nil {
		return false, err
	}
	v := s.view
	n := v.x.Rows
	b := ridge.Block[float64]{X: dense.New[float64](n, 1), Y: v.y, Weights: v.weights}
	enough := 3 + math.Log(float64(len(x)))
	for k, j := range v.varying {
		for i := range n {
			b.X.Set(i, 0, (v.x.At(i, j)-v.means[j])/v.deviations[j])
		}
		most := enough
		for _, phi := range phis {
			g, err := s.explained(phi, b)
			if err != nil {
				return false, err
			}
			if g > most {
				found, most, x[k] = true, g, -math.Log(phi.lengthScale)
			}
		}
	}
	return found, nil
}

type line struct {
	rff.Map[float64]
	lengthScale float64
}

// Frequencies are quantiles of the normal distribution.
func narrow() ([]line, error) {
	const m = 16
	quantiles := dense.New[float64](m, 1)
	for k := range m {
		quantiles.Set(k, 0, math.Sqrt2*math.Erfinv((2*float64(k)+1)/m-1))
	}
	w, err := orf.FromMatrix(quantiles)
	if err != nil {
		return nil, err
	}
	var all []line
	for _, l := range [...]float64{2, 1, 0.5, 0.25, 0.125} {
		phi, err := rff.Draw(rff.Gaussian{LengthScale: l}, w)
		if err != nil {
			return nil, err
		}
		all = append(all, line{phi, l})
	}
	return all, nil
}

// explained returns the evidence of the features minus that of a constant, or 0 if a fit fails.
func (s *scales) explained(phi line, b ridge.Block[float64]) (float64, error) {
	sums, err := ridge.Sum(s.ctx, phi.Map, b)
	if err != nil {
		return 0, err
	}
	// The noise is so large that the weights of all features are 0.
	constant, err := sums.Fit(s.ctx, ridge.Options{Ratio: 1e8 * float64(b.X.Rows)})
	if err != nil {
		return 0, s.ctx.Err()
	}
	m, err := sums.Fit(s.ctx, ridge.Options{})
	if err != nil {
		return 0, s.ctx.Err()
	}
	return m.LogEvidence() - constant.LogEvidence(), nil
}
