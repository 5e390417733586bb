package mse

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A sum of powers up to (1 + |c|)^k loses no more bits than k.
const obliquePrecision = 800

func bigOf(v float64) *big.Float { return new(big.Float).SetPrec(obliquePrecision).SetFloat64(v) }

// piBig is π by Machin's formula, with bits of precision.
func piBig(bits uint) *big.Float {
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }
	arctan := func(inverse float64) *big.Float {
		sum, power := number(0), new(big.Float).Quo(number(1), number(inverse))
		for k := 0; k < int(bits)/4; k++ {
			term := new(big.Float).Quo(power, number(float64(2*k+1)))
			if k%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
			power.Quo(power, number(inverse*inverse))
		}
		return sum
	}
	pi := new(big.Float).Mul(number(16), arctan(5))
	return pi.Sub(pi, new(big.Float).Mul(number(4), arctan(239)))
}

// sineMoments returns E[sin^j 2α] for j < n, by the Beta function: 1, then
// (2/d)·(Γ((d+1)/2)/Γ(d/2))², and each (d+j)/(d+j+1) times the last but one.
func sineMoments(d, n int) []*big.Float {
	square := new(big.Float).Quo(bigOf(1), piBig(obliquePrecision)) // (Γ((i+1)/2)/Γ(i/2))² at i = 1
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

// obliquePowers returns E[(1 + cS)^k] for k < n and S = sin 2α, from E[S^j·(1 + cS)^k] for all
// j at one k to those at the next.
func obliquePowers(d, n int, c float64) []*big.Float {
	row := sineMoments(d, n)
	powers := make([]*big.Float, n)
	for k := range powers {
		powers[k] = new(big.Float).Set(row[0])
		for j := range len(row) - 1 {
			row[j].Add(row[j], new(big.Float).Mul(bigOf(c), row[j+1]))
		}
		row = row[:len(row)-1]
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

// TestSimplexExcess compares with the double series of Beta values.
func TestSimplexExcess(t *testing.T) {
	t.Parallel()
	arguments := []float64{-40, -15, -2.5, -1.0001, -1, -0.3, -1e-3, -1e-7, 0, 1e-7, 1e-3, 0.3, 1, 2.5, 8, 15, 40}
	for _, d := range []int{2, 3, 8, 34, 300} {
		c := -1 / float64(d-1)
		both, even := obliquePowers(d, 480, c), obliquePowers(d, 480, -c)
		for k, p := range even {
			p.Add(p, both[k]).Quo(p, bigOf(2))
		}
		for _, arg := range arguments {
			for _, f := range []struct {
				name      string
				got, want float64
				fall      float64
			}{
				{"both", SimplexExcess(d, arg), obliqueBig(d, arg, both), 2},
				{"even", SimplexEvenExcess(d, arg), obliqueBig(d, arg, even), 4},
			} {
				scale := math.Exp(-f.fall * math.Max(arg, 0))
				f.want *= scale
				size := math.Max(math.Abs(f.want), math.Abs(ConfluentExcess(d, arg))*math.Exp((2-f.fall)*math.Max(arg, 0)))
				tol := 1e-13 * size
				switch {
				case arg < -1:
					tol = 1e-14
				case arg < 0:
					tol *= 50
				}
				assert.InDelta(t, f.want, f.got, tol, "%s d=%d t=%v", f.name, d, arg)
			}
		}
	}
}

func TestSimplexExcessLimits(t *testing.T) {
	for _, arg := range []float64{-3, -0.5, 0, 0.5, 3} {
		assert.Equal(t, ConfluentExcess(1, arg), SimplexExcess(1, arg), "in R¹")
		assert.Equal(t, ConfluentExcess(1, arg)*math.Exp(-2*math.Max(arg, 0)), SimplexEvenExcess(1, arg), "in R¹")
	}
	for _, d := range []int{3, 4, 100, 1 << 20} {
		assert.Zero(t, SimplexExcess(d, 0))
		assert.Zero(t, SimplexEvenExcess(d, 0))
		for _, arg := range []float64{1e6, 1e300, math.Inf(1)} {
			assert.Equal(t, -1.0, SimplexExcess(d, arg))
			assert.Zero(t, SimplexEvenExcess(d, arg))
			assert.InDelta(t, 0, SimplexExcess(d, -arg), 1e-17)
			assert.InDelta(t, 0, SimplexEvenExcess(d, -arg), 1e-17)
		}
	}
}

// Far below 0 only directions a that are nearly orthogonal to z count. With w = 1 − sin 2α,
// the expectation is ∫₀¹ (1−τw)·e^(−τw)·(1−w)/√(w(2−w)) dw, τ = −t, which has an asymptotic
// series by Watson's lemma: w^(j−½) gives Γ(j+½)·(½−j)·τ^(−j−½).
func TestOppositeRowsFar(t *testing.T) {
	for _, tau := range []float64{300, 1e3, 1e4, 1e10, 1e100, 1e300} {
		var want float64
		coefficient := 1.0 // of (1−w/2)^(−½)
		last := 0.0
		for j := 0.0; j < 12; j++ {
			gamma := math.Gamma(j+0.5) * (0.5 - j) * math.Pow(tau, -j)
			want += (coefficient - last) * gamma
			last = coefficient
			coefficient *= (j + 0.5) / (2 * (j + 1))
		}
		want /= math.Sqrt(2 * tau)
		assert.InEpsilon(t, want, SimplexExcess(2, -tau), 1e-12, "τ=%v", tau)
		assert.InEpsilon(t, want/2, SimplexEvenExcess(2, -tau), 1e-12, "τ=%v", tau)
	}
}
