package welford_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/internal/compute/welford"
)

// Far from 0 the sum of squares keeps its digits, which Σv² − n·mean² would lose.
func TestAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 100)
	var mean, squares float64
	for i := range values {
		values[i] = 1e8 + rng.NormFloat64()
		welford.Add(float64(i+1), values[i], &mean, &squares)
	}
	want, deviation := stat.MeanStdDev(values, nil)
	assert.InEpsilon(t, want, mean, 1e-15)
	assert.InEpsilon(t, stat.StdErr(deviation, 100), welford.StdErr(100, squares), 1e-8)
}

func TestMeansThatAreInfinite(t *testing.T) {
	var mean, squares float64
	for i, v := range []float64{1, math.Inf(1), 2, math.Inf(1)} {
		welford.Add(float64(i+1), v, &mean, &squares)
	}
	assert.Equal(t, math.Inf(1), mean)
	assert.True(t, math.IsNaN(welford.StdErr(4, squares)))
	welford.Add(5, math.Inf(-1), &mean, &squares)
	assert.True(t, math.IsNaN(mean))
}
