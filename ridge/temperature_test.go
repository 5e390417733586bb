package ridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Labels drawn with a known β give this β within four standard errors, about 4·β·1.2/√n, and a
// small loss.
func TestTemperature(t *testing.T) {
	const n, truth = 4000, 3.0
	rng := rand.New(rand.NewPCG(1, 2))
	scores, labels, weights := dense.New[float64](n, 3), make([]int, n), make([]float64, n)
	for i := range n {
		row, sum := scores.Row(i), 0.0
		for j := range row {
			row[j] = rng.NormFloat64()
			sum += math.Exp(truth * row[j])
		}
		at := rng.Float64() * sum
		for at > math.Exp(truth*row[labels[i]]) && labels[i] < 2 {
			at -= math.Exp(truth * row[labels[i]])
			labels[i]++
		}
		weights[i] = 1
	}
	beta, loss := ridge.TemperatureOf(scores, labels, weights)
	assert.InEpsilon(t, truth, beta, 4*1.2/math.Sqrt(n))
	assert.Less(t, loss, 0.75, "three classes of equal probability have 1.10")
	scores.Row(0)[0] = math.NaN()
	_, loss = ridge.TemperatureOf(scores, labels, weights)
	assert.True(t, math.IsNaN(loss))
}

// If all rows are right by 1 of two classes, one row in n + 1 is wrong half the time.
func TestTemperatureOfRightRows(t *testing.T) {
	const n = 99
	scores, weights := dense.New[float64](n, 2), make([]float64, n)
	for i := range n {
		scores.Set(i, 0, 1)
		weights[i] = 1
	}
	beta, loss := ridge.TemperatureOf(scores, make([]int, n), weights)
	wrong := 1 / (1 + math.Exp(beta))
	assert.InDelta(t, 0.5/(n+1), wrong, 1e-5)
	assert.InDelta(t, -math.Log1p(-wrong), loss, 1e-12)
}

// Labels drawn with a mixture M whose middle class never has the largest score give the loss of M,
// within four standard errors and the C² − 1 parameters. Labels drawn with the scores alone give
// exactly M = (I, 0)ᵀ and the loss of the scores.
func TestMixture(t *testing.T) {
	const n, beta = 3000, 2.0
	truth := dense.Of(4, 3, []float64{2, 0, -2, 0, 1, 0, -2, 0, 2, -1, 1, -1})
	for _, m := range []dense.Matrix[float64]{truth, dense.Of(4, 3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0})} {
		rng := rand.New(rand.NewPCG(1, 2))
		scores, labels, weights := dense.New[float64](n, 3), make([]int, n), make([]float64, n)
		want, squares := 0.0, 0.0
		for i := range n {
			a := 2*rng.Float64() - 1
			copy(scores.Row(i), []float64{a, 0.1 * rng.NormFloat64(), -a})
			var p [3]float64
			sum := 0.0
			for c := range p {
				z := m.At(3, c)
				for l, s := range scores.Row(i) {
					z += beta * s * m.At(l, c)
				}
				p[c] = math.Exp(z)
				sum += p[c]
			}
			at := rng.Float64() * sum
			for at > p[labels[i]] && labels[i] < 2 {
				at -= p[labels[i]]
				labels[i]++
			}
			own := -math.Log(p[labels[i]] / sum)
			want, squares, weights[i] = want+own/n, squares+own*own/n, 1
		}
		_, before := ridge.TemperatureOf(scores, labels, weights)
		got, loss := ridge.Mixture(scores, labels, weights, beta, before)
		if m.At(0, 0) == 1 {
			assert.Equal(t, m, got)
			assert.Equal(t, before, loss)
			continue
		}
		assert.InDelta(t, want, loss, 4*math.Sqrt((squares-want*want)/n)+8.0/n)
		assert.Less(t, loss, before-0.05)
		assert.Greater(t, got.At(3, 1), got.At(3, 0)+1)
	}
}
