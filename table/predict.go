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
	// Numbers has the predictions of each numeric target, by the name of the target.
	Numbers map[string]Numbers

	// For classes, the element (i, c) of Probabilities is the predicted probability that row i has
	// the class Classes()[c] of the model.
	Probabilities dense.Matrix[float64]
}

// Numbers has the predictions of a numeric target for the rows of a table.
type Numbers struct {
	Mean      []float64   // Mean[i] is the prediction for row i
	Quantiles [][]float64 // Quantiles[k][i] is the quantile of the k-th level of Predict for row i
}

// Predict predicts the targets for each row of t, where t needs only the columns from which the
// model predicts, in any order. For numeric targets, Predict also returns the quantiles of the
// levels: a target is below the quantile of a level with the probability level, as
// automl.Model.Quantiles describes, so that a band of 90 % is between the quantiles of the levels
// 0.05 and 0.95. Predictions of classes do not depend on levels. Predict returns an error for a
// zero model, a nil t, a level that is not between 0 and 1, a column that t lacks, a text that does
// not have the kind of the column, and numbers so large that the prediction is not finite.
func (m *Model) Predict(t *Table, levels ...float64) (*Predictions, error) {
	switch {
	case m == nil || m.model == nil:
		return nil, errNoModel
	case t == nil:
		return nil, errors.New("table: the table is nil")
	}
	for k, level := range levels {
		if !(level > 0 && level < 1) {
			return nil, fmt.Errorf("table: levels[%d] = %v, want a number between 0 and 1", k, level)
		}
	}
	x, err := encode(m.columns, t)
	if err != nil {
		return nil, err
	}
	return m.predict(x, t.lines, levels...)
}

// predict predicts the targets of the points x, which come from the lines.
func (m *Model) predict(x dense.Matrix[float64], lines []int, levels ...float64) (*Predictions, error) {
	var mean dense.Matrix[float64]
	if m.Classes() != nil {
		mean = m.model.Probabilities(mean, x)
	} else {
		mean = m.model.Mean(mean, x)
	}
	for i, line := range lines {
		if j := slices.IndexFunc(mean.Row(i), func(v float64) bool { return v-v != 0 }); j >= 0 {
			return nil, fmt.Errorf("table: line %d: the prediction is %v, because numbers of the row are too large for the model", line, mean.At(i, j))
		}
	}
	if m.Classes() != nil {
		return &Predictions{Probabilities: mean}, nil
	}
	var quantiles []dense.Matrix[float64]
	if len(levels) > 0 {
		quantiles = m.model.Quantiles(x, levels...)
	}
	p := &Predictions{Numbers: make(map[string]Numbers)}
	for j, target := range m.targets {
		own := Numbers{Mean: column(mean, j)}
		for _, q := range quantiles {
			own.Quantiles = append(own.Quantiles, column(q, j))
		}
		p.Numbers[target] = own
	}
	return p, nil
}

func column(x dense.Matrix[float64], j int) []float64 { return x.ColRange(j, j+1).Clone().Data }

// Score says how far predictions of a model are from a target of the rows of a table.
type Score struct {
	Rows int // the number of rows with all targets

	// For numeric targets, RMSE is the root mean square error of predictions, with the standard
	// error StdErr, Deviation the root mean square distance of the targets from the mean target,
	// Inside the share of the targets in bands of 90 %, Below the share of targets below the
	// bands, and Width the mean width of the bands. CRPS, the continuous ranked probability score,
	// is the mean over rows and over the levels q = 0.05, 0.10 … 0.95 of
	// 2·max(q·(y − Q), (q − 1)·(y − Q)) for the target y and the quantile Q of the level q; for
	// quantiles that all are one number, CRPS is the mean distance of the targets from the number.
	// Width and CRPS are +Inf if a model has quantiles from fewer than nine prediction errors.
	RMSE, StdErr, Deviation, Inside, Below, Width, CRPS float64

	// For classes, LogLoss is the mean of −log of the predicted probabilities of the true classes,
	// with the standard error StdErr, and Right is the share of the rows whose true class has the
	// largest probability. Unknown is the number of rows with a class that Fit has not seen in any
	// row. Rows of an unknown class count as wrong in Right and are left out of LogLoss, which is
	// NaN if all rows are of unknown classes.
	LogLoss, Right float64
	Unknown        int

	classes bool
}

// Score compares the predictions of the model with the targets of t, and leaves out rows without
// one of the targets. Score returns a Score of each target by the name of the target. If Fit has
// not seen the rows of t, Score estimates how well the model predicts new rows. Score returns an
// error for a t without rows with all targets, and where Predict returns one.
func (m *Model) Score(t *Table) (map[string]Score, error) {
	told, x, y, err := m.points(t)
	if err != nil {
		return nil, err
	}
	p, err := m.predict(x, told.lines, scoreLevels...)
	if err != nil {
		return nil, err
	}
	all := make(map[string]Score)
	for j, target := range m.targets {
		all[target] = m.score(p, column(y, j), target)
	}
	return all, nil
}

// scoreLevels are the levels of the quantiles in a Score, from the ends of bands of 90 %.
var scoreLevels = []float64{0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95}

// score compares predictions, with the quantiles of scoreLevels first, with the target y.
func (m *Model) score(p *Predictions, y []float64, target string) Score {
	if m.Classes() != nil {
		return scoreOfClasses(p.Probabilities, y, m.losses(p.Probabilities, y))
	}
	return p.Numbers[target].score(y)
}

func (p Numbers) score(y []float64) Score {
	s, n := Score{Rows: len(y)}, float64(len(y))
	squares, low, high := make([]float64, len(y)), p.Quantiles[0], p.Quantiles[len(scoreLevels)-1]
	for i, v := range y {
		squares[i] = (v - p.Mean[i]) * (v - p.Mean[i])
		s.Width += (high[i] - low[i]) / n
		switch {
		case v < low[i]:
			s.Below += 1 / n
		case v <= high[i]:
			s.Inside += 1 / n
		}
		for k, level := range scoreLevels {
			e := v - p.Quantiles[k][i]
			s.CRPS += 2 * max(level*e, (level-1)*e) / n / float64(len(scoreLevels))
		}
	}
	square, stdErr := meanOf(squares)
	s.RMSE, s.Deviation = math.Sqrt(square), math.Sqrt(stat.PopVariance(y, nil))
	// The standard error of a root is that of the square divided by twice the root.
	s.StdErr = stdErr / (2 * max(s.RMSE, math.SmallestNonzeroFloat64))
	return s
}

func scoreOfClasses(probabilities dense.Matrix[float64], y, losses []float64) Score {
	s := Score{Rows: len(y), classes: true, LogLoss: math.NaN(), StdErr: math.NaN()}
	losses = slices.DeleteFunc(losses, math.IsNaN)
	s.Unknown = len(y) - len(losses)
	if len(losses) > 0 {
		s.LogLoss, s.StdErr = meanOf(losses)
	}
	right := 0
	for i, c := range y {
		if c >= 0 && probabilities.At(i, int(c)) == slices.Max(probabilities.Row(i)) {
			right++
		}
	}
	s.Right = float64(right) / float64(len(y))
	return s
}

// points returns the rows of t with all targets, and their points and targets.
func (m *Model) points(t *Table) (told *Table, x, y dense.Matrix[float64], err error) {
	if m == nil || m.model == nil {
		return nil, x, y, errNoModel
	}
	told, err = t.told(m.targets)
	if err == nil && len(told.rows) == 0 {
		err = fmt.Errorf("table: no row has all targets %q", m.targets)
	}
	if err == nil {
		y, err = told.targets(m.targets, m.Classes())
	}
	if err == nil {
		x, err = encode(m.columns, told)
	}
	return told, x, y, err
}

// String returns the numbers in the Score as a text of one line.
func (s Score) String() string {
	if !s.classes {
		return fmt.Sprintf("RMSE %s (%s for the mean), CRPS %s, %.1f %% in the bands of 90 %%, mean width of bands %s", plusMinus(s.RMSE, s.StdErr),
			significant(s.Deviation, s.Deviation, 3), significant(s.CRPS, s.CRPS, 3), 100*s.Inside, significant(s.Width, s.Width, 3))
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
