package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// ChooseOptions adjusts [Choose]. The zero values are a good choice.
type ChooseOptions[T dense.Float] struct {
	// Confidence that the error is within the tolerance, above 0 and at most 0.999. Zero means 0.95.
	Confidence float64

	// Calls is the number of calls that the form is chosen for. The choice costs no more than the
	// form is predicted to save in them. Zero means 1.
	Calls int

	// Budget is the most that a search costs, in calls of exact attention: in all if it finds nothing,
	// and half of that while no form comes near the tolerance. Zero means ½.
	Budget float64

	// Reproducible makes the choice depend on predicted costs alone, so that the same seed gives the
	// same form however fast and busy a machine is. Errors round differently on other processors, and
	// an error that is very close to the tolerance may decide otherwise there. Without Reproducible,
	// a form that is measured to be slower than exact attention is rejected, and a search ends when its
	// time is over.
	Reproducible bool

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

// Choose returns a form of attention whose output is within the tolerance of the truth,
//
//	‖out − exact‖_F ≤ tolerance·‖exact‖_F over all rows of a head,
//
// as cheap as it can find: the cheapest of the candidates that holds, or exact attention if none
// does that is cheaper. A tolerance that is not reached is exact attention, never a silent miss.
// The truth is a performer.Exact, or a performer.Batch of Exacts, whose heads choose for themselves. q (Lq×H·d), k
// (Lk×Hk·d) and v (Lk×Hk·dv) are what Forward of the truth takes.
//
//	c, err := audit.Choose(ctx, exact, q, k, v, 0.02, audit.ChooseOptions[float32]{}, src)
//	fmt.Println(c) // 256 landmarks: error 1.6 % (95 %: 1.3 … 1.9 %), 14 times as fast as exact attention; …
//	out := c.Form.Forward(dense.Matrix[float32]{}, q, k, v)
//
// Choose draws rows as [Measure] does. A quarter of the rows says which forms are worth a test. The
// form is tested on the rest of the rows, which it was not selected by: the upper end of its
// interval must be within the tolerance. The j-th test of a head has the confidence 1 −
// (1−Confidence)/(j·(j+1)), so that all tests together have the Confidence; there are six at most.
// It is the Confidence of each head for itself. Rows that are too rare to be drawn cannot be seen so.
// So a form that holds is drawn a second time, and both outputs are compared, in all rows or in as
// many as the Budget allows, an eighth at least: they must not differ by more than √2·tolerance, as
// independent errors do, nor by more than the drawn rows explain. That sees rare rows unless both
// draws have the same errors in them, and a form that answers few queries better than many.
//
// # What a search costs
//
// A search that ends in exact attention costs the Budget at most, half a call of exact attention
// unless set, however many Calls there are: in predicted work, and but for the last step in time as
// well. It costs half of that, a quarter of a call, while no error on the first rows is within two
// tolerances. A search that finds a form is held to the same predictions.
//
// Forms are tried in the order of predicted costs, never one whose predicted cost is that of exact
// attention or more. Forms that answer some queries alone (Rowwise by performer.Description, or
// performer.Maskable if causal) answer the drawn ones: 512 clusters of 16384 keys took 3 to 7 % of
// exact attention so. Forms of other kinds compute all outputs. Errors of the sizes that were tried are
// extrapolated, with a fall like 1/√m for features, 1/C for clusters and the measured one for
// landmarks, with room for more; a kind whose largest affordable size will not hold is dropped.
// A form that is measured to be no faster than exact attention is rejected.
//
// Exact attention of n rows costs about 3·n/Lq of exact attention, and an interval as much as 10⁸
// multiply-adds. Both are too much for short sequences, a few thousand tokens of one head: there a
// search ends at once in exact attention, unless the Budget is larger.
//
// # Where it fails
//
// Nothing is guaranteed. Rows that are rare and have the same errors in every draw are not seen: a
// form that is exact but for 4 of 1024 rows, the same ones in each draw, was chosen for 5 % where it
// was off by 10 to 38 %, on normal points and on heads with sharp queries. The predicted cost of
// clusters is that of peaked attention.
//
// The choice looks at all tokens, also if the truth is causal. What it chooses is causal then, with
// landmarks from the first tokens.
//
// Choose draws from src. With Reproducible, the same seed gives the same form, whatever GOMAXPROCS is.
// Without, a form of the same seed is passed over where it is slow, or where the time is over: on a
// machine that is busy with other work there is exact attention more often. q, k and v do not change.
//
// An error reports a tolerance that is not positive and finite, a nil src, options out of range, a
// truth that is not made of Exacts, Sequences for a truth that is not a Batch, no row to draw,
// shapes that do not fit, candidates none of which makes a form, and the end of ctx, which is looked at
// between blocks of exact rows and between forms that are tried. A nil ctx panics.
func Choose[T dense.Float](ctx context.Context, truth performer.Attention[T], q, k, v dense.Matrix[T], tolerance float64, opts ChooseOptions[T], src rand.Source) (Choice[T], error) {
	var c any
	var err error
	x := input[T]{truth, q, k, v}
	switch any(*new(T)).(type) {
	case float32:
		c, err = choose32(ctx, x, tolerance, opts, src)
	case float64:
		c, err = choose64(ctx, x, tolerance, opts, src)
	}
	return c.(Choice[T]), err
}

//go:noinline
func choose32(ctx context.Context, x any, tolerance float64, opts any, src rand.Source) (any, error) {
	return choose(ctx, x.(input[float32]), tolerance, opts.(ChooseOptions[float32]), src)
}

//go:noinline
func choose64(ctx context.Context, x any, tolerance float64, opts any, src rand.Source) (any, error) {
	return choose(ctx, x.(input[float64]), tolerance, opts.(ChooseOptions[float64]), src)
}

func choose[T dense.Float](ctx context.Context, x input[T], tolerance float64, opts ChooseOptions[T], src rand.Source) (Choice[T], error) {
	start := time.Now()
	none := Choice[T]{}
	if err := ended(ctx); err != nil {
		return none, err
	}
	if !(tolerance > 0 && tolerance <= math.MaxFloat64) {
		return none, fmt.Errorf("audit: tolerance = %v, want a positive number", tolerance)
	}
	if err := checkOptions(&opts); err != nil {
		return none, err
	}
	if src == nil {
		return none, errors.New("audit: src is nil")
	}
	heads, err := exactHeads(x.truth)
	if err != nil {
		return none, err
	}
	if s := opts.Sequences; s.Queries != nil || s.Past != nil || s.Valid != nil {
		if _, ok := x.truth.(performer.Batch[T]); !ok {
			return none, fmt.Errorf("audit: there are Sequences, but truth is a %T, want a performer.Batch", x.truth)
		}
	}
	rows := Options{Rows: opts.Rows, Confidence: opts.Confidence, Sequences: opts.Sequences, Queries: opts.Queries}
	if err := fits(0, x.truth, heads, x.q, x.k, x.v, rows); err != nil {
		return none, err
	}
	rng := rand.New(src)
	a, err := drawRows(heads, x.q, x.k, x.v, rows, rng)
	if err != nil {
		return none, err
	}
	c, err := newChoice(a, tolerance, opts, rng).choose(ctx, start)
	if err != nil {
		return none, err
	}
	if _, ok := x.truth.(performer.Batch[T]); !ok {
		if c = c.Heads[0]; c.Exact {
			c.Form = x.truth
		}
	}
	c.Choosing = time.Since(start)
	return c, nil
}

// checkOptions returns an error if an option is out of range, and makes zero the defaults.
func checkOptions[T dense.Float](o *ChooseOptions[T]) error {
	if o.Calls == 0 {
		o.Calls = 1
	}
	if o.Rows == 0 {
		o.Rows = 128
	}
	if o.Candidates == nil {
		o.Candidates = Candidates[T]()
	}
	if o.Budget == 0 {
		o.Budget = 0.5
	}
	switch {
	case !(o.Budget > 0 && o.Budget <= math.MaxFloat64):
		return fmt.Errorf("audit: Budget = %v, want a positive number, or 0 for ½", o.Budget)
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
	clock     *clock[T]

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
func (c *choice[T]) choose(ctx context.Context, start time.Time) (Choice[T], error) {
	worth := slices.ContainsFunc(c.heads, func(h *headChoice[T]) bool { return h.cheapest() != nil })
	c.clock = newClock(c.heads[0].one, c.heads[0].exactWork)
	if worth {
		if err := c.attendFirst(ctx); err != nil {
			return Choice[T]{}, err
		}
	}
	c.progress(1)
	before := time.Since(start) / time.Duration(len(c.heads))
	var forms []performer.Attention[T]
	all := Choice[T]{Exact: true, Tolerance: c.tolerance}
	var failures []error
	failed := worth
	for _, h := range c.heads {
		chosen, err := h.choose(ctx, before)
		if err != nil {
			return Choice[T]{}, err
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
		if all.Report, err = c.report(ctx, all.Exact); err != nil {
			return Choice[T]{}, err
		}
		for h := range all.Heads {
			all.Heads[h].Report = all.Report
			if all.Report.Heads != nil {
				all.Heads[h].Report = all.Report.Heads[h]
			}
		}
	}
	if !worth {
		return all, nil
	}
	var spent, exact float64
	for i, h := range c.heads {
		all.Heads[i].Cost = h.spent / h.exactWork
		spent, exact = spent+h.spent, exact+h.exactWork
	}
	all.Cost = spent / exact
	return all, nil
}

// attendFirst computes the exact rows that say whether a form is worth a test, for all heads.
func (c *choice[T]) attendFirst(ctx context.Context) error {
	var pieces []piece
	for h := range c.heads {
		pieces = append(pieces, c.a.piecesOf(h, c.screening)...)
	}
	if err := c.a.attend(ctx, pieces, func(int) {}); err != nil {
		return err
	}
	c.a.averages()
	for _, h := range c.heads {
		h.prepare()
	}
	return nil
}

// progress reports n more steps.
func (c *choice[T]) progress(n int) {
	c.done += n
	if c.opts.Progress != nil && n > 0 {
		c.opts.Progress(c.done, c.total)
	}
}

// report returns the error of the chosen forms on the rows that decide, or on the first rows if all
// heads have exact attention.
func (c *choice[T]) report(ctx context.Context, exact bool) (Report, error) {
	rows := c.deciding
	if exact {
		rows = c.screening
	}
	var deviations, averages [][]deviation
	for _, h := range c.heads {
		if !exact {
			if err := h.attendDeciding(ctx); err != nil {
				return Report{}, err
			}
		}
		deviations = append(deviations, selected(h.chosen, rows))
		averages = append(averages, selected(h.averages, rows))
	}
	return reportHeads(deviations, averages, c.a.of, c.opts.Confidence, (*ratio).intervalOfDrawn, c.rng), nil
}
