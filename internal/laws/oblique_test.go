package laws

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

const obliquePrecision = 600

func bigOf(v float64) *big.Float { return new(big.Float).SetPrec(obliquePrecision).SetFloat64(v) }

// piBig is π by Machin's formula.
func piBig() *big.Float {
	arctan := func(inverse float64) *big.Float {
		sum, power := bigOf(0), new(big.Float).Quo(bigOf(1), bigOf(inverse))
		for k := 0; k < 300; k++ {
			term := new(big.Float).Quo(power, bigOf(float64(2*k+1)))
			if k%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
			power.Quo(power, bigOf(inverse*inverse))
		}
		return sum
	}
	pi := new(big.Float).Mul(bigOf(16), arctan(5))
	return pi.Sub(pi, new(big.Float).Mul(bigOf(4), arctan(239)))
}

// sineMoments returns E[sin^j 2α] for j < n, by the Beta function: 1, then
// (2/d)·(Γ((d+1)/2)/Γ(d/2))², and each (d+j)/(d+j+1) times the last but one.
func sineMoments(d, n int) []*big.Float {
	square := new(big.Float).Quo(bigOf(1), piBig()) // (Γ((i+1)/2)/Γ(i/2))² at i = 1
	for i := 1.0; i < float64(d); i++ {
		square.Quo(bigOf(i*i/4), square)
	}
	moments := []*big.Float{bigOf(1), square.Quo(square.Mul(square, bigOf(2)), bigOf(float64(d)))}
	for j := 0; len(moments) < n; j++ {
		next := new(big.Float).Mul(moments[j], bigOf(float64(d+j)))
		moments = append(moments, next.Quo(next, bigOf(float64(d+j+1))))
	}
	return moments
}

// obliquePowers returns E[(1 + c·sin 2α)^k] for k < n, or its part even in c, by the
// binomial theorem.
func obliquePowers(d, n int, c float64, even bool) []*big.Float {
	moments := sineMoments(d, n)
	powers := make([]*big.Float, n)
	for k := range powers {
		sum, term := bigOf(0), bigOf(1) // term is the binomial coefficient times c^j
		for j := 0; j <= k; j++ {
			if j%2 == 0 || !even {
				sum.Add(sum, new(big.Float).Mul(term, moments[j]))
			}
			term.Mul(term, bigOf(c))
			term.Quo(term.Mul(term, bigOf(float64(k-j))), bigOf(float64(j+1)))
		}
		powers[k] = sum
	}
	return powers
}

// obliqueBig sums the double series of the excess.
func obliqueBig(d int, t float64, powers []*big.Float) float64 {
	term, sum := bigOf(1), bigOf(0)
	exp := bigOf(1) // (2t)^k/k!
	for k, p := range powers {
		sum.Add(sum, new(big.Float).Mul(term, p))
		sum.Sub(sum, exp)
		term.Mul(term, bigOf(2*float64(d+k)))
		term.Quo(term.Mul(term, bigOf(t)), bigOf(float64(d+2*k)*float64(k+1)))
		exp.Quo(exp.Mul(exp, bigOf(2*t)), bigOf(float64(k+1)))
	}
	v, _ := sum.Float64()
	return v
}

// TestObliqueExcess compares with the double series of Beta values.
func TestObliqueExcess(t *testing.T) {
	arguments := []float64{-15, -2.5, -1.0001, -1, -0.3, -1e-3, -1e-7, 0, 1e-7, 1e-3, 0.3, 1, 2.5, 8, 15}
	for _, d := range []int{1, 2, 3, 8, 34, 300} {
		for _, c := range []float64{-1, -1 / math.Max(1, float64(d-1)), 1 / math.Max(1, float64(d-1)), 0.3, 1} {
			both, even := obliquePowers(d, 200, c, false), obliquePowers(d, 200, c, true)
			for _, arg := range arguments {
				for _, f := range []struct {
					name string
					got  float64
					want float64
				}{
					{"both", ObliqueExcess(d, c, arg), obliqueBig(d, arg, both)},
					{"even", ObliqueEvenExcess(d, c, arg), obliqueBig(d, arg, even)},
				} {
					size := math.Max(math.Abs(f.want), math.Abs(ConfluentExcess(d, arg)))
					tol := 1e-13 * size
					switch {
					case arg < -1:
						tol = 1e-14
					case arg < 0:
						tol *= 50
					}
					assert.InDelta(t, f.want, f.got, tol, "%s d=%d c=%v t=%v", f.name, d, c, arg)
				}
			}
		}
	}
}

func TestObliqueLimits(t *testing.T) {
	for _, arg := range []float64{-3, -0.5, 0.5, 3} {
		assert.Equal(t, ConfluentExcess(5, arg), ObliqueExcess(5, 0, arg), "orthogonal rows")
		both := (ObliqueExcess(5, 0.4, arg) + ObliqueExcess(5, -0.4, arg)) / 2
		assert.InDelta(t, both, ObliqueEvenExcess(5, 0.4, arg), 1e-13*math.Exp(2*math.Abs(arg)))
		assert.Equal(t, ObliqueEvenExcess(5, 0.4, arg), ObliqueEvenExcess(5, -0.4, arg), "even")
	}
	for _, f := range []func(int, float64, float64) float64{ObliqueExcess, ObliqueEvenExcess} {
		for _, arg := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			assert.True(t, math.IsNaN(f(4, 0.5, arg)), "t=%v", arg)
		}
		assert.Zero(t, f(4, 0.5, 0))
		assert.False(t, math.Abs(f(4, 0.5, 1e3)) <= math.MaxFloat64, "overflow")
		assert.PanicsWithValue(t, "laws: d = 0, want at least 1", func() { f(0, 0.5, 1) })
		assert.PanicsWithValue(t, "laws: c = -1.5, want −1 ≤ c ≤ 1", func() { f(4, -1.5, 1) })
		assert.PanicsWithValue(t, "laws: c = NaN, want −1 ≤ c ≤ 1", func() { f(4, math.NaN(), 1) })
	}
}

// TestOppositeRowsOfThePlane: rows at 180° have v+w = (ℓ₁−ℓ₂)·a, of which the
// moment generating function is that of two lengths, by a sum over both.
func TestOppositeRowsOfThePlane(t *testing.T) {
	chi := distuv.Chi{K: 2}
	integral := func(f func(length float64) float64) float64 {
		return quad.Fixed(func(v float64) float64 { return chi.Prob(v) * f(v) }, 0, 10, 40, quad.Legendre{}, 0)
	}
	for _, arg := range []float64{-2, -0.4, 0.1, 0.8} {
		mean := integral(func(a float64) float64 {
			return integral(func(b float64) float64 { return ConfluentLimit(2, (a-b)*(a-b)*arg/2) })
		})
		assert.InDelta(t, mean-math.Exp(2*arg), ObliqueExcess(2, -1, arg), 1e-10, "t=%v", arg)
	}
}
