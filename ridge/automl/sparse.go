package automl

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

// sparse learns linear functions under the horseshoe prior. The space has a dimension for each
// output, the function itself. ratio makes the coefficient of ridge regression on it 1.
func sparse(s *mixtureSearch, b ridge.Block[float64]) (at space, start, ratio float64, err error) {
	if at, err = standardised(b.X, deviations); err != nil {
		return at, 0, 0, err
	}
	z, err := at.points(b.X)
	if err != nil {
		return at, 0, 0, err
	}
	y := dense.Transpose(dense.Matrix[float64]{}, b.Y)
	centre(z, b.Weights)
	for i, w := range b.Weights {
		floats.Scale(math.Sqrt(w), z.Row(i))
	}
	at.metric, at.kernel = dense.New[float64](b.Y.Cols, b.X.Cols), kernels.DotProduct{}
	squares := 0.0
	for j := range y.Rows {
		mean := floats.Dot(y.Row(j), b.Weights) / floats.Sum(b.Weights)
		for i, w := range b.Weights {
			y.Row(j)[i] = math.Sqrt(w) * (y.At(j, i) - mean)
		}
		beta := at.metric.Row(j)
		if err := s.horseshoe(beta, z, y.Row(j)); err != nil {
			return at, 0, 0, err
		}
		for i, v := range y.Row(j) {
			f := floats.Dot(z.Row(i), beta)
			ratio += f * (v - f) / float64(y.Rows)
			squares += f * f
		}
	}
	return at, 0, max(ratio, leastRatio*squares), nil
}

const (
	burnIn, draws = 300, 600 // of the Gibbs sampler
	leastNoise    = 1e-10    // the least σ² over the mean square of y: rounding hides less
)

// horseshoe writes the mean over draws of β of y ~ N(Z·β, σ²I), β_j ~ N(0, σ²·τ²·λ_j²), with τ and
// λ_j half-Cauchy of scale 1 [Carvalho et al. 2010], into beta, which is zero for y = 0.
// Half-Cauchy laws are mixtures of inverse gamma laws [Makalic & Schmidt 2016], and β is drawn with
// a factorisation of n×n numbers [Bhattacharya et al. 2016].
func (s *mixtureSearch) horseshoe(beta []float64, z dense.Matrix[float64], y []float64) error {
	least := leastNoise * meanSquare(y)
	if least == 0 {
		return nil
	}
	rng := rand.New(s.src)
	gamma := func(shape float64) float64 { return distuv.Gamma{Alpha: shape, Beta: 1, Src: s.src}.Rand() }
	n, d := z.Rows, z.Cols
	variances, mixed, drawn := make([]float64, d), make([]float64, d), make([]float64, d) // λ²
	for j := range variances {
		variances[j], mixed[j] = 1, 1
	}
	shrink, noise, mixedShrink := 1/float64(d), meanSquare(y), 1.0 // τ², σ²
	transposed, scaled := dense.Transpose(dense.Matrix[float64]{}, z), dense.New[float64](n, d)
	a, rest := dense.New[float64](n, n), dense.New[float64](n, 1)
	for step := range burnIn + draws {
		sd := math.Sqrt(noise)
		for j, v := range variances {
			variances[j] = max(v*shrink, 1e-14) // τ²·λ²
			drawn[j] = math.Sqrt(variances[j]) * rng.NormFloat64()
		}
		for i := range n {
			floats.MulTo(scaled.Row(i), z.Row(i), variances)
			rest.Set(i, 0, y[i]/sd-floats.Dot(z.Row(i), drawn)-rng.NormFloat64())
		}
		matmul.Mul(1, scaled, transposed, 0, a)
		for i := range n {
			a.Row(i)[i]++
		}
		factor, err := cholesky.New(s.ctx, a)
		if err != nil {
			return err
		}
		factor.Solve(rest)
		residual, fit, penalty, local := 0.0, 0.0, 0.0, 0.0
		for j, v := range drawn {
			drawn[j] = sd * (v + variances[j]*floats.Dot(transposed.Row(j), rest.Data))
			penalty += drawn[j] * drawn[j] / variances[j]
			if step >= burnIn {
				beta[j] += drawn[j] / draws
			}
		}
		for i, v := range y {
			fit = v - floats.Dot(z.Row(i), drawn)
			residual += fit * fit
		}
		noise = max(least, (residual+penalty)/2/gamma(float64(n+d)/2))
		for j, v := range drawn {
			variances[j] = (1/mixed[j] + v*v/(2*shrink*noise)) / rng.ExpFloat64()
			mixed[j] = (1 + 1/variances[j]) / rng.ExpFloat64()
			local += v * v / variances[j]
		}
		shrink = (1/mixedShrink + local/(2*noise)) / gamma(float64(d+1)/2)
		mixedShrink = (1 + 1/shrink) / rng.ExpFloat64()
	}
	return nil
}
