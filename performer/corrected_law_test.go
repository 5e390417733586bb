package performer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/rff"
)

// replicates returns the number of draws of a statistical test.
func replicates() int {
	if testing.Short() {
		return 4000
	}
	return 20000
}

// sampling holds the errors of a base at 64 keys, and a sample of 8.
type sampling struct {
	w    *correctedCall[float64]
	x    [][]float64 // error × value of each output and key
	want []float64   // variances
}

func newSampling(base Form[float64], window int) sampling {
	const n, d, dv = 64, 4, 2
	q, k, v := decaying[float64](4, 3, d, 2), decaying[float64](5, n, d, 2), decaying[float64](6, n, dv, 1)
	c := must(NewCorrected(base, CorrectedOptions{Window: window, Samples: 8}, source(1)))
	s := sampling{w: c.open(request[float64]{gradients: gradients[float64]{q: q, k: k, v: v}, heads: 1}, k, v), want: c.Variances(q, k, v).Data}
	errors := s.w.errors()
	for i := range q.Rows {
		for col := range dv + 1 {
			x := slices.Clone(errors.Row(i))
			for j := range x {
				switch {
				case near(i, j, window, featuresOf(c)):
					x[j] = 0
				case col < dv:
					x[j] *= v.Row(j)[col]
				}
			}
			s.x = append(s.x, x)
		}
	}
	return s
}

// score draws samples, and returns the largest |z| of the means of Σ_j c_j·x_j, whose truth is
// Σ_j x_j, and of their variances, whose truth is the law. Each c_j is multiplied by factor.
func (s sampling) score(factor float64) (mean, variance float64) {
	rng := rand.New(source(9))
	n := float64(replicates())
	sums, squares, fourths := make([]float64, len(s.x)), make([]float64, len(s.x)), make([]float64, len(s.x))
	truth := make([]float64, len(s.x))
	for o, x := range s.x {
		for _, y := range x {
			truth[o] += y
		}
	}
	for range int(n) {
		s.w.sample.toss([2]uint64{rng.Uint64(), rng.Uint64()})
		for o, x := range s.x {
			sum := -truth[o]
			for j, y := range x {
				sum += factor * (1 - s.w.sample.rest[j]) * y
			}
			sums[o] += sum / n
			squares[o] += sum * sum / n
			fourths[o] += sum * sum * sum * sum / n
		}
	}
	for o, sum := range sums {
		mean = max(mean, math.Abs(sum)/math.Sqrt(s.want[o]/n))
		variance = max(variance, math.Abs(squares[o]-s.want[o])/math.Sqrt((fourths[o]-squares[o]*squares[o])/n))
	}
	return mean, variance
}

// samplings are those of bases of both kinds, with and without near keys.
func samplings() map[string]sampling {
	landmarks := must(NewLandmarks(Exact[float64]{}, 12, source(1)))
	features := attention(must(rff.SoftmaxPositive(frequencies[float64](12, 4), 0.5)), Options{})
	return map[string]sampling{
		"landmarks": newSampling(landmarks, 0), "landmarks and a window": newSampling(landmarks, 3),
		"features": newSampling(features, 0), "features and a window": newSampling(features, 3),
	}
}

// The corrections have the mean and the variance of the law: 9 outputs of 4 samplings, |z| < 4 at
// fixed seeds. Probabilities that are wrong by a tenth, or a key that is never drawn, are caught.
func TestCorrectedLaw(t *testing.T) {
	t.Parallel()
	for name, s := range samplings() {
		mean, variance := s.score(1)
		assert.Less(t, mean, 4.0, name)
		assert.Less(t, variance, 4.0, name)

		mean, _ = s.score(1.1)
		assert.Greater(t, mean, 4.0, "%s: probabilities wrong by a factor", name)

		likely := 0
		for j, p := range s.w.sample.probabilities {
			if p > s.w.sample.probabilities[likely] {
				likely = j
			}
		}
		s.w.sample.probabilities[likely] = 0
		mean, _ = s.score(1)
		assert.Greater(t, mean, 4.0, "%s: the most likely key left out", name)
	}
}

// Numerators and denominators of Forward have the means of exact attention and the variances of the
// law, over seeds.
func TestCorrectedUnbiased(t *testing.T) {
	t.Parallel()
	const n, d = 64, 4
	q, k, v := decaying[float64](4, 3, d, 2), decaying[float64](5, n, d, 2), decaying[float64](6, n, 2, 1)
	values := densetest.Filled(n, 3, 1.0)
	dense.Copy(values.ColRange(0, 2), v)
	exact := Exact[float64]{Scale: 0.5, Unnormalised: true}
	truth := exact.Forward(dense.Matrix[float64]{}, q, k, values)
	features := must(rff.SoftmaxPositive(frequencies[float64](12, d), 0.5))
	for name, base := range map[string]Form[float64]{
		"landmarks": must(NewLandmarks(exact, 12, source(1))), "features": attention(features, Options{Unnormalised: true}),
	} {
		c := must(NewCorrected(base, CorrectedOptions{3, 8}, source(1)))
		variances := c.Variances(q, k, v)
		rng, sums, out := rand.New(source(2)), dense.New[float64](3, 3), dense.New[float64](3, 3)
		for range replicates() {
			c.seed = [2]uint64{rng.Uint64(), rng.Uint64()}
			floats.Add(sums.Data, c.Forward(out, q, k, values).Data)
		}
		for at, sum := range sums.Data {
			total := truth.Row(at / 3)[2]
			stderr := total * math.Sqrt(variances.Data[at]/float64(replicates()))
			assert.InDelta(t, truth.Data[at], sum/float64(replicates()), 4*stderr, "%s, %d", name, at)
		}
	}
}
