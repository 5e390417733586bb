package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// Choice is the result of [Choose].
type Choice[T dense.Float] struct {
	// Attention is the chosen attention: an approximation, or exact attention. Attention serves
	// later calls with queries and keys of the same kind, whose errors [Measure] can measure.
	Attention performer.Attention[T]

	// Name describes the attention, for example "256 positive features" or "exact attention".
	Name string

	// Exact reports whether the attention is exact.
	Exact bool

	// Report has the error of Attention on the rows of the test that Attention has passed. These
	// rows have no other part in the choice. Report.High may exceed Tolerance, because the interval
	// of a Report is longer than the interval of a test. Report is zero if no approximation could
	// have been cheaper.
	Report Report

	// Tolerance is the argument of Choose: the largest relative error of all outputs.
	Tolerance float64

	// Time is the time of one call of Attention with the arguments of Choose: the shorter time of
	// two calls, extrapolated if the calls had some of the rows. For blocks, and for clusters that were
	// tested without a second draw, Time is extrapolated from one call with all thresholds. ExactTime is
	// the time of exact attention: the shortest of three calls with about a hundredth of the work,
	// extrapolated. Extrapolation multiplies what keys cost once: after calls with an eighth of the
	// rows, the Time of 8 bits may be three times too long. Time and ExactTime are equal if Attention is exact. Choosing is the time that
	// Choose took.
	Time, ExactTime, Choosing time.Duration

	// Cost is the predicted cost of choosing, in calls of exact attention.
	Cost float64

	// Trials has the approximations that Choose tried, in order.
	Trials []Trial
}

// Trial is an approximation that [Choose] tried. Clusters and blocks have one Trial for all
// thresholds: of the chosen threshold, or of the smallest threshold if none was chosen.
type Trial struct {
	Name   string
	Error  float64 // the relative error of a sample of rows
	Cost   float64 // the predicted cost of a call, in calls of exact attention
	Tested bool    // Choose tested the error
	Slow   bool    // a call was slower than exact attention
	Err    error   // why the approximation could not be made, or nil
}

// String returns the choice in one line, for example
//
//	256 positive features: error 1.6 % (95 %: 1.3 … 1.9 %), 14 times as fast as exact attention; …
//	exact attention: nothing cheaper is known to be within 1 % (best: 1024 positive features, …); …
func (c Choice[T]) String() string {
	var s strings.Builder
	s.WriteString(c.Name + ": ")
	switch best := c.best(); {
	case !c.Exact:
		s.WriteString(c.Report.interval())
		if c.Time > 0 && c.ExactTime > 0 {
			fmt.Fprintf(&s, ", %s times as fast as exact attention", percent(c.ExactTime.Seconds()/c.Time.Seconds()/100, 2))
		}
	case best == nil:
		s.WriteString("nothing cheaper is worth a try")
	default:
		fmt.Fprintf(&s, "nothing cheaper is known to be within %s %% (best: %s, error %s %%)", percent(c.Tolerance, 3), best.Name, percent(best.Error, 2))
	}
	if c.Choosing > 0 {
		fmt.Fprintf(&s, "; choosing took %.2g s", c.Choosing.Seconds())
	}
	return s.String()
}

// best returns the trial with the least error, or nil.
func (c Choice[T]) best() *Trial {
	var best *Trial
	for i, t := range c.Trials {
		if t.Err == nil && (best == nil || t.Error < best.Error) {
			best = &c.Trials[i]
		}
	}
	return best
}
