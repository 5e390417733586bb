package scan

import "math"

// Encode rounds x to codes of 8 or 4 bits in a row of Words(len(x), width) words, and returns the
// scale for which
//
//	x[i] ≈ scale·(2·code − (2^width − 1)).
//
// The scale is the largest |x[i]| over 2^width, rounded to float32. Apart from rounding, the error
// of an element is at most the scale. A subnormal scale is rounded up. The scale is 0 if x is zero,
// or if float32 has no positive number so small. It is NaN if x has NaN or ±Inf.
func Encode[T float32 | float64](row []uint64, x []T, width int) (scale float32) {
	var peak float64
	for _, v := range x {
		peak = max(peak, math.Abs(float64(v)))
	}
	levels := float64(int(1) << width)
	perCell, half := 0.0, levels/2
	switch size := peak / levels; {
	case !(size <= math.MaxFloat64):
		scale = float32(math.NaN())
	case size >= 0x1p-126:
		scale, perCell = float32(size), half/peak
	case size >= math.SmallestNonzeroFloat32: // few digits are left to the scale
		if scale = float32(size); float64(scale) < size {
			scale += math.SmallestNonzeroFloat32
		}
		perCell = 0.5 / float64(scale)
	}
	blocks(len(row), width, func(element, word, lanes int) {
		var codes [64 * blockWords / 4]uint8
		n := lanes * (32 / width)
		if part := x[min(element, len(x)):min(element+n, len(x))]; scale == scale {
			for i, v := range part {
				codes[i] = uint8(min(float64(float64(v)*perCell)+half, levels-1))
			}
			n = len(part)
		}
		Pack(row[word:word+lanes/2], codes[:n], width)
	})
	return scale
}
