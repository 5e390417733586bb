package automl

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// Trial says how well one family of models predicts held-out rows in a call of Fit.
type Trial struct {
	Family string

	// Score is the root mean square error at held-out rows, or, for classes, the log-loss, and NaN
	// if Err is not nil. With several outputs, Score is the root mean square of the prediction
	// errors, each divided by the standard deviation of the targets of the output. In samples of
	// more than 600 rows, Fit first compares families at a third of the held-out rows, by fits to
	// half of the other rows. A family that is far worse than the best is not fitted again, and
	// keeps the Score of this comparison.
	Score  float64
	Weight float64 // of the functions of the family in the mixture
	Err    error
}

// Report says which families of models Fit has tried and which family Fit has chosen.
type Report struct {
	Rows    int     // the number of rows with a weight above 0
	Classes int     // 0 for numbers
	Outputs int     // the number of columns of the targets
	Trials  []Trial // all families
	Score   float64 // of the mixture, as Trial.Score
	Best    int     // index of the family of the largest part of the mixture
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

	// Coverage is, for numeric targets, the share of targets between the quantiles of .05 and .95,
	// if the quantiles come from prediction errors at other rows than the row of the target. Models
	// of few rows may hold fewer new targets than Coverage: 0.88 and 0.85 of them in fifty fits to
	// 40 and 20 rows of five functions.
	Coverage float64

	// CRPS is, for numeric targets, the continuous ranked probability score of the quantiles of
	// Coverage: the mean over rows and over the levels q = .05, .10 … .95 of
	// 2·max(q·(y − Q_q), (q − 1)·(y − Q_q)) for a target y with the quantile Q_q, in the unit of
	// Score. If all quantiles of a row are one number, CRPS is the mean absolute error.
	// With fewer than nine prediction errors CRPS is +Inf, because outer quantiles are infinite.
	CRPS float64

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
	score, last := "RMSE", fmt.Sprintf("The mean has %.4g. Bands of 90 %%, %s, hold %.1f %% of other rows; CRPS %.4g.", r.Deviation, r.Bands, 100*r.Coverage, r.CRPS)
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
		if t.Weight > 0 {
			note = fmt.Sprintf("  <- %.2f of the mixture", t.Weight)
		}
		if i == r.Best {
			note += ": " + r.Kernel
		}
		if t.Err != nil {
			note = "  " + t.Err.Error()
		}
		fmt.Fprintf(&b, "  %-40s %10.4g%s\n", t.Family, t.Score, note)
	}
	fmt.Fprintf(&b, "  %-40s %10.4g\n", "mixture", r.Score)
	if r.Ended {
		last += " The time ended before other families or more rows."
	}
	return b.String() + last + "\n"
}

// score returns the score of a report from losses at the held-out rows.
func (s *mixtureSearch) score(losses []float64) float64 {
	loss, all := 0.0, 0.0
	for at, v := range losses {
		i := s.tested[at]
		loss += s.rows.Weights[i] * v
		all += s.rows.Weights[i]
	}
	switch loss /= all; {
	case s.Classes > 0:
		return loss
	case s.rows.Y.Cols == 1:
		return s.goals[0].unit[0] * math.Sqrt(loss)
	}
	return math.Sqrt(loss)
}

// report sets what the mixture is worth at the held-out rows.
func (s *mixtureSearch) report(c *choice, pool []*candidate) {
	n := len(s.tested)
	held, losses, weights := dense.New[float64](n, c.picks[0].held.Cols), make([]float64, n), make([]float64, n)
	for _, p := range c.picks {
		floats.AddScaled(held.Data, p.weight, p.held.Data)
	}
	s.losses(held, losses)
	c.HeldOut, c.Score = n, s.score(losses)
	for at, i := range s.tested {
		weights[at] = s.rows.Weights[i]
	}
	if s.Classes > 0 {
		var bins [10]float64
		all := floats.Sum(weights)
		for at, i := range s.tested {
			right, most := 0.0, floats.Max(held.Row(at))
			if held.At(at, int(s.rows.Y.At(i, 0))) == most {
				right = 1
			}
			c.Accuracy += weights[at] * right / all
			bins[min(int(10*most), 9)] += weights[at] * (right - most)
		}
		c.Calibration = floats.Norm(bins[:], 1) / all
		return
	}
	c.heldErrors = s.errorsWithout(pool)
	y := layout.Rows(s.goals[0].y, s.tested)
	centre(y, weights)
	for at := range losses {
		losses[at] = meanSquare(y.Row(at))
	}
	c.Deviation = s.score(losses)
}

func centre(x dense.Matrix[float64], weights []float64) {
	columns := dense.Transpose(dense.Matrix[float64]{}, x)
	for j := range columns.Rows {
		mean := stat.Mean(columns.Row(j), weights)
		for i, v := range columns.Row(j) {
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
