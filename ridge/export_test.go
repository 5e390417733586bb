package ridge

import (
	"context"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/rff"
)

// Covariance returns the posterior covariances of f_j between the rows of x (n×d), n×n.
func (m *Model[T]) Covariance(x dense.Matrix[T], j int) dense.Matrix[float64] {
	width := m.regression.Weights.Rows
	phi, v := dense.New[float64](x.Rows, width), dense.New[float64](m.root.rows(), x.Rows)
	m.root.times(v, m.source.Centred(phi, x, m.regression.FeatureMean))
	c := dense.New[float64](x.Rows, x.Rows)
	noise := m.regression.Noise[j]
	matmul.TMul(noise, v, v, 0, c)
	for i := range c.Data {
		c.Data[i] += noise * m.regression.Base
	}
	return c
}

// TemperatureOf returns the temperature of scores and its loss.
var TemperatureOf = temperatureOf

// Mixture returns the mixture of scores and its loss.
var Mixture = mixture

// SampleOf returns the number of sampled rows of each class and the sum of their weights in the
// losses, for rows with the given labels.
func SampleOf(labels []int, classes int) (counts []int, shares []float64) {
	s, shares := newSample[float64](classes), make([]float64, classes)
	for _, c := range labels {
		s.add([]float64{0}, c, 1)
	}
	phi, _ := rff.Draw[float64](rff.Identity{D: 1}, nil)
	l := s.losses(features.New(phi), []float64{0})
	for i, c := range l.labels {
		shares[c] += l.shares[i]
	}
	return s.counts, shares
}

// ChooseRatio chooses λ of an iterative fit with at most most features.
func ChooseRatio[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], o Options, most int) (float64, error) {
	return chooseRatio(ctx, phi, rows, o, most)
}
