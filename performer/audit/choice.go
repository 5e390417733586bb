package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// Choice is the attention that [Choose] has chosen, with measured errors and times.
type Choice[T dense.Float] struct {
	// Attention is what Choose has chosen: an approximation of attention, or exact attention.
	// Attention serves later calls with queries and keys distributed like those given to Choose.
	Attention performer.Attention[T]

	// Name describes Attention, for example "8 bits" or "exact attention".
	Name string

	// Exact reports whether the chosen attention is exact attention.
	Exact bool

	// Report has the error of the chosen Attention on the rows of q by which Choose accepted the
	// Attention. Choose may accept an approximation although Report.High is above Tolerance,
	// because Choose tests a bound of the error other than Report.High. Report is the zero Report
	// if no approximation was worth a trial.
	Report Report

	// Tolerance is the tolerance given to Choose: the largest accepted ‖out − exact‖_F/‖exact‖_F.
	Tolerance float64

	// Time is the shortest measured time of up to three calls of Attention with the q, k and v given
	// to Choose. ExactTime is the time of a call of exact attention, extrapolated from the shortest
	// of calls with about a hundredth of the work, in turns with the calls of Attention. Time and
	// ExactTime are equal if Choose has chosen exact attention. Choosing is how long Choose took.
	Time, ExactTime, Choosing time.Duration

	// Cost is the predicted cost of the search by Choose, relative to a call of exact attention,
	// without the calls of Time and ExactTime.
	Cost float64

	// Trials has the approximations that Choose tried, in the order of the trials.
	Trials []Trial
}

// Trial is an approximation that [Choose] tried. All thresholds of attention of package blocks
// together are one Trial, which describes the last threshold that Choose considered.
type Trial struct {
	Name   string
	Error  float64 // the relative error of a sample of rows
	Cost   float64 // the predicted cost of a call, in calls of exact attention
	Tested bool    // Choose tested the error
	Slow   bool    // calls were slower than exact attention
	Err    error   // why the approximation could not be made, or nil
}

// String returns the choice in one line, for example
//
//	8 bits: error 1.6 % (95 %: 1.3 … 1.9 %), 3 times as fast as exact attention; …
//	exact attention: nothing cheaper is known to be within 1 % (best: 8 bits, …); …
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

func (c Choice[T]) best() *Trial {
	var best *Trial
	for i, t := range c.Trials {
		if t.Err == nil && (best == nil || t.Error < best.Error) {
			best = &c.Trials[i]
		}
	}
	return best
}
