package vecmath

import (
	"math"
	"math/bits"
)

// twoOverPi holds 64 zeros and the first 1280 binary digits of 2/π, most significant first.
var twoOverPi = [...]uint64{
	0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
	0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
	0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
	0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
	0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
	0xf0cfbc209af4361d,
}

// reduce returns n mod 4 and x − ½nπ = hi + lo for n = round(x/½π), where x is finite and at least
// π/4. The relative error of hi + lo, |hi| ≤ π/4, is below 2^−61 for every x [Payne & Hanek 1983].
// x = m·2^e with an integer m below 2^53. Digit i of 2/π, which has the weight 2^−i, makes
// multiples of 4 of x/½π for i ≤ e − 2. The 192 digits from e − 1 on leave an error of 2^−137, and
// x/½π is never nearer than 2^−62 to an integer. M. Payne, R. Hanek. Radian reduction for
// trigonometric functions. ACM SIGNUM Newsletter 18, 1983.
func reduce(x float64) (quadrant uint64, hi, lo float64) {
	b := math.Float64bits(x)
	m, e := b&(1<<52-1)|1<<52, int(b>>52)-1075

	at := uint(e + 62)
	word, shift := at/64, at%64
	digits := func(i uint) uint64 {
		// A shift by 64 gives 0.
		return twoOverPi[word+i]<<shift | twoOverPi[word+i+1]>>(64-shift)
	}
	// The product modulo 2^192: two digits of the quadrant and 190 behind the point.
	carry, c := bits.Mul64(m, digits(2))
	upper, mid := bits.Mul64(m, digits(1))
	b1, over := bits.Add64(mid, carry, 0)
	b0, _ := bits.Add64(m*digits(0), upper, over)
	quadrant = b0 >> 62
	f0, f1, f2 := b0<<2|b1>>62, b1<<2|c>>62, c<<2

	negative := f0>>63 != 0
	if negative { // the fraction is ½ or more: take it from the next quadrant
		quadrant++
		var borrow uint64
		f2, borrow = bits.Sub64(0, f2, 0)
		f1, borrow = bits.Sub64(0, f1, borrow)
		f0, _ = bits.Sub64(0, f0, borrow)
	}
	zeros := 0
	if f0 == 0 {
		f0, f1, zeros = f1, f2, 64
	}
	lead := bits.LeadingZeros64(f0)
	f0 = f0<<lead | f1>>(64-lead)
	zeros += lead

	const halfPi = 0xc90fdaa22168c235 // ½π·2^63
	h, _ := bits.Mul64(f0, halfPi)
	hi = float64(h)
	lo = float64(int64(h - uint64(hi)))
	scale := power(-63 - zeros)
	if negative {
		scale = -scale
	}
	return quadrant & 3, hi * scale, lo * scale
}
