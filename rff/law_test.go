package rff_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// errorOf returns the mean squared error of m at x and y by its law, NaN if none is known.
func errorOf(m rff.Map[float64], x, y []float64) float64 {
	e, ok := m.(mse.Lawful).Law().Errors()
	if !ok {
		return math.NaN()
	}
	return e.MSE(x, y)
}

// Every map has the law of its features, at its scale and with its frequencies.
func TestLaws(t *testing.T) {
	const m, d = 20, 4
	by := func(v []float64, c float64) []float64 {
		y := slices.Clone(v)
		for i := range y {
			y[i] *= c
		}
		return y
	}
	at := func(c float64, law mse.Error) mse.Error {
		return func(x, y []float64, m int) float64 { return law(by(x, c), by(y, c), m) }
	}
	const narrow = 1 / lengthScale
	root := math.Sqrt(scaleOf)
	want := map[string]mse.Error{
		"dot product":                        mse.DotProduct(orf.IID{}),
		"gaussian":                           at(narrow, mse.Trig.IID.Gaussian),
		"laplacian":                          at(narrow, mse.LaplacianIID),
		"Matern{Nu: 0.5, LengthScale: 0.75}": at(narrow, mse.MaternIID(0.5)),
		"Matern{Nu: 1.5, LengthScale: 0.75}": at(narrow, mse.MaternIID(1.5)),
		"Matern{Nu: 2.5, LengthScale: 0.75}": at(narrow, mse.MaternIID(2.5)),
		"softmax trig":                       at(root, mse.Trig.IID.Softmax),
		"softmax positive":                   at(root, mse.Positive.IID.Softmax),
		"softmax hyperbolic":                 at(root, mse.Hyperbolic.IID.Softmax),
		"softmax optimal":                    at(root, mse.Optimal(damping).IID.Softmax),
		"angular":                            mse.AngularIID,
		"arc-cosine":                         mse.ArcCosineIID,
	}
	p := points[float64](7, 2, d, 1)
	x, y := p.Row(0), p.Row(1)
	maps := allMaps[float64](t, d)
	for name, law := range want {
		assert.InDelta(t, law(x, y, m), errorOf(maps[name], x, y), 1e-12*math.Abs(law(x, y, m)), name)
	}
}

// Maps that are fitted have the law of what they are fitted to, and keys see queries as keys.
func TestLawsOfFittedMaps(t *testing.T) {
	const m, d = 9, 4
	w := iidOf[float64](m, d)
	x, y := fitPoints[float64](d)
	p := points[float64](7, 2, d, 0.5)
	q, k := p.Row(0), p.Row(1)
	root := math.Sqrt(scaleOf)
	scaled := func(v []float64) []float64 {
		return []float64{root * v[0], root * v[1], root * v[2], root * v[3]}
	}
	for name, fit := range sharp[float64]() {
		s := must.Have(fit(x, y, scaleOf))
		f := must.Have(rff.Draw(s, w))
		e := fitOf(s)
		law := mse.Optimal(e.a).After(e.query, e.key)
		if s, ok := s.(rff.SDERF); ok {
			law = mse.Damped(s.Damping, s.Basis)
		} else {
			assert.Negative(t, e.a, name)
		}
		want := law.IID.Softmax(scaled(q), scaled(k), m)
		assert.InEpsilon(t, want, errorOf(f, q, k), 1e-12, name)
		assert.InEpsilon(t, want, errorOf(rff.Keys(f), k, q), 1e-12, "keys of %s", name)
	}
}

// The law of a map is over the frequencies that the constructor was given, whatever it makes of
// them.
func TestLawsAreOverTheFrequenciesGiven(t *testing.T) {
	const m, d = 6, 4
	for _, e := range []orf.Ensemble{orf.IID{}, orf.GramSchmidt{}, orf.Simplex{}} {
		w := must.Have(orf.Draw[float64](e, m, d, exprand.NewSource(1)))
		x, y := fitPoints[float64](d)
		over := func(f rff.Map[float64], err error) {
			t.Helper()
			require.NoError(t, err)
			law, ok := f.(mse.Lawful).Law().Errors()
			assert.True(t, ok)
			assert.Contains(t, law.Name, ", "+e.String()+" frequencies")
		}
		over(rff.Draw(rff.Gaussian{LengthScale: 1}, w))
		over(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
		saderf, err := rff.Draw(must.Have(rff.FitSADERF(x, y, 1)), w)
		over(saderf, err)
		over(rff.Keys(saderf), nil)
		over(rff.Draw(must.Have(rff.FitADERF(x, y, 1)), w))
		if e == (orf.IID{}) {
			over(rff.Draw(must.Have(rff.FitSDERF(x, y, 1)), w))
		}
	}
}
