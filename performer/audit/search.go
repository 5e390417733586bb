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
	"github.com/seed-feabd252/randfeat/performer"
)

const (
	// The share of the budget that a search spends while no error is near the tolerance.
	unpromisingShare = 0.5

	// An error is near the tolerance if it is within this number of tolerances.
	nearTolerances = 2

	// The most tests of a head. Each test has a higher confidence.
	maxTests = 6

	// Measured: exact attention of a few rows takes this many times as long as its share of exact
	// attention of all rows.
	fewRowsFactor = 2

	// Measured: a sweep of a few rows takes this many times as long as the largest size alone.
	sweepTime = 3
)

// search is the search of Choose. Costs are predicted, in multiply-adds.
type search[T dense.Float] struct {
	ChooseOptions
	tolerance         float64
	head              *headSample[T]
	choosing, holding []int // indices of sampled rows: choosing rows and held-out rows
	ladder            []*ladder[T]
	rng               *rand.Rand
	clock             *clock
	start             time.Time // of Choose; zero before the search begins

	exactWork, budget, spent float64
	best                     float64 // the cost of the chosen attention
	tests                    int
	near                     bool // an error was near the tolerance
	averages, chosen         []deviation
	trials                   []Trial
}

// newSearch returns a search, and divides the sampled rows.
func newSearch[T dense.Float](head *headSample[T], tolerance float64, opts ChooseOptions, kinds []kind[T], rng *rand.Rand) *search[T] {
	s := &search[T]{ChooseOptions: opts, tolerance: tolerance, head: head, rng: rng, best: math.Inf(1)}
	n := len(head.rows)
	at := rng.Perm(n)
	half := max(n/2, 1)
	s.choosing, s.holding = at[:half], at[min(half, n-1):]
	s.exactWork = exactCost[T](s.call(0))
	s.budget, s.spent = opts.Budget*s.exactWork, fewRowsFactor*s.exactWork*float64(n)/float64(max(head.q.Rows, 1))
	for _, k := range kinds {
		l := &ladder[T]{kind: k, whole: head.options.Causal && !k.prefixes}
		for i := 0; i < len(k.sizes) || k.sizes == nil && i < 32; i++ {
			if k.sizes == nil {
				l.sizes = append(l.sizes, firstSize<<i)
			}
			l.work = append(l.work, k.cost(s.call(l.sizes[i])))
			if k.sweep == nil && !s.affordable(l, i, 1) {
				l.work = l.work[:i]
				break
			}
		}
		l.sizes = l.sizes[:len(l.work)]
		s.ladder = append(s.ladder, l)
	}
	return s
}

// call returns a call with attention of a size.
func (s *search[T]) call(size int) call {
	h := s.head
	return call{queries: h.q.Rows, keys: h.k.Rows, dim: h.q.Cols, values: h.v.Cols, size: size, causal: h.options.Causal}
}

// sized returns a call with attention of size i.
func (s *search[T]) sized(l *ladder[T], i int) call {
	c := s.call(l.sizes[i])
	if i < len(l.scored) {
		c.scored = l.scored[i]
	}
	return c
}

// run tries approximations, and sets c.
func (s *search[T]) run(ctx context.Context, c *Choice[T]) error {
	h := s.head
	if err := attend(ctx, []*headSample[T]{h}); err != nil {
		return err
	}
	s.averages, s.chosen = deviations(h.average, h.exact), deviations(h.exact, h.exact)
	finite := !slices.ContainsFunc(s.chosen, func(d deviation) bool { return !d.finite() })
	for finite {
		l := s.cheapest()
		if l == nil {
			break
		}
		if err := contextError(ctx); err != nil {
			return err
		}
		if err := s.try(ctx, l, c); err != nil {
			return err
		}
	}
	c.Report = report(at(s.chosen, s.holding), at(s.averages, s.holding), h.population, s.Confidence, (*ratio).skewedInterval, s.rng)
	c.Trials, c.Cost = s.trials, s.spent/s.exactWork
	return nil
}

// cheapest returns the ladder whose next size costs the least, or nil if no trial of attention that
// is cheaper than the chosen attention is affordable. A sweep, which has the errors of all sizes,
// comes first.
func (s *search[T]) cheapest() *ladder[T] {
	if s.tests == maxTests {
		return nil
	}
	share := unpromisingShare
	if s.near && s.best > s.exactWork {
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
// than a share of the budget, the rest of the budget is enough for a comparison, and the attention
// can save more than the search costs. A sweep needs no comparison. After it the trial is done.
func (s *search[T]) affordable(l *ladder[T], i int, share float64) bool {
	calls, work := float64(s.Calls), l.work[i]
	if !(work < s.exactWork) {
		return false
	}
	trial, compare := 0.0, s.compareWork(l, i, s.minCompared())
	switch rows := len(s.head.rows); {
	case l.sweep == nil:
		trial = s.preparationWork(l, i) + s.partWork(l, i, rows)
		if l.fixed {
			compare = 0
		}
	case l.scored == nil:
		trial, compare = s.partWork(l, len(l.sizes)-1, rows), 0
	}
	spent := s.cost() + trial
	passed := spent + compare
	return spent <= share*s.budget && passed <= s.budget && passed+calls*work < calls*s.exactWork
}

// cost returns the cost of the search until now. cost is the predicted cost, or the time unless the
// choice is Reproducible, whichever is more.
func (s *search[T]) cost() float64 {
	if s.Reproducible || s.start.IsZero() {
		return s.spent
	}
	return max(s.spent, time.Since(s.start).Seconds()/s.clock.second)
}

// partWork returns the cost of a call of size i with some of the queries, or with all queries if
// the attention computes all outputs.
func (s *search[T]) partWork(l *ladder[T], i, queries int) float64 {
	if l.whole {
		return l.work[i]
	}
	c := s.sized(l, i)
	c.queries = queries
	return min(l.cost(c), l.work[i])
}

// preparationWork returns the cost of making attention of size i.
func (s *search[T]) preparationWork(l *ladder[T], i int) float64 {
	if l.preparation == nil {
		return 0
	}
	return l.preparation(s.call(l.sizes[i]))
}

// compareWork returns the cost of a comparison of size i in a number of rows.
func (s *search[T]) compareWork(l *ladder[T], i, rows int) float64 {
	w := s.preparationWork(l, i) + s.partWork(l, i, rows)
	if !l.whole { // the trial has no outputs of all rows of the first attention
		w += s.partWork(l, i, rows)
	}
	return w
}

// minCompared returns the least number of rows of a comparison.
func (s *search[T]) minCompared() int { return min(s.head.q.Rows, max(1024, s.head.q.Rows/8)) }

// at returns the rows with the given indices, as the rows of one head.
func at(rows []deviation, indices []int) [][]deviation {
	some := make([]deviation, len(indices))
	for i, j := range indices {
		some[i] = rows[j]
	}
	return [][]deviation{some}
}

// try tries the next size of a kind of attention, or all sizes with a sweep. If the attention
// passes, try sets c.
func (s *search[T]) try(ctx context.Context, l *ladder[T], c *Choice[T]) error {
	h, size := s.head, l.sizes[l.next]
	seed := [2]uint64{s.rng.Uint64(), s.rng.Uint64()}
	s.trials = append(s.trials, Trial{Name: s.title(l), Error: math.Inf(1), Cost: l.work[l.next] / s.exactWork})
	t := &s.trials[len(s.trials)-1]
	a, err := s.create(l, seed)
	if err != nil {
		t.Err = fmt.Errorf("audit: %s: %w", t.Name, err)
		l.drop()
		return nil
	}
	if l.sweep != nil {
		return s.trySweep(ctx, l, a, seed, t, c)
	}
	l.whole = l.whole || !s.answersRows(a)
	s.spent += s.preparationWork(l, l.next) + s.partWork(l, l.next, len(h.rows))
	var whole, sampled dense.Matrix[T]
	var took time.Duration
	if l.whole {
		whole, took = s.forward(a, nil)
		sampled = gather(whole, h.rows)
	} else {
		sampled, took = s.forward(a, h.rows)
	}
	rows := deviations(sampled, h.exact)
	t.Error, _ = errorOf(at(rows, s.choosing))
	s.near = s.near || t.Error <= nearTolerances*s.tolerance
	if t.Slow = s.slower(took); t.Slow {
		l.drop()
		return nil
	}
	if t.Error <= s.tolerance {
		s.tests++
		if t.Tested = true; s.passes(rows, s.tolerance) {
			once, worst := time.Duration(float64(took)*l.work[l.next]/s.partWork(l, l.next, len(h.rows))), 0.0
			if !l.fixed {
				if worst, once, err = s.compare(ctx, l, a, whole, took); err != nil {
					return err
				}
			}
			if t.Slow = s.slower(once); t.Slow {
				l.drop()
				return nil
			}
			if worst <= s.tolerance {
				s.accept(l, a, rows, once, c)
			}
		}
	}
	l.climb(size, t.Error, s.tolerance)
	return nil
}

// accept sets c to attention of the next size.
func (s *search[T]) accept(l *ladder[T], a performer.Attention[T], rows []deviation, took time.Duration, c *Choice[T]) {
	s.chosen, s.best = rows, l.work[l.next]
	c.Attention, c.Name, c.Exact, c.Time = a, s.title(l), false, took
}

// trySweep tries all sizes of a kind of attention on the same rows. The error falls with the size.
// So trySweep accepts the smallest size that passes, in a test whose confidence does not depend on
// the number of sizes.
func (s *search[T]) trySweep(ctx context.Context, l *ladder[T], a performer.Attention[T], seed [2]uint64, t *Trial, c *Choice[T]) error {
	h, last := s.head, len(l.sizes)-1
	var seen []int
	if h.options.Causal {
		seen = prefixesOf(h.rows)
	}
	start := time.Now()
	outs, scored := l.sweep(a, gather(h.q, h.rows), h.k, h.v, seen)
	took, part := time.Since(start), s.partWork(l, last, len(h.rows))
	s.spent += part
	s.tests++
	t.Tested = true
	for i := range outs {
		l.scored = append(l.scored, max(float64(scored[i])/float64(len(h.rows)), 1))
		l.work[i] = l.cost(s.sized(l, i))
	}
	for limit, compared := s.tolerance, false; ; compared = true {
		passed := sort.Search(len(outs), func(i int) bool { return s.passes(deviations(outs[i], h.exact), limit) })
		l.next = min(passed, last)
		rows := deviations(outs[l.next], h.exact)
		t.Name, t.Cost = s.title(l), l.work[l.next]/s.exactWork
		t.Error, _ = errorOf(at(rows, s.choosing))
		s.near = s.near || t.Error <= nearTolerances*s.tolerance
		if passed > last || l.work[passed] >= s.exactWork {
			break
		}
		a, err := s.create(l, seed)
		if err != nil {
			return err
		}
		once, worst := time.Duration(float64(took)*l.work[passed]/(sweepTime*part)), 0.0
		if !compared && s.affordable(l, passed, 1) {
			if worst, once, err = s.compare(ctx, l, a, dense.Matrix[T]{}, 0); err != nil {
				return err
			}
		}
		if t.Slow = s.slower(once); t.Slow {
			break
		}
		if worst <= s.tolerance {
			s.accept(l, a, rows, once, c)
			break
		}
		limit *= s.tolerance / worst
	}
	l.drop()
	return nil
}

// title returns the name of the next size.
func (s *search[T]) title(l *ladder[T]) string {
	if l.title != nil {
		return l.title(l.sizes[l.next], s.head.k.Rows, s.head.options.Causal)
	}
	return fmt.Sprintf("%d %s", l.sizes[l.next], l.name)
}

// create makes attention of the next size.
func (s *search[T]) create(l *ladder[T], seed [2]uint64) (performer.Attention[T], error) {
	h := s.head
	return l.create(h.options, h.q, h.k, l.sizes[l.next], rand.NewPCG(seed[0], seed[1]))
}

// answersRows reports whether a computes outputs of some queries without the other queries.
func (s *search[T]) answersRows(a performer.Attention[T]) bool {
	if _, ok := a.(prefixAttention[T]); ok && s.head.options.Causal {
		return true
	}
	return descriptionOf(a).IndependentQueries
}

// forward returns the outputs of a for some rows of q, or for all rows if rows is nil, and the
// time.
func (s *search[T]) forward(a performer.Attention[T], rows []int) (dense.Matrix[T], time.Duration) {
	h, q := s.head, s.head.q
	var out dense.Matrix[T]
	var seen []int
	if rows != nil {
		q = gather(q, repeated(rows, min(descriptionOf(a).LeastQueries, q.Rows)))
		seen = prefixesOf(rows)
	}
	start := time.Now()
	if rows != nil && h.options.Causal {
		out = a.(prefixAttention[T]).ForwardPrefixes(out, q, h.k, h.v, seen)
	} else {
		out = a.Forward(out, q, h.k, h.v)
	}
	took := time.Since(start)
	if rows != nil {
		out = out.RowRange(0, len(rows))
	}
	return out, took
}

// prefixesOf returns the numbers of keys that rows of causal attention see.
func prefixesOf(rows []int) []int {
	seen := make([]int, len(rows))
	for i, row := range rows {
		seen[i] = row + 1
	}
	return seen
}

// slower reports whether a call took as long as exact attention or longer.
func (s *search[T]) slower(took time.Duration) bool {
	return !s.Reproducible && took >= s.clock.time(s.exactWork)
}

// passes tests whether the error is within the limit: on the choosing rows with the confidence of
// the test, and on the held-out rows with a small confidence.
func (s *search[T]) passes(rows []deviation, limit float64) bool {
	const exceeded = 0.25 // the probability that the error is above the bound of held-out rows
	bound := func(indices []int, probability float64) float64 {
		e, r := errorOf(at(rows, indices))
		if r != nil {
			e = r.above(s.head.population, probability)
		}
		return e
	}
	return bound(s.choosing, (1-s.Confidence)/float64(s.tests*(s.tests+1))) <= limit && bound(s.holding, exceeded) <= limit
}

// compare makes attention of the next size again and compares it with a, in all rows or in as many
// rows as the search can afford. Rows with large errors may be too rare for the sample, but two
// independent draws seldom have the same errors in the same rows. compare also measures the errors
// of the sampled rows again, among more queries. whole has all outputs of a, or is zero, and took
// is their time. compare returns the largest error that the outputs suggest, and the shorter time
// of a call.
func (s *search[T]) compare(ctx context.Context, l *ladder[T], a performer.Attention[T], whole dense.Matrix[T], took time.Duration) (worst float64, shorter time.Duration, err error) {
	if err := contextError(ctx); err != nil {
		return 0, 0, err
	}
	h, rows := s.head, s.comparedRows(l)
	second, err := s.create(l, [2]uint64{s.rng.Uint64(), s.rng.Uint64()})
	if err != nil {
		return 0, 0, err
	}
	compared := h.q.Rows
	if rows != nil {
		compared = len(rows)
	}
	work := s.partWork(l, l.next, compared)
	s.spent += s.preparationWork(l, l.next) + 2*work
	if !s.Reproducible {
		s.clock.measure()
	}
	if !l.whole {
		whole, took = s.forward(a, rows)
	}
	again, tookAgain := s.forward(second, rows)
	shorter = time.Duration(float64(min(took, tookAgain)) * l.work[l.next] / work)
	sampled := h.rows
	if rows != nil {
		sampled = make([]int, len(h.rows))
		for i, row := range h.rows {
			sampled[i], _ = slices.BinarySearch(rows, row)
		}
	}
	return s.worst(whole, again, sampled), shorter, nil
}

// comparedRows returns the rows of q in which two draws of the next size are compared, ascending,
// with the sampled rows among them. comparedRows returns nil for all rows.
func (s *search[T]) comparedRows(l *ladder[T]) []int {
	if l.whole {
		return nil
	}
	h, work, calls := s.head, l.work[l.next], float64(s.Calls)
	rest := min(s.budget, calls*(s.exactWork-work)) - s.cost() - s.preparationWork(l, l.next)
	none, all := s.partWork(l, l.next, 0), s.partWork(l, l.next, h.q.Rows)
	n := math.Inf(1)
	if all > none {
		n = (rest/2 - none) / (all - none) * float64(h.q.Rows)
	}
	if n >= float64(h.population) {
		return nil
	}
	taken, rows := make(map[int]bool), slices.Clone(h.rows)
	for _, row := range rows {
		taken[row] = true
	}
	for _, row := range s.rng.Perm(h.q.Rows) {
		if len(rows) >= max(int(n), s.minCompared()) {
			break
		}
		if !taken[row] {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return rows
}

// worst returns the largest error of all rows that outputs of two draws suggest: the error of the
// sampled rows, whose indices are given, in the second draw; what two independent errors explain;
// and the error of the first draw with that of rare rows, which have the part of the difference
// that the sampled rows do not explain.
func (s *search[T]) worst(first, again dense.Matrix[T], sampled []int) float64 {
	onSample := func(out dense.Matrix[T]) float64 {
		e, _ := errorOf([][]deviation{deviations(gather(out, sampled), s.head.exact)})
		return e
	}
	differences := deviations(first, again)
	all, _ := errorOf([][]deviation{differences})
	few, _ := errorOf(at(differences, sampled))
	rare := max(all*all-byChance*few*few, 0)
	e := onSample(first)
	return max(onSample(again), all/math.Sqrt2, math.Sqrt(e*e+mostShared*rare))
}

const (
	// Measured with clusters of keys on heads where some queries see few keys: the largest squared
	// error of rare rows over the squared difference of two draws. The ratio of independent draws
	// is ½.
	mostShared = 2.25

	// Measured on the same heads: the squared difference of all rows over that of the sampled rows.
	byChance = 1.25
)
