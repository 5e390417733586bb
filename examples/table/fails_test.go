package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// learnt returns the errors of the served model on a table of n rows, of the mean, and its error of
// folds.
func learnt(t *testing.T, s settings, names string, n int, row func(i int) string) (served, mean heldOut, folds float64, d *data) {
	var b strings.Builder
	b.WriteString(names + "\n")
	for i := range n {
		b.WriteString(row(i) + "\n")
	}
	table, err := parseTable(strings.NewReader(b.String()))
	require.NoError(t, err)
	s.target = "y"
	src := rand.NewPCG(1, 2)
	d, err = s.prepare(table, src)
	require.NoError(t, err)
	all, err := choose(t.Context(), d.train, s.features, src)
	require.NoError(t, err)
	c := all[best(all, byFolds)]
	return d.of(c), d.ofMean(), c.folds, d
}

// Rows of a random walk tell their neighbours, but not what comes. Neither the bands nor the folds
// know.
func TestRowsThatDependOnEachOther(t *testing.T) {
	walk := func(last bool) (served, mean heldOut, folds float64) {
		rng, y := rand.New(rand.NewPCG(3, 4)), 0.0
		served, mean, folds, _ = learnt(t, settings{last: last, features: []int{64}}, "time,y", 600, func(i int) string {
			y += rng.NormFloat64()
			return fmt.Sprintf("%d,%v", i, y)
		})
		t.Logf("last %v: served %.3g, mean %.3g, folds %.3g", last, served, mean, folds)
		return served, mean, folds
	}
	random, _, _ := walk(false)
	last, mean, folds := walk(true)
	assert.Greater(t, last.rmse, 3*random.rmse)
	assert.Greater(t, last.rmse, 2*folds)
	assert.Greater(t, last.rmse, mean.rmse)
	assert.Less(t, last.inside, 0.75)
}

// A few rows make the error of a target with a long tail, and its logarithm cures that.
func TestLongTail(t *testing.T) {
	share := func(f func(v float64) float64) float64 {
		rng := rand.New(rand.NewPCG(3, 4))
		h, mean, _, _ := learnt(t, settings{features: []int{64}}, "a,b,y", 1000, func(int) string {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			return fmt.Sprintf("%v,%v,%v", a, b, f(1.5*a+math.Sin(2*b)+rng.NormFloat64()/2))
		})
		t.Logf("served %.3g, mean %.3g", h, mean)
		return h.err / h.rmse
	}
	assert.Greater(t, share(math.Exp), 0.1)
	assert.Less(t, share(func(v float64) float64 { return v }), 0.1)
}

// Of 100 rows of 20 columns that tell nothing, folds see no function. They would if scales were
// learnt from the rows of the folds.
func TestNoiseStaysNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	names := strings.Repeat("x", 20)
	for i := range 20 {
		names = strings.Replace(names, "x", fmt.Sprintf("%c,", 'A'+i), 1)
	}
	served, mean, folds, d := learnt(t, settings{features: []int{128}}, names+"y", 100, func(int) string {
		cells := make([]string, 21)
		for j := range cells {
			cells[j] = fmt.Sprint(rng.NormFloat64())
		}
		return strings.Join(cells, ",")
	})
	t.Logf("served %.3g, mean %.3g, folds %.3g", served, mean, folds)
	assert.Greater(t, folds, 0.8)
	assert.Less(t, served.rmse, 1.1*mean.rmse)

	all, err := propose(t.Context(), d.train, []int{128}, rand.NewPCG(5, 6))
	require.NoError(t, err)
	leak, err := ridge.Choose(t.Context(), []rff.Map[float64]{all[len(all)-1].phi}, d.train, ridge.ChooseOptions{Folds: 5})
	require.NoError(t, err)
	t.Logf("with the leak: folds %.3g", leak.Trials[0].Score)
	assert.Less(t, leak.Trials[0].Score, 0.8)
}
