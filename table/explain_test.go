package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
)

// Independent columns of a linear function with the weights w and the variances v have the
// importances 2w²v: a permutation replaces a value by an independent one.
func TestImportances(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	row := func(int) string {
		a, b, noise, kind := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.IntN(3)
		return fmt.Sprintf("%v,%v,%v,%c,n%d,%v", noise, b, a, 'a'+kind, rng.Int(), 3*a+b+2*float64(kind)+rng.NormFloat64()/100)
	}
	const names = "noise,b,a,kind,note,y"
	m := fitted(t, made(t, names, 100, row), Options{})
	e, err := m.Explain(made(t, names, 2000, row), "y", rand.NewPCG(3, 4))
	require.NoError(t, err)
	all := e.Columns
	require.Len(t, all, 4, "text is left out")
	require.Len(t, all[0].Dependence, 12)
	for i, d := range slices.Concat(all[0].Dependence, all[1].Dependence) {
		want := 3*d.X + 2 // the mean of 2·kind is 2
		if i >= 12 {
			want = 2 * float64(i-12)
			assert.Equal(t, string(rune('a'+i-12)), d.Value)
		} else {
			// The standard error of a share of 2000 rows is at most 0.0112.
			assert.InDelta(t, (float64(i)+0.5)/12, math.Erfc(-d.X/math.Sqrt2)/2, 4*0.0112)
		}
		assert.InDelta(t, want, d.Mean[0], 4*d.StdErr[0]+0.02)
		assert.InDelta(t, math.Sqrt([]float64{1 + 4*2.0/3, 10}[i/12]/300), d.StdErr[0], 0.03)
	}
	for i, want := range []struct {
		name string
		loss float64
	}{{"a", 18}, {"kind", 2 * 4 * 2.0 / 3}, {"b", 2}, {"noise", 0}} {
		assert.Equal(t, want.name, all[i].Column)
		// The weights of 100 rows with noise of 0.01 are off by some 0.001, which the term of 0.02
		// bounds.
		assert.InDelta(t, want.loss, all[i].Loss, 4*all[i].StdErr+0.02, want.name)
		assert.Less(t, all[i].StdErr, 0.06*want.loss+0.01, want.name)
	}
}

func TestImportancesOfClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	row := func(int) string {
		a, p := rng.NormFloat64(), rng.Float64()
		return fmt.Sprintf("%v,%v,%t", rng.NormFloat64(), a, p < 1/(1+math.Exp(-3*a)))
	}
	m := fitted(t, made(t, "noise,a,y", 60, row), Options{})
	more := made(t, "noise,a,y", 1000, row)
	e, err := m.Explain(more, "y", rand.NewPCG(3, 4))
	require.NoError(t, err)
	all := e.Columns
	assert.Equal(t, []string{"a", "noise"}, []string{all[0].Column, all[1].Column})
	assert.Greater(t, all[0].Loss, 0.5)
	assert.Less(t, math.Abs(all[1].Loss), 0.05)
	again, err := m.Explain(more, "y", rand.NewPCG(3, 4))
	require.NoError(t, err)
	assert.Equal(t, all, again.Columns)
	scores, err := m.Score(more)
	require.NoError(t, err)
	score := scores["y"]
	assert.Equal(t, score, e.Score)
	assert.InEpsilon(t, score.LogLoss, stat.Mean(e.Losses, nil), 1e-12)
	right := 0.0 // the groups of rows have one size
	for i, c := range e.Calibration {
		right += c.Measured / 10
		assert.InDelta(t, c.Predicted, c.Measured, 4*c.StdErr+0.05, "what 60 rows do not tell")
		assert.Less(t, c.StdErr, 0.051, "100 rows a group")
		assert.True(t, i == 0 || c.Predicted >= e.Calibration[i-1].Predicted)
	}
	assert.InDelta(t, score.Right, right, 1e-12)

	_, err = m.Explain(more, "y", nil)
	assert.EqualError(t, err, "table: src is nil, want a source of randomness")
	_, err = m.Explain(made(t, "noise,a,y", 3, func(int) string { return "1,2,late" }), "y", rand.NewPCG(3, 4))
	assert.EqualError(t, err, "table: fewer than two rows with a known class, or with a squared error below the largest number")
	_, err = new(Model).Explain(more, "y", rand.NewPCG(3, 4))
	assert.Equal(t, errNoModel, err)
}

// A point of the partial dependence is the mean of the predictions of a table with one value in the
// column: of dates, numbers, categories, yes/no, rare and missing values.
func TestDependence(t *testing.T) {
	for _, target := range []func(i int) string{numbers, classes} {
		all := mixed(t, target)
		m := fitted(t, all, Options{})
		var rows [][]string
		for i := range all.Len() {
			rows = append(rows, all.Row(i))
		}
		rows[5][3] = "rare"
		e, err := m.Explain(must.Have(New(all.Names(), rows)), "y", rand.NewPCG(3, 4))
		require.NoError(t, err)
		points := make(map[string]int)
		for _, c := range e.Columns {
			j := slices.Index(all.Names(), c.Column)
			for _, d := range c.Dependence {
				points[c.Column]++
				moved := slices.Clone(rows)
				for i, row := range moved {
					moved[i] = slices.Clone(row)
					moved[i][j] = d.Value
				}
				p, err := m.Predict(must.Have(New(all.Names(), moved)))
				require.NoError(t, err)
				if p.Numbers != nil {
					p.Probabilities = dense.Of(len(rows), 1, p.Numbers["y"].Mean)
				}
				for k := range d.Mean {
					var of []float64
					for i := range rows {
						of = append(of, p.Probabilities.At(i, k))
					}
					assert.InDelta(t, stat.Mean(of, nil), d.Mean[k], 1e-12, "%s %q", c.Column, d.Value)
					assert.InDelta(t, stat.StdErr(stat.StdDev(of, nil), float64(len(of))), d.StdErr[k], 1e-12, "%s %q", c.Column, d.Value)
				}
			}
		}
		assert.Equal(t, map[string]int{"day": 12, "size": 10, "kind": 5, "sex": 2}, points)
		assert.Equal(t, []int{2, 3, 4}, e.Lines[:3])
		if m.Classes() == nil {
			for i, c := range e.Calibration {
				inside := 0.0
				p, err := m.Predict(all, (1-c.Predicted)/2, (1+c.Predicted)/2)
				require.NoError(t, err)
				ends := p.Numbers["y"].Quantiles
				for k, y := range e.Measured {
					if ends[0][k] <= y && y <= ends[1][k] && k != 5 {
						inside += 1.0 / 48
					}
				}
				assert.InDelta(t, 0.05+0.1*float64(i), c.Predicted, 1e-12)
				assert.InDelta(t, inside, c.Measured, 1.01/48, "row 5 has another value")
			}
		}
	}
}
