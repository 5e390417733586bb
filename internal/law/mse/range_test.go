package mse

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
)

// allLaws returns every law, in R³.
func allLaws() map[string]Error {
	turn := dense.Of(3, 3, []float64{0.6, 0.8, 0, -0.8, 0.6, 0, 0, 0, 1})
	stretch := dense.Of(3, 3, []float64{2, 0, 0, 0, 0.5, 0, 0, 0, 1})
	shrink := dense.Of(3, 3, []float64{0.5, 0, 0, 0, 2, 0, 0, 0, 1})
	all := map[string]Error{
		"damped":       Damped([]float64{-0.4, 0.05, -2}, turn).IID.Softmax,
		"after":        Optimal(-0.2).After(stretch, shrink).Haar.Softmax,
		"fixed dot":    DotProduct(orf.IID{FixedLength: true}),
		"haar":         DotProduct(orf.GramSchmidt{FixedLength: true}),
		"simplex":      DotProduct(orf.Simplex{FixedLength: true}),
		"hadamard":     DotProduct(orf.Hadamard{Factors: 3}),
		"givens":       DotProduct(orf.Givens{Rotations: 3}),
		"arc-cosine":   ArcCosineIID,
		"laplacian":    LaplacianIID,
		"matern":       MaternIID(2.5),
		"steep damped": Damped([]float64{0.1, 0.1, 0.1}, turn).IID.Softmax,
	}
	for _, l := range both {
		all[l.name+" iid"], all[l.name+" orf"] = l.iid, l.orf
	}
	for name, l := range map[string]ExponentialLaw{
		"trig": Trig.Haar, "trig simplex": Trig.Simplex, "positive": Positive.Haar, "hyperbolic": Hyperbolic.Haar, "hyperbolic simplex": Hyperbolic.Simplex,
		"optimal": Optimal(-0.3).Haar,
	} {
		all["relative "+name] = l.Relative
	}
	return all
}

// Every law has a value, 0 and +Inf among them, for all points that are numbers. Not one of
// the 150,000 pairs takes operations in proportion to what is large.
func TestLawsOfAllSizes(t *testing.T) {
	t.Parallel()
	sizes := []float64{1e-320, 1e-300, 1e-160, 1e-20, 1, 30, 1e4, 1e10, 1e77, 1e150, 1e160, 1e300}
	shapes := [][2][3]float64{
		{{1, 0.5, 0.25}, {1, 0.5, 0.25}}, {{1, 0.5, 0.25}, {-1, -0.5, -0.25}}, {{1, 1, 0.5}, {1, -1, 0.25}}, {{1, 0, 0}, {0, 1, 0}},
		{{1, 0.5, 0}, {0.5, 1, 0.25}}, {{1, 0.5, 0.25}, {1, 0.5, 0.2500001}}, {{0, 0, 0}, {1, 0.5, 0.25}}, {{0, 0, 0}, {0, 0, 0}},
		{{1, -0.5, 0.25}, {-1, 0.5000001, -0.25}}, {{1, 2, 3}, {3, 2, 1}},
	}
	for name, law := range allLaws() {
		for _, s := range shapes {
			for _, a := range sizes {
				for _, b := range sizes {
					x, y := make([]float64, 3), make([]float64, 3)
					for i := range x {
						x[i], y[i] = a*s[0][i], b*s[1][i]
					}
					for _, m := range []int{2, 4} {
						v := law(x, y, m)
						if !(v >= 0) {
							t.Errorf("%s: %v at x=%v y=%v", name, v, x, y)
						}
					}
				}
			}
		}
	}
}

// Coordinates that are not numbers give NaN.
func TestLawsOfNoNumber(t *testing.T) {
	for name, law := range allLaws() {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x, y := []float64{1, 2, 3}, []float64{2, bad, 1}
			assert.True(t, math.IsNaN(law(x, y, 2)), "%s at %v", name, bad)
			assert.True(t, math.IsNaN(law(y, x, 2)), "%s at %v", name, bad)
		}
	}
}

// blocksBig is blocks.
func blocksBig(m, block int, v, c *big.Float) *big.Float {
	n, size, rest := float64(m), float64(block), float64(m%block)
	pairs := float64(m/block)*size*(size-1) + rest*(rest-1)
	sum := new(big.Float).Quo(v, wide(n, 0))
	return sum.Add(sum, new(big.Float).Mul(c, wide(pairs/n/n, 0)))
}

// The laws of exponentials, with 400 bits and unlimited exponents, of points whose ‖x+y‖², ‖x−y‖²
// or kernel are beyond the range of exponentials where the error is not.
func TestExponentialLawsBeyondTheRange(t *testing.T) {
	t.Parallel()
	const m, d = 5, 3
	for _, pair := range [][2][]float64{
		{{1, 0, 0}, {0.5, 0.25, 0}},
		{{0, 24, 0}, {0, -23, 1}}, // S = 0, a small p
		{{30, 0, 0}, {-8, 1, 0}},
		{{0, 0, 45}, {0, 1, -12}},
		{{19.5, 0, 0}, {19.5, 0x1p-50, 0}}, // e^(‖x‖²+‖y‖²) = Inf, a small q
		{{60, 0, 0}, {0, 60, 0}},
		{{60, 0, 0}, {-1, 60, 0}},
	} {
		x, y := pair[0], pair[1]
		z := newPair(x, y, m)
		mul := func(a, b *big.Float) *big.Float { return new(big.Float).Mul(a, b) }
		sub := func(a, b *big.Float) *big.Float { return new(big.Float).Sub(a, b) }
		one, half := wide(1, 0), wide(0.5, 0)
		// All sums of products here are exact.
		near, apart := sub(one, expBig(-z.p)), sub(one, expBig(-z.q))
		excess := func(p float64) *big.Float { return sub(confluentBig(d, p/2), expBig(p)) }
		growth := mul(expBig(2*z.s), expBig(z.p))
		positive := mul(expBig(-z.xx-z.yy), excess(z.p))
		wave := mul(expBig(z.xx+z.yy), excess(-z.q))
		a := -0.25
		second := expBig(4*z.p/3 - z.xx - z.yy) // 2(1−4a)/(1−8a) = 4/3
		second.Mul(second, wide(math.Pow(1-4*a, d), 0))
		second.Quo(second, new(big.Float).Sqrt(wide(math.Pow(1-8*a, d), 0)))
		for _, f := range []struct {
			name string
			law  ExponentialLaw
			v, c *big.Float
		}{
			{"trig", Trig.Haar, mul(mul(expBig(z.xx+z.yy), half), mul(apart, apart)), wave},
			{"positive", Positive.Haar, mul(growth, near), positive},
			{"hyperbolic", Hyperbolic.Haar, mul(mul(growth, half), mul(near, near)), positive},
			{"optimal", Optimal(a).Haar, sub(second, expBig(2*z.s)), positive},
		} {
			for unit, law := range map[string]struct {
				law    Error
				factor *big.Float
			}{
				"softmax": {f.law.Softmax, one}, "gaussian": {f.law.Gaussian, expBig(-z.xx - z.yy)}, "relative": {f.law.Relative, expBig(-2 * z.s)},
			} {
				at := fmt.Sprintf("%s %s at %v, %v", f.name, unit, x, y)
				want, _ := mul(law.factor, blocksBig(m, d, f.v, f.c)).Float64()
				got := law.law(x, y, m)
				switch {
				case math.IsInf(want, 1) || want < 1e-300:
					assert.InDelta(t, math.Min(want, 1), math.Min(got, 1), 1e-300, at)
				default:
					// Exponents of up to 2(‖x‖² + ‖y‖²) + 700 have one rounding of theirs each.
					assert.InEpsilon(t, want, got, (2*(z.xx+z.yy)+700)*8*0x1p-53, at)
				}
			}
		}
	}
}
