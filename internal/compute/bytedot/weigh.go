package bytedot

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot/octave"
)

// Octave is the number of units of scores in which weights halve.
const Octave = 1 << octave.Bits

// Peaks raises peaks[j] to y_ij where y_ij is larger. NaN is not larger. The number of columns of y
// is a multiple of Lanes.
func Peaks(peaks []float32, y dense.Matrix[float32]) {
	checkScores(y)
	peaks = peaks[:y.Cols:len(peaks)]
	if y.Rows == 0 {
		return
	}
	for j := 0; j < y.Cols; j += Lanes {
		raise(peaks[j:], y.Data[j:], y.Stride, y.Rows)
	}
}

// Weigh sets w to the weights of scores
//
//	w_ij = ⌊255·2^((y_ij − shifts[j])/Octave) + d_i⌋
//
// for the first keys rows and n columns of y, and adds the weights of a column to totals[j]. The
// difference is rounded to float32, and then to an integer, half to even. The thresholds d_i are
// 1/64, 3/64, … 63/64 in the order of [octave.Threshold], each once in 32 rows.
//
// The error of a weight is below 1.07. Over the thresholds the mean error is within 1/64 + 3.3e-4
// times the weight. The variance is f·(1 − f) with f the fraction of the exact weight: 1/6 on
// average. A weight below 1/64, 14 octaves down, is always 0. The weight is 0 if the difference is
// NaN or −Inf, and 255 if the difference is 0.
//
// shifts[j] must be at least the peak of the column. If a difference is above 0, the weight has no
// meaning, but is the same in every tier.
//
// y has Padded(n) columns, and shifts and totals have as many elements. y has keys rows, at least
// 1, rounded up to a multiple of four. Weigh closes the rows beyond keys. Weigh panics if the
// shapes do not fit.
func Weigh(w *CodedColumns, keys, n int, totals []int32, y dense.Matrix[float32], shifts []float32) {
	checkScores(y)
	if y.Rows != four*groups(keys) || y.Cols != Padded(n) {
		panic(fmt.Sprintf("bytedot: %d×%d scores for weights of %d×%d", y.Rows, y.Cols, keys, n))
	}
	w.shape(keys, n, false)
	shifts, totals = shifts[:y.Cols:len(shifts)], totals[:y.Cols:len(totals)]
	for i := keys; i < y.Rows; i++ {
		Close(y.Row(i))
	}
	for j := 0; j < y.Cols; j += Lanes {
		at, step := w.sixteenAt(j)
		weigh(w.bytes[at:], step, totals[j:], y.Data[j:], y.Stride, shifts[j:], groups(keys))
	}
}

// Close sets scores to −Inf: they raise no peak and have weight 0.
func Close(y []float32) {
	for i := range y {
		y[i] = float32(math.Inf(-1))
	}
}

func checkScores(y dense.Matrix[float32]) {
	if y.Cols%Lanes != 0 || y.Stride < y.Cols || y.Rows > 0 && len(y.Data) < (y.Rows-1)*y.Stride+y.Cols {
		panic(fmt.Sprintf("bytedot: %d×%d scores with stride %d and %d elements", y.Rows, y.Cols, y.Stride, len(y.Data)))
	}
}
