package hadamard

func primePower(q int) (p, e int, ok bool) {
	if q < 2 {
		return 0, 0, false
	}
	p = 2
	for p*p <= q && q%p != 0 {
		p++
	}
	if q%p != 0 {
		return q, 1, true
	}
	for q%p == 0 {
		q /= p
		e++
	}
	return p, e, q == 1
}

// character returns the quadratic character χ of GF(q), q = p^e for an odd prime p: 0 at 0, 1 at
// the other squares, −1 elsewhere. The element c₀ + c₁x + … of GF(p)[x]/f has the index c₀ + c₁p +
// …. character tries monic polynomials f of degree e until the powers of x are all elements but 0:
// then f is irreducible, and the even powers are the squares.
func character(p, e int) []int8 {
	q := power(p, e)
	chi := make([]int8, q)
	for tail := 1; ; tail++ {
		clear(chi)
		sign, count := int8(1), 0
		for a := 1; a != 0 && chi[a] == 0; a = timesX(a, tail, p, q) {
			chi[a] = sign
			sign = -sign
			count++
		}
		if count == q-1 {
			return chi
		}
	}
}

// timesX returns a·x in GF(p)[x]/f. The digits of tail in base p are the coefficients of x^e − f.
func timesX(a, tail, p, q int) int {
	top := a / (q / p)
	shifted, product := a%(q/p)*p, 0
	for place := 1; place < q; place *= p {
		product += (shifted/place + top*(tail/place)) % p * place
	}
	return product
}

func minus(a, b, p, q int) int {
	difference := 0
	for place := 1; place < q; place *= p {
		difference += (a/place%p + p - b/place%p) % p * place
	}
	return difference
}

func power(p, e int) int {
	q := 1
	for range e {
		q *= p
	}
	return q
}
