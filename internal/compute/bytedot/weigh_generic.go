package bytedot

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/bytedot/octave"
)

func raiseReference(dst, y []float32, stride, rows int) {
	for i := range rows {
		for j, v := range y[i*stride:][:Lanes] {
			if v > dst[j] {
				dst[j] = v
			}
		}
	}
}

func weighReference(dst []uint8, step int, totals []int32, y []float32, stride int, shifts []float32, groups int) {
	for g := range groups {
		to := dst[g*step:][:four*Lanes]
		for r := range four {
			for j, v := range y[(four*g+r)*stride:][:Lanes] {
				w := weightOf(shifts[j]-v, four*g+r)
				to[four*j+r] = w
				totals[j] += int32(w)
			}
		}
	}
}

func weightOf(x float32, row int) uint8 {
	switch rounded := math.RoundToEven(float64(x)); {
	case rounded <= math.MinInt16:
		return octave.Weight(math.MinInt16, row)
	case rounded < math.MaxInt16:
		return octave.Weight(int16(rounded), row)
	}
	return 0
}
