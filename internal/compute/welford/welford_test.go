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
	var mean, rest, squares float64
	for i := range values {
		values[i] = 1e8 + rng.NormFloat64()
		welford.Add(float64(i+1), values[i], &mean, &rest, &squares)
	}
	want, deviation := stat.MeanStdDev(values, nil)
	assert.InEpsilon(t, want, mean, 1e-15)
	assert.InEpsilon(t, stat.StdErr(deviation, 100), welford.StdErr(100, squares), 1e-8)
}

// Values that differ in their last digit, in every order.
func TestAddLastDigits(t *testing.T) {
	for _, base := range []float64{14.62, 0.1, 1e9 / 3} {
		for _, n := range []int{2, 10, 1000} {
			ulp := math.Nextafter(base, 1e10) - base
			for name, high := range map[string]func(i int) bool{
				"one row": func(i int) bool { return i == n-1 },
				"halves":  func(i int) bool { return i >= n/2 },
				"turns":   func(i int) bool { return i%2 == 1 },
			} {
				var mean, rest, squares, count float64
				for i := range n {
					v := base
					if high(i) {
						v, count = base+ulp, count+1
					}
					welford.Add(float64(i+1), v, &mean, &rest, &squares)
				}
				share := count / float64(n)
				assert.InDelta(t, share, (mean-base+rest)/ulp, 1e-12, "%v, %d values, %s", base, n, name)
				assert.InEpsilon(t, float64(n)*share*(1-share), squares/ulp/ulp, 1e-12, "%v, %d values, %s", base, n, name)
			}
		}
	}
}

func TestMeansThatAreInfinite(t *testing.T) {
	var mean, rest, squares float64
	for i, v := range []float64{1, math.Inf(1), 2, math.Inf(1)} {
		welford.Add(float64(i+1), v, &mean, &rest, &squares)
	}
	assert.Equal(t, math.Inf(1), mean)
	assert.True(t, math.IsNaN(welford.StdErr(4, squares)))
	welford.Add(5, math.Inf(-1), &mean, &rest, &squares)
	assert.True(t, math.IsNaN(mean))
}
