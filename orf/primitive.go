package orf

import "math/bits"

// primitives returns the first n primitive polynomials over GF(2), in the order of their degree and
// then their value, the coefficient of x^k as bit k.
func primitives(n int) []uint32 {
	found := make([]uint32, 0, n)
	for degree := 1; len(found) < n; degree++ {
		order := uint32(1)<<degree - 1
		factors := primeFactors(order)
		for p := uint32(1)<<degree | 1; p>>degree == 1 && len(found) < n; p += 2 {
			if primitive(p, order, factors) {
				found = append(found, p)
			}
		}
	}
	return found
}

// primitive reports whether x has the given order, 2^degree − 1, modulo p: its powers are then all
// polynomials of lower degree but 0. factors are the primes that divide the order.
func primitive(p, order uint32, factors []uint32) bool {
	if powerOfX(order, p) != 1 {
		return false
	}
	for _, f := range factors {
		if powerOfX(order/f, p) == 1 {
			return false
		}
	}
	return true
}

// powerOfX returns x^n modulo p, for p of degree 1 to 31.
func powerOfX(n, p uint32) uint32 {
	top := uint32(1) << (bits.Len32(p) - 1)
	timesX := func(a uint32) uint32 {
		a <<= 1
		if a&top != 0 {
			a ^= p
		}
		return a
	}
	power := uint32(1)
	for i := bits.Len32(n) - 1; i >= 0; i-- {
		var square uint32
		for k := bits.Len32(power) - 1; k >= 0; k-- {
			square = timesX(square)
			if power>>k&1 == 1 {
				square ^= power
			}
		}
		power = square
		if n>>i&1 == 1 {
			power = timesX(power)
		}
	}
	return power
}

// primeFactors returns the primes that divide n, in ascending order.
func primeFactors(n uint32) []uint32 {
	var factors []uint32
	for f := uint32(2); f*f <= n; f++ {
		if n%f == 0 {
			factors = append(factors, f)
		}
		for n%f == 0 {
			n /= f
		}
	}
	if n > 1 {
		factors = append(factors, n)
	}
	return factors
}
