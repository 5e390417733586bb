package ridge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
)

// For row i and output j, Jackknife writes the ratio of the leave-one-out error to the standard
// deviation of the error to the matrix dst, and returns dst:
//
//	|y_ij − f_j(x_i)| / ( σ_j·√((1 − h_i)/ω_i + (1 − h_i)²·r_i) ).
//
// The arguments x, y and weights and the leverages h_i of Jackknife are those of LeaveOneOut, and
// r_i is the result r of Variances at row i. WithBands makes prediction bands of the ratios of
// Jackknife, too narrow ones if length-scales were learnt from the rows. Jackknife returns an error
// where LeaveOneOut returns one, for a weight of 0, and for a ratio of error to standard deviation
// that is not finite. Jackknife costs as much as Predict.
func (m *Model[T]) Jackknife(dst, x, y dense.Matrix[T], weights []T) (dense.Matrix[T], error) {
	for i, w := range weights {
		if w == 0 {
			return dst, fmt.Errorf("ridge: weights[%d] = 0, want a positive number", i)
		}
	}
	dst, err := m.rowwise(dst, x, y, weights, func(r *features.Design) {
		g := m.regression
		errs := g.About(r)
		for i, h := range m.root.variances(r.Phi) {
			rest := 1 - (h+g.Base)*r.Weights[i]
			scale := math.Sqrt(rest) * math.Sqrt(1/r.Weights[i]+rest*r.Residuals[i]/g.Ratio)
			row := errs.Row(i)
			for j, v := range r.Y.Row(i) {
				row[j] = math.Abs(v-g.TargetMean[j]-row[j]) / (math.Sqrt(g.Noise[j]) * scale)
			}
		}
	})
	if err != nil {
		return dst, err
	}
	return dst, argument.Finite("ridge: the ratio of error and deviation", dst)
}

// Bands are prediction errors at rows that a fit has not seen, from which Model.Band computes half
// widths of prediction bands. Prediction bands hold new targets with the given probability for any
// distribution of the noise if rows are exchangeable [Vovk et al. 2005]. If a fit learns
// length-scales or a metric, errors in Bands must be at rows that took no part in learning.
type Bands[T dense.Float] struct {
	// Errors has in row i and column j the absolute difference |y_ij − f_j(x_i)| of target and mean
	// of output j, divided by the factors that Relative and Logs describe.
	Errors dense.Matrix[float64]

	// Relative says that Errors are ratios of prediction errors to standard deviations, as of
	// Jackknife, so that bands are wide where standard deviations of Predict are large. If Relative
	// is false and Logs nil, the bands of an output have one width at all points.
	Relative bool

	// Logs is a model of the logarithms of prediction errors, for bands as wide as errors; a nil
	// Logs stands for equal noise of all rows. Model.Band multiplies the half width of output j by
	// exp(max(g, Least[j])) for the mean g of Logs. With Logs, Errors must be the exponentials of
	// the errors that Logs.LeaveOneOut returns.
	Logs *Model[T]

	// Least has for each output the smallest mean of the model Logs at the rows of the fit.
	Least []float64
}

// WithBands returns a copy of the model with the Bands b, which Model.Write writes too. WithBands
// returns an error for Errors of a wrong shape or with a negative number, a Logs that is zero or
// has other features or outputs than the model, and a Least of a wrong length.
func (m *Model[T]) WithBands(b Bands[T]) (*Model[T], error) {
	if m.phi == nil {
		return nil, errNoModel
	}
	p, n := len(m.prior), b.Errors.Rows
	if b.Errors.Check(); n < 1 || b.Errors.Cols != p {
		return nil, fmt.Errorf("ridge: errors are %d×%d, want at least one row and %d columns", n, b.Errors.Cols, p)
	}
	sorted := dense.Transpose(dense.Matrix[float64]{}, b.Errors).Data
	for j := range p {
		slices.Sort(sorted[j*n : (j+1)*n])
	}
	with := *m
	with.regression.Errors, with.regression.Relative, with.regression.Logs = sorted, b.Relative, nil
	if err := checkErrors(sorted, p); err != nil {
		return nil, wrap(err)
	}
	if b.Logs == nil && b.Least == nil {
		return &with, nil
	}
	if b.Logs == nil || b.Logs.phi == nil {
		return nil, errNoModel
	}
	w := b.Logs.regression.Weights
	if own := m.regression.Weights; w.Rows != own.Rows || w.Cols != own.Cols {
		return nil, fmt.Errorf("ridge: logs has %d features and %d outputs, want %d and %d", w.Rows, w.Cols, own.Rows, own.Cols)
	}
	if len(b.Least) != w.Cols {
		return nil, fmt.Errorf("ridge: least has %d numbers, want %d", len(b.Least), w.Cols)
	}
	if err := argument.FiniteAll("ridge: least", b.Least); err != nil {
		return nil, err
	}
	at := b.Logs.regression.Intercepts()
	for i, v := range m.regression.FeatureMean {
		floats.AddScaled(at, v, w.Row(i))
	}
	with.regression.Logs = slices.Concat(w.Clone().Data, at, b.Least)
	return &with, nil
}

func checkBands(errors, logs []float64, weights dense.Matrix[float64]) error {
	if n := (weights.Rows + 2) * weights.Cols; len(logs) > 0 && (len(logs) != n || len(errors) == 0) {
		return fmt.Errorf("%d logs beside %d errors, want none, or %d and at least one error", len(logs), len(errors), n)
	}
	return cmp.Or(checkErrors(errors, weights.Cols), argument.FiniteAll("logs", logs))
}

func checkErrors(errors []float64, outputs int) error {
	if len(errors)%outputs != 0 {
		return fmt.Errorf("%d errors for %d outputs, want as many for each", len(errors), outputs)
	}
	for i, v := range errors {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("errors[%d] = %v, want a finite number from 0 on", i, v)
		}
	}
	return nil
}

// For each row of x and each output, Band returns the mean of Predict and the half width of a band.
// For rows and targets like those of the fit, a new target lies within the half width of the mean
// of Band with the probability level. With n errors per output in Bands, the half width is the
// ⌈level·(n + 1)⌉-th smallest error, times the factors of Bands.Relative and Bands.Logs, or +Inf if
// n is too small for the level. For a model that holds no prediction errors from WithBands, the
// half width is the standard deviation of Predict times the (1 + level)/2 quantile of the normal
// distribution.
//
// Away from the rows of the fit, bands are only as good as the standard deviations of Predict: see
// Samples in docs/regression.md. Band panics where Predict panics, and unless 0 < level < 1.
func (m *Model[T]) Band(x dense.Matrix[T], level float64) (mean, half dense.Matrix[T]) {
	mean, half = m.Predict(x)
	g := dense.New[T](half.Rows, 0)
	if logs, _ := m.regression.LogErrors(); logs != nil {
		g = features.Mean(m.source, logs, dense.Matrix[T]{}, x, m.rows())
	}
	for i := range half.Rows {
		band(&m.regression, half.Row(i), g.Row(i), level)
	}
	return mean, half
}

// band replaces standard deviations by half widths. g has the means of log-errors, or no numbers.
func band[T dense.Float](r *features.Regression, sd, g []T, level float64) {
	if !(level > 0 && level < 1) {
		panic(fmt.Sprintf("ridge: level = %v, want a number between 0 and 1", level))
	}
	n := len(r.Errors) / len(sd)
	_, least := r.LogErrors()
	// Neither the rounding of the level nor that of the product raises the rank.
	rank := int(math.Ceil(level * float64(n+1) * (1 - 0x1p-51)))
	for j, v := range sd {
		half := float64(v)
		if n > 0 && !r.Relative {
			half = 1
		}
		if len(g) > 0 {
			half *= math.Exp(max(float64(g[j]), least[j]))
		}
		switch {
		case n == 0:
			half *= distuv.UnitNormal.Quantile((1 + level) / 2)
		case rank > n:
			half = math.Inf(1)
		default:
			half *= r.Errors[j*n+rank-1]
		}
		sd[j] = T(half)
	}
}
