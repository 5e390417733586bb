package mse

import (
	"math"
	"math/big"
)

// confluentLimit returns ₀F₁(; d/2; t). For t < 0 the terms are larger than their sum, and have as
// many more bits.
func confluentLimit(d int, t float64) float64 {
	root := math.Sqrt(math.Abs(t))
	number := func(v float64) *big.Float { return wide(v, 4*root+100) }
	term, sum := number(1), number(1)
	for k := 0.0; k < 4*root || term.Sign() != 0 && term.MantExp(nil)-sum.MantExp(nil) > -int(term.Prec()); k++ {
		term.Mul(term, number(2*t))
		term.Quo(term, number((float64(d)+2*k)*(k+1)))
		sum.Add(sum, term)
	}
	v, _ := sum.Float64()
	return v
}
