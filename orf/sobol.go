package orf

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
)

const (
	// maxSobol is 1 and the number of primitive polynomials of degree up to 18. One degree more
	// would double the time of finding them.
	maxSobol = 21201
	// sobolBits is the number of binary digits of a coordinate: with a half in the place after them
	// it is a float64 inside (0, 1).
	sobolBits = 52
)

// Sobol is the law of frequencies that fill R^d more evenly than independent frequencies: points of
// a randomised Sobol sequence in [0, 1]^d, taken through the inverse of the normal distribution
// function. Of 2^k successive points from a multiple of 2^k on, every coordinate has one in each
// interval of length 2^(−k). m is best a power of two.
//
// The first coordinate is the van der Corput sequence; the others have directions from primitive
// polynomials over GF(2), with random odd initial numbers. The digits of every coordinate go
// through a random lower triangular matrix over GF(2) and a random shift. Every point is uniform on
// [0, 1]^d, on a grid of 2⁵² values a coordinate, and every frequency is a standard Gaussian
// vector: estimates are unbiased for every kernel. Two frequencies are not independent, and no law
// of the variance is known. The variance falls faster than 1/m where the dimension is low and is
// larger where it is high: for the Gaussian kernel at x − y = 1.5·(1, …, 1)/√d and m = 64 it is 6
// %, 33 % and 62 % of the variance with IID at d = 2, 4 and 8, but 105 % and 135 % at d = 16 and
// 64, where Halton does no harm.
//
// Cost: d·log₂ m numbers of 52 bits through the matrices and m·d quantiles, once, and the search
// for d − 1 polynomials. Project is a matrix product, O(n·m·d). d > 21,201 is an error.
//
// Sources: [Sobol 1967] for the sequence, [Matoušek 1998] for its randomisation, [Yang et al. 2014]
// for the features.
type Sobol struct{}

func (Sobol) ensemble() {}

// String returns Sobol.
func (Sobol) String() string { return "Sobol" }

// sobol draws m frequencies of R^d.
func sobol[T dense.Float](e Sobol, m, d int, src rand.Source) (Projection[T], error) {
	if d > maxSobol {
		return nil, fmt.Errorf("orf: Sobol: d = %d, want at most %d", d, maxSobol)
	}
	w, err := unrounded(m, d)
	if err != nil {
		return nil, err
	}
	columns := make([]uint64, bits.Len(uint(m-1)))
	polynomials := primitives(d - 1)
	for j := range d {
		if j == 0 {
			vanDerCorput(columns)
		} else {
			generate(columns, polynomials[j-1], src)
		}
		scramble(columns, src)
		point := src.Uint64()
		for i := range m {
			if i > 0 {
				// Gray's code: the same 2^k points, with one column a step.
				point ^= columns[bits.TrailingZeros(uint(i))]
			}
			u := (float64(point>>(64-sobolBits)) + 0.5) / (1 << sobolBits)
			w.Data[i*w.Stride+j] = distuv.UnitNormal.Quantile(u)
		}
	}
	return rounded[T](w, e), nil
}

// vanDerCorput fills columns with the directions 2^(−c−1), as fractions of 2⁶⁴.
func vanDerCorput(columns []uint64) {
	for c := range columns {
		columns[c] = 1 << (63 - c)
	}
}

// generate fills columns with the directions that the polynomial x^s + a₁x^(s−1) + … + a_s
// generates,
//
//	v_c = a₁v_(c−1) ⊕ … ⊕ a_s·v_(c−s) ⊕ v_(c−s)/2^s,
//
// as fractions of 2⁶⁴. The first s, odd multiples of 2^(−c−1), are random.
func generate(columns []uint64, polynomial uint32, src rand.Source) {
	s := bits.Len32(polynomial) - 1
	for c := range s {
		v := src.Uint64() // drawn for the columns that are not in use too
		if c < len(columns) {
			columns[c] = (v<<1 | 1) << (63 - c)
		}
	}
	for c := s; c < len(columns); c++ {
		v := columns[c-s] >> s
		for k := 1; k <= s; k++ {
			if polynomial>>(s-k)&1 == 1 {
				v ^= columns[c-k]
			}
		}
		columns[c] = v
	}
}

// scramble multiplies the columns, their highest bit first, by a random lower triangular matrix
// over GF(2) with a diagonal of ones.
func scramble(columns []uint64, src rand.Source) {
	var rows [sobolBits]uint64
	for i := range rows {
		one := uint64(1) << (63 - i)
		rows[i] = src.Uint64()&^(2*one-1) | one
	}
	for c, v := range columns {
		var scrambled uint64
		for i, row := range rows {
			scrambled |= uint64(bits.OnesCount64(row&v)&1) << (63 - i)
		}
		columns[c] = scrambled
	}
}
