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

// scales is the search for length-scales. Its places x are the logarithms of the relevance of the columns
// that vary, and then, while it climbs, log λ, unless λ is given.
type scales struct {
	search
	view *survey
	all  points
	on   points // of the search
}

// gain is the evidence that three iterations gain for each target, below which a search ends. It
// changes errors by the same part of them.
const gain = 1e-3

// learn returns a search that has found the best place for all rows.
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

// begin lets the search go on with n rows.
func (s *scales) begin(on points, n int) {
	s.on, s.rows, s.gain = on, n, gain*float64(n)*float64(s.view.outputs)
}

// climbFrom leaves the best place that the search finds from x on in best.
func (s *scales) climbFrom(start int, x []float64) error {
	s.reset()
	if !s.at(x) {
		return s.end()
	}
	if o := s.o.Options; o.Ratio == 0 && (o.Noise == 0 || o.Prior == 0) {
		x = append(slices.Clone(x), math.Log(s.now.model.Noise()[0]/s.now.model.Prior()[0]))
	}
	return s.climb(start, x)
}

// slopes writes the gradient of −log evidence at m into dst.
func (s *scales) slopes(dst []float64, m model) error {
	e, err := s.on.derivatives(s.ctx, m, s.o.NoIntercept)
	if err != nil {
		return err
	}
	for i, j := range s.view.varying {
		dst[i] = e.scales[j] // by log(1/ℓ) the sign is the other one
	}
	if i := len(s.view.varying); i < len(dst) {
		// With s² given σ² follows λ, and otherwise s² does; a σ² of maximum evidence counts for nothing.
		for j, v := range e.prior {
			if s.o.Prior > 0 {
				v = -e.noise[j]
			}
			dst[i] += v
		}
	}
	return nil
}

// starts returns where searches begin. The first start is one relevance of all columns: that of
// maximum evidence among five, around the root mean square of the distances of two points. In the
// second start columns that explain something alone have their own relevance for that. It is left out
// if there are none.
func (s *scales) starts() ([][]float64, error) {
	width := len(s.view.varying)
	same := make([]float64, width)
	usual, value := 0.0, math.Inf(-1)
	for _, part := range [...]float64{0.25, 0.5, 1, 2, 4} {
		x := -math.Log(part * math.Sqrt(2*float64(width)))
		for i := range same {
			same[i] = x
		}
		if s.at(same) && s.now.value > value {
			usual, value = x, s.now.value
		}
		if s.fatal != nil {
			return nil, s.fatal
		}
	}
	if math.IsInf(value, -1) {
		return nil, s.failed
	}
	for i := range same {
		same[i] = usual
	}
	own := slices.Clone(same)
	if found, err := s.alone(own); err != nil || !found {
		return [][]float64{same}, err
	}
	return [][]float64{same, own}, nil
}

// alone replaces x of the columns that explain something alone: by the relevance with which features
// of this column have the largest evidence, if they have more of it than a constant, by 3 and the
// logarithm of the number of columns.
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

// line is a map of one column.
type line struct {
	rff.Map[float64]
	lengthScale float64
}

// narrow returns maps of one column for several length-scales. Their frequencies are quantiles of the
// normal law, so that nothing is drawn.
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
		phi, err := rff.Gaussian(w, l)
		if err != nil {
			return nil, err
		}
		all = append(all, line{phi, l})
	}
	return all, nil
}

// explained returns how much evidence the features have beyond that of a constant, 0 if there is no
// fit.
func (s *scales) explained(phi line, b ridge.Block[float64]) (float64, error) {
	sums, err := ridge.Sum(s.ctx, phi.Map, b)
	if err != nil {
		return 0, err
	}
	// Weights of features have no room beside so much noise.
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
