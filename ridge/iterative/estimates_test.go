package iterative_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/iterative"
)

// The evidence is within four of its standard errors of that of ridge, and standard errors are
// those of the errors. With 40 samples each |z| has a false-alarm probability of 0.0003, and the
// mean of 20 squares is above 3.2 with less than 10⁻⁴. Evidence that leaves out the preconditioner
// is caught.
func TestEvidenceHasItsStandardError(t *testing.T) {
	densetest.Both(t, testEvidence[float32], testEvidence[float64])
}

func testEvidence[T dense.Float](t *testing.T) {
	const seeds, samples = 20, 40
	phi := gaussian[T](t, 40, 3, 0.7)
	all := surface[T](160, 3, 0.1, 5, 1)
	for _, c := range []struct {
		n int
		o ridge.Options
	}{{160, ridge.Options{Noise: 0.01, Prior: 1}}, {160, ridge.Options{Ratio: 0.05, NoIntercept: true}}, {60, ridge.Options{Ratio: 0.02}}} {
		o, rows, weight := c.o, part(all, c.n), 0.0
		for _, w := range rows.Weights {
			weight += float64(w)
		}
		sums, err := ridge.Sum(t.Context(), phi, rows)
		require.NoError(t, err)
		direct, err := sums.Fit(t.Context(), o)
		require.NoError(t, err)
		sum, squares, fault := 0.0, 0.0, 0.0
		for seed := range uint64(seeds) {
			m, err := iterative.Fit(t.Context(), phi, rows, iterative.Options{Options: o, Samples: samples, Rank: 8}, rand.NewPCG(seed, 4))
			require.NoError(t, err)
			value, se, err := m.LogEvidence()
			require.NoError(t, err)
			z := (value - direct.LogEvidence()) / se
			assert.Less(t, math.Abs(z), 4.0, "seed %d: %v ± %v, want %v", seed, value, se, direct.LogEvidence())
			sum += z / math.Sqrt(seeds)
			squares += z * z / seeds
			fault += (z - math.Log(weight)/se) / math.Sqrt(seeds)
		}
		assert.Less(t, math.Abs(sum), 4.0, "no bias")
		assert.Greater(t, math.Abs(fault), 4.0, "an evidence without log Σω shows")
		assert.InDelta(t, 1.6, squares, 1.6, "standard errors are those of the errors")
		t.Log(sum, fault, squares)
	}
}

// Variances of samples have the relative standard error √(2/S), and no bias: over all rows and
// seeds the mean ratio to the exact variance is 1. Its standard error is √(2/(S·seeds)) where all
// rows err alike, and the bound is four of them. Variances that are a fifth too small are caught.
func TestPosteriorHasItsStandardError(t *testing.T) {
	densetest.Both(t, testPosterior[float32], testPosterior[float64])
}

func testPosterior[T dense.Float](t *testing.T) {
	const seeds, samples = 10, 100
	phi := gaussian[T](t, 40, 3, 0.7)
	rows, z := surface[T](200, 3, 0.1, 5, 1), surface[T](60, 3, 0, 0, 2)
	o := ridge.Options{Noise: 0.04, Prior: 1}
	sums, err := ridge.Sum(t.Context(), phi, rows)
	require.NoError(t, err)
	direct, err := sums.Fit(t.Context(), o)
	require.NoError(t, err)
	_, exact := direct.Posterior(z.X)
	_, target := direct.Predict(z.X)
	total, squares := 0.0, 0.0
	for seed := range uint64(seeds) {
		m, err := iterative.Fit(t.Context(), phi, rows, iterative.Options{Options: o, Samples: samples}, rand.NewPCG(seed, 5))
		require.NoError(t, err)
		_, sd := m.Posterior(z.X)
		for i, v := range sd.Data {
			e := float64(v) / float64(exact.Data[i])
			total += e * e / float64(seeds*len(sd.Data))
			squares += (e - 1) * (e - 1) / float64(seeds*len(sd.Data))
		}
		_, sd = m.Predict(z.X)
		for i, v := range sd.Data {
			assert.InDelta(t, 1, float64(v)/float64(target.Data[i]), 0.2)
		}
	}
	bound := 4 * math.Sqrt(2.0/(samples*seeds))
	assert.InDelta(t, 1, total, bound)
	assert.Greater(t, math.Abs(0.8*total-1), bound, "a fault of a fifth shows")
	assert.InDelta(t, 1/math.Sqrt(2*samples), math.Sqrt(squares), 0.5/math.Sqrt(2*samples))
}

// A λ that is left open has the evidence of that of ridge but for half a nat, where few rows would
// have a larger λ too: that of the first 1024 rows is caught.
func TestRatioIsThatOfMaximumEvidence(t *testing.T) {
	densetest.Both(t, testRatio[float32], testRatio[float64])
}

func testRatio[T dense.Float](t *testing.T) {
	hard := gaussian[T](t, 100, 10, 4)
	few := gaussian[T](t, 60, 3, 0.7)
	for name, c := range map[string]struct {
		phi   rff.Map[T]
		rows  ridge.Block[T]
		o     ridge.Options
		worse float64 // nats that the λ of the first rows loses, at least
	}{
		"few features":    {few, surface[T](500, 3, 0.1, 5, 1), ridge.Options{}, 0},
		"more features":   {few, surface[T](50, 3, 0.1, 5, 1), ridge.Options{}, 0},
		"noise":           {few, surface[T](500, 3, 0.1, 1000, 1), ridge.Options{Noise: 0.01}, 0},
		"prior":           {few, surface[T](500, 3, 0.1, 5, 1), ridge.Options{Prior: 2}, 0},
		"no intercept":    {few, surface[T](500, 3, 0.1, 5, 1), ridge.Options{NoIntercept: true}, 0},
		"many rows":       {hard, ridges[T](4000, 10, true), ridge.Options{}, 10},
		"without weights": {hard, ridges[T](4000, 10, false), ridge.Options{NoIntercept: true}, 10},
	} {
		sums, err := ridge.Sum(t.Context(), c.phi, c.rows)
		require.NoError(t, err)
		direct, err := sums.Fit(t.Context(), c.o)
		require.NoError(t, err)
		below := func(noise, prior []float64) float64 {
			o := c.o
			o.Ratio = noise[0] / prior[0]
			m, err := sums.Fit(t.Context(), o)
			require.NoError(t, err)
			return direct.LogEvidence() - m.LogEvidence()
		}
		s, err := iterative.New(t.Context(), c.phi, c.rows, iterative.Options{Options: c.o}, rand.NewPCG(1, 5))
		require.NoError(t, err)
		chosen := 0
		require.NoError(t, s.Run(t.Context(), c.rows, iterative.RunOptions{Progress: func(p iterative.Progress) {
			if p.Ratio == 0 {
				assert.True(t, math.IsInf(p.Bound, 1))
				chosen = p.Iterations
			}
		}}))
		m, err := s.Model()
		require.NoError(t, err)
		lost := below(m.Noise(), m.Prior())
		t.Log(name, chosen, lost)
		assert.Less(t, lost, 0.5, name)
		assert.Positive(t, chosen, name)
		if c.worse == 0 {
			continue
		}
		pilot := ridge.Block[T]{X: c.rows.X.RowRange(0, 1024), Y: c.rows.Y.RowRange(0, 1024)}
		if c.rows.Weights != nil {
			pilot.Weights = c.rows.Weights[:1024]
		}
		part, err := ridge.Sum(t.Context(), c.phi, pilot)
		require.NoError(t, err)
		fault, err := part.Fit(t.Context(), c.o)
		require.NoError(t, err)
		assert.Greater(t, below(fault.Noise(), fault.Prior()), c.worse, name)
	}
}

// ridges returns n normal points of d columns and targets that take many rows to learn with a long
// length-scale.
func ridges[T dense.Float](n, d int, weights bool) ridge.Block[T] {
	rng := rand.New(rand.NewPCG(7, 8))
	b := ridge.Block[T]{X: dense.New[T](n, d), Y: dense.New[T](n, 1)}
	for i := range n {
		x := make([]float64, d)
		for j := range x {
			x[j] = rng.NormFloat64()
			b.X.Set(i, j, T(x[j]))
		}
		y := 0.5*math.Sin(3*x[0]*x[1]) + 0.1*rng.NormFloat64()
		for j := 0; j+1 < d; j += 2 {
			y += math.Sin(2*x[j]+x[j+1]) / float64(1+j)
		}
		b.Y.Set(i, 0, T(y))
		if weights {
			b.Weights = append(b.Weights, T(1+i%3))
		}
	}
	return b
}

// Models without samples have neither error bars nor an evidence.
func TestNoSamples(t *testing.T) {
	rows := surface[float64](50, 3, 0.1, 0, 1)
	m, err := iterative.Fit(t.Context(), gaussian[float64](t, 8, 3, 1), rows, iterative.Options{}, rand.NewPCG(1, 5))
	require.NoError(t, err)
	_, _, err = m.LogEvidence()
	assert.ErrorContains(t, err, "no samples")
	assert.PanicsWithValue(t, "iterative: the model has no samples: want Options.Samples of at least 2", func() { m.Predict(rows.X) })
}
