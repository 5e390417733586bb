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

// Predictions has what Model.Predict predicts for the rows of a table.
type Predictions struct {
	// For a numeric target, Mean[i] is the prediction for row i, and the band of row i is from
	// Mean[i] − Half[i] to Mean[i] + Half[i].
	Mean, Half []float64

	// For classes, the element (i, c) of Probabilities is the predicted probability that row i has
	// the class Classes()[c] of the model.
	Probabilities dense.Matrix[float64]
}

// Predict predicts the target for each row of t, where t needs only the columns from which the
// model predicts, in any order. The band of a prediction contains a numeric target with the
// probability level; predictions of classes do not depend on level. Predict returns an error for a
// zero model, a nil t, a level that is not between 0 and 1, a column that t lacks, and a text that
// does not have the kind of the column.
func (m *Model) Predict(t *Table, level float64) (*Predictions, error) {
	switch {
	case m == nil || m.model == nil:
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

func (m *Model) predict(x dense.Matrix[float64], level float64) *Predictions {
	if m.Classes() != nil {
		return &Predictions{Probabilities: m.model.Probabilities(dense.Matrix[float64]{}, x)}
	}
	mean, half := m.model.Band(x, level)
	return &Predictions{Mean: mean.Data, Half: half.Data}
}

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

// Score says how far predictions of a model are from the targets of the rows of a table.
type Score struct {
	Rows int // the number of rows with a target

	// For numeric targets, RMSE is the root mean square error of predictions, with the standard
	// error StdErr, Deviation the root mean square distance of the targets from the mean target,
	// Inside the share of the targets in bands of 90 %, and Width the mean width of the bands.
	RMSE, StdErr, Deviation, Inside, Width float64

	// For classes, LogLoss is the mean of −log of the predicted probabilities of the true classes,
	// with the standard error StdErr, and Right is the share of the rows whose true class has the
	// largest probability. Unknown is the number of rows with a class that Fit has not seen in any
	// row. Rows of an unknown class count as wrong in Right and are left out of LogLoss, which is
	// NaN if all rows are of unknown classes.
	LogLoss, Right float64
	Unknown        int

	classes bool
}

// Score compares the predictions of the model with the targets of t, and leaves out rows without a
// target. If Fit has not seen the rows of t, Score estimates how well the model predicts new rows.
// Score returns an error for a zero model, a nil t, a t without values of the target, a column of
// the model that t lacks, and a text that does not have the kind of the column.
func (m *Model) Score(t *Table) (Score, error) {
	x, y, err := m.points(t)
	if err != nil {
		return Score{}, err
	}
	const level = 0.9
	n, p := float64(len(y)), m.predict(x, level)
	s := Score{Rows: len(y), classes: m.Classes() != nil}
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

func (m *Model) points(t *Table) (x dense.Matrix[float64], y []float64, err error) {
	if m == nil || m.model == nil {
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

// String returns the numbers in the Score as a text of one line.
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

func plusMinus(v, e float64) string { return significant(v, e, 2) + " ± " + significant(e, e, 2) }

// significant writes v with the decimals that a number as large as size needs for the significant
// digits.
func significant(v, size float64, digits int) string {
	if !(size >= 1e-6 && size < 1e9) {
		return fmt.Sprintf("%.*g", digits+2, v)
	}
	return strconv.FormatFloat(v, 'f', max(0, digits-1-int(math.Floor(math.Log10(size)))), 64)
}
