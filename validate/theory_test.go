package validate_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// TestEstimatesFollowTheLaws compares Theory with every law. This test checks its arguments.
func TestTheory(t *testing.T) {
	x, y := []float64{0.3, -0.2, 0.5}, []float64{0.1, 0.4, 0.2}
	few := must.Have(orf.Draw[float64](orf.IID{}, 4, 3, exprand.NewSource(1)))
	f := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, few))
	own := validate.Theory(f, nil, x, y)
	assert.InEpsilon(t, mse.Positive.IID.Softmax(x, y, 4), own.MSE, 1e-14)
	assert.InEpsilon(t, math.Exp(0.03-0.08+0.1), own.Mean, 1e-14)
	assert.Equal(t, "SoftmaxPositive, IID frequencies [Choromanski et al. 2021]", own.Law)
	assert.Equal(t, fmt.Sprintf("%.6g: %s", own.MSE, own.Law), own.String())
	other := validate.Theory(f, many(t), x, y)
	assert.InEpsilon(t, mse.Positive.Haar.Softmax(x, y, 100), other.MSE, 1e-14, "as if it were made of these")
	assert.Equal(t, "SoftmaxPositive, GramSchmidt frequencies [from the covariance of two rows]", other.Law)

	// The law of scale s at x is the law of scale 1 at √s·x.
	scaled := must.Have(rff.Draw(rff.Gaussian{LengthScale: 0.5}, few))
	twice := func(x []float64) []float64 { return []float64{2 * x[0], 2 * x[1], 2 * x[2]} }
	assert.InEpsilon(t, mse.Trig.IID.Gaussian(twice(x), twice(y), 4), validate.Theory(scaled, nil, x, y).MSE, 1e-14)
}

// Compositions have the law of their second map at what the first makes of points, and directions
// have a law times the lengths.
func TestTheoryOfMapsOfMaps(t *testing.T) {
	x, y := []float64{0.3, -0.2, 0.5}, []float64{0.1, 0.4, 0.2}
	plane := must.Have(orf.Draw[float64](orf.IID{}, 4, 2, exprand.NewSource(1)))
	inner := must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, plane))
	first := rff.Affine{A: dense.Of(2, 3, []float64{1, 0, 1, 0, 2, 0}), Offset: []float64{5, -1}}
	composed := must.Have(rff.Compose(first, inner))
	at := func(x []float64) []float64 { return []float64{x[0] + x[2] + 5, 2*x[1] - 1} }
	p := validate.Theory(composed, nil, x, y)
	assert.InEpsilon(t, mse.Trig.IID.Gaussian(at(x), at(y), 4), p.MSE, 1e-12)
	assert.InEpsilon(t, composed.Kernel().Eval(x, y), p.Mean, 1e-14)
	assert.Equal(t, "Compose Gaussian, IID frequencies [Sutherland & Schneider 2015]", p.Law)
	assert.PanicsWithValue(t, "validate: w is 100×3, want frequencies of R^2", func() { validate.Theory(composed, many(t), x, y) })

	jumps := must.Have(rff.New(rff.Scheme[float64]{F: []func(float64) float64{math.Tanh}}, plane))
	composed = must.Have(rff.Compose(first, jumps))
	assert.Equal(t, validate.Theory(jumps, nil, at(x), at(y)).MSE, validate.Theory(composed, nil, x, y).MSE)
}

// many is orthogonal.
func many(t *testing.T) orf.Projection[float64] {
	return must.Have(orf.Draw[float64](orf.GramSchmidt{}, 100, 3, exprand.NewSource(1)))
}

func TestTheoryKnowsItsLimits(t *testing.T) {
	t.Parallel()
	x, y := []float64{0.3, -0.2, 0.5}, []float64{0.1, 0.4, 0.2}
	iid := must.Have(orf.Draw[float64](orf.IID{}, 4, 3, exprand.NewSource(1)))
	unknown := func(m rff.Map[float64], w orf.Projection[float64]) {
		t.Helper()
		p := validate.Theory(m, w, x, y)
		assert.True(t, math.IsNaN(p.Mean) && math.IsNaN(p.MSE))
		assert.Empty(t, p.Law)
		assert.Equal(t, "no law is known", p.String())
	}
	positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, iid))
	for name, draw := range map[string]func() (orf.Projection[float64], error){
		"fixed length": func() (orf.Projection[float64], error) {
			return orf.Draw[float64](orf.GramSchmidt{FixedLength: true}, 4, 3, exprand.NewSource(1))
		},
		"hadamard": func() (orf.Projection[float64], error) {
			return orf.Draw[float64](orf.Hadamard{}, 4, 3, exprand.NewSource(1))
		},
		"halton": func() (orf.Projection[float64], error) {
			return orf.Draw[float64](orf.Halton{}, 4, 3, exprand.NewSource(1))
		},
		"given": func() (orf.Projection[float64], error) { return orf.FromMatrix(iid.Frequencies()) },
	} {
		w, err := draw()
		require.NoError(t, err, name)
		unknown(positive, w)
	}
	ramps := must.Have(rff.Draw(rff.ArcCosine{}, many(t)))
	unknown(ramps, nil)
	scheme := func(w orf.Projection[float64], f func(float64) float64) rff.Map[float64] {
		return must.Have(rff.New(rff.Scheme[float64]{F: []func(float64) float64{f}}, w))
	}
	unknown(scheme(many(t), math.Cos), nil)
	// The variance of 1/t is infinite, and 10,000 jumps in a unit are too many.
	unknown(scheme(iid, func(t float64) float64 { return 1 / t }), nil)
	unknown(scheme(iid, func(t float64) float64 { return math.Floor(1e4 * t) }), nil)
	exact := must.Have(rff.Draw[float64](rff.Identity{D: 3}, nil))
	unknown(exact, nil)
	unknown(struct{ rff.Map[float64] }{exact}, iid)

	assert.PanicsWithValue(t, "validate: x has length 3, y has length 2, want points of R^3", func() { validate.Theory(positive, nil, x, y[:2]) })
	plane := must.Have(orf.Draw[float64](orf.IID{}, 4, 2, exprand.NewSource(1)))
	assert.PanicsWithValue(t, "validate: w is 4×2, want frequencies of R^3", func() { validate.Theory(positive, plane, x, y) })
}

// The series of laws end for points at any distance.
func TestTheoryOfFarPoints(t *testing.T) {
	const m, d = 4, 3
	for _, e := range []orf.Ensemble{orf.IID{}, orf.GramSchmidt{}, orf.Simplex{}} {
		w := must.Have(orf.Draw[float64](e, m, d, exprand.NewSource(1)))
		waves := must.Have(rff.Draw(rff.Gaussian{LengthScale: 0.5}, w))
		positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
		softmax := must.Have(rff.Draw(rff.SoftmaxTrig{Scale: 1}, w))
		for _, norm := range []float64{1e3, 1e4, 1e150, 1e300} {
			x, y, far := []float64{norm, 0, 0}, []float64{0, norm, 0}, []float64{-norm, 0, 1}
			// Waves at points that are far apart are nearly independent.
			assert.InEpsilon(t, 0.5/m, validate.Theory(waves, nil, x, y).MSE, 1e-15, "norm %v", norm)
			assert.Zero(t, validate.Theory(positive, nil, x, far).MSE, "norm %v", norm)
			assert.Equal(t, math.Inf(1), validate.Theory(positive, nil, x, x).MSE, "norm %v", norm)
			assert.Equal(t, math.Inf(1), validate.Theory(softmax, nil, x, y).MSE, "norm %v", norm)
			assert.Zero(t, validate.Theory(softmax, nil, x, x).MSE, "norm %v", norm)
		}
	}
}
