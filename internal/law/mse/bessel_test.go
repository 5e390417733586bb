package mse

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
)

// limitBig sums ₀F₁(; d/2; t) to 100 digits and more.
func limitBig(d int, t float64) float64 {
	root := math.Sqrt(math.Abs(t))
	number := func(v float64) *big.Float { return wide(v, 4*root+100) }
	term, sum := number(1), number(1)
	for k := 0.0; k < 4*root || term.Sign() != 0 && term.MantExp(nil) > -int(term.Prec()); k++ {
		term.Mul(term, number(2*t))
		term.Quo(term, number((float64(d)+2*k)*(k+1)))
		sum.Add(sum, term)
	}
	v, _ := sum.Float64()
	return v
}

// confluentLimit returns ₀F₁(; d/2; t), for t < 0 by sphereMean.
func confluentLimit(d int, t float64) float64 {
	if t < 0 {
		return sphereMean(d, 2*math.Sqrt(-t))
	}
	term, sum := 1.0, 1.0
	for k := 0.0; term > sum*0x1p-60; k++ {
		term *= t / (float64(d)/2 + k) / (k + 1)
		sum += term
	}
	return sum
}

func TestSphereMean(t *testing.T) {
	for _, s := range []float64{1e-6, 0.01, 0.7, 3, 20, 150, 2500, 1e5} {
		r := 2 * math.Sqrt(s)
		// The closed forms carry the rounding of their own argument r.
		tol := 4 * r * 0x1p-53
		assert.InDelta(t, math.Cos(r), confluentLimit(1, -s), tol+4e-16, "s=%v", s)
		assert.InDelta(t, math.J0(r), confluentLimit(2, -s), tol+4e-15, "s=%v", s)
		assert.InDelta(t, math.Sin(r)/r, confluentLimit(3, -s), tol+4e-16, "s=%v", s)
		assert.InDelta(t, 2*math.J1(r)/r, confluentLimit(4, -s), tol+4e-15, "s=%v", s)
	}
}

// Against series of 400 bits and more: where the argument is below 60 + 10√d, where it is
// above, and where the value is next to nothing, d > 120.
func TestSphereMeanBySeries(t *testing.T) {
	t.Parallel()
	for _, d := range []int{1, 2, 3, 4, 5, 8, 33, 64, 119, 120, 121, 300} {
		nu := float64(d)/2 - 1
		log, _ := math.Lgamma(nu + 1)
		for _, r := range []float64{1, 10, 50, 60, 71, 90, 150, 169.5, 170.5, 250, 700, 2000} {
			s := r * r / 4
			want := limitBig(d, -s)
			// Waves of this height (or 1) have an absolute error.
			height := math.Min(1, math.Exp(log+nu*math.Log(2/r))*math.Sqrt(2/(math.Pi*r)))
			assert.InDelta(t, want, confluentLimit(d, -s), 1e-18+1e-13*height, "d=%d r=%v", d, r)
		}
	}
}

// In R¹ and R³ the values are cos r and sin(r)/r, r = 2√s. Here the remainder of r by 2π has
// 300 bits to come from.
func TestSphereMeanFar(t *testing.T) {
	const bits = 300
	for _, s := range []float64{1e6, 3e10, 1e17, 7e33} {
		r := new(big.Float).SetPrec(bits).SetFloat64(2 * math.Sqrt(s))
		size, _ := r.Float64()
		turn := new(big.Float).Mul(piBig(bits), big.NewFloat(2))
		turns, _ := new(big.Float).Quo(r, turn).Int(nil)
		r.Sub(r, turn.Mul(turn, new(big.Float).SetPrec(bits).SetInt(turns)))
		phase, _ := r.Float64()
		assert.InDelta(t, math.Cos(phase), confluentLimit(1, -s), 1e-14, "s=%v", s)
		assert.InDelta(t, math.Sin(phase), confluentLimit(3, -s)*size, 1e-14, "s=%v", s)
		// J₀ at infinity [DLMF 10.17.3].
		assert.InDelta(t, math.Cos(phase-math.Pi/4), confluentLimit(2, -s)*math.Sqrt(math.Pi/2*size), 1/size+1e-14, "s=%v", s)
	}
	for _, s := range []float64{1e100, 1e300} {
		assert.LessOrEqual(t, math.Abs(confluentLimit(1, -s)), 1.0, "s=%v", s)
		assert.LessOrEqual(t, math.Abs(confluentLimit(3, -s)), 0.6/math.Sqrt(s), "s=%v", s)
		assert.Zero(t, confluentLimit(1000, -s), "s=%v", s)
	}
}
