package vecmath

import (
	"math"
	"math/big"
	"unsafe"
)

// The functions below are right to some 120 bits.

const precision = 220

func newFloat(prec uint) *big.Float { return new(big.Float).SetPrec(prec) }

func exact(x float64) *big.Float { return newFloat(precision).SetFloat64(x) }

// series returns Σ terms, where next turns a term into the one of the next k, from
// k = 1, until terms no longer count.
func series(first *big.Float, next func(term *big.Float, k int64)) *big.Float {
	term := newFloat(first.Prec()).Set(first)
	sum := newFloat(first.Prec()).Set(first)
	for k := int64(1); term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-int(first.Prec()); k++ {
		next(term, k)
		sum.Add(sum, term)
	}
	return sum
}

func quotient(prec uint, a, b int64) *big.Float {
	return newFloat(prec).Quo(newFloat(prec).SetInt64(a), newFloat(prec).SetInt64(b))
}

// arctan returns arctan 1/n.
func arctan(prec uint, n int64) *big.Float {
	square := newFloat(prec).SetInt64(-n * n)
	power := quotient(prec, 1, n)
	sum := newFloat(prec).Set(power)
	for k := int64(3); power.MantExp(nil) > -int(prec); k += 2 {
		power.Quo(power, square)
		sum.Add(sum, newFloat(prec).Quo(power, newFloat(prec).SetInt64(k)))
	}
	return sum
}

// bigPi has the bits for the largest float64. π = 16·arctan 1/5 − 4·arctan 1/239.
var bigPi = func() *big.Float {
	const prec = 1400
	a, b := arctan(prec, 5), arctan(prec, 239)
	a.Mul(a, newFloat(prec).SetInt64(16))
	b.Mul(b, newFloat(prec).SetInt64(4))
	return a.Sub(a, b)
}()

var bigLn2 = func() *big.Float {
	power, sum := newFloat(precision).SetInt64(1), newFloat(precision)
	for k := int64(1); k <= precision; k++ {
		power.Quo(power, newFloat(precision).SetInt64(2))
		sum.Add(sum, newFloat(precision).Quo(power, newFloat(precision).SetInt64(k)))
	}
	return sum
}()

func bigExp(x *big.Float) *big.Float {
	v, _ := x.Float64()
	n := math.Round(v / math.Ln2)
	r := newFloat(precision).Mul(exact(n), bigLn2)
	r.Sub(x, r)
	const halvings = 8
	r.SetMantExp(r, -halvings)
	e := series(exact(1), func(term *big.Float, k int64) {
		term.Mul(term, r)
		term.Quo(term, newFloat(precision).SetInt64(k))
	})
	for range halvings {
		e.Mul(e, e)
	}
	return e.SetMantExp(e, int(n))
}

func exactExp(x float64) *big.Float { return bigExp(exact(x)) }

// exactLog1p returns log(1 + x), x > −1.
func exactLog1p(x float64) *big.Float {
	v := exact(x)
	if math.Abs(x) < 0x1p-60 {
		square := newFloat(precision).Mul(v, v)
		return v.Sub(v, square.SetMantExp(square, -1))
	}
	one := newFloat(precision).Add(exact(1), v)
	// Halley's step triples the number of right digits.
	y := exact(math.Log1p(x))
	e := bigExp(y)
	step := newFloat(precision).Sub(one, e)
	step.Quo(step, newFloat(precision).Add(one, e))
	return y.Add(y, step.SetMantExp(step, 1))
}

// nearest returns n mod 4 and x − ½nπ for the nearest integer n.
func nearest(x float64) (quadrant int, r *big.Float) {
	half := newFloat(bigPi.Prec()).SetMantExp(bigPi, -1)
	v := newFloat(bigPi.Prec()).SetFloat64(x)
	q := newFloat(bigPi.Prec()).Quo(v, half)
	q.Add(q, newFloat(53).SetFloat64(math.Copysign(0.5, x)))
	n, _ := q.Int(nil)
	v.Sub(v, half.Mul(half, newFloat(bigPi.Prec()).SetInt(n)))
	return int(n.Mod(n, big.NewInt(4)).Int64()), newFloat(precision).Set(v)
}

// exactSincos returns sin x and cos x.
func exactSincos(x float64) (s, c *big.Float) {
	quadrant, r := nearest(x)
	square := newFloat(precision).Mul(r, r)
	square.Neg(square)
	from := func(first *big.Float, offset int64) *big.Float {
		return series(first, func(term *big.Float, k int64) {
			term.Mul(term, square)
			term.Quo(term, newFloat(precision).SetInt64((2*k-offset)*(2*k-offset+1)))
		})
	}
	s, c = from(r, 0), from(exact(1), 1)
	if quadrant&1 != 0 {
		s, c = c, s.Neg(s)
	}
	if quadrant&2 != 0 {
		s, c = s.Neg(s), c.Neg(c)
	}
	return s, c
}

func exactSin(x float64) *big.Float { s, _ := exactSincos(x); return s }
func exactCos(x float64) *big.Float { _, c := exactSincos(x); return c }

// ulps returns the error of got in units of the last place that an element next
// to the truth has. +Inf counts as the number after the largest.
func ulps[T Float](got T, truth *big.Float) float64 {
	digits, lowest, highest := 53, -1074, 1024
	if isSingle[T]() {
		digits, lowest, highest = 24, -149, 128
	}
	value := exact(float64(got))
	if math.IsInf(float64(got), 1) {
		if value.SetMantExp(exact(1), highest).Cmp(truth) <= 0 {
			return 0
		}
	}
	unit := max(truth.MantExp(nil)-digits, lowest)
	if truth.Sign() == 0 {
		unit = lowest
	}
	value.Sub(value, truth)
	e, _ := value.SetMantExp(value, -unit).Float64()
	return math.Abs(e)
}

func isSingle[T Float]() bool { return unsafe.Sizeof(T(0)) == 4 }
