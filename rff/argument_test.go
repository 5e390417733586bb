package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func TestBadArguments(t *testing.T) {
	densetest.Both(t, testBadArguments[float32], testBadArguments[float64])
}

func testBadArguments[T dense.Float](t *testing.T) {
	src := func() rand.Source { return exprand.NewSource(1) }
	w := must.Have(orf.Draw[T](orf.IID{}, 4, 2, src()))
	fails := func(want string, _ any, err error) {
		t.Helper()
		assert.EqualError(t, err, "rff: "+want)
	}
	check := func(want string) func(_ any, err error) {
		return func(f any, err error) { t.Helper(); fails(want, f, err) }
	}

	var none orf.Projection[T]
	lengths := func(v float64) []rff.Spec {
		return []rff.Spec{
			rff.Gaussian{LengthScale: v},
			rff.Matern{Nu: 1.5, LengthScale: v, Src: src()},
		}
	}
	scales := func(v float64) []rff.Spec {
		return []rff.Spec{
			rff.SoftmaxTrig{Scale: v}, rff.SoftmaxPositive{Scale: v}, rff.SoftmaxHyperbolic{Scale: v}, rff.SoftmaxOptimal{Scale: v, A: -1},
			rff.SDERF{Scale: v, Damping: []float64{0, 0}, Basis: dense.Of(2, 2, []float64{1, 0, 0, 1})},
			rff.SADERF{Scale: v, Psi: []float64{1, 2}},
			rff.ADERF{Scale: v, Query: dense.Of(2, 2, []float64{1, 0, 0, 1}), Key: dense.Of(2, 2, []float64{1, 0, 0, 1})},
		}
	}
	for _, s := range append(append(lengths(1), scales(1)...), rff.DotProduct{}, rff.Angular{}, rff.ArcCosine{}, rff.Laplacian{LengthScale: 1}) {
		check("w is nil, want a projection")(rff.Draw(s, none))
		check("w is 0×2, want at least 1×1")(rff.Draw[T](s, empty[T]{}))
	}
	heavy := must.Have(orf.Draw[T](orf.Cauchy{}, 4, 2, src()))
	for text, v := range map[string]float64{"0": 0, "-1": -1, "NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1)} {
		for _, s := range lengths(v) {
			check("lengthScale = " + text + ", want a positive finite number")(rff.Draw(s, w))
		}
		check("lengthScale = " + text + ", want a positive finite number")(rff.Draw(rff.Laplacian{LengthScale: v}, heavy))
		for _, s := range scales(v) {
			check("scale = " + text + ", want a positive finite number")(rff.Draw(s, w))
		}
	}
	for want, s := range map[string]rff.Spec{
		"a = 0.125, want a number below 1/8":                 rff.SoftmaxOptimal{Scale: 1, A: 0.125},
		"a = 0.25, want a number below 1/8":                  rff.SDERF{Scale: 1, Damping: []float64{0, 0.25}, Basis: dense.Of(2, 2, []float64{1, 0, 0, 1})},
		"nu = 2, want 0.5, 1.5 or 2.5":                       rff.Matern{Nu: 2, LengthScale: 1, Src: src()},
		"Src is nil, want a source for gains":                rff.Matern{Nu: 0.5, LengthScale: 1},
		"0 gains, want 4":                                    rff.Matern{Nu: 0.5, LengthScale: 1, Gains: []float64{}, Src: src()},
		"gains[1] = +Inf, want a finite number":              rff.Matern{Nu: 0.5, LengthScale: 1, Gains: []float64{1, math.Inf(1), 1, 1}},
		"1 psi, want 2":                                      rff.SADERF{Scale: 1, Psi: []float64{1}},
		"query is 0×0, want 2×2":                             rff.ADERF{Scale: 1},
		"0 damping, want 2":                                  rff.SDERF{Scale: 1},
		"basis is 0×0, want 2×2":                             rff.SDERF{Scale: 1, Damping: []float64{0, 0}},
		"s is <nil>, want a Spec of this package":            nil,
		"s is *rff.Gaussian, want a Spec of this package":    &rff.Gaussian{LengthScale: 1},
		"s is rff_test.ownSpec, want a Spec of this package": ownSpec{rff.Gaussian{LengthScale: 1}},
		"w is given, and ELU() has no frequencies, want nil": rff.ELU{D: 2},
		"w has the frequencies of orf.IID, which are not those of Laplacian(lengthScale=1)": rff.Laplacian{LengthScale: 1},
	} {
		check(want)(rff.Draw(s, w))
	}
	check("w has the frequencies of orf.Cauchy, which are not those of Angular()")(rff.Draw(rff.Angular{}, heavy))
	_, err := rff.Draw(rff.Laplacian{LengthScale: 1}, must.Have(orf.FromMatrix(heavy.Frequencies())))
	assert.NoError(t, err, "frequencies of unknown law")
	for want, s := range map[string]rff.Spec{
		"d = 0, want at least 1":  rff.Identity{},
		"d = -1, want at least 1": rff.ELU{D: -1},
		"d = -2, want at least 1": rff.Quadratic{D: -2},
	} {
		check(want)(rff.Draw[T](s, nil))
	}
}

// ownSpec is a Spec of another package.
type ownSpec struct{ rff.Spec }

// empty is a projection that breaks its contract.
type empty[T dense.Float] struct{ orf.Projection[T] }

func (empty[T]) Shape() (m, d int) { return 0, 2 }
