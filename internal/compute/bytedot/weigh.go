package bytedot

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot/octave"
)

// Octave is the number of units of scores in which weights halve.
const Octave = 1 << octave.Bits

// Peaks raises peaks[j] to a larger y_ij. The number of columns of y is a multiple of Lanes.
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
// 1/64, 3/64, … 63/64 in the order of [octave.Threshold], each once in 32 rows. The error of a
// weight is below 1.07, and the mean error over the thresholds within 1/64 + 3.3e-4 times the
// weight. The weight is 0 if the difference is NaN or −Inf. shifts[j] must be at least the peak of
// the column. y has Padded(n) columns, and shifts and totals have as many elements. y has keys
// rows, at least 1, rounded up to a multiple of four. Weigh closes further rows.
func Weigh(w *Columns, keys, n int, totals []int32, y dense.Matrix[float32], shifts []float32) {
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
