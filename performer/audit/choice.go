package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// Choice is the form that [Choose] has chosen.
type Choice[T dense.Float] struct {
	// Form is the form to call: what the candidate has made or the truth, or a performer.Batch with a form
	// for each head if the truth is a Batch. It stays as it is, and serves later calls with queries
	// and keys of the same kind, whose errors [Measure] tells.
	Form performer.Attention[T]

	// Name says what the form is, such as "256 landmarks" or "exact attention".
	Name string

	// Exact reports whether the form is exact attention, for all heads.
	Exact bool

	// Report is the error of the form on the rows that decided, or on the first rows if all heads have
	// exact attention. It is zero if no rows were drawn, because nothing could have been cheaper.
	Report Report

	// Tolerance is that of the call of Choose.
	Tolerance float64

	// Time is how long a call of the form takes for the queries, keys and values at hand: the shorter
	// time of two runs, over all rows or over some and extrapolated. ExactTime estimates how long exact
	// attention takes: the shortest of three runs of a hundredth of it, extrapolated. Both are the same
	// if the form is exact attention. Choosing is how long the choice took.
	Time, ExactTime, Choosing time.Duration

	// Cost is the predicted cost of choosing, in calls of exact attention.
	Cost float64

	// Trials has the forms that were tried, in order. It is nil if Heads is not.
	Trials []Trial

	// Heads has the choice of each head, without Choosing. It is nil unless the truth is a Batch.
	Heads []Choice[T]
}

// Trial is a form that [Choose] has tried.
type Trial struct {
	Name  string
	Error float64 // the error on the rows that say whether the form is worth a test
	Cost  float64 // predicted cost of a call, relative to exact attention
	Test  bool    // whether the form was tested on the rows that decide, and perhaps against a second draw
	Slow  bool    // whether the form was measured to be slower than exact attention
	Err   error   // why there is no such form, or nil
}

// String returns the choice in a line, such as
//
//	256 landmarks: error 1.6 % (95 %: 1.3 … 1.9 %), 14 times as fast as exact attention; choosing took 0.12 s
//	exact attention: nothing cheaper is known to be within 1 % (best: 1024 landmarks, error 8.2 %); choosing took 0.12 s
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

// best returns the form of the least error that was tried, for any head, or nil.
func (c Choice[T]) best() *Trial {
	var best *Trial
	all := [][]Trial{c.Trials}
	for _, h := range c.Heads {
		all = append(all, h.Trials)
	}
	for _, tried := range all {
		for i, t := range tried {
			if t.Err == nil && (best == nil || t.Error < best.Error) {
				best = &tried[i]
			}
		}
	}
	return best
}

// namesOf returns what heads have chosen in words, such as "3 heads: 256 landmarks, 1 head: exact
// attention".
func namesOf[T dense.Float](heads []Choice[T]) string {
	var names []string
	count := make(map[string]int)
	for _, h := range heads {
		if count[h.Name] == 0 {
			names = append(names, h.Name)
		}
		count[h.Name]++
	}
	if len(names) == 1 {
		return names[0]
	}
	for i, name := range names {
		heads := "heads"
		if count[name] == 1 {
			heads = "head"
		}
		names[i] = fmt.Sprintf("%d %s: %s", count[name], heads, name)
	}
	return strings.Join(names, ", ")
}
