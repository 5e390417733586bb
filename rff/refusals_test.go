package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// distance is |x−y| on the line, which is no kernel.
type distance struct{}

func (distance) Eval(x, y []float64) float64 { return math.Abs(x[0] - y[0]) }

// named is a map with the name of another kernel.
type named struct {
	rff.Map[float64]
	kernel kernels.Kernel
}

func (m named) Kernel() kernels.Kernel { return m.kernel }

// iidOf returns m independent frequencies of R^d.
func iidOf[T dense.Float](m, d int) orf.Projection[T] {
	return must.Have(orf.Draw[T](orf.IID{}, m, d, exprand.NewSource(5)))
}

// drawn returns the error of Draw for an affine map.
func drawn[T dense.Float](a rff.Affine) error { return must.Err(rff.Draw[T](a, nil)) }

// TestRefusals: each wrong argument of the functions beside Draw is an error that names the
// argument and the value.
func TestRefusals(t *testing.T) {
	nan, inf, src := math.NaN(), math.Inf(1), rand.NewPCG(1, 2)
	w := iidOf[float64](4, 2)
	id := func(d int) rff.Map[float64] { return must.Have(rff.Draw[float64](rff.Identity{D: d}, nil)) }
	same := func(t float64) float64 { return t }
	type functions = []func(t float64) float64
	scheme := func(s rff.Scheme[float64]) error { return must.Err(rff.New(s, w)) }

	line := dense.Of(3, 1, []float64{0, 1, 2})
	positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
	centred := func(phi rff.Map[float64], b, c []float64) error { return must.Err(rff.Centred(phi, b, c)) }
	random := func(k kernels.Kernel, features, d int) error {
		return must.Err(rff.Random[float64](k, features, d, src))
	}
	sums := func(maps []rff.Map[float64], weights ...float64) error { return must.Err(rff.Sum(maps, weights)) }
	optimal := func(scale, a float64) error {
		return must.Err(rff.Draw(rff.SoftmaxOptimal{Scale: scale, A: a}, iidOf[float32](3, 2)))
	}
	one := dense.New[float64](1, 2)

	x := points[float64](3, 10, 2, 1)
	bad := x.Clone()
	bad.Set(7, 1, nan)
	affine := rff.Affine{A: points[float64](1, 3, 2, 1)}
	small, large := dense.Of(1, 1, []float32{1e-44}), dense.Of(1, 1, []float32{1e38})
	for want, err := range map[string]error{
		"rff: Scheme.F is empty, want at least one function":         scheme(rff.Scheme[float64]{}),
		"rff: Scheme.F[1] is nil":                                    scheme(rff.Scheme[float64]{F: functions{same, nil}}),
		"rff: w is nil, want a projection":                           must.Err(rff.New(rff.Scheme[float64]{F: functions{same}}, nil)),
		"rff: lengthScale = 1e-45 is outside the range of float32":   must.Err(rff.Draw(rff.Gaussian{LengthScale: 1e-45}, iidOf[float32](4, 2))),
		"rff: scale = 1e+300 is outside the range of float32":        must.Err(rff.Draw(rff.SoftmaxPositive{Scale: 1e300}, iidOf[float32](4, 2))),
		"kernels: k is nil":                                          must.Err(rff.Nystroem[float64](nil, line)),
		"Gaussian.LengthScale = -3":                                  must.Err(rff.Nystroem(kernels.Gaussian{LengthScale: -3}, line)),
		"rff: landmarks is 0×0, want at least 1×1":                   must.Err(rff.Nystroem(kernels.Gaussian{}, dense.Matrix[float64]{})),
		"not positive semi-definite: the residual of elements":       must.Err(rff.Nystroem[float64](distance{}, line)),
		"rff: k(x[1], x[0]) = NaN, want a finite number":             must.Err(rff.Spectral(kernels.Gaussian{}, dense.Of(2, 1, []float64{0, nan}), 1)),
		"rff: rank = 0, want at least 1":                             must.Err(rff.Spectral(kernels.Gaussian{}, line, 0)),
		"rff: rank = 2 is more than the numerical rank 1 of the 3×3": must.Err(rff.Spectral(kernels.DotProduct{}, line, 2)),
		"not positive semi-definite":                                 must.Err(rff.Spectral[float64](distance{}, line, 1)),

		"rff: phi is nil, want a map": centred(nil, nil, nil),
		"rff: phi is a map of the kernel Gaussian{LengthScale: 1}, want kernels.Softmax": centred(must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w)), nil, nil),
		"rff: phi is a map of the kernel <nil>, want kernels.Softmax":                    centred(named{positive, nil}, nil, nil),
		"rff: phi: kernels: Softmax.Gamma = -1, want a positive finite number":           centred(named{positive, kernels.Softmax{Gamma: -1}}, nil, nil),
		"rff: b has length 1, want 2":                                                    centred(positive, []float64{1}, nil),
		"rff: c has length 3, want 2":                                                    centred(positive, nil, []float64{1, 2, 3}),
		"rff: b[1] = +Inf, want a finite number":                                         centred(positive, []float64{0, inf}, nil),
		"rff: c[0] = NaN, want a finite number":                                          centred(positive, nil, []float64{nan, 0}),

		"rff: kernels: k is nil":                         random(nil, 10, 2),
		"rff: kernels: Gaussian.LengthScale = -1":        random(kernels.Gaussian{LengthScale: -1}, 10, 2),
		"rff: features = 3, want at least 4":             random(kernels.Sum{kernels.Gaussian{}, kernels.Gaussian{}}, 7, 2),
		"d = 0":                                          random(kernels.Gaussian{}, 10, 0),
		"rff: src is nil":                                must.Err(rff.Random[float64](kernels.Gaussian{}, 10, 2, nil)),
		"which has no random features in Random":         random(kernels.Softmax{}, 10, 2),
		"rff: k is a kernel of points of R^3, want R^2":  random(kernels.Pullback{K: kernels.Gaussian{}, A: dense.Of(1, 3, []float64{1, 2, 3})}, 10, 2),
		"rff: maps is empty, want at least one map":      sums(nil),
		"rff: 2 weights for 1 maps, want one for each":   sums([]rff.Map[float64]{id(1)}, 1, 2),
		"rff: maps[1] is nil, want a map":                sums([]rff.Map[float64]{id(1), nil}, 1, 2),
		"rff: maps[1] is a map of R^2, want R^1":         sums([]rff.Map[float64]{id(1), id(2)}, 1, 2),
		"rff: weights[1] = -2, want a finite number":     sums([]rff.Map[float64]{id(1), id(1)}, 1, -2),
		"rff: weights[0] = NaN, want a finite number":    sums([]rff.Map[float64]{id(1), id(1)}, nan, 1),
		"rff: weights[1] = +Inf, want a finite number":   sums([]rff.Map[float64]{id(1), id(1)}, 1, inf),
		"rff: weights are all 0, want at least one":      sums([]rff.Map[float64]{id(1), id(1)}, 0, 0),
		"rff: weights[0] = 1e-320 is outside the range":  must.Err(rff.Sum([]rff.Map[float32]{must.Have(rff.Draw[float32](rff.Identity{D: 1}, nil))}, []float64{1e-320})),
		"rff: a = 0.125, want a number below 1/8":        optimal(1, 0.125),
		"rff: a = NaN, want a number below 1/8":          optimal(1, nan),
		"rff: a = -Inf, want a number below 1/8":         optimal(1, -inf),
		"rff: a = -1e+300 is outside the range":          optimal(1, -1e300),
		"rff: x is 1×2, y is 1×3, want points of one":    must.Err(rff.OptimalA(one, dense.New[float64](1, 3), 1)),
		"rff: scale = -1, want a positive finite number": must.Err(rff.OptimalA(one, one, -1)),

		"kernels: Pullback.A is 0×0, want at least 1×1":               drawn[float64](rff.Affine{}),
		"kernels: Pullback.Offset has length 3, A is 10×2":            drawn[float64](rff.Affine{A: x, Offset: make([]float64, 3)}),
		"kernels: Pullback.A[7][1] = NaN, want a finite number":       drawn[float64](rff.Affine{A: bad}),
		"e+45 is outside the range of float32":                        drawn[float32](rff.Affine{A: dense.Of(1, 1, []float64{1e45})}),
		"Pullback.Centre has length 1, A is 2×2":                      drawn[float64](rff.Affine{Centre: []float64{1}, Factors: []float64{1, 2}}),
		"Pullback.A[0][0] = +Inf, want a finite number":               drawn[float64](rff.Affine{Factors: []float64{inf}}),
		"rff: Affine has an A of 1×2 and 1 Factors, want one of them": drawn[float64](rff.Affine{A: dense.New[float64](1, 2), Factors: []float64{1}}),
		"cannot hold a 2×2 matrix":                                    drawn[float64](rff.Affine{A: dense.Matrix[float64]{Rows: 2, Cols: 2, Stride: 2}}),
		"Pullback.A is 0×0, want at least":                            must.Err(rff.Compose(rff.Affine{}, id(4))),
		"rff: then is nil, want a map":                                must.Err(rff.Compose[float64](affine, nil)),
		"rff: then is a map of R^4, want R^3, where first leads":      must.Err(rff.Compose(affine, id(4))),
		"rff: x is 1×3, want at least 2×1":                            must.Err(rff.Standardise(dense.New[float64](1, 3))),
		"rff: x[1][0] = NaN, want a finite number":                    must.Err(rff.Standardise(dense.Of(2, 1, []float64{0, nan}))),
		"rff: column 0 of x has the deviation 7.07e-41, want a":       must.Err(rff.Standardise(dense.Of(2, 1, []float32{0, 1e-40}))),
		"want a finite number":                                        must.Err(rff.FitSADERF(dense.Of(1, 1, []float64{1e-160}), dense.Of(1, 1, []float64{1e160}), 1)),
		"rff: ψ_0 = ":                                                 must.Err(rff.Draw(must.Have(rff.FitSADERF(small, large, 1)), iidOf[float32](3, 1))),
		"rff: A[0][0] = ":                                             must.Err(rff.Draw(must.Have(rff.FitADERF(small, large, 1)), iidOf[float32](3, 1))),
		"outside the range of float32":                                must.Err(rff.Draw(must.Have(rff.FitSDERF(large, dense.Of(1, 1, []float32{1}), 1)), iidOf[float32](3, 1))),
	} {
		assert.ErrorContains(t, err, want)
	}
	for name, fit := range sharp[float32]() {
		x, bad := dense.Of(2, 2, []float32{1, 0, 0, 1}), dense.Of(1, 2, []float32{1, float32(nan)})
		for want, err := range map[string]error{
			"rff: scale = 0, want a positive finite number":            must.Err(fit(x, x, 0)),
			"rff: x is 0×2, y is 2×2, want points of one dimension":    must.Err(fit(dense.New[float32](0, 2), x, 1)),
			"rff: x is 2×2, y is 2×3, want points of one dimension":    must.Err(fit(x, dense.New[float32](2, 3), 1)),
			"rff: the mean of scale·x_1² is NaN, want a finite number": must.Err(fit(bad, x, 1)),
			"rff: the mean of scale·y_1² is NaN, want a finite number": must.Err(fit(x, bad, 1)),
			"rff: scale = 1e+100 is outside the range of float32":      must.Err(rff.Draw(must.Have(fit(x, x, 1e100)), iidOf[float32](3, 2))),
		} {
			assert.EqualError(t, err, want, name)
		}
	}
	// What is near the end of the range is taken.
	f := must.Have(rff.Draw[float64](must.Have(rff.Standardise(dense.Of(2, 1, []float64{-1.5e308, 1.5e308}))), nil))
	assert.InDelta(t, math.Sqrt(0.5), f.Transform(dense.Matrix[float64]{}, dense.Of(1, 1, []float64{1.5e308})).At(0, 0), 1e-12)
	f = must.Have(rff.Draw[float64](rff.Affine{A: dense.Of(1, 2, []float64{3, 4}), Factors: []float64{}}, nil))
	assert.Equal(t, []float64{11}, f.Transform(dense.Matrix[float64]{}, dense.Of(1, 2, []float64{1, 2})).Data, "no factors")
	back := must.Have(rff.Compose(affine, newMap(iidOf[float64](5, 3), nil, math.Abs))).(rff.Differentiable[float64])
	require.Error(t, back.CanBackward())
	assert.PanicsWithValue(t, back.CanBackward().Error(), func() { back.Backward(dense.Matrix[float64]{}, one, dense.New[float64](1, 5)) })
}
