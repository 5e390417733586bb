package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

var _ rand.Source = exprand.NewSource(1)

// randomMap is a named random map at fixed parameters.
type randomMap[T dense.Float] struct {
	name   string
	kernel kernels.Kernel
	per    int // features for each frequency
	spec   func(d int, src rand.Source) rff.Spec
}

// draw returns the map over m independent frequencies.
func (r randomMap[T]) draw(m, d int, src rand.Source) (rff.Map[T], error) {
	var e orf.Ensemble = orf.IID{}
	if r.name == "laplacian" {
		e = orf.Cauchy{}
	}
	w, err := orf.Draw[T](e, m, d, src)
	if err != nil {
		return nil, err
	}
	return rff.Draw(r.spec(d, src), w)
}

const (
	lengthScale = 0.75
	scaleOf     = 1.5
	damping     = -0.2 // the a of the optimal positive features
)

// fitPoints returns a sample of queries and one of keys, for the maps that are fitted, of dimension
// d and different moments.
func fitPoints[T dense.Float](d int) (x, y dense.Matrix[T]) {
	x, y = points[T](20, 40, d, 0.3), points[T](21, 30, d, 0.3)
	for j := range d {
		stretch := T(1 + 0.5*float64(j%3))
		for i := range x.Rows {
			x.Set(i, j, 0.25+x.At(i, j)*stretch)
		}
		for i := range y.Rows {
			y.Set(i, j, y.At(i, j)/stretch-0.125)
		}
	}
	return x, y
}

// randomMaps are all random maps, over independent frequencies.
func randomMaps[T dense.Float]() []randomMap[T] {
	fixed := func(s rff.Spec) func(int, rand.Source) rff.Spec { return func(int, rand.Source) rff.Spec { return s } }
	gaussian, softmax := kernels.Gaussian{LengthScale: lengthScale}, kernels.Softmax{Gamma: scaleOf}
	maps := []randomMap[T]{
		{"dot product", kernels.DotProduct{}, 1, fixed(rff.DotProduct{})},
		{"gaussian", gaussian, 2, fixed(rff.Gaussian{LengthScale: lengthScale})},
		{"laplacian", kernels.Laplacian{LengthScale: lengthScale}, 2, fixed(rff.Laplacian{LengthScale: lengthScale})},
		{"softmax trig", softmax, 2, fixed(rff.SoftmaxTrig{Scale: scaleOf})},
		{"softmax positive", softmax, 1, fixed(rff.SoftmaxPositive{Scale: scaleOf})},
		{"softmax optimal", softmax, 1, fixed(rff.SoftmaxOptimal{Scale: scaleOf, A: damping})},
		{"softmax hyperbolic", softmax, 2, fixed(rff.SoftmaxHyperbolic{Scale: scaleOf})},
		{"SADERF", softmax, 1, fitted(rff.FitSADERF[T])},
		{"ADERF", softmax, 1, fitted(rff.FitADERF[T])},
		{"SDERF", softmax, 1, fitted(rff.FitSDERF[T])},
		{"angular", kernels.Angular{}, 1, fixed(rff.Angular{})},
		{"arc-cosine", kernels.ArcCosine{Order: 1}, 1, fixed(rff.ArcCosine{})},
	}
	for _, nu := range []float64{0.5, 1.5, 2.5} {
		k := kernels.Matern{Nu: nu, LengthScale: lengthScale}
		maps = append(maps, randomMap[T]{k.String(), k, 2, func(_ int, src rand.Source) rff.Spec {
			return rff.Matern{Nu: nu, LengthScale: lengthScale, Src: src}
		}})
	}
	return maps
}

// fitted returns the function that fits a Spec to fitPoints.
func fitted[T dense.Float, S rff.Spec](fit func(x, y dense.Matrix[T], scale float64) (S, error)) func(int, rand.Source) rff.Spec {
	return func(d int, _ rand.Source) rff.Spec {
		x, y := fitPoints[T](d)
		return must.Have(fit(x, y, scaleOf))
	}
}

// allMaps are the random maps with m = 20 and the exact ones, of R^d.
func allMaps[T dense.Float](t testing.TB, d int) map[string]rff.Map[T] {
	maps := map[string]rff.Map[T]{}
	for _, r := range randomMaps[T]() {
		maps[r.name] = must.Have(r.draw(20, d, exprand.NewSource(5)))
	}
	w := must.Have(orf.Draw[T](orf.IID{}, 20, d, exprand.NewSource(5)))
	maps["new"] = newMap(w, func(x []T) T { return 1 + x[0]*x[0] },
		func(t T) T { return T(math.Cos(float64(t))) }, func(t T) T { return t * t })
	// Those above change frequencies, these the points.
	structured := must.Have(orf.Draw[T](orf.Hadamard{}, 20, d, exprand.NewSource(5)))
	maps["structured SADERF"] = must.Have(rff.Draw(fitted(rff.FitSADERF[T])(d, nil), structured))
	maps["structured ADERF"] = must.Have(rff.Draw(fitted(rff.FitADERF[T])(d, nil), structured))
	for name, f := range exactMaps[T](t, d) {
		maps[name] = f
	}
	landmarks := points[T](8, 11, d, 1)
	nystroem := must.Have(rff.Nystroem(kernels.Gaussian{}, landmarks))
	spectral := must.Have(rff.Spectral(kernels.Laplacian{}, landmarks, 6))
	maps["nystroem"], maps["spectral"] = nystroem, spectral
	for name, f := range madeOfOthers[T](t, d) {
		maps[name] = f
	}
	return maps
}

// narrowing is an affine map from R^d to R^(d−1) with a centre.
func narrowing[T dense.Float](d int) rff.Affine {
	return rff.Affine{A: wide(points[T](9, d-1, d, 0.5)), Centre: wide(points[T](13, 1, d, 1)).Data}
}

// madeOfOthers are the maps of R^d that prepare points for others.
func madeOfOthers[T dense.Float](t testing.TB, d int) map[string]rff.Map[T] {
	maps := map[string]rff.Map[T]{}
	narrow := narrowing[T](d)
	affine := rff.Affine{A: wide(points[T](10, d+1, d, 0.5)), Offset: wide(points[T](11, 1, d+1, 1)).Data}
	maps["narrow"], maps["affine"] = must.Have(rff.Draw[T](narrow, nil)), must.Have(rff.Draw[T](affine, nil))
	means := points[T](12, 2, d, 0.4)
	for _, r := range randomMaps[T]() {
		if r.name != "softmax trig" && r.name != "softmax hyperbolic" && r.name != "SADERF" {
			continue
		}
		f := must.Have(r.draw(20, d, exprand.NewSource(5)))
		maps["centred "+r.name] = must.Have(rff.Centred(f, means.Row(0), means.Row(1)))
	}
	for _, r := range randomMaps[T]() {
		if r.name != "gaussian" && r.name != "softmax hyperbolic" && r.name != "angular" {
			continue
		}
		before := must.Have(r.draw(20, d-1, exprand.NewSource(5)))
		composed := must.Have(rff.Compose(narrow, before))
		after := must.Have(r.draw(20, d+1, exprand.NewSource(5)))
		shifted := must.Have(rff.Compose(affine, after))
		maps[r.name+" after narrow"], maps[r.name+" after affine"] = composed, shifted
		f := must.Have(r.draw(20, d, exprand.NewSource(5)))
		maps["sum with "+r.name] = must.Have(rff.Sum([]rff.Map[T]{shifted, f, maps["affine"]}, []float64{0.5, 1, 2}))
	}
	return maps
}

// exactMaps are the explicit maps of R^d.
func exactMaps[T dense.Float](t testing.TB, d int) map[string]rff.Map[T] {
	maps := map[string]rff.Map[T]{}
	for name, s := range map[string]rff.Spec{
		"identity": rff.Identity{D: d}, "elu": rff.ELU{D: d}, "quadratic": rff.Quadratic{D: d},
	} {
		maps[name] = must.Have(rff.Draw[T](s, nil))
	}
	return maps
}

// points returns n normal points of R^d with the given standard deviation,
// rounded to float32 so that both types see the same.
func points[T dense.Float](seed uint64, n, d int, deviation float64) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(seed))
	x := dense.New[T](n, d)
	for i := range x.Data {
		x.Data[i] = T(float32(deviation * rng.NormFloat64()))
	}
	return x
}

// newMap is New of the functions h and f, which fit.
func newMap[T dense.Float](w orf.Projection[T], h func(x []T) T, f ...func(t T) T) rff.Map[T] {
	m, err := rff.New(rff.Scheme[T]{F: f, H: h}, w)
	if err != nil {
		panic(err)
	}
	return m
}

// slopes returns m, which is Differentiable.
func slopes[T dense.Float](m rff.Map[T]) rff.Differentiable[T] { return m.(rff.Differentiable[T]) }

// logSlopes returns m, which is a DifferentiableLog.
func logSlopes[T dense.Float](m rff.Map[T]) rff.DifferentiableLog[T] {
	return m.(rff.DifferentiableLog[T])
}

// logs returns m, which is a LogMap.
func logs[T dense.Float](m rff.Map[T]) rff.LogMap[T] { return m.(rff.LogMap[T]) }
