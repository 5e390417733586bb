package scan

import "math"

// Encode rounds x to codes of 8 or 4 bits in a row, which is as long as Words says, and returns the
// scale for which
//
//	x[i] ≈ scale·(2·code − (2^width − 1)).
//
// The scale is the largest |x[i]| over 2^width, rounded to float32, and the error of an element is at
// most that but for rounding. Zeros have a scale of 0, and x with NaN or ±Inf one of NaN.
func Encode[T float32 | float64](row []uint64, x []T, width int) (scale float32) {
	var peak float64
	for _, v := range x {
		peak = max(peak, math.Abs(float64(v)))
	}
	levels := float64(int(1) << width)
	scale = float32(peak / levels)
	if math.IsInf(peak, 1) {
		scale = float32(math.NaN())
	}
	perCell, half := 0.0, levels/2
	if scale > 0 {
		perCell = half / peak
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
