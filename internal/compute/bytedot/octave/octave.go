// Package octave is the arithmetic of weights 255·2^(−x) on integers of 16 bits, for the kernels of
// package bytedot, their generators and their reference.
//
// A score is an integer in parts of an octave, of which there are 1<<Bits. Rounded to octaves it is q,
// and 2^(Bits−1)·s is the rest, with −1 ≤ s < 1:
//
//	255·2^(−x) = 2^(−q)·p(s)/64,  p(s) = 255·64·2^(−s/2).
//
// Multiplications are those of processors: (a·b + 2¹⁴) >> 15, with factors as multiples of 2⁻¹⁵.
package octave

const (
	// Bits is the binary logarithm of the parts of an octave.
	Bits = 11
	// Top·2^(−q), multiplied by p(s), is the weight, and so is p(s) shifted to the right by Down + q.
	Top  = 1 << (15 - Down)
	Down = 6
)

// Coefficients are those of a polynomial for p(s), from the constant one on. With the rounding of each
// step its relative error is at most 1.51e-4.
var Coefficients = [4]int16{16319, -5659, 990, -110}

// Multiply returns a·b as processors round it.
func Multiply(a, b int16) int16 { return int16((int32(a)*int32(b) + 1<<14) >> 15) }

// Weight returns round(255·2^(−x)) with x in parts of an octave, 0 for less than −½ octave, and at
// most 255.
func Weight(x int16) uint8 {
	rest := x << (16 - Bits)
	p := Multiply(rest, Coefficients[3])
	for i := 2; i > 0; i-- {
		p = Multiply(rest, p+Coefficients[i])
	}
	octaves := (int32(x) + 1<<(Bits-1)) >> Bits
	if octaves < 0 {
		return 0
	}
	return uint8(min(255, Multiply(p+Coefficients[0], int16(Top>>octaves))))
}
