package ard

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// starts returns where searches begin. The first start is one relevance of all columns: that of
// maximum evidence among five, around the root mean square of the distances of two points. In the
// second start columns that explain something alone have their own relevance for that. It is left out
// if there are none.
func (s *search[T]) starts() ([][]float64, error) {
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
func (s *search[T]) alone(x []float64) (found bool, err error) {
	phis, err := narrow()
	if err != nil {
		return false, err
	}
	v := s.view
	n := v.sample.X.Rows
	b := ridge.Block[float64]{
		X: dense.New[float64](n, 1), Y: dense.Copy(dense.Matrix[float64]{}, v.sample.Y), Weights: make([]float64, n),
	}
	for i, w := range v.sample.Weights {
		b.Weights[i] = float64(w)
	}
	enough := 3 + math.Log(float64(len(x)))
	for k, j := range v.varying {
		for i := range n {
			b.X.Set(i, 0, (float64(v.sample.X.At(i, j))-v.means[j])/v.deviations[j])
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
	w, err := orf.Of(quantiles)
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
func (s *search[T]) explained(phi line, b ridge.Block[float64]) (float64, error) {
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
