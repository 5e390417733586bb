package gramian

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Slopes of both losses are differences of values.
func TestSlopes(t *testing.T) {
	const n = 60
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, weights := dense.New[float64](n, 4), dense.New[float64](n, 2), make([]float64, n)
	for i := range n {
		for j := range 4 {
			x.Set(i, j, 2*rng.Float64())
		}
		y.Set(i, 0, math.Sin(5*x.At(i, 0))+x.At(i, 1)+0.1*rng.NormFloat64())
		y.Set(i, 1, x.At(i, 2)+rng.NormFloat64())
		weights[i] = 1 + float64(i%3)
	}
	for _, k := range []kernels.Kernel{kernels.Gaussian{LengthScale: 0.8}, kernels.Matern{Nu: 0.5, LengthScale: 2}, kernels.Matern{LengthScale: 2}, kernels.Matern{Nu: 2.5}} {
		for _, evidence := range []bool{false, true} {
			of, _ := ProfileOf(k)
			s := &scales{ctx: t.Context(), profile: of, k: k, x: x, y: y, weights: weights, null: 1, evidence: evidence, least: math.Inf(1)}
			p := []float64{-0.5, 0.3, 0.1, 1, -3}
			s.at(p)
			slope := s.slope
			for j := range p {
				const h = 1e-5
				p[j] += h
				s.at(p)
				above := s.value
				p[j] -= 2 * h
				s.at(p)
				assert.InDelta(t, (above-s.value)/(2*h), slope[j], 1e-6, "%v, parameter %d, %v", k, j, evidence)
				p[j] += h
			}
		}
	}
}
