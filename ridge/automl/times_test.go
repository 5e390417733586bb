package automl_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// TestGroupsOfAllKinds: times that half of the rows share, years, classes and values of one group,
// rows of weight 0 and few groups beside columns all have errors of whole groups.
func TestGroupsOfAllKinds(t *testing.T) {
	year := func(n int) func(i int) int { return func(i int) int { return i * n / 100 } }
	late := func(i int) int { return max(0, i-48) }
	first := func(i int) int {
		switch {
		case i < 20:
			return 0
		case i < 50:
			return 1
		}
		return i
	}
	ones := func(int) float64 { return 1 }
	for name, c := range map[string]struct {
		columns, classes int
		forward          bool
		group            func(i int) int
		weight           func(i int) float64
		class            func(i int) int
	}{
		"classes, few early times":  {2, 2, true, first, ones, nil},
		"half at one time":          {2, 0, true, late, ones, nil},
		"half at one time, classes": {2, 2, true, late, ones, nil},
		"eight years":               {2, 0, true, year(8), ones, nil},
		"nine years":                {2, 2, true, year(9), ones, nil},
		"class of late times":       {2, 3, true, func(i int) int { return i }, ones, func(i int) int { return max(i%2, 2*(i/70)) }},
		"class of one group":        {2, 3, false, year(10), ones, func(i int) int { return max(i%2, 2*(i/90)) }},
		"late rows of weight 0":     {2, 0, true, func(i int) int { return i }, func(i int) float64 { return float64(1 - i/50) }, nil},
		"early rows of weight 0":    {2, 0, true, func(i int) int { return i }, func(i int) float64 { return float64(i / 50) }, nil},
		"five groups, 40 columns":   {40, 0, false, year(5), ones, nil},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 100
			rng := rand.New(rand.NewPCG(1, 2))
			b := ridge.Block[float64]{X: dense.New[float64](n, c.columns), Y: dense.New[float64](n, 1)}
			groups := make([]int, n)
			for i := range n {
				for j := range c.columns {
					b.X.Set(i, j, 1000+rng.NormFloat64())
				}
				y := b.X.At(i, 0) - 1000 + 0.3*rng.NormFloat64()
				switch {
				case c.class != nil:
					y = float64(c.class(i))
				case c.classes > 0 && y > 0:
					y = 1
				case c.classes > 0:
					y = 0
				}
				b.Y.Set(i, 0, y)
				b.Weights, groups[i] = append(b.Weights, c.weight(i)), c.group(i)
			}
			r, err := automl.Fit(t.Context(), b, automl.Options{Classes: c.classes, Groups: groups, Forward: c.forward, Landmarks: 20}, rand.NewPCG(3, 4))
			require.NoError(t, err)
			for _, trial := range r.Trials {
				assert.True(t, trial.Err != nil || !math.IsNaN(trial.Score), "%+v", trial)
			}
			assert.Positive(t, r.HeldOut)
			assert.False(t, slices.ContainsFunc([]float64{r.Deviation, r.Coverage, r.Accuracy}, math.IsNaN))
		})
	}
	_, err := automl.Fit(t.Context(), ridge.Block[float64]{X: dense.New[float64](20, 1), Y: dense.New[float64](20, 1)},
		automl.Options{Classes: 2, ClassWeights: []float64{1, 0}, Groups: make([]int, 20)}, rand.NewPCG(1, 2))
	assert.EqualError(t, err, "automl: ClassWeights[1] = 0, want a positive number")
}
