package automl

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

const noiseRows = 200

// withBands gives the first part of a mixture bands from errors of the mixture, in units of the
// deviations of the first part: at rows left out of fits to all rows, if all parts have such
// errors, and otherwise at held-out rows. Errors h at held-out rows, in root mean squares, are
// multiplied by √((σ² + (1 − 1/k)·(h² − σ²))/h²) for k folds and the noise σ² of the fit to all
// rows. Unless the first part predicts logarithms, bands of boxes have one width, because a row has
// a box of its own, and so have bands of groups, because other rows of the group make deviations
// small.
func withBands[T dense.Float](s *search, found *choice, t task[T], all []fitted[T]) (*ridge.Model[T], error) {
	m, b, whole := all[0].Model, all[0].rows, true
	var errors dense.Matrix[float64]
	for _, f := range all {
		whole = whole && f.left.Rows > 0
	}
	if whole {
		errors = dense.New[float64](b.X.Rows, b.Y.Cols)
		for _, f := range all {
			floats.AddScaled(errors.Data, f.Weight, f.left.Data)
		}
	} else {
		wide := s.rows
		wide.X, wide.Y, wide.Weights = moved(t.curves, layout.Rows(wide.X, s.tested)), layout.Rows(wide.Y, s.tested), nil
		for _, i := range s.tested {
			wide.Weights = append(wide.Weights, s.given[i])
		}
		b, errors = narrow[T](wide), found.heldErrors.Clone()
		for j, h := range meanSquares(errors) {
			v, share := m.Noise()[j], 1-1/float64(len(s.folds))
			for i := range errors.Rows {
				if v < h && !t.goal.logs {
					errors.Row(i)[j] *= math.Sqrt((v + share*(h-v)) / h)
				}
			}
		}
	}
	_, scales, err := reweighted[T]{s.ctx, t.rows, m, cmp.Or(found.Tails, math.Inf(1))}.leaveOut(m, b)
	if err != nil {
		return nil, err
	}
	for i := range errors.Rows {
		for j, e := range errors.Row(i) {
			y := float64(b.Y.At(i, j))
			if t.goal.logs && whole {
				y = math.Exp(y)
			}
			if t.goal.logs {
				own := 0.0 // the prediction of the first part
				if whole {
					own = y - all[0].left.At(i, j)
				} else {
					own = t.held.At(i, j)
				}
				scales.Row(i)[j] *= max(math.Abs(y-e)+math.Abs(y-e-own), math.SmallestNonzeroFloat64)
			}
		}
	}
	_, boxes := found.kernel.(kernels.Boxes)
	bands := ridge.Bands[T]{Errors: errors, Relative: t.goal.logs || !boxes && s.Groups == nil}
	found.Bands = map[bool]string{true: relativeBands, false: equalBands}[bands.Relative]
	for i, v := range errors.Data {
		if errors.Data[i] = math.Abs(v); bands.Relative {
			errors.Data[i] /= scales.Data[i]
		}
	}
	if s.Groups != nil || found.Ended { // rows of a group tell of each other's noise
	} else if logs, about, least, ok := noise(s.ctx, m, b, errors); ok {
		found.Bands, bands.Errors, bands.Logs, bands.Least = noiseBands, about, logs, least
	}
	found.Coverage = coverage(bands.Errors)
	return m.WithBands(bands)
}

// noise learns the logarithms of the errors at the rows, with the map of m. It returns the errors
// in units of the noise without each row, the least logarithms of this noise, and whether the
// squares of log-errors about their means fall by more than two standard errors.
func noise[T dense.Float](ctx context.Context, m *ridge.Model[T], rows ridge.Block[T], errors dense.Matrix[float64]) (logs *ridge.Model[T], ratios dense.Matrix[float64], least []float64, ok bool) {
	if errors.Rows < noiseRows {
		return nil, ratios, nil, false
	}
	y, ratios := dense.New[T](errors.Rows, errors.Cols), errors.Clone()
	squares := meanSquares(errors)
	for i := range y.Rows {
		for j, v := range errors.Row(i) {
			y.Set(i, j, T(math.Log(v+1e-3*math.Sqrt(squares[j]))))
		}
	}
	rows.Y = y
	logs, err := regress(ctx, m.Map(), rows, 0)
	if err != nil {
		return nil, ratios, nil, false
	}
	rest := dense.New[T](y.Rows, y.Cols)
	for lo, hi := range interrupt.Ranges(ctx, y.Rows, patience*runtime.GOMAXPROCS(0)) {
		part := rows.RowRange(lo, hi)
		if _, err := logs.LeaveOneOut(rest.RowRange(lo, hi), part.X, part.Y, part.Weights); err != nil {
			return nil, ratios, nil, false
		}
	}
	level := dense.Copy(dense.Matrix[float64]{}, y)
	centre(level, slices.Repeat([]float64{1}, errors.Rows))
	gains := make([]float64, errors.Rows)
	least = slices.Repeat([]float64{math.Inf(1)}, errors.Cols)
	for i := range gains {
		gains[i] = meanSquare(level.Row(i))
		for j, v := range rest.Row(i) {
			gains[i] -= float64(v) * float64(v) / float64(errors.Cols)
			ratios.Set(i, j, math.Exp(float64(v)))
			least[j] = min(least[j], float64(y.At(i, j)-v))
		}
	}
	mean, sd := stat.MeanStdDev(gains, nil)
	return logs, ratios, least, mean > 2*sd/math.Sqrt(float64(len(gains)))
}

func meanSquares(x dense.Matrix[float64]) []float64 {
	columns := dense.Transpose(dense.Matrix[float64]{}, x)
	squares := make([]float64, x.Cols)
	for j := range squares {
		squares[j] = meanSquare(columns.Row(j))
	}
	return squares
}

// coverage returns the share of the errors in bands of 90 %. The bands of each fifth of the rows
// come from the errors of the other rows.
func coverage(errors dense.Matrix[float64]) float64 {
	const parts = 5
	inside := 0.0
	for j := range errors.Cols {
		for k := range parts {
			var own, others []float64
			for i := range errors.Rows {
				if i%parts == k {
					own = append(own, errors.At(i, j))
				} else {
					others = append(others, errors.At(i, j))
				}
			}
			slices.Sort(others)
			most := others[min(len(others), int(math.Ceil(0.9*float64(len(others)+1))))-1]
			for _, e := range own {
				if e <= most {
					inside++
				}
			}
		}
	}
	return inside / float64(errors.Rows*errors.Cols)
}
