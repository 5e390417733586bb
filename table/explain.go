package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// Explanation says how a model predicts a target, and how far predictions are from the values of
// the target in a table.
type Explanation struct {
	Target  string
	Score   Score
	Columns []Importance // the columns from which the model predicts, the most important first

	// Element i is about row i of the rows with all targets: the line in the file, the target, for
	// classes the index in Model.Classes or −1 for an unknown class, and the squared error or the
	// log-loss, NaN for an unknown class.
	Lines            []int
	Measured, Losses []float64

	Predicted *Predictions // for the rows with all targets, with the quantiles of 0.05 and 0.95

	// The events of Calibration[k] are, for numeric targets, that targets are in bands of the level
	// 0.05, 0.15 … 0.95, and for classes that the most probable class is the true class, for a
	// tenth of the rows in the order of the probability of the most probable class.
	Calibration []Calibration
}

// Calibration compares predicted probabilities of events with the share of events that happened.
type Calibration struct {
	Predicted float64 // the mean of the predicted probabilities
	Measured  float64 // the share of the events that happened
	StdErr    float64 // of Measured, if probabilities are right and events independent
}

// Importance says how predictions depend on a column.
type Importance struct {
	Column string

	// Loss is the rise of the mean squared error or log-loss if the values of the column are
	// permuted, with the standard error StdErr.
	Loss, StdErr float64

	// Dependence has the points of the partial dependence on the column at values of the table in
	// the order of X: all values of the column, or 12 quantiles of more than 12 values. The last
	// Dependence is that of a missing value, if values are missing.
	Dependence []Dependence
}

// Explain returns for each column from which the model predicts the permutation importance, by how
// much the mean squared error or the log-loss of one target at the rows of t with all targets rises
// if the values of the column are permuted among the rows [Breiman 2001:
// https://doi.org/10.1023/A:1010933404324], and the partial dependence over 300 random rows, or
// over all rows if fewer. Explain also compares the predictions with the targets of t: use rows
// that Fit has not seen. The source src gives the rows and one permutation for each column.
//
// The importance of a column may be small because other columns tell the model as much. Explain
// returns an error for a nil src, a target that the model does not predict, for fewer than two rows
// with a known class or a finite squared error, and where Model.Score returns one. Explain predicts
// n + 3900 rows or fewer for each column, and n rows with quantiles, for the n rows of t.
func (m *Model) Explain(t *Table, target string, src rand.Source) (*Explanation, error) {
	if src == nil {
		return nil, errors.New("table: src is nil, want a source of randomness")
	}
	told, x, y, err := m.points(t)
	if err != nil {
		return nil, err
	}
	at := slices.Index(m.targets, target)
	if at < 0 {
		return nil, fmt.Errorf("table: target = %q, want one of %q", target, m.targets)
	}
	ends, levels := bandEnds(), len(scoreLevels)
	p, err := m.predict(x, told.lines, slices.Concat(scoreLevels, ends)...)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Target: target, Lines: slices.Clone(told.lines), Measured: column(y, at), Predicted: p}
	e.Score = m.score(p, e.Measured, target)
	if m.Classes() != nil {
		e.Losses, e.Calibration = m.losses(p.Probabilities, e.Measured), e.ofClasses()
	} else {
		own := p.Numbers[target]
		e.Losses, e.Calibration = m.losses(dense.Of(x.Rows, 1, own.Mean), e.Measured), e.ofBands(ends, own.Quantiles[levels:])
		for name, own := range p.Numbers {
			p.Numbers[name] = Numbers{own.Mean, [][]float64{own.Quantiles[0], own.Quantiles[levels-1]}}
		}
	}
	rng, from := rand.New(src), 0
	some := rng.Perm(x.Rows)[:min(x.Rows, mostRows)]
	rows := dense.New[float64](len(some), x.Cols)
	for i, k := range some {
		copy(rows.Row(i), x.Row(k))
	}
	for _, c := range m.columns {
		n := c.width()
		if n == 0 {
			continue
		}
		moved := x.Clone()
		for i, k := range rng.Perm(x.Rows) {
			copy(moved.Row(i)[from:from+n], x.Row(k)[from:from+n])
		}
		rises := m.losses(m.outputs(moved, at), e.Measured)
		for i, v := range e.Losses {
			rises[i] -= v
		}
		if rises = slices.DeleteFunc(rises, math.IsNaN); len(rises) < 2 {
			return nil, errors.New("table: fewer than two rows with a known class, or with a squared error below the largest number")
		}
		mean, stdErr := meanOf(rises)
		e.Columns = append(e.Columns, Importance{
			c.Name, mean, stdErr, m.dependence(&c, told, slices.Index(told.names, c.Name), rows, from, at),
		})
		from += n
	}
	slices.SortStableFunc(e.Columns, func(a, b Importance) int { return cmp.Compare(b.Loss, a.Loss) })
	return e, nil
}

// outputs returns the probabilities of the classes, or the predictions of the numeric target at.
func (m *Model) outputs(x dense.Matrix[float64], at int) dense.Matrix[float64] {
	if m.Classes() != nil {
		return m.model.Probabilities(dense.Matrix[float64]{}, x)
	}
	return m.model.Mean(dense.Matrix[float64]{}, x).ColRange(at, at+1)
}

// losses returns the log-loss of each row, or the squared errors of a column of numbers.
func (m *Model) losses(outputs dense.Matrix[float64], y []float64) []float64 {
	all := make([]float64, len(y))
	for i, v := range y {
		switch {
		case m.Classes() == nil:
			all[i] = (v - outputs.At(i, 0)) * (v - outputs.At(i, 0))
		case v < 0:
			all[i] = math.NaN()
		default:
			all[i] = -math.Log(max(outputs.At(i, int(v)), math.SmallestNonzeroFloat64))
		}
	}
	return all
}

const bins = 10 // of Explanation.Calibration

// bandEnds returns the levels of both ends of the bands of Explanation.Calibration.
func bandEnds() (ends []float64) {
	for k := range bins {
		level := (float64(k) + 0.5) / bins
		ends = append(ends, (1-level)/2, (1+level)/2)
	}
	return ends
}

func (e *Explanation) ofBands(ends []float64, quantiles [][]float64) (all []Calibration) {
	n := float64(len(e.Measured))
	for k := range bins {
		c := Calibration{Predicted: ends[2*k+1] - ends[2*k]}
		for i, y := range e.Measured {
			if quantiles[2*k][i] <= y && y <= quantiles[2*k+1][i] {
				c.Measured += 1 / n
			}
		}
		c.StdErr = math.Sqrt(c.Predicted * (1 - c.Predicted) / n)
		all = append(all, c)
	}
	return all
}

func (e *Explanation) ofClasses() (all []Calibration) {
	rows := len(e.Measured)
	order, most := make([]int, rows), make([]float64, rows)
	for i := range order {
		order[i], most[i] = i, slices.Max(e.Predicted.Probabilities.Row(i))
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(most[i], most[k]) })
	bins := min(bins, rows)
	for k := range bins {
		some := order[k*rows/bins : (k+1)*rows/bins]
		n, c := float64(len(some)), Calibration{}
		for _, i := range some {
			c.Predicted += most[i] / n
			c.StdErr += most[i] * (1 - most[i]) / (n * n)
			if y := int(e.Measured[i]); y >= 0 && e.Predicted.Probabilities.At(i, y) == most[i] {
				c.Measured += 1 / n
			}
		}
		c.StdErr = math.Sqrt(c.StdErr)
		all = append(all, c)
	}
	return all
}
