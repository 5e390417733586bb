package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// sharp are the three fits.
func sharp[T dense.Float]() map[string]func(x, y dense.Matrix[T], scale float64) (rff.Spec, error) {
	return map[string]func(x, y dense.Matrix[T], scale float64) (rff.Spec, error){
		"SADERF": func(x, y dense.Matrix[T], scale float64) (rff.Spec, error) { return rff.FitSADERF(x, y, scale) },
		"ADERF":  func(x, y dense.Matrix[T], scale float64) (rff.Spec, error) { return rff.FitADERF(x, y, scale) },
		"SDERF":  func(x, y dense.Matrix[T], scale float64) (rff.Spec, error) { return rff.FitSDERF(x, y, scale) },
	}
}

// logMoment is the mean logarithm of the second moments of optimal features at all pairs
// of the points times √scale.
func logMoment(x, y dense.Matrix[float64], scale, a float64) float64 {
	d, sum := float64(x.Cols), 0.0
	for i := range x.Rows {
		for j := range y.Rows {
			xx, yy := floats.Dot(x.Row(i), x.Row(i)), floats.Dot(y.Row(j), y.Row(j))
			p := xx + yy + 2*floats.Dot(x.Row(i), y.Row(j))
			sum += d*math.Log1p(-4*a) - d/2*math.Log1p(-8*a) + scale*(2*(1-4*a)*p/(1-8*a)-xx-yy)
		}
	}
	return sum / float64(x.Rows*y.Rows)
}

// mapped returns the points Px.
func mapped(p, x dense.Matrix[float64]) dense.Matrix[float64] {
	var image mat.Dense
	image.Mul(gonum.ToMat(x), gonum.ToMat(p).T())
	return gonum.FromMat[float64](&image)
}

func TestSADERFHasTheLeastLogMoment(t *testing.T) {
	x, y := fitPoints[float64](4)
	e := fitOf(must.Have(rff.FitSADERF(x, y, scaleOf)))
	at := func(a float64, l int, stretch float64) float64 {
		query, key := e.query.Clone(), e.key.Clone()
		query.Set(l, l, query.At(l, l)*stretch)
		key.Set(l, l, key.At(l, l)/stretch)
		return logMoment(mapped(query, x), mapped(key, y), scaleOf, a)
	}
	least := at(e.a, 0, 1)
	assert.Less(t, least, at(1.05*e.a, 0, 1))
	assert.Less(t, least, at(0.95*e.a, 0, 1))
	for l := range 4 {
		assert.Less(t, least, at(e.a, l, 1.05), "ψ_%d", l)
		assert.Less(t, least, at(e.a, l, 0.95), "ψ_%d", l)
	}
	a := must.Have(rff.OptimalA(x, y, scaleOf))
	assert.Less(t, least, logMoment(x, y, scaleOf, a)-0.01, "better than no balance")
}

// The images have equal and diagonal second moments, and the products that the points have;
// with points enough, so that nothing is added to them.
func TestADERFBalancesMoments(t *testing.T) {
	const d, n = 3, 20000
	rng := rand.New(exprand.NewSource(3))
	x, y := dense.New[float64](n, d), dense.New[float64](n, d)
	for i := range n {
		g, h := rng.NormFloat64(), rng.NormFloat64()
		copy(x.Row(i), []float64{g, 0.5*g + h, 0.3 * rng.NormFloat64()})
		g, h = rng.NormFloat64(), rng.NormFloat64()
		copy(y.Row(i), []float64{0.2 * g, 0.6*g - 0.4*h, g + rng.NormFloat64()})
	}
	e := fitOf(must.Have(rff.FitADERF(x, y, 1)))
	var product mat.Dense
	product.Mul(gonum.ToMat(e.query).T(), gonum.ToMat(e.key))
	moments := func(p dense.Matrix[float64]) *mat.Dense {
		var m mat.Dense
		m.Mul(gonum.ToMat(p).T(), gonum.ToMat(p))
		m.Scale(1.0/n, &m)
		return &m
	}
	queries, keys := moments(mapped(e.query, x)), moments(mapped(e.key, y))
	for i := range d {
		for j := range d {
			want := 0.0
			if i == j {
				want = 1
				assert.InEpsilon(t, queries.At(i, i), keys.At(i, i), 1e-4)
			} else {
				assert.InDelta(t, 0, queries.At(i, j), 1e-4)
				assert.InDelta(t, 0, keys.At(i, j), 1e-4)
			}
			assert.InDelta(t, want, product.At(i, j), 1e-12)
		}
	}
	a := must.Have(rff.OptimalA(mapped(e.query, x), mapped(e.key, y), 1))
	assert.InDelta(t, a, e.a, 1e-12)
	s := fitOf(must.Have(rff.FitSADERF(x, y, 1)))
	part := func(p dense.Matrix[float64]) dense.Matrix[float64] { return p.RowRange(0, 300) }
	assert.Less(t, logMoment(part(mapped(e.query, x)), part(mapped(e.key, y)), 1, e.a),
		logMoment(part(mapped(s.query, x)), part(mapped(s.key, y)), 1, s.a), "better than SADERF off the axes")
}

// Points on the axes, both ways, have moments that are a multiple of I: all of FAVOR# is
// the optimal features then, SDERF and ADERF at points turned by their basis.
func TestIsotropicSamplesGiveOptimalFeatures(t *testing.T) {
	const d = 4
	x := dense.New[float64](2*d, d)
	for j := range d {
		x.Set(2*j, j, 0.7)
		x.Set(2*j+1, j, -0.7)
	}
	a := must.Have(rff.OptimalA(x, x, scaleOf))
	w := iidOf[float64](9, d)
	at := points[float64](3, 6, d, 1)
	for name, fit := range sharp[float64]() {
		s := must.Have(fit(x, x, scaleOf))
		f := must.Have(rff.Draw(s, w))
		e := fitOf(s)
		var turned mat.Dense
		if s, ok := s.(rff.SDERF); ok {
			for _, v := range s.Damping {
				assert.InDelta(t, a, v, 1e-15)
			}
			turned.Mul(gonum.ToMat(w.Frequencies()), gonum.ToMat(e.query).T())
		} else {
			assert.InDelta(t, a, e.a, 1e-15)
			turned.Mul(gonum.ToMat(w.Frequencies()), gonum.ToMat(e.query))
		}
		p := must.Have(orf.FromMatrix(gonum.FromMat[float64](&turned)))
		optimal := must.Have(rff.Draw(rff.SoftmaxOptimal{Scale: scaleOf, A: a}, p))
		want := logs(optimal).LogTransform(dense.Matrix[float64]{}, at)
		assert.InDeltaSlice(t, want.Data, logs(f).LogTransform(dense.Matrix[float64]{}, at).Data, 1e-13, name)
		assert.InDeltaSlice(t, want.Data, logs(rff.Keys(f)).LogTransform(dense.Matrix[float64]{}, at).Data, 1e-13, name)
	}
}

// A coordinate without queries or keys, a zero sample and a single point still give maps
// that keep products: PᵀQ = I, or a basis that is orthogonal, is what no bias rests on.
func TestDegenerateSamplesKeepProducts(t *testing.T) {
	const d = 4
	w := iidOf[float64](9, d)
	x, y := fitPoints[float64](d)
	for i := range x.Rows {
		x.Set(i, 1, 0)
		x.Set(i, 2, 0)
	}
	for i := range y.Rows {
		y.Set(i, 2, 0)
		y.Set(i, 3, 0)
	}
	for l, want := range []bool{false, true, true, true} {
		assert.Equal(t, want, must.Have(rff.FitSADERF(x, y, 1)).Psi[l] == 1, "ψ_%d", l)
	}
	for kind, s := range map[string][2]dense.Matrix[float64]{
		"empty coordinates": {x, y},
		"no queries":        {dense.New[float64](2, d), y},
		"nothing":           {dense.New[float64](2, d), dense.New[float64](1, d)},
		"one point":         {x.RowRange(0, 1), y.RowRange(0, 1)},
	} {
		for name, fit := range sharp[float64]() {
			spec := must.Have(fit(s[0], s[1], 1))
			f := must.Have(rff.Draw(spec, w))
			e := fitOf(spec)
			var product mat.Dense
			product.Mul(gonum.ToMat(e.query).T(), gonum.ToMat(e.key))
			for i := range d {
				product.Set(i, i, product.At(i, i)-1)
			}
			assert.Less(t, mat.Max(&product), 1e-12, "%s of %s", name, kind)
			assert.Greater(t, mat.Min(&product), -1e-12, "%s of %s", name, kind)
			for _, v := range logs(f).LogTransform(dense.Matrix[float64]{}, points[float64](1, 5, d, 1)).Data {
				assert.Less(t, math.Abs(v), 1e4, "%s of %s", name, kind)
			}
		}
	}
}
