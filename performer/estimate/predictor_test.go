package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// within returns the share of the errors that are within a factor of 2 of the predictions
// times c.
func within(errors, predictions []float64, c float64) float64 {
	var n float64
	for i, e := range errors {
		if p := c * predictions[i]; p/2 <= e && e <= 2*p {
			n++
		}
	}
	return n / float64(len(errors))
}

// predictable returns maps of the softmax kernel of scale 1 on R^d.
func predictable[T dense.Float](m, d int) map[string]rff.Map[T] {
	all := make(map[string]rff.Map[T])
	for name, e := range map[string]orf.Ensemble{
		"iid":          orf.IID{},
		"gram-schmidt": orf.GramSchmidt{},
		"hadamard":     orf.Hadamard{},
	} {
		w := must.Have(orf.Draw[T](e, m, d, densetest.Source(80)))
		all["positive "+name] = must.Have(rff.SoftmaxPositive(w, 1))
		all["hyperbolic "+name] = must.Have(rff.SoftmaxHyperbolic(w, 1))
		all["trig "+name] = must.Have(rff.SoftmaxTrig(w, 1))
	}
	return all
}

// Nine of ten errors are within a factor of 2 of the prediction, and predictions that
// are off by the factor 3 are not taken for right.
func TestPredictions(t *testing.T) {
	densetest.Both(t, testPredictions[float32], testPredictions[float64])
}

func testPredictions[T dense.Float](t *testing.T) {
	const n, d, dv = 200, 16, 16
	rng := rand.New(densetest.Source(81))
	q, k, v := densetest.Sphere[T](rng, n, d, 1.2), densetest.Sphere[T](rng, n, d, 1.2), densetest.Normal[T](rng, n, dv, 0, 1)
	for _, causal := range []bool{false, true} {
		exact := must.Have(performer.NewExact[T](performer.ExactOptions{Scale: 1, Causal: causal})).Forward(dense.Matrix[T]{}, q, k, v)
		for _, m := range []int{32, 256} {
			for name, phi := range predictable[T](m, d) {
				p := must.Have(NewPredictor(phi, PredictorOptions{Causal: causal}, densetest.Source(82)))
				predictions := p.Predict(nil, q, k, v)
				errors := densetest.RelativeErrors(must.Have(performer.NewLinear(phi, performer.LinearOptions{Causal: causal})).Forward(dense.Matrix[T]{}, q, k, v), exact)
				if causal {
					assert.Less(t, predictions[0], rounding[T](), "the first row has one key")
					predictions, errors = predictions[1:], errors[1:]
				}
				assert.Greater(t, within(errors, predictions, 1), 0.9, "%s, m = %d, causal %v", name, m, causal)
				assert.Less(t, within(errors, predictions, 3), 0.5, "%s, m = %d, causal %v: threefold", name, m, causal)
				assert.Less(t, within(errors, predictions, 1.0/3), 0.5, "%s, m = %d, causal %v: a third", name, m, causal)
				require.Equal(t, p.Predict(make([]float64, len(exact.Data)/dv), q, k, v)[n-1], predictions[len(predictions)-1], "a second time")
			}
		}
	}
}

// Exact features have nothing but rounding to predict.
func TestPredictionsOfExactFeatures(t *testing.T) {
	rng := rand.New(densetest.Source(83))
	q, v := densetest.Normal[float64](rng, 30, 5, 1, 1), densetest.Normal[float64](rng, 30, 2, 0, 1)
	for _, f := range []rff.Map[float64]{must.Have(rff.Quadratic[float64](5)), must.Have(rff.Taylor[float64](5, 0.5))} {
		p := must.Have(NewPredictor(f, PredictorOptions{Rotations: 2}, densetest.Source(84)))
		assert.Less(t, slices.Max(p.Predict(nil, q, q, v)), 1e-11, "%v", f)
	}
}

func TestPredictionsOfNaNAndNothing(t *testing.T) {
	rng := rand.New(densetest.Source(85))
	q, v := densetest.Normal[float64](rng, 9, 4, 0, 1), densetest.Normal[float64](rng, 9, 2, 0, 1)
	p := must.Have(NewPredictor(maptest.Positive[float64](8, 4), PredictorOptions{Causal: true}, densetest.Source(86)))
	clean := p.Predict(nil, q.RowRange(0, 5), q.RowRange(0, 5), v.RowRange(0, 5))
	k := q.Clone()
	k.Row(5)[1] = math.NaN()
	got := p.Predict(nil, q, k, v)
	assert.Equal(t, clean, got[:5])
	for _, e := range got[5:] {
		assert.True(t, math.IsNaN(e))
	}
	b := must.Have(NewPredictor(maptest.Positive[float64](8, 4), PredictorOptions{}, densetest.Source(86)))
	assert.Equal(t, make([]float64, 9), b.Predict(nil, q, k.RowRange(0, 0), v.RowRange(0, 0)), "no keys")
	assert.Equal(t, make([]float64, 9), b.Predict(nil, q, q, v.ColRange(0, 0)), "no values")
}

// Norms of 100 neither overflow nor underflow.
func TestPredictionsOfLargeNorms(t *testing.T) {
	rng := rand.New(densetest.Source(87))
	q, v := densetest.Sphere[float32](rng, 40, 8, 100), densetest.Normal[float32](rng, 40, 3, 0, 1)
	p := must.Have(NewPredictor(maptest.Positive[float32](16, 8), PredictorOptions{}, densetest.Source(88)))
	errors := p.Predict(nil, q, q, v)
	assert.Less(t, slices.Max(errors), 1e6)
	slices.Sort(errors)
	assert.Greater(t, errors[(len(errors)-1)/2], 0.3, "sixteen features are not enough, and it says so")
}

func TestNewPredictorRefuses(t *testing.T) {
	w := maptest.Frequencies[float64](8, 3)
	for want, build := range map[string]func() (*Predictor[float64], error){
		"performer: phi is nil": func() (*Predictor[float64], error) {
			return NewPredictor[float64](nil, PredictorOptions{}, densetest.Source(1))
		},
		"Rotations = -1": func() (*Predictor[float64], error) {
			return NewPredictor(maptest.Positive[float64](8, 3), PredictorOptions{Rotations: -1}, densetest.Source(1))
		},
		"src is nil": func() (*Predictor[float64], error) {
			return NewPredictor(maptest.Positive[float64](8, 3), PredictorOptions{}, nil)
		},
		"d = 1": func() (*Predictor[float64], error) {
			return NewPredictor(maptest.Positive[float64](8, 1), PredictorOptions{}, densetest.Source(1))
		},
		"ELU": func() (*Predictor[float64], error) {
			return NewPredictor(must.Have(rff.ELU[float64](3)), PredictorOptions{}, densetest.Source(1))
		},
		"Laplacian": func() (*Predictor[float64], error) {
			return NewPredictor(must.Have(rff.Laplacian[float64](8, 3, 1, densetest.Source(1))), PredictorOptions{}, densetest.Source(1))
		},
		"fitted to directions": func() (*Predictor[float64], error) {
			w := maptest.Frequencies[float64](8, 3)
			return NewPredictor(must.Have(rff.SDERF(w, w.Frequencies(), w.Frequencies(), 1)), PredictorOptions{}, densetest.Source(1))
		},
		"is not known": func() (*Predictor[float64], error) {
			return NewPredictor(must.Have(rff.New(w, rff.Scheme[float64]{F: []func(float64) float64{math.Exp}})), PredictorOptions{}, densetest.Source(1))
		},
		"fitted to means": func() (*Predictor[float64], error) {
			return NewPredictor(maptest.Centred(must.Have(rff.SoftmaxPositive(w, 1))), PredictorOptions{}, densetest.Source(1))
		},
		"fitted to points": func() (*Predictor[float64], error) {
			return NewPredictor(must.Have(rff.Nystroem[float64](kernels.Gaussian{}, dense.New[float64](1, 3))), PredictorOptions{}, densetest.Source(1))
		},
	} {
		_, err := build()
		assert.ErrorContains(t, err, want)
	}
	p := must.Have(NewPredictor(maptest.Positive[float64](8, 3), PredictorOptions{}, densetest.Source(1)))
	mat := dense.New[float64]
	assert.PanicsWithValue(t, "estimate: q is 2×4, k is 2×4, but the maps take points of R^3", func() { p.Predict(nil, mat(2, 4), mat(2, 4), mat(2, 1)) })
	assert.PanicsWithValue(t, "estimate: dst has 1 elements, q is 2×3, want one for each query", func() { p.Predict(make([]float64, 1), mat(2, 3), mat(2, 3), mat(2, 1)) })
}
