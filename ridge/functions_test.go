package ridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// moments compares means and covariances of n functions at the rows of z with the exact ones, in
// standard errors, and returns the largest deviation. A mean of n draws has the variance C_ii/n, a
// covariance (C_ii·C_ll + C_il²)/n.
func moments(f *ridge.Functions[float64], z dense.Matrix[float64], want process) (worst float64) {
	v := f.Eval(dense.Matrix[float64]{}, z)
	n := float64(v.Cols)
	for i := range z.Rows {
		mean := 0.0
		for s := range v.Cols {
			mean += v.At(i, s) / n
		}
		c := want.covariance.At(i, i)
		worst = math.Max(worst, math.Abs(mean-want.mean[i])/math.Sqrt(c/n))
		for l := range i + 1 {
			sum := 0.0
			for s := range v.Cols {
				sum += (v.At(i, s) - want.mean[i]) * (v.At(l, s) - want.mean[l]) / n
			}
			e := want.covariance.At(i, l)
			worst = math.Max(worst, math.Abs(sum-e)/math.Sqrt((c*want.covariance.At(l, l)+e*e)/n))
		}
	}
	return worst
}

// The covariance of samples is the exact one: values of D + 1 functions are mean + B·Z for the
// normal numbers Z that Sample draws, D for the weights and one for the intercept of each function,
// so that B comes from them, and BBᵀ is the covariance. The error is that of a solution with Z,
// 10⁻¹⁶ times its condition number, some 10³.
func TestSamplesHaveTheExactCovariance(t *testing.T) {
	const n, m, noise, signal = 300, 15, 0.7, 9.0
	x, y := friedman[float64](n, 5, 1)
	z, _ := friedman[float64](10, 5, 2)
	x, z = x.ColRange(0, 3).Clone(), z.ColRange(0, 3).Clone()
	phi := gaussian[float64](t, m, 3, 0.8, 3)
	_, width := phi.Dims()
	for _, intercept := range []bool{true, false} {
		model := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{Noise: noise, Prior: signal, NoIntercept: !intercept}))
		want := exact(t, phi, x, y, z, nil, noise, signal, intercept)
		f := must.Have(model.Sample(width+1, 0, rand.NewPCG(1, 2)))
		values := f.Eval(dense.Matrix[float64]{}, z)
		rng := rand.New(rand.NewPCG(1, 2))
		normals, centred := mat.NewDense(width+1, width+1, nil), mat.NewDense(width+1, z.Rows, nil)
		for s := range width + 1 {
			for k := range width + 1 {
				normals.Set(s, k, rng.NormFloat64())
			}
			for i := range z.Rows {
				centred.Set(s, i, values.At(i, s)-want.mean[i])
			}
		}
		var b, covariance mat.Dense
		require.NoError(t, b.Solve(normals, centred))
		covariance.Mul(b.T(), &b)
		for i := range z.Rows {
			for l := range z.Rows {
				assert.InDelta(t, want.covariance.At(i, l), covariance.At(i, l), 1e-9)
			}
		}
	}
}

// A pathwise sample of exact features is the sample of weights that the same prior leads to:
// w + (ΦᵀΦ + λI)⁻¹Φᵀ(y − Φw − ε).
func TestPathwiseIsMatheron(t *testing.T) {
	const n, noise, signal = 30, 0.5, 2.0
	x, y := friedman[float64](n, 5, 1)
	x = x.ColRange(0, 3).Clone()
	phi := must.Have(rff.Draw[float64](rff.Quadratic{D: 3}, nil))
	features := phi.Transform(dense.Matrix[float64]{}, x)
	for _, noIntercept := range []bool{false, true} {
		o := ridge.Options{Noise: noise, Prior: signal, NoIntercept: noIntercept}
		m := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, o))
		f := must.Have(m.Pathwise(x, y, nil, 1, 0, rand.NewPCG(3, 4)))

		rng := rand.New(rand.NewPCG(3, 4))
		w := make([]float64, 6)
		for i := range w {
			w[i] = math.Sqrt(signal) * rng.NormFloat64()
		}
		rest := dense.New[float64](n, 1)
		for i := range n {
			rest.Set(i, 0, y.At(i, 0)-floats.Dot(w, features.Row(i))-math.Sqrt(noise)*rng.NormFloat64())
		}
		update := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: rest}, o))
		mean := update.Mean(dense.Matrix[float64]{}, x)
		for i, v := range f.Eval(dense.Matrix[float64]{}, x).Data {
			assert.InDelta(t, mean.At(i, 0)+floats.Dot(w, features.Row(i)), v, 1e-10)
		}
	}
}

func TestSampleErrors(t *testing.T) {
	phi := gaussian[float64](t, 4, 5, 1, 1)
	x, y := friedman[float64](10, 5, 1)
	m := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{}))
	src := rand.NewPCG(1, 2)
	_, err := m.Sample(0, 0, src)
	assert.EqualError(t, err, "ridge: n = 0, want at least 1")
	_, err = m.Sample(1, 1, src)
	assert.EqualError(t, err, "ridge: output 1, want one of the 1 from 0 on")
	_, err = m.Sample(1, 0, nil)
	assert.EqualError(t, err, "ridge: src is nil, want a source of randomness")
	_, err = m.Pathwise(x, x, nil, 1, 0, src)
	assert.EqualError(t, err, "ridge: y is 10×5, want 10×1")
	_, err = m.Pathwise(x.RowRange(0, 0), y.RowRange(0, 0), nil, 1, 0, src)
	assert.EqualError(t, err, "ridge: x is 0×5, want at least 1 row and 5 columns")
	_, err = m.Pathwise(x.RowRange(0, 1), y.RowRange(0, 1), []float64{0}, 1, 0, src)
	assert.EqualError(t, err, "ridge: weights[0] = 0, want a positive number")
	f := must.Have(m.Sample(2, 0, src))
	assert.PanicsWithValue(t, "ridge: x is 10×1, want 10×5", func() { f.Eval(dense.Matrix[float64]{}, y) })
}
