package automl

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

const (
	mostThresholds = 1280 // of all columns
	movedRows      = 64   // rows in which a column takes all values
	boxRounds      = 2
)

// boxes learns a kernel of kernels.Boxes. Thresholds lie between values of the rows. Columns have
// equal weights at first. In each round the weight of a threshold becomes the mean square of the
// step that the fit has there, over rows whose other columns stay.
func boxes(s *mixtureSearch, b ridge.Block[float64]) (at space, start, ratio float64, err error) {
	if at, err = standardised(b.X, deviations); err != nil {
		return at, 0, 0, err
	}
	rows := b
	if rows.X, err = at.points(b.X); err != nil {
		return at, 0, 0, err
	}
	d := b.X.Cols
	most := min(256, max(8, mostThresholds/d))
	k := kernels.Boxes{Thresholds: dense.New[float64](d, most), Weights: dense.New[float64](d, most)}
	for j := range d {
		thresholds(k.Thresholds.Row(j), k.Weights.Row(j), rows.X.ColRange(j, j+1))
	}
	if floats.Sum(k.Weights.Data) == 0 {
		return at, 0, 0, errors.New("the rows are equal, which tells no thresholds")
	}
	for range boxRounds {
		if k, err = s.weigh(k, rows); err != nil {
			return at, 0, 0, err
		}
	}
	at.kernel = k
	return at, 0, 0, nil
}

// thresholds writes values between neighbours of the sorted column, at equal distances in rank, and
// weights of sum 1, or 0 if all values are equal.
func thresholds(t, weights []float64, column dense.Matrix[float64]) {
	values := slices.Clone(dense.Copy(dense.Matrix[float64]{}, column).Data)
	slices.Sort(values)
	values = slices.Compact(values)
	gaps := len(values) - 1
	for b := range t {
		at := b
		if gaps > len(t) {
			at = b * (gaps - 1) / max(1, len(t)-1)
		}
		if at >= gaps {
			t[b] = values[gaps]
			continue
		}
		t[b], weights[b] = values[at]+(values[at+1]-values[at])/2, 1/float64(min(gaps, len(t)))
	}
}

func (s *mixtureSearch) weigh(k kernels.Boxes, b ridge.Block[float64]) (kernels.Boxes, error) {
	n, d, outputs := b.X.Rows, b.X.Cols, b.Y.Cols
	weights, _, err := s.likeliest(k, b.X, b.Y, b.Weights)
	if err != nil {
		return k, err
	}
	c := dense.Transpose(dense.Matrix[float64]{}, weights)
	total := 0.0
	places := dense.New[float64](d, n) // the share of the weights below, of column j in row j
	cumulated := dense.New[float64](d, k.Weights.Cols+1)
	for j := range d {
		total += floats.Sum(k.Weights.Row(j))
	}
	for j := range d {
		floats.CumSum(cumulated.Row(j)[1:], k.Weights.Row(j))
		floats.Scale(1/total, cumulated.Row(j))
		for i := range n {
			at, _ := slices.BinarySearch(k.Thresholds.Row(j), b.X.At(i, j))
			places.Set(j, i, cumulated.At(j, at))
		}
	}
	moved := min(n, movedRows)
	others, values := make([]float64, n), make([]float64, n)
	steps := kernels.Boxes{Thresholds: k.Thresholds, Weights: dense.New[float64](d, k.Weights.Cols)}
	for i := range moved {
		if err := s.ctx.Err(); err != nil {
			return k, err
		}
		clear(others)
		for j := range d {
			for l, p := range places.Row(j) {
				others[l] += math.Abs(p - places.At(j, i))
			}
		}
		for j := range d {
			before := make([]float64, outputs)
			for at, place := range cumulated.Row(j) {
				if at > 0 && k.Weights.At(j, at-1) == 0 {
					continue
				}
				for l, p := range places.Row(j) {
					same := 1 - others[l] + math.Abs(p-places.At(j, i)) - math.Abs(p-place)
					values[l] = same + same*same + same*same*same
				}
				for o := range outputs {
					f := floats.Dot(values, c.Row(o))
					if at > 0 {
						steps.Weights.Row(j)[at-1] += (f - before[o]) * (f - before[o])
					}
					before[o] = f
				}
			}
		}
	}
	sum, count := 0.0, 0.0
	for j := range d {
		sum += floats.Sum(steps.Weights.Row(j))
		for _, w := range k.Weights.Row(j) {
			if w > 0 {
				count++
			}
		}
	}
	for i, w := range k.Weights.Data {
		if w > 0 {
			steps.Weights.Data[i] = steps.Weights.Data[i]/sum + 0.02/count
		}
	}
	if !(sum > 0) {
		return k, nil
	}
	return steps, nil
}
