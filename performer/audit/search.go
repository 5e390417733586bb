package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

const (
	// The share of the budget that a search spends while no error is near the tolerance.
	unpromisingShare = 0.5

	// An error is near the tolerance if it is within this number of tolerances.
	nearTolerances = 2

	// The most tests of a head. Each test has a higher confidence, which takes longer.
	maxTests = 6

	// Measured in package performer: exact attention of a few rows takes this many times as long as
	// its share of exact attention of all rows.
	fewRowsFactor = 3

	// Measured: a row of a bootstrap sample takes as long as this number of multiply-adds.
	bootstrapMACs = 500
)

// search is the search of Choose. Costs are predicted, in multiply-adds.
type search[T dense.Float] struct {
	ChooseOptions
	tolerance       float64
	head            *headSample[T]
	screening, test []int // indices of sampled rows
	ladder          []*ladder[T]
	rng             *rand.Rand // of approximations and tests
	reportRNG       *rand.Rand
	clock           *clock
	start           time.Time // of Choose; zero before the search begins

	exactWork, budget, spent float64
	tests                    int
	near                     bool // an error was near the tolerance
	attended                 bool // the head has exact outputs of the test rows
	finite                   bool // the exact outputs are finite
	averages, chosen         []deviation
	trials                   []Trial
}

// newSearch returns a search, and divides the sampled rows.
func newSearch[T dense.Float](head *headSample[T], tolerance float64, opts ChooseOptions, kinds []kind[T], rng *rand.Rand) *search[T] {
	s := &search[T]{ChooseOptions: opts, tolerance: tolerance, head: head, reportRNG: rng}
	n := len(head.rows)
	at := rng.Perm(n)
	s.screening, s.test = at[:max(n/4, 1)], at[n/4:]
	slices.Sort(s.screening)
	slices.Sort(s.test)
	s.rng = rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
	s.exactWork = exactCost[T](s.call(0))
	s.budget, s.spent = opts.Budget*s.exactWork, s.rowsWork(len(s.screening))
	for _, k := range kinds {
		l := &ladder[T]{kind: k, whole: head.options.Causal && !k.prefixes}
		for i := 0; i < len(k.sizes) || k.sizes == nil && i < 32; i++ {
			if k.sizes == nil {
				l.sizes = append(l.sizes, firstSize<<i)
			}
			l.work = append(l.work, k.cost(s.call(l.sizes[i])))
			if !s.affordable(l, i, 1) {
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

// run tries approximations, and sets c.
func (s *search[T]) run(ctx context.Context, c *Choice[T]) error {
	if err := s.attend(ctx, s.screening); err != nil {
		return err
	}
	for s.finite && c.Exact {
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
	rows := s.test
	if c.Exact {
		rows = s.screening
	}
	c.Report = report(at(s.chosen, rows), at(s.averages, rows), s.head.population, s.Confidence, (*ratio).sampledInterval, s.reportRNG)
	c.Trials, c.Cost = s.trials, s.spent/s.exactWork
	return nil
}

// cheapest returns the ladder whose next size costs the least, or nil if no trial is affordable.
func (s *search[T]) cheapest() *ladder[T] {
	if s.tests == maxTests {
		return nil
	}
	share := unpromisingShare
	if s.near {
		share = 1
	}
	var best *ladder[T]
	for _, l := range s.ladder {
		if l.next < len(l.sizes) && s.affordable(l, l.next, share) && (best == nil || l.work[l.next] < best.work[best.next]) {
			best = l
		}
	}
	return best
}

// affordable reports whether a trial of size i is affordable: the search then has spent no more
// than a share of the budget, the rest of the budget is enough for a test and a comparison, and the
// attention can save more than the search costs.
func (s *search[T]) affordable(l *ladder[T], i int, share float64) bool {
	calls, work := float64(s.Calls), l.work[i]
	if !(work < s.exactWork) {
		return false
	}
	spent := s.cost() + s.preparationWork(l, i) + s.partWork(l, i, len(s.head.rows))
	passed := spent + s.passWork(l, i, s.minCompared())
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

// rowsWork returns the cost of exact attention of a few rows.
func (s *search[T]) rowsWork(rows int) float64 {
	return fewRowsFactor * s.exactWork * float64(rows) / float64(max(s.head.q.Rows, 1))
}

// partWork returns the cost of a call of size i with some of the queries, or with all queries if
// the attention computes all outputs.
func (s *search[T]) partWork(l *ladder[T], i, queries int) float64 {
	if l.whole {
		return l.work[i]
	}
	c := s.call(l.sizes[i])
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

// passWork returns the cost of a test of size i and of the comparison in a number of rows.
func (s *search[T]) passWork(l *ladder[T], i, rows int) float64 {
	w := s.preparationWork(l, i) + 2*s.partWork(l, i, rows)
	if l.whole { // the trial has the outputs of the first attention
		w -= s.partWork(l, i, rows)
	}
	if !s.attended {
		w += s.rowsWork(len(s.test))
	}
	return w + s.intervalWork(s.tests+1)
}

// intervalWork returns the cost of the interval of a test.
func (s *search[T]) intervalWork(test int) float64 {
	return bootstrapMACs * float64(resamples(s.testConfidence(test))*len(s.test))
}

// testConfidence returns the confidence of a test, counted from 1.
func (s *search[T]) testConfidence(test int) float64 {
	return 1 - (1-s.Confidence)/float64(test*(test+1))
}

// minCompared returns the least number of rows of a comparison.
func (s *search[T]) minCompared() int { return min(s.head.q.Rows, max(1024, s.head.q.Rows/8)) }

// attend computes the exact outputs of sampled rows.
func (s *search[T]) attend(ctx context.Context, rows []int) error {
	h := s.head
	if err := attend(ctx, []*headSample[T]{h}, rows); err != nil {
		return err
	}
	s.averages, s.chosen = deviations(h.average, h.exact), deviations(h.exact, h.exact)
	s.finite = !slices.ContainsFunc(s.chosen, func(d deviation) bool { return !d.finite() })
	return nil
}

// at returns the rows with the given indices, as the rows of one head.
func at(rows []deviation, indices []int) [][]deviation {
	some := make([]deviation, len(indices))
	for i, j := range indices {
		some[i] = rows[j]
	}
	return [][]deviation{some}
}

// try tries the next size of a kind of attention. If the attention passes, try sets c.
func (s *search[T]) try(ctx context.Context, l *ladder[T], c *Choice[T]) error {
	h, size := s.head, l.sizes[l.next]
	s.trials = append(s.trials, Trial{Name: s.title(l), Error: math.Inf(1), Cost: l.work[l.next] / s.exactWork})
	t := &s.trials[len(s.trials)-1]
	a, err := s.create(l)
	if err != nil {
		t.Err = fmt.Errorf("audit: %s: %w", t.Name, err)
		l.drop()
		return nil
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
	e, r := errorOf(at(deviations(sampled, h.exact), s.screening))
	t.Error, s.near = e, s.near || e <= nearTolerances*s.tolerance
	if t.Slow = s.slower(took); t.Slow {
		l.drop()
		return nil
	}
	if r != nil {
		_, stderr := root(r.heads)
		e += r.unit * stderr
	}
	if e <= s.tolerance {
		if !s.attended {
			s.attended = true
			s.spent += s.rowsWork(len(s.test))
			if err := s.attend(ctx, s.test); err != nil || !s.finite {
				return err
			}
		}
		t.Tested = true
		if rows := deviations(sampled, h.exact); s.passes(rows) {
			agree, took, err := s.compare(ctx, l, a, whole, took)
			if err != nil {
				return err
			}
			if t.Slow = s.slower(took); t.Slow {
				l.drop()
				return nil
			}
			if agree {
				s.chosen = rows
				c.Attention, c.Name, c.Exact, c.Time = a, t.Name, false, took
				return nil
			}
		}
	}
	l.climb(size, t.Error, s.tolerance)
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
func (s *search[T]) create(l *ladder[T]) (performer.Attention[T], error) {
	h := s.head
	return l.create(h.options, h.q, h.k, l.sizes[l.next], rand.NewPCG(s.rng.Uint64(), s.rng.Uint64()))
}

// answersRows reports whether a computes outputs of some queries without the other queries.
func (s *search[T]) answersRows(a performer.Attention[T]) bool {
	if _, ok := a.(performer.PrefixAttention[T]); ok && s.head.options.Causal {
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
		for _, row := range rows {
			seen = append(seen, row+1)
		}
	}
	start := time.Now()
	if rows != nil && h.options.Causal {
		out = a.(performer.PrefixAttention[T]).ForwardPrefixes(out, q, h.k, h.v, seen)
	} else {
		out = a.Forward(out, q, h.k, h.v)
	}
	took := time.Since(start)
	if rows != nil {
		out = out.RowRange(0, len(rows))
	}
	return out, took
}

// slower reports whether a call took as long as exact attention or longer.
func (s *search[T]) slower(took time.Duration) bool {
	return !s.Reproducible && took >= s.clock.time(s.exactWork)
}

// passes tests whether the error is within the tolerance on the test rows.
func (s *search[T]) passes(rows []deviation) bool {
	s.tests++
	e, r := errorOf(at(rows, s.test))
	if r == nil || e > s.tolerance {
		return e <= s.tolerance
	}
	s.spent += s.intervalWork(s.tests)
	_, high := r.sampledInterval(s.head.population, s.testConfidence(s.tests), s.rng)
	return high <= s.tolerance
}

// compare makes attention of the next size again and compares it with a, in all rows or in as many
// rows as the search can afford. Rows with large errors may be too rare for the sample, but two
// independent draws seldom have the same errors in the same rows. compare also measures the errors
// of the sampled rows again, among more queries. whole has all outputs of a, or is zero, and took
// is their time. compare reports whether both agree, and the shorter time of a call.
func (s *search[T]) compare(ctx context.Context, l *ladder[T], a performer.Attention[T], whole dense.Matrix[T], took time.Duration) (agree bool, shorter time.Duration, err error) {
	if err := contextError(ctx); err != nil {
		return false, 0, err
	}
	h, rows := s.head, s.comparedRows(l)
	second, err := s.create(l)
	if err != nil {
		return false, 0, err
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
	return s.agree(whole, again, sampled), shorter, nil
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

// agree reports whether outputs of two draws are evidence that the error of all rows is within the
// tolerance. sampled has the indices of the sampled rows. Both draws must be within the tolerance
// on the test rows. Their difference must be no larger than two independent errors within the
// tolerance explain. The part of the difference that the test rows do not explain comes from rare
// rows, whose error must fit in the rest of the tolerance.
func (s *search[T]) agree(first, again dense.Matrix[T], sampled []int) bool {
	onTestRows := func(out dense.Matrix[T]) float64 {
		e, _ := errorOf(at(deviations(gather(out, sampled), s.head.exact), s.test))
		return e
	}
	differences := deviations(first, again)
	all, _ := errorOf([][]deviation{differences})
	few, _ := errorOf(at(at(differences, sampled)[0], s.test))
	rare := max(all*all-byChance*few*few, 0)
	e := onTestRows(first)
	return onTestRows(again) <= s.tolerance && all <= math.Sqrt2*s.tolerance && math.Sqrt(e*e+mostShared*rare) <= s.tolerance
}

const (
	// Measured with clusters of keys on heads where some queries see few keys: the largest squared
	// error of rare rows over the squared difference of two draws. The ratio of independent draws
	// is ½.
	mostShared = 2.25

	// Measured on the same heads: the squared difference of all rows over that of the test rows.
	byChance = 1.25
)
