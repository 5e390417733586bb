package audit

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer"
)

const (
	// The largest part of the budget that a search spends while no form comes near.
	farShare = 0.5

	// A form comes near if its error is within so many tolerances.
	near = 2

	// The most tests of a head. Each one needs a higher confidence, which takes longer.
	mostTests = 6

	// Measured in package performer: how many times as long exact attention of a few rows takes as the same
	// number of rows takes among all.
	fewRowsSlow = 3

	// Measured: the multiply-adds that take as long as a row of a bootstrap sample.
	sampleMACs = 500
)

// headChoice is the search for the form of one head.
type headChoice[T dense.Float] struct {
	*choice[T]
	head   int
	one    *audit[T] // of this head alone
	exact  performer.ExactOptions
	q, k   dense.Matrix[T] // the rows that count
	shapes []Call          // of the sequences, without a size
	ladder []*ladder[T]
	rng    *rand.Rand

	exactWork, spent float64 // predicted
	budget           float64 // the most that may be spent
	begun            time.Time
	before           time.Duration // the part of what all heads have cost before
	tests            int
	near             bool // a form has come near
	attended         bool // the rows that decide
	finite           bool // the drawn rows of the truth
	averages, chosen []deviation
	tried            []Trial
}

// newHeadChoice returns the search of a head.
func newHeadChoice[T dense.Float](c *choice[T], head int) *headChoice[T] {
	a := c.a
	exact, _ := exactOf(a.truth.Head(head))
	keyHead := head / (a.heads / a.keyHeads)
	one := &audit[T]{
		heads: 1, keyHeads: 1, s: a.s, fromQuery: a.fromQuery, fromKey: a.fromKey,
		q: layout.Head(a.q, head, a.heads), k: layout.Head(a.k, keyHead, a.keyHeads), v: layout.Head(a.v, keyHead, a.keyHeads),
		of: a.of, drawn: a.drawn[head : head+1], exact: a.exact[head : head+1], average: a.average[head : head+1],
	}
	h := &headChoice[T]{choice: c, head: head, one: one, exact: exact, attended: c.all, rng: rand.New(rand.NewPCG(c.rng.Uint64(), c.rng.Uint64()))}
	h.q, h.k = thatCount(one.q, c.opts.Queries), thatCount(one.k, a.s.Valid)
	for s := range len(a.fromQuery) - 1 {
		from, to := a.fromKey[s], a.fromKey[s+1]
		shape := Call{Queries: a.fromQuery[s+1] - a.fromQuery[s], Keys: to - from, Dim: one.q.Cols, Values: one.v.Cols}
		shape.Causal = h.exact.Causal && shape.Queries == shape.Keys
		if valid := a.validIn(from, to); valid != nil && !shape.Causal {
			shape.Keys = 0
			for _, counts := range valid {
				if counts {
					shape.Keys++
				}
			}
		}
		h.shapes = append(h.shapes, shape)
	}
	h.exactWork = h.work(exactCost[T], 0)
	h.budget, h.spent = c.opts.Budget*h.exactWork, h.rowsWork(len(c.screening))
	for _, candidate := range c.opts.Candidates {
		l := &ladder[T]{Candidate: candidate, sizes: candidate.Sizes, slow: 1, whole: h.exact.Causal && !(candidate.Maskable && one.s.Valid == nil) || len(h.shapes) > 1}
		for i := 0; i < len(l.sizes) || candidate.Sizes == nil && i < 32; i++ {
			if candidate.Sizes == nil {
				l.sizes = append(l.sizes, firstSize<<i)
			}
			l.work = append(l.work, h.work(candidate.Cost, l.sizes[i]))
			if !h.affordable(l, i, 1) {
				l.work = l.work[:i]
				break
			}
		}
		l.sizes = l.sizes[:len(l.work)]
		h.ladder = append(h.ladder, l)
	}
	return h
}

// thatCount returns the rows of x that count.
func thatCount[T dense.Float](x dense.Matrix[T], counts []bool) dense.Matrix[T] {
	if counts == nil || !slices.Contains(counts, false) {
		return x
	}
	var rows []int
	for i, c := range counts {
		if c {
			rows = append(rows, i)
		}
	}
	return gather(x, rows)
}

// work returns the predicted work of a call with a cost and a size.
func (h *headChoice[T]) work(cost func(c Call) float64, size int) float64 {
	sum := 0.0
	for _, s := range h.shapes {
		s.Size = size
		sum += cost(s)
	}
	return sum
}

// rowsWork returns the predicted work of exact attention of a few rows.
func (h *headChoice[T]) rowsWork(rows int) float64 {
	return fewRowsSlow * h.exactWork * float64(rows) / float64(max(h.one.q.Rows, 1))
}

// partWork returns the predicted work of a form, of the i-th size, that answers some queries only, if
// it can.
func (h *headChoice[T]) partWork(l *ladder[T], i, queries int) float64 {
	if l.whole {
		return l.work[i] * l.slow
	}
	s := h.shapes[0]
	s.Size, s.Queries = l.sizes[i], queries
	return min(l.Cost(s), l.work[i]) * l.slow
}

// prepareWork returns the predicted work of making a form of the i-th size.
func (h *headChoice[T]) prepareWork(l *ladder[T], i int) float64 {
	if l.Prepare == nil {
		return 0
	}
	return h.work(l.Prepare, l.sizes[i])
}

// settleWork returns the predicted work after the trial of a form that may hold: the rows that
// decide, their interval, and the comparison of two draws in so many rows.
func (h *headChoice[T]) settleWork(l *ladder[T], i, rows int) float64 {
	w := h.prepareWork(l, i) + 2*h.partWork(l, i, rows)
	if l.whole { // the trial has one of the two
		w -= h.partWork(l, i, rows)
	}
	if !h.attended {
		w += h.rowsWork(len(h.deciding))
	}
	if !h.all {
		w += sampleMACs * float64(resamples(h.testConfidence(h.tests+1))*len(h.deciding))
	}
	return w
}

// leastCompared returns the least number of rows in which two draws are compared.
func (h *headChoice[T]) leastCompared() int { return min(h.q.Rows, max(1024, h.q.Rows/8)) }

// affordable reports whether the i-th size may be tried: no more than a part of the budget is spent
// then, there is enough left for what follows the trial, and the form could save time.
func (h *headChoice[T]) affordable(l *ladder[T], i int, part float64) bool {
	calls, work := float64(h.opts.Calls), l.work[i]
	if !(work < h.exactWork) {
		return false
	}
	spent := h.cost() + h.prepareWork(l, i) + h.partWork(l, i, len(h.one.drawn[0]))
	settled := spent + h.settleWork(l, i, h.leastCompared())
	if len(h.heads) > 1 && !h.attended { // the report of all heads needs the rows
		spent += h.rowsWork(len(h.deciding))
	}
	return spent <= part*h.budget && settled <= h.budget && settled+calls*work < calls*h.exactWork
}

// cost returns what the search has cost so far in predicted work: the time, if that was longer.
func (h *headChoice[T]) cost() float64 {
	if h.opts.Reproducible || h.begun.IsZero() {
		return h.spent
	}
	return max(h.spent, (h.before+time.Since(h.begun)).Seconds()/h.clock.second)
}

// left returns the number of sizes that are left to try.
func (h *headChoice[T]) left() int {
	n := 0
	for _, l := range h.ladder {
		n += l.left()
	}
	return n
}

// cheapest returns the candidate whose next size costs the least, or nil if no trial is affordable.
func (h *headChoice[T]) cheapest() *ladder[T] {
	if h.tests == mostTests {
		return nil
	}
	part := farShare
	if h.near {
		part = 1
	}
	var best *ladder[T]
	for _, l := range h.ladder {
		if l.left() > 0 && h.affordable(l, l.at, part) && (best == nil || l.work[l.at] < best.work[best.at]) {
			best = l
		}
	}
	return best
}

// prepare makes the search ready once there are exact rows.
func (h *headChoice[T]) prepare() {
	exact := h.one.exact[0]
	h.averages, h.chosen = deviations(h.one.average[0], exact), deviations(exact, exact)
	h.finite = !slices.ContainsFunc(h.chosen, func(d deviation) bool { return !d.finite() })
}

// choose returns the choice of the head. Choices have cost a time before.
func (h *headChoice[T]) choose(ctx context.Context, before time.Duration) (Choice[T], error) {
	h.begun, h.before = time.Now(), before
	c := Choice[T]{Form: h.a.truth.Head(h.head), Name: exactName, Exact: true, Tolerance: h.tolerance}
	left := h.left()
	for h.finite {
		l := h.cheapest()
		if l == nil {
			break
		}
		if err := ended(ctx); err != nil {
			return c, err
		}
		t, err := h.try(ctx, l)
		if err != nil {
			return c, err
		}
		if t.held {
			c.Form, c.Name, c.Exact, c.Time = t.form.Head(0), t.name, false, t.time
			break
		}
		h.progress(left - h.left())
		left = h.left()
	}
	h.progress(left)
	c.Trials, c.ExactTime = h.tried, seconds(h.exactWork*h.clock.second)
	if c.Exact {
		c.Time = c.ExactTime
	}
	return c, nil
}

const exactName = "exact attention"

// testConfidence returns the confidence of the j-th test, counted from 1.
func (h *headChoice[T]) testConfidence(j int) float64 {
	return 1 - (1-h.opts.Confidence)/float64(j*(j+1))
}

// attendDeciding computes the exact rows that decide.
func (h *headChoice[T]) attendDeciding(ctx context.Context) error {
	if h.attended {
		return nil
	}
	h.attended = true
	h.spent += h.rowsWork(len(h.deciding))
	if err := h.a.attend(ctx, h.a.piecesOf(h.head, h.deciding), func(int) {}); err != nil {
		return err
	}
	h.prepare()
	return nil
}

// selected returns the rows with the given numbers.
func selected(rows []deviation, at []int) []deviation {
	of := make([]deviation, len(at))
	for i, row := range at {
		of[i] = rows[row]
	}
	return of
}

// comparedRows returns the rows of q in which two draws of the next size are compared, ascending: as
// many as the search can afford, the drawn ones among them, or nil for all.
func (h *headChoice[T]) comparedRows(l *ladder[T]) []int {
	if l.whole {
		return nil
	}
	work, calls := l.work[l.at], float64(h.opts.Calls)
	rest := min(h.budget, calls*(h.exactWork-work)) - h.cost() - h.prepareWork(l, l.at)
	none, all := h.partWork(l, l.at, 0), h.partWork(l, l.at, h.one.q.Rows)
	n := math.Inf(1)
	if all > none {
		n = (rest/2 - none) / (all - none) * float64(h.one.q.Rows)
	}
	if n >= float64(h.a.of) {
		return nil
	}
	taken, rows := make(map[int]bool), slices.Clone(h.one.drawn[0])
	for _, row := range rows {
		taken[row] = true
	}
	for _, row := range h.rng.Perm(h.one.q.Rows) {
		if len(rows) >= max(int(n), h.leastCompared()) {
			break
		}
		if !taken[row] && (h.opts.Queries == nil || h.opts.Queries[row]) {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return rows
}
