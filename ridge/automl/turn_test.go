package automl_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// Classes in turn, as a file of pairs of a case and a control has them: the report is true for the
// model. The log-loss of a row has a deviation of about 0.4, the report has 500 rows.
func testClassesInTurn[T dense.Float](t *testing.T) {
	rows := uniform(4200, 1, 1, 1, func(rng *rand.Rand, x, y []T) {})
	other := uniform(4200, 1, 1, 2, func(rng *rand.Rand, x, y []T) {})
	rng := rand.New(rand.NewPCG(3, 4))
	for _, b := range []dense.Matrix[T]{rows.X, other.X} {
		for i := range b.Rows {
			b.Set(i, 0, T(rng.NormFloat64()+1.5*float64(i%2)))
		}
	}
	for i := range rows.Y.Rows {
		rows.Y.Set(i, 0, T(i%2))
	}
	r := learn(t, rows, automl.Options{Classes: 2, Landmarks: 10})
	p, loss, right := r.Model.Probabilities(dense.Matrix[T]{}, other.X), 0.0, 0.0
	for i := range p.Rows {
		own := float64(p.At(i, i%2))
		loss -= math.Log(own) / float64(p.Rows)
		if own > 0.5 {
			right += 1 / float64(p.Rows)
		}
	}
	assert.InDelta(t, loss, r.Trials[r.Best].Score, 4*0.5/math.Sqrt(500))
	assert.InDelta(t, right, r.Accuracy, 4*0.5/math.Sqrt(500))
}

func TestClassesInTurn(t *testing.T) {
	densetest.Both(t, testClassesInTurn[float32], testClassesInTurn[float64])
}
