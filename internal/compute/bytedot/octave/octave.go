// Package octave computes weights 255·2^(−x) in integers of 16 bits, for the kernels of package
// bytedot, their generators and their reference. x is an integer in units of 1/2^Bits octave, q is
// x rounded to octaves, and 2^(Bits−1)·s is the rest, with −1 ≤ s < 1:
//
//	255·2^(−x) = 2^(−q)·p(s)/64,  p(s) = 255·64·2^(−s/2).
//
// A multiplication is (a·b + 2¹⁴) >> 15, as processors have it, with factors in units of 2⁻¹⁵. A
// weight is rounded by the threshold of its row, d/64 with d = 1, 3, … 63:
//
//	w = ⌊(⌊2^(−q)·p(s)⌋ + d)/64⌋
//
// The mean over all thresholds is p(s)·2^(−q)/64 rounded to a multiple of 1/32, half up.
package octave

const (
	// Bits is the binary logarithm of the number of units of an octave.
	Bits = 11
	// Down + q is the shift of p(s) to the right that gives the weight.
	Down = 6
	// Rows is the number of rows until thresholds repeat.
	Rows = 1 << (Down - 1)
)

// Coefficients are the coefficients of a polynomial for p(s), from the constant term on. With the
// rounding of each step its relative error is at most 1.51e-4.
var Coefficients = [4]int16{16319, -5659, 990, -110}

// Multiply returns a·b in units of 2⁻¹⁵, rounded as processors round it.
func Multiply(a, b int16) int16 { return int16((int32(a)*int32(b) + 1<<14) >> 15) }

// Threshold returns the odd number of 1/64 that is added to a weight of a row before the weight is
// rounded down. Rows successive rows have different thresholds, which steps of 25 of 32 spread.
func Threshold(row int) int16 { return int16(2*((Rows/2+25*row)%Rows) + 1) }

// Half returns ⌊Threshold/2⌋, for kernels that round twice: ⌊(⌊a⌋ + d)/64⌋ = ⌊(round(a/2) +
// ⌊d/2⌋)/32⌋ for odd d, with round half up.
func Half(row int) int16 { return Threshold(row) >> 1 }

// Weight returns 255·2^(−x) with x in units of 1/2^Bits octave, rounded by the threshold of a row.
// The result is at most 255. It is 255 for x = 0, and 0 from 14 octaves on and below −½ octave.
func Weight(x int16, row int) uint8 {
	rest := x << (16 - Bits)
	p := Multiply(rest, Coefficients[3])
	for i := 2; i > 0; i-- {
		p = Multiply(rest, p+Coefficients[i])
	}
	octaves := (int32(x) + 1<<(Bits-1)) >> Bits
	if octaves < 0 {
		return 0
	}
	return uint8(min(255, ((p+Coefficients[0])>>octaves+Threshold(row))>>Down))
}
