package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer"
)

// Measured in package performer: how many times as long exact attention of a few rows takes as the same
// number of rows takes among all.
const fewRowsSlow = 3

const (
	firstSize = 32 // the first of the default sizes

	// Falls that are taken for possible, where a candidate does not know its own: after one size,
	// and relative to the fall between the last two sizes, which counts as leastFall at least. The
	// error of landmarks falls slowly until they are as many as what differs among keys.
	firstFall, moreFall, leastFall = 2, 1.5, 2

	// What is taken for possible relative to a fall that is known.
	knownFall = 1.2

	// The most tests of a head. Each one needs a higher confidence, which takes longer.
	mostTests = 6

	// The calls that a comparison with a second draw takes.
	secondDraw = 2

	// The largest part of what exact attention costs that a choice may cost.
	mostSpent = 0.25
)

// headChoice is the search for the form of one head.
type headChoice[T dense.Float] struct {
	*choice[T]
	one    *audit[T] // of this head alone
	exact  performer.Exact[T]
	q, k   dense.Matrix[T] // the rows that count
	shapes []Call          // of the sequences, without a size
	ladder []*ladder[T]
	rng    *rand.Rand

	exactWork, spent float64 // predicted
	tests            int
	finite           bool // the drawn rows of the truth
	averages, chosen []deviation
	tried            []Trial
}

// ladder is a candidate in a search.
type ladder[T dense.Float] struct {
	Candidate[T]
	sizes []int
	work  []float64 // of a call, for each size
	at    int       // the next size
	tried []point
}

// point is the error of a size.
type point struct {
	size  int
	error float64
}

// newHeadChoice returns the search of a head.
func newHeadChoice[T dense.Float](c *choice[T], head int) *headChoice[T] {
	a := c.a
	exact, _ := exactOf(a.truth.Form(head))
	keyHead := head / (a.heads / a.keyHeads)
	one := &audit[T]{
		heads: 1, keyHeads: 1, s: a.s, fromQuery: a.fromQuery, fromKey: a.fromKey,
		q: layout.Head(a.q, head, a.heads), k: layout.Head(a.k, keyHead, a.keyHeads), v: layout.Head(a.v, keyHead, a.keyHeads),
		of: a.of, drawn: a.drawn[head : head+1], exact: a.exact[head : head+1], average: a.average[head : head+1],
	}
	h := &headChoice[T]{choice: c, one: one, exact: exact, rng: rand.New(rand.NewPCG(c.rng.Uint64(), c.rng.Uint64()))}
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
	h.spent = fewRowsSlow * h.exactWork * float64(len(one.drawn[0])) / float64(max(one.q.Rows, 1))
	for _, candidate := range c.opts.Candidates {
		l := &ladder[T]{Candidate: candidate, sizes: candidate.Sizes}
		for i := 0; i < len(l.sizes) || candidate.Sizes == nil && i < 32; i++ {
			if candidate.Sizes == nil {
				l.sizes = append(l.sizes, firstSize<<i)
			}
			w := h.work(candidate.Cost, l.sizes[i])
			if !(w < h.exactWork) {
				break
			}
			l.work = append(l.work, w)
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

// left returns the number of sizes that are left to try.
func (h *headChoice[T]) left() int {
	n := 0
	for _, l := range h.ladder {
		n += len(l.sizes) - l.at
	}
	return n
}

// cheapest returns the candidate whose next size costs the least, or nil if a trial would cost too
// much or could save nothing.
func (h *headChoice[T]) cheapest() *ladder[T] {
	var best *ladder[T]
	for _, l := range h.ladder {
		if l.at < len(l.sizes) && (best == nil || l.work[l.at] < best.work[best.at]) {
			best = l
		}
	}
	calls := float64(h.opts.Calls)
	if best == nil || h.tests == mostTests {
		return nil
	}
	work := best.work[best.at]
	spent := h.spent + work*h.trialShare(best)
	if spent > mostSpent*calls*h.exactWork || spent+(calls+secondDraw)*work >= calls*h.exactWork {
		return nil
	}
	return best
}

// trialShare returns the least cost of the trial of a form, relative to a call: that of a form that
// answers the drawn queries only.
func (h *headChoice[T]) trialShare(l *ladder[T]) float64 {
	if h.exact.Causal || len(h.shapes) > 1 {
		return 1
	}
	s := h.shapes[0]
	s.Size, s.Queries = l.sizes[l.at], len(h.one.drawn[0])
	return min(l.Cost(s)/l.work[l.at], 1)
}

// prepare makes the search ready once the exact rows are there.
func (h *headChoice[T]) prepare() {
	exact := h.one.exact[0]
	h.averages, h.chosen = deviations(h.one.average[0], exact), deviations(exact, exact)
	h.finite = !slices.ContainsFunc(h.chosen, func(d deviation) bool { return !d.finite() })
}

// choose returns the choice of the head.
func (h *headChoice[T]) choose(ctx context.Context) (Choice[T], error) {
	c := Choice[T]{Form: h.exact, Name: "exact attention", Exact: true, Tolerance: h.tolerance}
	before := h.left()
	for h.finite {
		l := h.cheapest()
		if l == nil {
			break
		}
		if err := ended(ctx); err != nil {
			return c, err
		}
		form, name, took, err := h.try(ctx, l)
		if err != nil {
			return c, err
		}
		if form != nil {
			c.Form, c.Name, c.Exact, c.Time = form, name, false, took
			break
		}
		after := h.left()
		h.progress(before - after)
		before = after
	}
	h.progress(before)
	c.Trials = h.tried
	return c, nil
}

// try tries the next size of a candidate. It returns the form, its name and how long a call takes
// if the form holds, and no form otherwise.
func (h *headChoice[T]) try(ctx context.Context, l *ladder[T]) (form performer.Form[T], name string, took time.Duration, err error) {
	size, work, share := l.sizes[l.at], l.work[l.at], h.trialShare(l)
	name = fmt.Sprintf("%d %s", size, l.Name)
	h.tried = append(h.tried, Trial{Name: name, Error: math.Inf(1), Cost: work / h.exactWork})
	tried := &h.tried[len(h.tried)-1]
	form, tried.Err = l.New(h.exact, h.q, h.k, size, rand.NewPCG(h.rng.Uint64(), h.rng.Uint64()))
	if tried.Err == nil {
		tried.Err = h.check(form)
	}
	if tried.Err != nil {
		tried.Err = fmt.Errorf("%s: %w", name, tried.Err)
		l.at = len(l.sizes)
		return nil, "", 0, nil
	}
	if !rowwise(form) || len(h.shapes) > 1 {
		share = 1
	}
	h.spent += work * share
	b, err := performer.NewBatch(1, 1, form)
	if err != nil {
		return nil, "", 0, err
	}
	outputs, _ := h.one.outputs(b, false)
	rows := deviations(outputs[0], h.one.exact[0])
	e, promising := h.screen(rows)
	tried.Error, tried.Test = e, promising
	if promising && h.holds(rows) {
		agrees, took, err := h.agrees(ctx, l, b, size)
		if err != nil || agrees {
			h.chosen = rows
			return form, name, took, err
		}
	}
	l.next(point{size, e}, h.tolerance)
	return nil, "", 0, nil
}

// check returns an error unless the form can stand for the exact form of the head.
func (h *headChoice[T]) check(form performer.Form[T]) error {
	truth, err := performer.NewBatch(1, 1, performer.Form[T](h.exact))
	if err != nil {
		return err
	}
	if err := sameHeads(0, form, truth); err != nil {
		return err
	}
	b, err := performer.NewBatch(1, 1, form)
	if err != nil {
		return err
	}
	return b.Check(h.one.q, h.one.k, h.one.v, h.one.s)
}

// screen returns the error on the rows for that, and whether the form is worth a test.
func (h *headChoice[T]) screen(rows []deviation) (float64, bool) {
	e, r := errorOf([][]deviation{selected(rows, h.screening)})
	if r == nil || h.all {
		return e, e <= h.tolerance
	}
	_, stderr := root(r.heads)
	return e, e+r.unit*stderr <= h.tolerance
}

// holds reports whether the error is within the tolerance by the rows that decide.
func (h *headChoice[T]) holds(rows []deviation) bool {
	h.tests++
	confidence := 1 - (1-h.opts.Confidence)/float64(h.tests*(h.tests+1))
	e, r := errorOf([][]deviation{selected(rows, h.deciding)})
	if r == nil {
		return e <= h.tolerance
	}
	_, high := r.intervalOfDrawn(h.one.of, confidence, h.rng)
	return high <= h.tolerance
}

// agrees reports whether a second draw of the form differs over all rows by as much as two errors
// within the tolerance explain, and how long a call of the form takes. Rows with large errors may be
// too rare to be drawn, but a second draw seldom has its errors in the same rows.
func (h *headChoice[T]) agrees(ctx context.Context, l *ladder[T], form *performer.Batch[T], size int) (bool, time.Duration, error) {
	if err := ended(ctx); err != nil {
		return false, 0, err
	}
	second, err := l.New(h.exact, h.q, h.k, size, rand.NewPCG(h.rng.Uint64(), h.rng.Uint64()))
	if err != nil {
		return false, 0, err
	}
	b, err := performer.NewBatch(1, 1, second)
	if err != nil {
		return false, 0, err
	}
	h.spent += secondDraw * l.work[l.at]
	first, took := h.one.forward(form, h.one.q)
	other, _ := h.one.forward(b, h.one.q)
	e, _ := errorOf([][]deviation{deviations(thatCount(first, h.opts.Queries), thatCount(other, h.opts.Queries))})
	return e <= math.Sqrt2*h.tolerance, took, nil
}

// next moves the candidate on to the next size that may hold. Errors above 1 tell no more than 1:
// they are those of denominators near zero, or of outputs that have nothing to do with the truth.
func (l *ladder[T]) next(p point, tolerance float64) {
	p.error = min(p.error, 1)
	fall := float64(firstFall)
	if l.Fall > 0 {
		fall = knownFall * l.Fall
	} else if n := len(l.tried); n > 0 {
		last := l.tried[n-1]
		fall = moreFall * max(math.Log(last.error/p.error)/math.Log(float64(p.size)/float64(last.size)), leastFall)
	}
	l.tried = append(l.tried, p)
	for l.at++; l.at < len(l.sizes) && p.error*math.Pow(float64(p.size)/float64(l.sizes[l.at]), fall) > tolerance; {
		l.at++
	}
}

// selected returns the rows with the given numbers.
func selected(rows []deviation, at []int) []deviation {
	of := make([]deviation, len(at))
	for i, row := range at {
		of[i] = rows[row]
	}
	return of
}
