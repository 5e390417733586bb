package rff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// estimating is what Features and Positive have in common.
type estimating interface {
	Estimator() rff.Estimator
	Projection() orf.Projection[float64]
}

func TestEstimators(t *testing.T) {
	want := map[string]rff.Estimator{
		"dot product":                        {Form: rff.FormDotProduct},
		"gaussian":                           {Form: rff.FormGaussian, Scale: 1 / (lengthScale * lengthScale)},
		"gaussian phase":                     {Form: rff.FormGaussianPhase, Scale: 1 / (lengthScale * lengthScale)},
		"gaussian positive":                  {Form: rff.FormGaussianPositive, Scale: 1 / (lengthScale * lengthScale)},
		"gaussian hyperbolic":                {Form: rff.FormGaussianHyperbolic, Scale: 1 / (lengthScale * lengthScale)},
		"gaussian optimal":                   {Form: rff.FormGaussianOptimal, Scale: 1 / (lengthScale * lengthScale), A: damping},
		"laplacian":                          {Form: rff.FormLaplacian, Scale: 1 / (lengthScale * lengthScale)},
		"Matern{Nu: 0.5, LengthScale: 0.75}": {Form: rff.FormMatern, Scale: 1 / (lengthScale * lengthScale), Nu: 0.5},
		"Matern{Nu: 1.5, LengthScale: 0.75}": {Form: rff.FormMatern, Scale: 1 / (lengthScale * lengthScale), Nu: 1.5},
		"Matern{Nu: 2.5, LengthScale: 0.75}": {Form: rff.FormMatern, Scale: 1 / (lengthScale * lengthScale), Nu: 2.5},
		"softmax trig":                       {Form: rff.FormSoftmaxTrig, Scale: scaleOf},
		"softmax positive":                   {Form: rff.FormSoftmaxPositive, Scale: scaleOf},
		"softmax hyperbolic":                 {Form: rff.FormSoftmaxHyperbolic, Scale: scaleOf},
		"softmax optimal":                    {Form: rff.FormSoftmaxOptimal, Scale: scaleOf, A: damping},
		"softmax hybrid":                     {Form: rff.FormSoftmaxHybrid, Scale: scaleOf, Gates: gates},
		"angular":                            {Form: rff.FormAngular},
		"ArcCosine{Order: 0}":                {Form: rff.FormArcCosine},
		"ArcCosine{Order: 1}":                {Form: rff.FormArcCosine, Order: 1},
		"ArcCosine{Order: 2}":                {Form: rff.FormArcCosine, Order: 2},
	}
	for name, f := range allMaps[float64](t, 4) {
		e, ok := f.(estimating)
		if !ok {
			assert.NotContains(t, want, name)
			continue
		}
		switch name {
		case "SADERF", "ADERF", "structured SADERF", "structured ADERF":
			got, keys := e.Estimator(), rff.Keys(f).(estimating).Estimator()
			assert.Equal(t, []any{rff.FormSoftmaxOptimal, scaleOf}, []any{got.Form, got.Scale}, name)
			assert.Negative(t, got.A, name)
			got.Query, got.Key = got.Key, got.Query
			assert.Equal(t, got, keys, "%s: keys see queries as keys", name)
		case "SDERF":
			got := e.Estimator()
			assert.Equal(t, []any{rff.FormSoftmaxDamped, scaleOf, 4, 4}, []any{got.Form, got.Scale, len(got.Damping), got.Basis.Rows})
			got.Damping[0] = 7
			got.Basis.Set(0, 0, 7)
			assert.NotEqual(t, got.Damping, e.Estimator().Damping, "a copy")
			assert.NotEqual(t, got.Basis, e.Estimator().Basis, "a copy")
		default:
			assert.Equal(t, want[name], e.Estimator(), name)
		}
	}
}

func TestEstimatorsOfSketches(t *testing.T) {
	polynomial, err := rff.PolynomialSketch[float64](4, 2, shifted, rff.GaussianWeights, repeated())
	require.NoError(t, err)
	assert.Equal(t, rff.Estimator{Form: rff.FormPolynomialSketch, Polynomial: shifted, Weights: rff.GaussianWeights}, polynomial.Estimator())

	k := kernels.Maclaurin{Coefficients: []float64{1, 0, 2}}
	maclaurin, err := rff.Maclaurin[float64](4, 2, k, []float64{3, 0, 1}, rff.ComplexRademacherWeights, repeated())
	require.NoError(t, err)
	got := maclaurin.Estimator()
	assert.Equal(t, rff.Estimator{
		Form: rff.FormMaclaurin, Weights: rff.ComplexRademacherWeights, Coefficients: k.Coefficients, Degrees: []float64{0.75, 0, 0.25},
	}, got)
	got.Coefficients[0], got.Degrees[0] = 7, 7
	assert.Equal(t, 0.75, maclaurin.Estimator().Degrees[0], "a copy")
	assert.Equal(t, 1.0, maclaurin.Estimator().Coefficients[0], "a copy")

	for _, k := range []kernels.Polynomial{shifted, {Degree: 2}, {Degree: 1, Offset: 1}} {
		tensor, err := rff.TensorSketch[float64](4, 2, k, repeated())
		require.NoError(t, err)
		assert.Equal(t, rff.Estimator{Form: rff.FormTensorSketch, Polynomial: k}, tensor.Estimator())
	}

	w, err := orf.Draw[float64](orf.IID{}, 3, 2, repeated())
	require.NoError(t, err)
	own, err := rff.PolynomialOf(kernels.Polynomial{Degree: 1}, w)
	require.NoError(t, err)
	assert.Equal(t, rff.Estimator{}, own.Estimator())

	skewed, err := rff.SkewedChiSquare[float64](3, 2, 0.5, repeated())
	require.NoError(t, err)
	assert.Equal(t, rff.Estimator{Form: rff.FormSkewedChiSquare, C: 0.5}, skewed.Estimator())

	for _, epsilon := range []float64{0, 0.5} {
		f, err := rff.Generalised(w, kernels.Generalised{F: kernels.Square, Epsilon: epsilon})
		require.NoError(t, err)
		if epsilon == 0 {
			assert.Equal(t, rff.Estimator{Form: rff.FormGeneralised, Nonlinearity: kernels.Square}, f.Estimator())
		} else {
			assert.Equal(t, rff.Estimator{}, f.Estimator(), "no law with ε")
		}
	}
}

func TestForms(t *testing.T) {
	assert.Equal(t, "Unknown", rff.FormUnknown.String())
	assert.Equal(t, "GaussianOptimal", rff.FormGaussianOptimal.String())
	assert.Equal(t, "SoftmaxHybrid", rff.FormSoftmaxHybrid.String())
	assert.Equal(t, "ArcCosine", rff.FormArcCosine.String())
	assert.Equal(t, "SkewedChiSquare", rff.FormSkewedChiSquare.String())
	assert.Equal(t, "Form(22)", (rff.FormSkewedChiSquare + 1).String())
	assert.Equal(t, "Form(-1)", rff.Form(-1).String())
}

func TestProjectionIsTheOneGiven(t *testing.T) {
	w, err := orf.Draw[float64](orf.Hadamard{}, 6, 4, exprand.NewSource(1))
	require.NoError(t, err)
	x, y := fitPoints[float64](w)
	same := func(f estimating, err error) {
		t.Helper()
		require.NoError(t, err)
		assert.Same(t, w, f.Projection())
	}
	gaussian, err := rff.Gaussian(w, 1)
	same(gaussian, err)
	positive, err := rff.SoftmaxPositive(w, 1)
	same(positive, err)
	saderf, err := rff.SADERF(w, x, y, 1)
	same(saderf, err)
	same(saderf.Keys().(*rff.Positive[float64]), nil)
	aderf, err := rff.ADERF(w, x, y, 1)
	same(aderf, err)
	sderf, err := rff.SDERF(w, x, y, 1)
	same(sderf, err)
	hybrid, err := rff.SoftmaxHybrid(w, iidOf[float64](t, 2, 4), 1)
	same(hybrid, err)
	elu, err := rff.ELU[float64](3)
	require.NoError(t, err)
	assert.Nil(t, elu.Projection())
	taylor, err := rff.Taylor[float64](3, 1)
	require.NoError(t, err)
	assert.Nil(t, taylor.Projection())
}

func testGaussianFeaturesAreSoftmaxOnes[T dense.Float](t *testing.T) {
	const ell = 0.75
	w := iidOf[T](t, 9, 4)
	x := points[T](3, 20, 4, 1)
	gp, err := rff.GaussianPositive(w, ell)
	require.NoError(t, err)
	sp, err := rff.SoftmaxPositive(w, 1/(ell*ell))
	require.NoError(t, err)
	gh, err := rff.GaussianHyperbolic(w, ell)
	require.NoError(t, err)
	sh, err := rff.SoftmaxHyperbolic(w, 1/(ell*ell))
	require.NoError(t, err)
	g, err := rff.GaussianOptimal(w, ell, damping)
	require.NoError(t, err)
	s, err := rff.SoftmaxOptimal(w, 1/(ell*ell), damping)
	require.NoError(t, err)
	for _, both := range [][2]*rff.Positive[T]{{gp, sp}, {gh, sh}, {g, s}} {
		got, want := both[0].LogTransform(dense.Matrix[T]{}, x), both[1].LogTransform(dense.Matrix[T]{}, x)
		for i := range x.Rows {
			half := 0.0
			for _, v := range x.Row(i) {
				half += float64(v) * float64(v) / (2 * ell * ell)
			}
			for k, v := range want.Row(i) {
				// Each is a sum of terms below 32 and half twice.
				assert.InDelta(t, float64(v)-half, float64(got.At(i, k)), 8*(32+half)*unit[T](), "%v", both[0])
			}
		}
	}
}

func TestGaussianFeaturesAreSoftmaxOnes(t *testing.T) {
	t.Run("type=float32", testGaussianFeaturesAreSoftmaxOnes[float32])
	t.Run("type=float64", testGaussianFeaturesAreSoftmaxOnes[float64])
}
