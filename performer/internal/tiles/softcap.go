package tiles

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// softcap replaces x by c·tanh(x/c), with tanh y = ±(1 − e)/(1 + e), e = exp(−2|y|). Near zero 1 −
// e would cancel, and tanh y is a quotient of polynomials. If c is infinite, x does not change.
func softcap[T dense.Float](x []T, c T, memory []T) {
	if math.IsInf(float64(c), 0) {
		return
	}
	e := memory[:len(x)]
	near := true
	for i, v := range x {
		x[i] = v / c
		e[i] = -2 * T(math.Abs(float64(x[i])))
		near = near && e[i] > -2*tanhReach
	}
	if near {
		for i, y := range x {
			x[i] = c * tanhNearZero(y)
		}
		return
	}
	vecmath.Exp(e, e)
	for i, y := range x {
		if e[i] < farFromZero {
			t := (1 - e[i]) / (1 + e[i])
			if y < 0 {
				t = -t
			}
			x[i] = c * t
		} else {
			x[i] = c * tanhNearZero(y)
		}
	}
}

func capIn[T dense.Float](c float64) T {
	if t := T(c); t != 0 {
		return t
	}
	return T(math.Copysign(math.SmallestNonzeroFloat32, c))
}

const (
	tanhReach   = 0.4   // |y| at which the two formulas meet
	farFromZero = 0.449 // exp(−2·0.4)
)

// tanhNearZero returns tanh y for |y| ≤ 0.401, and NaN for NaN. The seventh convergent of Lambert's
// continued fraction y/(1 + y²/(3 + y²/(5 + …))) is off by y¹⁴/(15·(3·5·7·9·11·13)²) < 2⁻⁵⁶ of it.
func tanhNearZero[T dense.Float](y T) T {
	z := y * y
	return y * (135135 + z*(17325+z*(378+z))) / (135135 + z*(62370+z*(3150+28*z)))
}
