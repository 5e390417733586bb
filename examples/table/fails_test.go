package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// learnt returns the errors of the served model on a table of n rows, of the mean, the share in its
// bands, and the error that its report has.
func learnt(t *testing.T, s settings, names string, n int, row func(i int) string) (served, mean, inside, said float64) {
	var b strings.Builder
	b.WriteString(names + "\n")
	for i := range n {
		b.WriteString(row(i) + "\n")
	}
	table, err := parseTable(strings.NewReader(b.String()), ',')
	require.NoError(t, err)
	s.target = "y"
	src := rand.NewPCG(1, 2)
	d, err := s.prepare(table, src)
	require.NoError(t, err)
	found, err := automl.Fit(t.Context(), d.train, automl.Options{}, src)
	require.NoError(t, err)
	served, mean, inside = d.compare(found)
	said = found.Trials[found.Best].Score
	t.Logf("served %.3g, mean %.3g, in bands %.3g, said %.3g", served, mean, inside, said)
	return served, mean, inside, said
}

// Rows of a random walk tell their neighbours, but not what comes. Neither the bands nor the report
// know.
func TestRowsThatDependOnEachOther(t *testing.T) {
	walk := func(last bool) (served, mean, inside, said float64) {
		rng, y := rand.New(rand.NewPCG(3, 4)), 0.0
		return learnt(t, settings{last: last}, "time,y", 300, func(i int) string {
			y += rng.NormFloat64()
			return fmt.Sprintf("%d,%v", i, y)
		})
	}
	random, _, _, _ := walk(false)
	last, _, inside, said := walk(true)
	assert.Greater(t, last, 3*random)
	assert.Greater(t, last, 2*said)
	assert.Less(t, inside, 0.75)
}

// A few rows make the error of a target with a long tail, and its logarithm cures that.
func TestLongTail(t *testing.T) {
	share := func(f func(v float64) float64) float64 {
		rng := rand.New(rand.NewPCG(3, 4))
		served, mean, _, _ := learnt(t, settings{}, "a,b,y", 200, func(int) string {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			return fmt.Sprintf("%v,%v,%v", a, b, f(1.5*a+math.Sin(2*b)+rng.NormFloat64()/2))
		})
		return served / mean
	}
	assert.Greater(t, share(math.Exp), 0.5)
	assert.Less(t, share(func(v float64) float64 { return v }), 0.45)
}

// Of 100 rows of 20 columns that tell nothing, the report sees no function, and the served model is
// the mean or nearly so.
func TestNoiseStaysNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	names := strings.Repeat("x", 20)
	for i := range 20 {
		names = strings.Replace(names, "x", fmt.Sprintf("%c,", 'A'+i), 1)
	}
	served, mean, _, said := learnt(t, settings{}, names+"y", 100, func(int) string {
		cells := make([]string, 21)
		for j := range cells {
			cells[j] = fmt.Sprint(rng.NormFloat64())
		}
		return strings.Join(cells, ",")
	})
	assert.Greater(t, said, 0.8)
	assert.Less(t, served, 1.1*mean)
}
