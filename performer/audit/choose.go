package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/performer"
)

// ChooseOptions adjusts [Choose]. The zero values are a good choice.
type ChooseOptions[T dense.Float] struct {
	// Confidence that the error is within the tolerance, above 0 and at most 0.999. Zero means 0.95.
	Confidence float64

	// Calls is the number of calls that the form is chosen for. The choice may cost a quarter
	// of what exact attention costs in so many calls, and no more than the form saves. Zero means 1.
	Calls int

	// Candidates are the forms that may be chosen beside exact attention. Nil means [Candidates].
	Candidates []Candidate[T]

	// Rows is the number of rows of q that are drawn for each head, at least 8. Zero means 128.
	Rows int

	// Sequences are those of the call of ForwardSequences, for a truth that is a performer.Batch.
	Sequences performer.Sequences

	// Queries says for each row of q whether its output counts. Nil means that all outputs count.
	Queries []bool

	// Progress, if not nil, is called with the number of steps that are done and the number of all
	// steps. A step is the exact rows, or a form that is tried or passed over. The calls come in order
	// from the goroutine that chooses.
	Progress func(done, total int)
}

// Choice is the form that [Choose] has chosen.
type Choice[T dense.Float] struct {
	// Form is the form to call: what the candidate has made or the truth, or a performer.Batch with a form
	// for each head if the truth is a Batch. It stays as it is, and serves later calls with queries
	// and keys of the same kind, whose errors [Rows] tells.
	Form performer.Form[T]

	// Name says what the form is, such as "256 landmarks" or "exact attention".
	Name string

	// Exact reports whether the form is exact attention, for all heads.
	Exact bool

	// Report is the error of the form on the rows that decided. It is zero if no rows were drawn,
	// because nothing could have been cheaper than exact attention.
	Report Report

	// Tolerance is that of the call of Choose.
	Tolerance float64

	// Time is how long a call of the form took for the queries, keys and values at hand. ExactTime
	// is how long exact attention takes, as estimated from measured times of a part, and Time too if
	// the form is exact attention. Choosing is how long the choice took.
	Time, ExactTime, Choosing time.Duration

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

// Choose returns a form of attention whose output is within the tolerance of the truth,
//
//	‖out − exact‖_F ≤ tolerance·‖exact‖_F over all rows of a head,
//
// as cheap as it can find: the cheapest of the candidates that holds, or exact attention if none
// does that is cheaper. A tolerance that is not reached is exact attention, never a silent miss.
// The truth is a performer.Exact, or a performer.Batch of Exacts, whose heads choose for themselves. q (Lq×H·d), k
// (Lk×Hk·d) and v (Lk×Hk·dv) are what Forward of the truth takes.
//
//	c, err := audit.Choose(ctx, performer.Exact[float32]{}, q, k, v, 0.02, audit.ChooseOptions[float32]{}, src)
//	fmt.Println(c) // 256 landmarks: error 1.6 % (95 %: 1.3 … 1.9 %), 14 times as fast as exact attention; …
//	out := c.Form.Forward(dense.Matrix[float32]{}, q, k, v)
//
// Choose draws rows as [Rows] does. A quarter of the rows says which forms are worth a test. The
// form is tested on the rest of the rows, which it was not selected by: the upper end of its
// interval must be within the tolerance. The j-th test of a head has the confidence 1 −
// (1−Confidence)/(j·(j+1)), so that all tests together have the Confidence; there are six at most.
// It is the Confidence of each head for itself, and has the limits that [Report] names: rows that
// are too rare to be drawn cannot be seen. So a form that holds is drawn a second time, and both
// outputs are compared in all rows: they must not differ by more than √2·tolerance, as independent
// errors do. That sees rare rows unless both draws have the same errors. So intervals of Choose have
// no room for rows that are too rare to be drawn, as those of Rows do.
//
// Forms are tried in the order of predicted costs. Choose extrapolates the errors of a candidate,
// and passes over sizes that will not hold. It ends with exact attention where the next form would
// save nothing in so many Calls, or the choice would cost more than a quarter of what exact
// attention costs in them. Exact attention of the rows costs about 3·Rows/Lq of exact attention, and
// the trial of a form up to one call, and three if it holds.
//
// The choice looks at all tokens, also if the truth is causal. What it chooses is causal then, with
// landmarks from the first tokens.
//
// Choose draws from src. The same seed gives the same form, whatever GOMAXPROCS is; only times
// differ. q, k and v do not change.
//
// An error reports a tolerance that is not positive and finite, a nil src, options out of range, a
// truth that is not made of Exacts, Sequences for a truth that is not a Batch, no row to draw,
// shapes that do not fit, candidates none of which makes a form, and the end of ctx, which is looked at
// between blocks of exact rows and between forms that are tried. A nil ctx panics.
func Choose[T dense.Float](ctx context.Context, truth performer.Form[T], q, k, v dense.Matrix[T], tolerance float64, opts ChooseOptions[T], src rand.Source) (Choice[T], error) {
	argument.Context("audit", ctx)
	start := time.Now()
	none := Choice[T]{}
	if !(tolerance > 0 && tolerance <= math.MaxFloat64) {
		return none, fmt.Errorf("audit: tolerance = %v, want a positive number", tolerance)
	}
	if err := opts.check(); err != nil {
		return none, err
	}
	if src == nil {
		return none, errors.New("audit: src is nil")
	}
	heads, err := exactHeads(truth)
	if err != nil {
		return none, err
	}
	if s := opts.Sequences; s.Queries != nil || s.Past != nil || s.Valid != nil {
		if _, ok := truth.(*performer.Batch[T]); !ok {
			return none, fmt.Errorf("audit: there are Sequences, but truth is a %T, want a performer.Batch", truth)
		}
	}
	rows := Options{Rows: opts.Rows, Confidence: opts.Confidence, Sequences: opts.Sequences, Queries: opts.Queries}
	if err := fits(0, truth, heads, q, k, v, rows); err != nil {
		return none, err
	}
	rng := rand.New(src)
	a, err := drawRows(heads, q, k, v, rows, rng)
	if err != nil {
		return none, err
	}
	c, err := newChoice(a, tolerance, opts, rng).choose(ctx)
	if err != nil {
		return none, err
	}
	if _, ok := truth.(*performer.Batch[T]); !ok {
		if c = c.Heads[0]; c.Exact {
			c.Form = truth
		}
	}
	c.Choosing = time.Since(start)
	return c, nil
}

// check returns an error if an option is out of range, and makes zero the defaults.
func (o *ChooseOptions[T]) check() error {
	if o.Calls == 0 {
		o.Calls = 1
	}
	if o.Rows == 0 {
		o.Rows = 128
	}
	if o.Candidates == nil {
		o.Candidates = Candidates[T]()
	}
	switch {
	case o.Calls < 0:
		return fmt.Errorf("audit: Calls = %d, want at least 1, or 0 for 1", o.Calls)
	case o.Rows < 8:
		return fmt.Errorf("audit: Rows = %d, want at least 8, or 0 for 128", o.Rows)
	}
	for i, c := range o.Candidates {
		switch {
		case c.New == nil:
			return fmt.Errorf("audit: candidate %d (%s) has no New", i, c.Name)
		case c.Cost == nil:
			return fmt.Errorf("audit: candidate %d (%s) has no Cost", i, c.Name)
		case !(c.Fall >= 0):
			return fmt.Errorf("audit: candidate %d (%s) has the Fall %v, want at least 0", i, c.Name, c.Fall)
		case !slices.IsSorted(c.Sizes) || len(c.Sizes) > 0 && c.Sizes[0] < 1:
			return fmt.Errorf("audit: candidate %d (%s) has the Sizes %v, want ascending numbers from 1 on", i, c.Name, c.Sizes)
		}
	}
	return checkConfidence(&o.Confidence)
}

// choice is the work of one call of Choose.
type choice[T dense.Float] struct {
	opts      ChooseOptions[T]
	tolerance float64
	a         *audit[T]
	rng       *rand.Rand
	all       bool  // all rows are drawn
	screening []int // which of the drawn rows say whether a form is worth a test
	deciding  []int // and which decide
	heads     []*headChoice[T]

	done, total int // steps
}

// newChoice returns the work for drawn rows.
func newChoice[T dense.Float](a *audit[T], tolerance float64, opts ChooseOptions[T], rng *rand.Rand) *choice[T] {
	c := &choice[T]{opts: opts, tolerance: tolerance, a: a, rng: rng}
	n := len(a.drawn[0])
	if c.all = n == a.of; c.all {
		for i := range n {
			c.screening = append(c.screening, i)
		}
		c.deciding = c.screening
	} else {
		at := rng.Perm(n)
		c.screening, c.deciding = at[:n/4], at[n/4:]
		slices.Sort(c.screening)
		slices.Sort(c.deciding)
	}
	c.total = 1
	for h := range a.drawn {
		head := newHeadChoice(c, h)
		c.heads = append(c.heads, head)
		c.total += head.left()
	}
	return c
}

// choose returns the choice of all heads.
func (c *choice[T]) choose(ctx context.Context) (Choice[T], error) {
	worth := slices.ContainsFunc(c.heads, func(h *headChoice[T]) bool { return h.cheapest() != nil })
	var second float64 // a unit of predicted work in seconds
	if worth {
		if err := c.a.attend(ctx, func(int) {}); err != nil {
			return Choice[T]{}, err
		}
		c.a.averages()
		for _, h := range c.heads {
			h.prepare()
		}
		second = c.calibrate()
	}
	c.progress(1)
	var forms []performer.Form[T]
	all := Choice[T]{Exact: true, Tolerance: c.tolerance}
	var failures []error
	failed := worth
	for _, h := range c.heads {
		chosen, err := h.choose(ctx)
		if err != nil {
			return Choice[T]{}, err
		}
		chosen.ExactTime = time.Duration(h.exactWork * second * float64(time.Second))
		if chosen.Exact {
			chosen.Time = chosen.ExactTime
		}
		for _, t := range chosen.Trials {
			failed = failed && t.Err != nil
			failures = append(failures, t.Err)
		}
		failed = failed && len(chosen.Trials) > 0
		all.Heads = append(all.Heads, chosen)
		all.Exact = all.Exact && chosen.Exact
		all.Time += chosen.Time
		all.ExactTime += chosen.ExactTime
		forms = append(forms, chosen.Form)
	}
	if failed {
		return Choice[T]{}, errors.Join(failures...)
	}
	form, err := performer.NewBatch(c.a.heads, c.a.keyHeads, forms...)
	if err != nil {
		return Choice[T]{}, err
	}
	all.Form, all.Name = form, namesOf(all.Heads)
	if worth {
		all.Report = c.report()
		for h := range all.Heads {
			all.Heads[h].Report = all.Report
			if all.Report.Heads != nil {
				all.Heads[h].Report = all.Report.Heads[h]
			}
		}
	}
	return all, nil
}

// progress reports n more steps.
func (c *choice[T]) progress(n int) {
	c.done += n
	if c.opts.Progress != nil && n > 0 {
		c.opts.Progress(c.done, c.total)
	}
}

// report returns the error of the chosen forms on the rows that decide.
func (c *choice[T]) report() Report {
	var deviations, averages [][]deviation
	for _, h := range c.heads {
		deviations = append(deviations, selected(h.chosen, c.deciding))
		averages = append(averages, selected(h.averages, c.deciding))
	}
	return reportHeads(deviations, averages, c.a.of, c.opts.Confidence, (*ratio).intervalOfDrawn, c.rng)
}

// calibrate returns how many seconds a unit of predicted work takes in exact attention of some
// queries and keys.
func (c *choice[T]) calibrate() float64 {
	h := c.heads[0].one
	q, k, v := h.q.RowRange(0, min(h.q.Rows, 8192)), h.k.RowRange(0, min(h.k.Rows, 256)), h.v.RowRange(0, min(h.v.Rows, 256))
	least := time.Duration(math.MaxInt64)
	for range 2 {
		start := time.Now()
		performer.Exact[T]{}.Forward(dense.Matrix[T]{}, q, k, v)
		least = min(least, time.Since(start))
	}
	return least.Seconds() / exactCost[T](Call{Queries: q.Rows, Keys: k.Rows, Dim: q.Cols, Values: v.Cols})
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
