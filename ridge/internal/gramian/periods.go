package gramian

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

const (
	halfPeriods = 64  // the most half periods of a sine over a column
	sineLength  = 1.5 // the length-scale for sin(ωx), in units of 1/ω
	// surprise is −log of the probability that noise gives any column a short length-scale.
	surprise = 5
)

// periods returns start with a short length-scale for each column x along which one sine of a short
// period explains the targets better than sines of the length-scale of start or longer ones do: a
// periodogram by least squares [Lomb 1976]. From length-scales that are far too long, slopes of the
// loss do not tell that a shorter length-scale would be better.
func (s *scales) periods(start []float64) []float64 {
	short, n := slices.Clone(start), float64(s.x.Rows)
	y := dense.Transpose(dense.Matrix[float64]{}, s.y)
	for j := range y.Rows {
		vecmath.Affine(y.Row(j), y.Row(j), 1, -stat.Mean(y.Row(j), s.weights))
	}
	columns := dense.Transpose(dense.Matrix[float64]{}, s.x)
	angles, sines, cosines := make([]float64, s.x.Rows), make([]float64, s.x.Rows), make([]float64, s.x.Rows)
	for j := range columns.Rows {
		column := columns.Row(j)
		mean, deviation := stat.MeanStdDev(column, nil)
		unit := math.Pi / (math.Sqrt(12) * deviation) // ω of half a period, if numbers are uniform
		if !(unit > 0 && unit < math.Inf(1)) {
			continue
		}
		long, most, length := 0.0, 0.0, 0.0
		for halves := range min(halfPeriods, levels(column)-1) {
			frequency := unit * float64(1+halves)
			vecmath.Affine(angles, column, frequency, -frequency*mean)
			vecmath.Sincos(sines, cosines, angles)
			share := min(s.explained(y, sines, cosines)/s.null, 1-0x1p-40) // rounding may exceed 1
			at := math.Log(sineLength / (frequency * s.profile.LengthScale))
			if at >= start[j] {
				long = max(long, share)
			} else if share > most {
				most, length = share, at
			}
		}
		if n/2*math.Log((1-long)/(1-most)) > surprise+math.Log(halfPeriods*float64(columns.Rows)) {
			short[j] = length
		}
	}
	return short
}

// levels returns the number of different numbers, which bounds the frequencies that differ.
func levels(column []float64) int {
	sorted := slices.Clone(column)
	slices.Sort(sorted)
	return len(slices.Compact(sorted))
}

// explained returns the part of Σωy² that the regression of the rows of y, of mean 0, on a constant
// and two functions explains, of which it subtracts the means.
func (s *scales) explained(y dense.Matrix[float64], f, g []float64) (sum float64) {
	dot := func(a, b []float64) (sum float64) {
		for i, w := range s.weights {
			sum += w * a[i] * b[i]
		}
		return sum
	}
	for _, v := range [][]float64{f, g} {
		vecmath.Affine(v, v, 1, -stat.Mean(v, s.weights))
	}
	ff, gg, fg := dot(f, f), dot(g, g), dot(f, g)
	determinant := ff*gg - fg*fg
	if !(determinant > 1e-6*ff*gg) {
		return 0
	}
	for j := range y.Rows {
		fy, gy := dot(f, y.Row(j)), dot(g, y.Row(j))
		sum += (gg*fy*fy - 2*fg*fy*gy + ff*gy*gy) / determinant
	}
	return sum
}
