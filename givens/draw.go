package givens

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// The functions of this file return the same numbers on every platform. rand.Rand.IntN does not: it
// draws other numbers where int has 32 bits. math.Sincos does not where the compiler fuses products
// and sums; the conversions of products below prevent fusion.

// below draws a number below n ≥ 1, uniformly [Lemire 2019].
func below(n uint64, src rand.Source) int {
	high, low := bits.Mul64(src.Uint64(), n)
	for low < -n%n {
		high, low = bits.Mul64(src.Uint64(), n)
	}
	return int(high)
}

// The angle is 2π·⌊u/2¹¹⌋/2⁵³, and the error about one unit in the last place.
func turn(u uint64) (cos, sin float64) {
	const whole = 1 << 53
	u >>= 11
	// The angle is a number of quarter turns plus x, with |x| at most an eighth of a turn.
	quarter := (u + whole/8) / (whole / 4)
	left := int64(u) - int64(quarter*(whole/4))
	x := float64(float64(left) * (2 * math.Pi / whole))
	z := x * x
	s := float64(x*series(z, &sines)) + x
	c := series(z, &cosines) + 1
	switch quarter % 4 {
	case 1:
		return -s, c
	case 2:
		return -c, -s
	case 3:
		return s, -c
	}
	return c, s
}

// sines and cosines are the coefficients (−1)^k/(2k+1)! of sin x/x − 1 and (−1)^k/(2k)! of cos
// x − 1 as series in x², highest degree first. The next terms are below 2⁻⁵⁶ for |x| ≤ π/4.
var (
	sines = [8]float64{
		1. / 355687428096000, -1. / 1307674368000, 1. / 6227020800, -1. / 39916800, 1. / 362880, -1. / 5040, 1. / 120, -1. / 6,
	}
	cosines = [8]float64{
		1. / 20922789888000, -1. / 87178291200, 1. / 479001600, -1. / 3628800, 1. / 40320, -1. / 720, 1. / 24, -1. / 2,
	}
)

// series returns z·(c_n + z·(… + z·c_1)).
func series(z float64, coefficients *[8]float64) float64 {
	var sum float64
	for _, c := range coefficients {
		sum = float64(sum*z) + c
	}
	return float64(sum * z)
}
