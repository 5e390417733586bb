package scan

import "math"

// Zero returns what the zero point, the lower half of the bits of a scale, adds to the scale.
func Zero(scale float32) float32 {
	return scale - math.Float32frombits((math.Float32bits(scale)+1<<15)&^(1<<16-1))
}

// Score turns products of rows into scores,
//
//	x[i] = factor·(x[i]·scales[i] + offset·Zero(scales[i])) + means[i/PartRows]
//
// where each product and each sum rounds: results are the same in every tier.
func Score(x, scales, means []float32, factor, offset float32) {
	scales, means = scales[:len(x)], means[:(len(x)+PartRows-1)/PartRows]
	groups := len(x) / GroupRows
	if groups > 0 {
		score(x, scales, means, groups, factor, offset)
	}
	if done := groups * GroupRows; done < len(x) {
		scoreRows(x[done:], scales[done:], means[done/PartRows:], factor, offset)
	}
}

func scoreReference(x, scales, means []float32, groups int, factor, offset float32) {
	scoreRows(x, scales[:groups*GroupRows], means, factor, offset)
}

func scoreRows(x, scales, means []float32, factor, offset float32) {
	for i, scale := range scales {
		x[i] = float32(factor*(float32(x[i]*scale)+float32(offset*Zero(scale)))) + means[i/PartRows]
	}
}
