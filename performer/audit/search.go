package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer"
)

const (
	// The share of the budget that a search spends while no error is near the tolerance.
	unpromisingShare = 0.5

	// An error is near the tolerance if it is within this number of tolerances.
	nearTolerances = 2

	// The most tests of a head. Each test has a higher confidence.
	maxTests = 6

	// Measured: exact attention of a few rows takes this many times as long as its share.
	fewRowsFactor = 2

	// A sweep computes the outputs of the choosing rows, and of the rows of so many tests.
	sweptTests = 2

	// The calls of a chosen approximation in turns with calls of the clock.
	turns = 3
)

type toleranceSearch[T dense.Float] struct {
	ChooseOptions
	tolerance float64
	head      *headSample[T] // the choosing rows
	ladder    []*ladder[T]
	rng       *rand.Rand
	clock     *clock
	start     time.Time // of Choose; zero before the search begins

	exactWork, budget, spent float64
	best                     float64     // the cost of the chosen attention
	passed                   []passed[T] // the approximations within the tolerance; the cheapest is last
	tests                    int
	near                     bool // an error was near the tolerance
	trials                   []Trial
}

type ladder[T dense.Float] struct {
	kind[T]
	work   []float64 // the cost of a call of each size
	next   int       // the index of the next size
	whole  bool      // the attention computes all of its outputs
	scored []float64 // scored keys of a query with each size, after a sweep
}

func (l *ladder[T]) drop() { l.next = len(l.sizes) }

// passed is an approximation within the tolerance.
type passed[T dense.Float] struct {
	choice Choice[T]
	ladder *ladder[T]
	trial  int
	work   float64
}

func newSearch[T dense.Float](head *headSample[T], tolerance float64, opts ChooseOptions, kinds []kind[T], rng *rand.Rand) *toleranceSearch[T] {
	s := &toleranceSearch[T]{ChooseOptions: opts, tolerance: tolerance, head: head, rng: rng, best: math.Inf(1)}
	s.exactWork = exactCost[T](s.call(0))
	s.budget, s.spent = opts.Budget*s.exactWork, s.rowsWork()
	for _, k := range kinds {
		l := &ladder[T]{kind: k, whole: head.options.Causal && k.sweep == nil}
		for _, size := range k.sizes {
			l.work = append(l.work, k.cost(s.call(size)))
		}
		s.ladder = append(s.ladder, l)
	}
	return s
}

func (s *toleranceSearch[T]) call(size int) callSizes {
	h := s.head
	return callSizes{queries: h.q.Rows, keys: h.k.Rows, dim: h.q.Cols, values: h.v.Cols, all: h.q.Rows, size: size, causal: h.options.Causal}
}

func (s *toleranceSearch[T]) sized(l *ladder[T], i int) callSizes {
	c := s.call(l.sizes[i])
	if i < len(l.scored) {
		c.scored = l.scored[i]
	}
	return c
}

func (s *toleranceSearch[T]) run(ctx context.Context, c *Choice[T]) error {
	h := s.head
	if err := attend(ctx, []*headSample[T]{h}); err != nil {
		return err
	}
	c.Report = report([]*headSample[T]{h}, []dense.Matrix[T]{h.exact}, s.Confidence)
	exact := *c
	for c.Report.NonFinite == 0 {
		if err := contextError(ctx); err != nil {
			return err
		}
		if l := s.cheapest(); l != nil {
			if err := s.try(ctx, l, c); err != nil {
				return err
			}
			continue
		}
		if c.Exact {
			break
		}
		if fast, err := s.race(ctx, c); err != nil {
			return err
		} else if fast || s.Reproducible {
			break
		}
		if *c, s.best = exact, math.Inf(1); s.reject() {
			last := s.passed[len(s.passed)-1]
			*c, s.best = last.choice, last.work
		}
	}
	c.Trials, c.Cost = s.trials, s.spent/s.exactWork
	return nil
}

// reject drops the cheapest approximation within the tolerance. It reports whether another is left.
func (s *toleranceSearch[T]) reject() bool {
	last := len(s.passed) - 1
	s.trials[s.passed[last].trial].Slow = true
	s.passed[last].ladder.drop()
	s.passed = s.passed[:last]
	return last > 0
}

// race sets the time of the chosen attention to the shortest of some calls in turns with calls of
// the clock, and reports whether the chosen attention is faster than exact attention. On a busy
// machine one call says little. There are fewer calls if more are predicted to cost all savings.
func (s *toleranceSearch[T]) race(ctx context.Context, c *Choice[T]) (fast bool, err error) {
	h, spare := s.head, float64(s.Calls)*(s.exactWork-s.best)-s.spent
	second, shortest := math.Inf(1), time.Duration(math.MaxInt64)
	for call := 0; call == 0 || call < turns && float64(call+1)*s.best < spare; call++ {
		if err := contextError(ctx); err != nil {
			return false, err
		}
		s.clock.measure()
		second = min(second, s.clock.second)
		start := time.Now()
		c.Attention.Forward(dense.Matrix[T]{}, h.q, h.k, h.v)
		shortest = min(shortest, time.Since(start))
	}
	s.clock.second, c.Time = second, shortest
	return shortest < s.clock.time(s.exactWork), nil
}

// cheapest returns the ladder whose next size costs the least, or nil if no trial of attention that
// is cheaper than the chosen attention is affordable. A sweep, which has the errors of all sizes,
// comes first.
func (s *toleranceSearch[T]) cheapest() *ladder[T] {
	if s.tests == maxTests {
		return nil
	}
	share := unpromisingShare
	if s.near || s.Budget >= 4 && s.seesAll() {
		share = 1
	}
	var best *ladder[T]
	for _, l := range s.ladder {
		switch {
		case l.next >= len(l.sizes) || l.work[l.next] >= s.best:
		case l.sweep != nil && s.affordable(l, l.next, 1):
			return l
		case l.sweep == nil && s.affordable(l, l.next, share) && (best == nil || l.work[l.next] < best.work[best.next]):
			best = l
		}
	}
	return best
}

// affordable reports whether a trial of size i is affordable: the search then has spent no more
// than a share of the budget, and a test is affordable.
func (s *toleranceSearch[T]) affordable(l *ladder[T], i int, share float64) bool {
	trial := s.partWork(l, i, len(s.head.rows))
	if l.sweep != nil {
		trial = s.partWork(l, len(l.sizes)-1, (1+sweptTests)*len(s.head.rows))
	}
	return s.cost()+trial <= share*s.budget && s.within(l, i, trial+s.testWork(l, i))
}

// within reports whether the search keeps to the budget with additional work for size i, and
// whether the attention can save more than the search costs, and more than the work against the
// chosen attention.
func (s *toleranceSearch[T]) within(l *ladder[T], i int, work float64) bool {
	calls, spent := float64(s.Calls), s.cost()+work
	return l.work[i] < s.exactWork && spent <= s.budget && spent+calls*l.work[i] < calls*s.exactWork && work+calls*l.work[i] < calls*s.best
}

// cost returns the cost of the search until now. The cost is the predicted cost, or the time unless
// the choice is Reproducible, whichever is more.
func (s *toleranceSearch[T]) cost() float64 {
	if s.Reproducible || s.start.IsZero() {
		return s.spent
	}
	return max(s.spent, time.Since(s.start).Seconds()/s.clock.second)
}

func (s *toleranceSearch[T]) rowsWork() float64 {
	return fewRowsFactor * s.exactWork * float64(len(s.head.rows)) / float64(max(s.head.q.Rows, 1))
}

func (s *toleranceSearch[T]) partWork(l *ladder[T], i, queries int) float64 {
	if l.whole {
		return l.work[i]
	}
	c := s.sized(l, i)
	c.queries = queries
	return min(l.cost(c), l.work[i])
}

// testWork returns the cost of a test of size i. The trial has computed all outputs of whole
// attention, and a sweep has outputs for a test.
func (s *toleranceSearch[T]) testWork(l *ladder[T], i int) float64 {
	w := s.rowsWork()
	if s.seesAll() {
		w = 0
	}
	if !l.whole && l.sweep == nil {
		w += s.partWork(l, i, len(s.head.rows))
	}
	return w
}

// try tries the next size, or all sizes with a sweep, and sets c if the attention passes.
func (s *toleranceSearch[T]) try(ctx context.Context, l *ladder[T], c *Choice[T]) error {
	h := s.head
	s.trials = append(s.trials, Trial{Name: s.title(l), Error: math.Inf(1), Cost: l.work[l.next] / s.exactWork})
	t := &s.trials[len(s.trials)-1]
	a, err := s.create(l)
	if err != nil {
		t.Err = fmt.Errorf("audit: %s: %w", t.Name, err)
		l.drop()
		return nil
	}
	if l.sweep != nil {
		return s.trySweep(ctx, l, a, t, c)
	}
	l.whole = l.whole || !descriptionOf(a).IndependentQueries
	s.spent += s.partWork(l, l.next, len(h.rows))
	var whole, sampled dense.Matrix[T]
	if l.whole {
		whole = s.forward(a, nil)
		sampled = layout.Rows(whole, h.rows)
	} else {
		sampled = s.forward(a, h.rows)
	}
	e := errorOf(h.deviations(sampled))
	t.Error = e.error
	s.near = s.near || t.Error <= nearTolerances*s.tolerance
	if e.above((1-s.Confidence)/2) <= s.tolerance {
		if _, err := s.test(ctx, l, outputs[T]{attention: a, whole: whole}, t, c); err != nil {
			return err
		}
	}
	l.next++
	return nil
}

// trySweep tries all sizes of a kind of attention on the choosing rows. The error falls with the
// size, so trySweep tests the smallest size that probably passes, and then a larger one if the test
// finds a larger error than the choosing rows have.
func (s *toleranceSearch[T]) trySweep(ctx context.Context, l *ladder[T], a performer.Attention[T], t *Trial, c *Choice[T]) error {
	h, last := s.head, len(l.sizes)-1
	var spare []*headSample[T] // for tests
	rows := slices.Clone(h.rows)
	for range sweptTests {
		spare = append(spare, s.testRows())
		if !s.seesAll() {
			rows = append(rows, spare[len(spare)-1].rows...)
		}
	}
	slices.Sort(rows)
	outs, scored := l.sweep(a, h.q, h.k, h.v, rows)
	s.spent += s.partWork(l, last, len(rows))
	choosing := places(rows, h.rows)
	errorAt := func(i int) estimate { return errorOf(h.deviations(layout.Rows(outs[i], choosing))) }
	for i := range outs {
		var keys, queries float64
		for j, at := range choosing {
			keys += float64(scored[i][at]) / h.chances[j]
			queries += 1 / h.chances[j]
		}
		l.scored = append(l.scored, max(keys/queries, 1))
		l.work[i] = l.cost(s.sized(l, i))
	}
	limit := s.tolerance
	for next := 0; ; next = l.next + 1 {
		next += sort.Search(len(outs)-next, func(i int) bool { return errorAt(next+i).above(s.testedAt(s.tests+1)) <= limit })
		l.next = min(next, last)
		t.Name, t.Cost, t.Error = s.title(l), l.work[l.next]/s.exactWork, errorAt(l.next).error
		s.near = s.near || t.Error <= nearTolerances*s.tolerance
		if next > last || s.tests == maxTests || len(spare) == 0 || !s.within(l, next, s.testWork(l, next)) {
			break
		}
		o := outputs[T]{rows: spare[0], out: layout.Rows(outs[next], places(rows, spare[0].rows))}
		spare = spare[1:]
		var err error
		if o.attention, err = s.create(l); err != nil {
			return err
		}
		bound, err := s.test(ctx, l, o, t, c)
		if err != nil {
			return err
		}
		if bound <= s.tolerance {
			break
		}
		limit *= s.tolerance / bound
	}
	l.drop()
	return nil
}

// seesAll reports whether the choosing rows are all rows. The errors of approximations then are
// known.
func (s *toleranceSearch[T]) seesAll() bool { return len(s.head.rows) == s.head.q.Rows }

// testRows returns new rows for a test, or the choosing rows if these are all rows.
func (s *toleranceSearch[T]) testRows() *headSample[T] {
	if s.seesAll() {
		return s.head
	}
	return s.head.draw(len(s.head.rows), s.rng)
}

// testedAt returns the probability with which the error may exceed the bound of a test. All tests
// of a head together have 1 − Confidence, as Σ 1/(n·(n+1)) = 1.
func (s *toleranceSearch[T]) testedAt(test int) float64 {
	return (1 - s.Confidence) / float64(test*(test+1))
}

func places(all, rows []int) []int {
	at := make([]int, len(rows))
	for i, row := range rows {
		at[i], _ = slices.BinarySearch(all, row)
	}
	return at
}

func (s *toleranceSearch[T]) title(l *ladder[T]) string {
	if l.title != nil {
		return l.title(l.sizes[l.next])
	}
	return fmt.Sprintf("%d %s", l.sizes[l.next], l.name)
}

func (s *toleranceSearch[T]) create(l *ladder[T]) (performer.Attention[T], error) {
	return l.create(s.head.options.Softmax, l.sizes[l.next])
}

func (s *toleranceSearch[T]) forward(a performer.Attention[T], rows []int) dense.Matrix[T] {
	h := s.head
	if rows == nil {
		return a.Forward(dense.Matrix[T]{}, h.q, h.k, h.v)
	}
	q := layout.Rows(h.q, repeated(rows, min(descriptionOf(a).LeastQueries, h.q.Rows)))
	return a.Forward(dense.Matrix[T]{}, q, h.k, h.v).RowRange(0, len(rows))
}

type outputs[T dense.Float] struct {
	attention performer.Attention[T]
	whole     dense.Matrix[T] // all outputs, or zero

	rows *headSample[T]  // test rows, or nil
	out  dense.Matrix[T] // the outputs of the test rows
}

// test tests attention of the next size on unused rows, and sets c if the upper bound of the error
// is within the tolerance.
func (s *toleranceSearch[T]) test(ctx context.Context, l *ladder[T], o outputs[T], t *Trial, c *Choice[T]) (bound float64, err error) {
	s.tests++
	t.Tested = true
	s.spent += s.testWork(l, l.next)
	if o.rows == nil {
		o.rows = s.testRows()
		if l.whole {
			o.out = layout.Rows(o.whole, o.rows.rows)
		} else {
			o.out = s.forward(o.attention, o.rows.rows)
		}
	}
	if o.rows != s.head {
		if err := attend(ctx, []*headSample[T]{o.rows}); err != nil {
			return 0, err
		}
	}
	bound = errorOf(o.rows.deviations(o.out)).above(s.testedAt(s.tests))
	if bound <= s.tolerance {
		c.Attention, c.Name, c.Exact = o.attention, s.title(l), false
		o.rows.attendEqually()
		c.Report = report([]*headSample[T]{o.rows}, []dense.Matrix[T]{o.out}, s.Confidence)
		s.best = l.work[l.next]
		s.passed = append(s.passed, passed[T]{*c, l, len(s.trials) - 1, s.best})
	}
	return bound, nil
}
