package automl

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Trial says how well one family of models predicts held-out rows in a call of Fit.
type Trial struct {
	Family string

	// Score is the root mean square error at held-out rows, or, for classes, the log-loss, and NaN
	// if Err is not nil. With several outputs, Score is the root mean square of the prediction
	// errors, each divided by the standard deviation of the targets of the output.
	Score float64
	Err   error
}

// Report says which families of models Fit has tried and which family Fit has chosen.
type Report struct {
	Rows    int     // the number of rows with a weight above 0
	Classes int     // 0 for numbers
	Outputs int     // the number of columns of the targets
	Trials  []Trial // all families
	Best    int     // index of the chosen family
	Kernel  string  // the chosen kernel, of points in the space of the family
	HeldOut int     // the number of held-out rows

	// Folds says which rows are held out together from a fit: "random" rows, or, with
	// Options.Groups, rows "of whole groups" or rows "forward in time".
	Folds string

	// Deviation is, for numeric targets, the root mean square distance of held-out targets from the
	// mean of held-out targets, in the unit of Trial.Score.
	Deviation float64

	// Accuracy is, for classes, the share of held-out rows whose true class is the most probable.
	Accuracy float64

	// Calibration is, for classes, the expected calibration error: with held-out rows in ten bins
	// by the largest predicted probability of a row, Calibration is the mean over rows of |share of
	// right predictions − mean of the largest probability| in the bin of the row. If the predicted
	// probabilities are right, Calibration is at most about 1.3/√n for n held-out rows.
	Calibration float64

	// Bands says, for numeric targets, how wide bands are: "in proportion to deviations" of
	// predictions, "of equal width" or "in proportion to learnt noise".
	Bands string

	// Coverage is, for numeric targets, the share of targets inside bands of 90 % whose widths come
	// from prediction errors at other rows than the row of the target.
	Coverage float64

	// Ended says that the context of Fit has ended early, so that Trials may lack families, and
	// Rows is only the number of rows in the sample by which Fit chooses.
	Ended bool

	// With Options.HeavyTails, Tails is the number of degrees of freedom of Student's
	// t-distribution that Fit chooses for the noise, or +Inf for normal noise. Without
	// Options.HeavyTails, Tails is 0.
	Tails float64
}

const (
	randomFolds   = "random"
	groupFolds    = "of whole groups"
	forwardInTime = "forward in time"

	relativeBands = "in proportion to deviations"
	equalBands    = "of equal width"
	noiseBands    = "in proportion to learnt noise"
)

// String returns the report as a text of several lines.
func (r Report) String() string {
	var b strings.Builder
	score, last := "RMSE", fmt.Sprintf("The mean has %.4g. Bands of 90 %%, %s, hold %.1f %% of other rows.", r.Deviation, r.Bands, 100*r.Coverage)
	if r.Tails > 0 {
		last += fmt.Sprintf(" Leave-one-out chooses Student-t noise with ν = %v.", r.Tails)
	}
	if r.Outputs > 1 {
		score = fmt.Sprintf("RMSE in deviations of the %d outputs", r.Outputs)
	}
	if r.Classes > 0 {
		score, last = "log-loss", fmt.Sprintf("%.1f %% of the held-out rows have the most probable class. The calibration error is %.3f.", 100*r.Accuracy, r.Calibration)
	}
	folds := ""
	if r.Folds != randomFolds {
		folds = " " + r.Folds
	}
	fmt.Fprintf(&b, "%d rows, %s at %d held-out rows%s:\n", r.Rows, score, r.HeldOut, folds)
	for i, t := range r.Trials {
		note := ""
		if i == r.Best {
			note = "  <- chosen: " + r.Kernel
		}
		if t.Err != nil {
			note = "  " + t.Err.Error()
		}
		fmt.Fprintf(&b, "  %-40s %10.4g%s\n", t.Family, t.Score, note)
	}
	if r.Ended {
		last += " The time ended before other families or more rows."
	}
	return b.String() + last + "\n"
}

type heldOut struct {
	weights []float64
	losses  []float64 // log-losses, or means of squared errors
	right   []float64 // for classes: 1 for a row whose class has the largest probability
	most    []float64 // for classes: the largest probability
	group   []int     // nil if rows do not depend on each other

	points  []float64 // the rows
	targets []float64 // of the outputs
	errors  []float64 // the sizes of the errors of the outputs, or errors of indicators
	scales  []float64 // the standard deviations of the predictions of the outputs
}

func (h *heldOut) add(b ridge.Block[float64], m learnt, group []int) {
	h.group = append(h.group, group...)
	h.weights = append(h.weights, b.Weights...)
	if m.classifier != nil {
		p := m.classifier.Probabilities(dense.Matrix[float64]{}, b.X)
		for i, c := range b.Y.Data {
			right, own, most := 0.0, p.At(i, int(c)), slices.Max(p.Row(i))
			if own == most {
				right = 1
			}
			h.losses = append(h.losses, -math.Log(max(own, math.SmallestNonzeroFloat64)))
			h.right, h.most = append(h.right, right), append(h.most, most)
		}
		if m.model != nil { // of indicators
			b = indicators(b, len(m.model.Noise()))
			mean := m.model.Mean(dense.Matrix[float64]{}, b.X)
			floats.SubTo(mean.Data, b.Y.Data, mean.Data)
			h.points, h.targets, h.errors = append(h.points, b.X.Data...), append(h.targets, b.Y.Data...), append(h.errors, mean.Data...)
		}
		return
	}
	h.points, h.targets = append(h.points, b.X.Data...), append(h.targets, b.Y.Data...)
	mean, sd := m.model.Predict(b.X)
	h.scales = append(h.scales, sd.Data...)
	for i := range mean.Rows {
		errs := mean.Row(i)
		for j, v := range b.Y.Row(i) {
			errs[j] = math.Abs(v - errs[j])
		}
		h.errors = append(h.errors, errs...)
		h.losses = append(h.losses, meanSquare(errs))
	}
}

func (h *heldOut) deviation(p int) float64 {
	y := dense.Of(len(h.weights), p, h.targets).Clone()
	centre(y, h.weights)
	squares := make([]float64, y.Rows)
	for i := range squares {
		squares[i] = meanSquare(y.Row(i))
	}
	return math.Sqrt(stat.Mean(squares, h.weights))
}

func centre(x dense.Matrix[float64], weights []float64) {
	column := make([]float64, x.Rows)
	for j := range x.Cols {
		for i := range column {
			column[i] = x.At(i, j)
		}
		mean := stat.Mean(column, weights)
		for i, v := range column {
			x.Set(i, j, v-mean)
		}
	}
}

func meanSquare(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v / float64(len(x))
	}
	return sum
}

func (h *heldOut) score() float64 {
	loss := stat.Mean(h.losses, h.weights)
	if h.right == nil {
		return math.Sqrt(loss)
	}
	return loss
}

func (h *heldOut) calibration() float64 {
	var bins [10]float64
	for i, p := range h.most {
		bins[min(int(10*p), 9)] += h.weights[i] * (h.right[i] - p)
	}
	return floats.Norm(bins[:], 1) / floats.Sum(h.weights)
}

// better reports whether the mean loss is smaller than that of other at the same rows: if clearly
// is set, by more than a standard error of the difference, to which rows of a group count as one.
func (h *heldOut) better(other *heldOut, clearly bool) bool {
	total, at, gains := floats.Sum(h.weights), make(map[int]int), []float64(nil)
	mean := 0.0
	for i, v := range h.losses {
		mean += h.weights[i] * (other.losses[i] - v) / total
	}
	for i, v := range h.losses {
		g := i
		if h.group != nil {
			g = h.group[i]
		}
		place, known := at[g]
		if !known {
			place, at[g], gains = len(gains), len(gains), append(gains, 0)
		}
		gains[place] += h.weights[i] * (other.losses[i] - v - mean) / total
	}
	n := float64(len(gains))
	return mean > 0 && (!clearly || mean > floats.Norm(gains, 2)*math.Sqrt(n/(n-1)))
}
