package table

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
)

var errNoModel = errors.New("table: the model is zero, want one of Fit or ReadModel")

// Predictions are the predictions of n rows.
type Predictions struct {
	// Mean and Half are, for a numeric target, the n predictions and the half widths of their
	// bands, as ridge.Model.Band returns them.
	Mean, Half []float64

	// Probabilities has, for classes, in element (i, c) the probability that row i has class c of
	// Model.Classes.
	Probabilities dense.Matrix[float64]
}

// Predict predicts the target for the rows of t, which needs only the columns from which the model
// predicts, in any order. The band of a numeric target contains the target with the probability
// level; classes do not use level. The error names the line, the column and the value of a text
// that does not have the kind of its column, or reports a column that t lacks, a zero model, a nil
// t, or a level that is not between 0 and 1.
func (m *Model) Predict(t *Table, level float64) (*Predictions, error) {
	switch {
	case m == nil || m.model == nil && m.classifier == nil:
		return nil, errNoModel
	case t == nil:
		return nil, errors.New("table: the table is nil")
	case !(level > 0 && level < 1):
		return nil, fmt.Errorf("table: level = %v, want a number between 0 and 1", level)
	}
	x, err := encode(m.columns, t)
	if err != nil {
		return nil, err
	}
	return m.predict(x, level), nil
}

// predict predicts points.
func (m *Model) predict(x dense.Matrix[float64], level float64) *Predictions {
	if m.model == nil {
		return &Predictions{Probabilities: m.classifier.Probabilities(dense.Matrix[float64]{}, x)}
	}
	mean, half := m.model.Band(x, level)
	return &Predictions{Mean: mean.Data, Half: half.Data}
}

// losses returns the squared errors of predictions, or the log-losses, where an unknown class has
// NaN.
func (p *Predictions) losses(y []float64) []float64 {
	loss := make([]float64, len(y))
	for i, v := range y {
		switch {
		case p.Mean != nil:
			loss[i] = (v - p.Mean[i]) * (v - p.Mean[i])
		case v < 0:
			loss[i] = math.NaN()
		default:
			loss[i] = -math.Log(max(p.Probabilities.At(i, int(v)), math.SmallestNonzeroFloat64))
		}
	}
	return loss
}

// Score has the errors of the predictions of a model at rows with a target.
type Score struct {
	Rows int // the number of rows with a target

	// For numeric targets, RMSE is the root mean square error, with the standard error StdErr,
	// Deviation the root mean square distance of the targets from their mean, Inside the share of
	// the targets in bands of 90 %, and Width the mean width of the bands.
	RMSE, StdErr, Deviation, Inside, Width float64

	// For classes, LogLoss is the mean of −log of the probabilities of the true classes, with the
	// standard error StdErr, and Right is the share of the rows whose true class has the largest
	// probability. Unknown is the number of rows with a class that no row of Fit has. Rows of
	// unknown class count as wrong in Right, and not in LogLoss, which is NaN without other rows.
	LogLoss, Right float64
	Unknown        int

	classes bool
}

// Score returns the errors of the model at the rows of t that have a target. The Score estimates
// the errors at new rows if Fit has not seen the rows of t. Score returns an error where Predict
// does, and for a table without targets.
func (m *Model) Score(t *Table) (Score, error) {
	x, y, err := m.points(t)
	if err != nil {
		return Score{}, err
	}
	const level = 0.9
	n, p := float64(len(y)), m.predict(x, level)
	s := Score{Rows: len(y), classes: m.model == nil}
	losses := p.losses(y)
	if !s.classes {
		square, deviation := stat.PopMeanStdDev(losses, nil)
		s.RMSE, s.Deviation = math.Sqrt(square), math.Sqrt(stat.PopVariance(y, nil))
		// The standard error of a root is that of the square divided by twice the root.
		s.StdErr = deviation / math.Sqrt(n) / (2 * max(s.RMSE, math.SmallestNonzeroFloat64))
		for i, v := range y {
			s.Width += 2 * p.Half[i] / n
			if math.Abs(v-p.Mean[i]) <= p.Half[i] {
				s.Inside += 1 / n
			}
		}
		return s, nil
	}
	losses = slices.DeleteFunc(losses, math.IsNaN)
	s.Unknown = len(y) - len(losses)
	s.LogLoss, s.StdErr = math.NaN(), math.NaN()
	if known := float64(len(losses)); known > 0 {
		mean, deviation := stat.PopMeanStdDev(losses, nil)
		s.LogLoss, s.StdErr = mean, deviation/math.Sqrt(known)
	}
	right := 0
	for i, c := range y {
		if c >= 0 && p.Probabilities.At(i, int(c)) == slices.Max(p.Probabilities.Row(i)) {
			right++
		}
	}
	s.Right = float64(right) / n
	return s, nil
}

// points returns the points and the targets of the rows of t with a target.
func (m *Model) points(t *Table) (x dense.Matrix[float64], y []float64, err error) {
	if m == nil || m.model == nil && m.classifier == nil {
		return x, nil, errNoModel
	}
	told, at, err := t.told(m.target)
	if err == nil && len(told.rows) == 0 {
		err = fmt.Errorf("table: no row has a target in column %q", m.target)
	}
	if err == nil {
		y, err = told.targets(at, m.Classes())
	}
	if err == nil {
		x, err = encode(m.columns, told)
	}
	return x, y, err
}

// String returns the errors of the Score as a text of one line.
func (s Score) String() string {
	if !s.classes {
		return fmt.Sprintf("RMSE %s (%s for the mean), %.1f %% in the bands of 90 %%, mean width of bands %s",
			plusMinus(s.RMSE, s.StdErr), significant(s.Deviation, s.Deviation, 3), 100*s.Inside, significant(s.Width, s.Width, 3))
	}
	text := fmt.Sprintf("%.1f %% of the classes right", 100*s.Right)
	if s.Unknown < s.Rows {
		text = fmt.Sprintf("log-loss %s, ", plusMinus(s.LogLoss, s.StdErr)) + text
	}
	if s.Unknown > 0 {
		text += fmt.Sprintf("; no row to learn from has the class of %d of the rows, which count as wrong and not in the log-loss", s.Unknown)
	}
	return text
}

// plusMinus writes a number and its error, which has two significant digits.
func plusMinus(v, e float64) string { return significant(v, e, 2) + " ± " + significant(e, e, 2) }

// significant writes v with the decimals that a number as large as size needs for the significant
// digits. Very large and small sizes give an exponent.
func significant(v, size float64, digits int) string {
	if !(size >= 1e-6 && size < 1e9) {
		return fmt.Sprintf("%.*g", digits+2, v)
	}
	return strconv.FormatFloat(v, 'f', max(0, digits-1-int(math.Floor(math.Log10(size)))), 64)
}
