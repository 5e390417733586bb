package ard_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/ard"
)

// A small case in numbers that binary fractions hold.
func small[T dense.Float](t *testing.T) (rff.Map[T], ridge.Block[T]) {
	w := must.Have(orf.FromMatrix(dense.Of(3, 2, []T{0.5, -1.25, 1.5, 0.25, -0.75, 2})))
	psi := must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w))
	return psi, ridge.Block[T]{
		X:       dense.Of(6, 2, []T{0.5, -1, 1.25, 0.25, -0.75, 2, 0, -0.5, 2, 1.5, -1.5, 0.75}),
		Y:       dense.Of(6, 2, []T{1, 0.5, -0.25, 2, 0.75, -1, 1.5, 0, -2, 0.25, 0.125, -0.75}),
		Weights: []T{1, 2, 0.5, 1, 0.25, 4},
	}
}

// Values of the small case at ℓ = (¾, 2), σ² = ¼ and s² = 2. The evidence was written out with
// dense n×D features, a determinant and a solve by mpmath 1.3.0 with 90 digits, and the derivatives
// are central differences of order 6 with steps of 10⁻¹² there, right to 40 digits and more.
var golden = []struct {
	noIntercept            bool
	evidence, l0, l1, n, s float64
}{
	{
		false, -16.95302642548483519998845766911854424021,
		3.937923888449613679771625164784556462075, 0.8775726853397012916685728904928265014724,
		0.3484379989049681377459304037594926676915, -1.178663912142254187205226317082963760633,
	}, {
		true, -18.03995135515783158801164649794293829338,
		4.677612103899752420896350796655368698051, 1.300683170648070287319644327466082887128,
		0.3731202235554689708367979915529095693872, -1.223305649623386279130998296529743785513,
	},
}

func testGolden[T dense.Float](t *testing.T) {
	psi, rows := small[T](t)
	tolerance := 200 * densetest.Roundoff[T]()
	for _, g := range golden {
		o := ridge.Options{Noise: 0.25, Prior: 2, NoIntercept: g.noIntercept}
		e := must.Have(ard.Evaluate(t.Context(), psi, rows, []float64{0.75, 2}, o))
		assert.InEpsilon(t, g.evidence, e.Model.LogEvidence(), tolerance)
		assert.InEpsilon(t, g.l0, e.Scales[0], tolerance)
		assert.InEpsilon(t, g.l1, e.Scales[1], tolerance)
		assert.InEpsilon(t, g.n, e.Noise[0]+e.Noise[1], tolerance)
		assert.InEpsilon(t, g.s, e.Prior[0]+e.Prior[1], tolerance)
	}
}

func TestEvaluateToFortyDigits(t *testing.T) {
	densetest.Both(t, testGolden[float32], testGolden[float64])
}

func TestNilContext(t *testing.T) {
	psi, rows := small[float64](t)
	var none context.Context
	assert.PanicsWithValue(t, "ard: ctx is nil", func() { _, _ = ard.Fit(none, psi, rows, ard.Options{}, rand.NewPCG(1, 2)) })
}
