package rff_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// errorOf returns the mean squared error of m at x and y by its law, NaN if none is known.
func errorOf(m rff.Map[float64], x, y []float64) float64 {
	e, ok := m.(mse.Lawful).Law().Estimate()
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
		"gaussian hyperbolic":                at(narrow, mse.Hyperbolic.IID.Gaussian),
		"gaussian optimal":                   at(narrow, mse.Optimal(damping).IID.Gaussian),
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
	w := iidOf[float64](t, m, d)
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

func TestExactMapsHaveNoLaw(t *testing.T) {
	x, y := []float64{0.5, -0.75}, []float64{0.25, 1}
	elu := must.Have(rff.Draw[float64](rff.ELU{D: 2}, nil))
	taylor := must.Have(rff.Draw[float64](rff.Taylor{D: 2, Scale: 1}, nil))
	assert.True(t, math.IsNaN(errorOf(elu, x, y)))
	assert.True(t, math.IsNaN(errorOf(taylor, x, y)))
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
			law, ok := f.(mse.Lawful).Law().Estimate()
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

func testGaussianFeaturesAreSoftmaxOnes[T dense.Float](t *testing.T) {
	const ell = 0.75
	w := iidOf[T](t, 9, 4)
	x := points[T](3, 20, 4, 1)
	gp := must.Have(rff.Draw(rff.GaussianOptimal{LengthScale: ell}, w))
	sp := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1 / (ell * ell)}, w))
	gh := must.Have(rff.Draw(rff.GaussianHyperbolic{LengthScale: ell}, w))
	sh := must.Have(rff.Draw(rff.SoftmaxHyperbolic{Scale: 1 / (ell * ell)}, w))
	g := must.Have(rff.Draw(rff.GaussianOptimal{LengthScale: ell, A: damping}, w))
	s := must.Have(rff.Draw(rff.SoftmaxOptimal{Scale: 1 / (ell * ell), A: damping}, w))
	for _, both := range [][2]rff.Map[T]{{gp, sp}, {gh, sh}, {g, s}} {
		got, want := logs(both[0]).LogTransform(dense.Matrix[T]{}, x), logs(both[1]).LogTransform(dense.Matrix[T]{}, x)
		for i := range x.Rows {
			half := 0.0
			for _, v := range x.Row(i) {
				half += float64(v) * float64(v) / (2 * ell * ell)
			}
			for k, v := range want.Row(i) {
				// Each is a sum of terms below 32 and half twice.
				assert.InDelta(t, float64(v)-half, float64(got.At(i, k)), 8*(32+half)*densetest.Roundoff[T](), "%v", both[0])
			}
		}
	}
}

func TestGaussianFeaturesAreSoftmaxOnes(t *testing.T) {
	densetest.Both(t, testGaussianFeaturesAreSoftmaxOnes[float32], testGaussianFeaturesAreSoftmaxOnes[float64])
}
