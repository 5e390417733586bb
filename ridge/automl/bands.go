package automl

import (
	"context"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/ridge"
)

// noiseRows is the least number of errors from which a model of the noise is learnt.
const noiseRows = 200

// withBands returns the model with bands. The errors are those of leave-one-out, at all rows, or at
// the rows that did not choose if the family has learnt from the targets. If there are no such
// rows, the errors are those at held-out rows, which are too large for a fit to all rows. With learnt
// length-scales or metrics they are made smaller, as if the part of their mean square h that exceeds
// the noise σ² of a fit with normal noise fell as 1/n: with k folds they are multiplied by
// √((σ² + (1 − 1/k)·(h − σ²))/h).
// of has the weights of the rows in the fit.
func withBands[T dense.Float](of reweighted[T], m *ridge.Model[T], found *choice, all ridge.Block[float64]) (*ridge.Model[T], error) {
	b := all
	if found.learns && all.X.Rows >= sampleRows+unseenRows {
		b = all.RowRange(sampleRows, all.X.Rows)
	}
	rows := ridge.Block[T]{X: dense.Copy(dense.Matrix[T]{}, b.X), Y: dense.Copy(dense.Matrix[T]{}, b.Y)}
	rows.Weights = dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(b.Weights), b.Weights)).Data
	ratios, errors, err := of.leaveOut(m, rows)
	if err != nil {
		return nil, err
	}
	floats.Mul(errors.Data, ratios.Data)
	if found.learns && b.X.Rows == all.X.Rows {
		held, size, share := found.heldOut, 1.0, 1-1/float64(found.folds)
		if v, h := found.noise, meanSquare(held.Y.Data); v < h && found.kernel != nil && found.space.kernel == nil {
			size = math.Sqrt((v + share*(h-v)) / h)
		}
		rows.X, errors = dense.Copy(dense.Matrix[T]{}, held.X), held.Y
		rows.Weights = dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(held.Weights), held.Weights)).Data
		for i, v := range errors.Data {
			errors.Data[i] = size * v
		}
	}
	if logs, about, ok := noise(of.ctx, m, rows, errors); ok {
		found.Bands, found.Coverage = NoiseBands, coverage(about)
		return m.WithNoise(logs, about)
	}
	// Deviations of Predict with landmarks lack the variance of the kernel outside the span of the
	// landmarks: it is 0 at the landmarks, and not at other rows.
	found.Bands = EqualBands
	if !found.learns && found.kernel == nil {
		found.Bands, errors = RelativeBands, ratios
	}
	found.Coverage = coverage(errors)
	return m.WithBands(errors, found.Bands == RelativeBands)
}

// noise learns the logarithms of the errors at the rows, with the map of m. It returns the errors
// in units of the noise without each row, and whether they vary clearly less than the errors:
// whether the squares of log-errors about their means fall by more than two standard errors.
func noise[T dense.Float](ctx context.Context, m *ridge.Model[T], rows ridge.Block[T], errors dense.Matrix[float64]) (logs *ridge.Model[T], ratios dense.Matrix[float64], ok bool) {
	if errors.Rows < noiseRows {
		return nil, ratios, false
	}
	y, ratios := dense.New[T](errors.Rows, errors.Cols), errors.Clone()
	least := 1e-3 * math.Sqrt(meanSquare(errors.Data))
	for i, v := range errors.Data {
		y.Data[i] = T(math.Log(v + least))
	}
	rows.Y = y
	logs, err := regress(ctx, m.Map(), rows, 0)
	if err != nil {
		return nil, ratios, false
	}
	rest := dense.New[T](y.Rows, y.Cols)
	for lo, hi := range interrupt.Ranges(ctx, y.Rows, patience*runtime.GOMAXPROCS(0)) {
		part := rows.RowRange(lo, hi)
		if _, err := logs.LeaveOneOut(rest.RowRange(lo, hi), part.X, part.Y, part.Weights); err != nil {
			return nil, ratios, false
		}
	}
	level := dense.Copy(dense.Matrix[float64]{}, y)
	centre(level, slices.Repeat([]float64{1}, errors.Rows))
	gains := make([]float64, errors.Rows)
	for i := range gains {
		gains[i] = meanSquare(level.Row(i))
		for j, v := range rest.Row(i) {
			gains[i] -= float64(v) * float64(v) / float64(errors.Cols)
			ratios.Set(i, j, math.Exp(float64(v)))
		}
	}
	mean, sd := stat.MeanStdDev(gains, nil)
	return logs, ratios, mean > 2*sd/math.Sqrt(float64(len(gains)))
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
