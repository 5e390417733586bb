package near

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer/internal/nystroem"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
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
	w    *Call[float64]
	x    [][]float64 // error × value of each output and key
	want []float64   // variances
}

func newSampling(e *sums.Engine[float64], k dense.Matrix[float64], window int) sampling {
	const dv = 2
	q, v := densetest.Decaying[float64](4, 3, k.Cols, 2), densetest.Decaying[float64](6, k.Rows, dv, 1)
	src := densetest.Source(1)
	w := new(Call[float64])
	w.Open(Base[float64]{Engine: e, Scores: tiles.Scores{Scale: 0.5}, Window: window}, 1, dense.Matrix[float64]{}, q, k, v, k.Rows, nil, 8, [2]uint64{src.Uint64(), src.Uint64()})
	variances := dense.New[float64](q.Rows, dv+1)
	w.Variances(variances)
	s := sampling{w: w, want: variances.Data}
	errors := w.errors()
	for i := range q.Rows {
		for col := range dv + 1 {
			x := slices.Clone(errors.Row(i))
			for j := range x {
				switch {
				case window > 0 && isNear(i, j, window, e.M):
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

// isNear reports whether key j is near query i, for m features.
func isNear(i, j, window, m int) bool {
	t := max(window, m)
	c := max(0, i-window) / t
	return t*c <= j && j < t*(c+1)+2*window
}

// score draws samples, and returns the largest |z| of the means of Σ_j c_j·x_j, whose truth is
// Σ_j x_j, and of their variances, whose truth is the law. Each c_j is multiplied by factor.
func (s sampling) score(factor float64) (mean, variance float64) {
	rng := rand.New(densetest.Source(9))
	n := float64(replicates())
	totals, squares, fourths := make([]float64, len(s.x)), make([]float64, len(s.x)), make([]float64, len(s.x))
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
			totals[o] += sum / n
			squares[o] += sum * sum / n
			fourths[o] += sum * sum * sum * sum / n
		}
	}
	for o, sum := range totals {
		mean = max(mean, math.Abs(sum)/math.Sqrt(s.want[o]/n))
		variance = max(variance, math.Abs(squares[o]-s.want[o])/math.Sqrt((fourths[o]-squares[o]*squares[o])/n))
	}
	return mean, variance
}

// positive are the positive features of the softmax kernel.
type positive struct{ rff.LogMap[float64] }

func (p positive) Queries(dst, q dense.Matrix[float64]) dense.Matrix[float64] {
	return p.LogTransform(dst, q)
}

func (p positive) Keys(dst, k dense.Matrix[float64]) dense.Matrix[float64] {
	return p.LogTransform(dst, k)
}

func (positive) PullQueries(_, _, _ dense.Matrix[float64]) {}

func (positive) PullKeys(_, _, _ dense.Matrix[float64]) {}

// samplings are those of bases of both kinds, with and without near keys.
func samplings(t *testing.T) map[string]sampling {
	const n, d, m = 64, 4, 12
	k := densetest.Decaying[float64](5, n, d, 2)
	o := sums.Operator[float64]{D: d, M: m, Logs: true, Undivided: true}
	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, densetest.Source(1))
	require.NoError(t, err)
	phi, err := rff.SoftmaxPositive(w, 0.5)
	require.NoError(t, err)
	var choice nystroem.Choice[float64]
	src := densetest.Source(1)
	choice.Choose(k, m, 0.5, nil, [2]uint64{src.Uint64(), src.Uint64()})
	landmarks, features := sums.New(o).With(&choice, &choice), sums.New(o).With(positive{phi}, nil)
	return map[string]sampling{
		"landmarks": newSampling(landmarks, k, 0), "landmarks and a window": newSampling(landmarks, k, 3),
		"features": newSampling(features, k, 0), "features and a window": newSampling(features, k, 3),
	}
}

// The corrections have the mean and the variance of the law: 9 outputs of 4 samplings, |z| < 4 at
// fixed seeds. Probabilities that are wrong by a tenth, or a key that is never drawn, are caught.
func TestLaw(t *testing.T) {
	t.Parallel()
	for name, s := range samplings(t) {
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
