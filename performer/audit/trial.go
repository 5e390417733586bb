package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// trial is a form that a search tries.
type trial[T dense.Float] struct {
	form  performer.Batch[T] // of one head
	name  string
	whole dense.Matrix[T] // all outputs, or zero
	took  time.Duration   // of these outputs
	drawn dense.Matrix[T] // outputs of the drawn rows
	rows  []deviation     // of these
	held  bool
	time  time.Duration // of a call, if held
}

// try tries the next size of a candidate.
func (h *headChoice[T]) try(ctx context.Context, l *ladder[T]) (trial[T], error) {
	size := l.sizes[l.at]
	t := trial[T]{name: fmt.Sprintf("%d %s", size, l.Name)}
	h.tried = append(h.tried, Trial{Name: t.name, Error: math.Inf(1), Cost: l.work[l.at] / h.exactWork})
	result := &h.tried[len(h.tried)-1]
	work := h.prepareWork(l, l.at) + h.partWork(l, l.at, len(h.one.drawn[0]))/l.slow
	start := time.Now()
	if t.form, result.Err = h.draw(l, size); result.Err != nil {
		result.Err = fmt.Errorf("%s: %w", t.name, result.Err)
		l.drop()
		return t, nil
	}
	if !l.whole && !h.answersRows(t.form) {
		l.whole, work = true, h.prepareWork(l, l.at)+l.work[l.at]
	}
	h.spent += work
	if l.whole {
		t.whole, t.took = h.one.forward(t.form, h.one.q)
		t.drawn = gather(t.whole, h.one.drawn[0])
	} else {
		t.drawn, t.took = h.forwardRows(t.form, h.one.drawn[0])
	}
	t.rows = deviations(t.drawn, h.one.exact[0])
	if took := time.Since(start).Seconds(); !h.opts.Reproducible && took > h.exactWork*h.clock.second/parts {
		l.slow = max(took/(work*h.clock.second), 1)
	}
	e, promising := h.screen(t.rows)
	result.Error = e
	h.near = h.near || e <= near*h.tolerance
	if result.Slow = h.slower(t.took); result.Slow {
		l.drop()
		return t, nil
	}
	if promising {
		if err := h.attendDeciding(ctx); err != nil {
			return t, err
		}
		if !h.finite {
			return t, nil
		}
		t.rows = deviations(t.drawn, h.one.exact[0])
		result.Test = true
		if h.holds(t.rows) {
			if err := h.settle(ctx, l, &t); err != nil {
				return t, err
			}
			if result.Slow = h.slower(t.time); result.Slow {
				t.held = false
				l.drop()
				return t, nil
			}
			if t.held {
				h.chosen = t.rows
				return t, nil
			}
		}
	}
	l.next(point{size, e}, h.tolerance)
	return t, nil
}

// draw returns a form of a size, as a batch of one head, that can stand for the exact form of the head.
func (h *headChoice[T]) draw(l *ladder[T], size int) (performer.Batch[T], error) {
	form, err := l.New(h.exact, h.q, h.k, size, rand.NewPCG(h.rng.Uint64(), h.rng.Uint64()))
	if err != nil {
		return nil, err
	}
	truth, err := performer.NewBatch(1, 1, h.a.truth.Head(h.head))
	if err != nil {
		return nil, err
	}
	if err := sameHeads(0, form, truth); err != nil {
		return nil, err
	}
	b, err := performer.NewBatch(1, 1, form)
	if err != nil {
		return nil, err
	}
	return b, b.Check(h.one.q, h.one.k, h.one.v, h.one.s)
}

// answersRows reports whether the form answers some queries alone, without the others.
func (h *headChoice[T]) answersRows(form performer.Batch[T]) bool {
	if _, ok := form.Head(0).(performer.Maskable[T]); ok && h.exact.Causal {
		return true
	}
	return rowwise(form)
}

// forwardRows returns the outputs of a form for some rows of q, or for all if rows is nil, and how
// long that took. The form answers some queries alone, or rows is nil.
func (h *headChoice[T]) forwardRows(form performer.Batch[T], rows []int) (dense.Matrix[T], time.Duration) {
	q := h.one.q
	if rows != nil {
		q = gather(q, rows)
	}
	if rows == nil || !h.exact.Causal {
		return h.one.forward(form, q)
	}
	seen := make([]int, len(rows))
	for i, row := range rows {
		seen[i] = row + 1
	}
	start := time.Now()
	out := form.Head(0).(performer.Maskable[T]).ForwardSeen(dense.Matrix[T]{}, q, h.one.k, h.one.v, seen)
	return out, time.Since(start)
}

// slower reports whether what took so long is no faster than exact attention.
func (h *headChoice[T]) slower(took time.Duration) bool {
	return !h.opts.Reproducible && took.Seconds() >= h.exactWork*h.clock.second
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
	confidence := h.testConfidence(h.tests)
	e, r := errorOf([][]deviation{selected(rows, h.deciding)})
	if r == nil || e > h.tolerance {
		return e <= h.tolerance
	}
	if !h.all {
		h.spent += sampleMACs * float64(resamples(confidence)*len(h.deciding))
	}
	_, high := r.intervalOfDrawn(h.one.of, confidence, h.rng)
	return high <= h.tolerance
}

// settle decides on a form whose drawn rows hold. It compares the form with a second draw over all
// rows, or over as many as the search can afford. Rows with large errors may be too rare to be drawn,
// but a second draw seldom has the same errors in the same rows. The drawn rows are looked at again
// among the others, for a form whose outputs depend on how many queries there are. The time of a call
// is that of the shorter of the two.
func (h *headChoice[T]) settle(ctx context.Context, l *ladder[T], t *trial[T]) error {
	if err := ended(ctx); err != nil {
		return err
	}
	rows := h.comparedRows(l)
	second, err := h.draw(l, l.sizes[l.at])
	if err != nil {
		return err
	}
	compared := h.one.q.Rows
	if rows != nil {
		compared = len(rows)
	}
	work := h.partWork(l, l.at, compared)
	h.spent += h.prepareWork(l, l.at) + 2*work/l.slow
	if !h.opts.Reproducible {
		h.clock.set()
	}
	first, took := t.whole, t.took
	if !l.whole {
		first, took = h.forwardRows(t.form, rows)
	}
	again, tookAgain := h.forwardRows(second, rows)
	t.time = seconds(min(took, tookAgain).Seconds() * h.partWork(l, l.at, h.one.q.Rows) / work)
	if rows == nil {
		first, again = thatCount(first, h.opts.Queries), thatCount(again, h.opts.Queries)
		rows = h.countedRows()
	}
	at := placesOf(h.one.drawn[0], rows)
	t.held = h.agree(first, again, at)
	return nil
}

// agree reports whether two draws in many rows, among which the drawn rows have these places, leave
// the error of all rows within the tolerance: both draws hold in the drawn rows, their difference is
// no more than two independent errors within the tolerance explain, and what the difference has more
// in all rows than in the drawn rows is no more than the tolerance leaves room for. That comes from
// rows too rare to be drawn.
func (h *headChoice[T]) agree(first, again dense.Matrix[T], at []int) bool {
	errors := func(out dense.Matrix[T]) float64 {
		e, _ := errorOf([][]deviation{selected(deviations(gather(out, at), h.one.exact[0]), h.deciding)})
		return e
	}
	differences := deviations(first, again)
	all, _ := errorOf([][]deviation{differences})
	few, _ := errorOf([][]deviation{selected(selected(differences, at), h.deciding)})
	rare := max(all*all-byChance*few*few, 0)
	e := errors(first)
	return errors(again) <= h.tolerance && all <= math.Sqrt2*h.tolerance && math.Sqrt(e*e+mostShared*rare) <= h.tolerance
}

// Measured on heads of which some queries see few keys, by clusters of keys: the squared error of rare
// rows relative to the squared difference of two draws, at most. It would be ½ if the draws did not
// share errors. Drawn rows have differences as far from those of all rows as the other number says.
const (
	mostShared = 2.25
	byChance   = 1.25
)

// countedRows returns the numbers of the rows of q that count.
func (h *headChoice[T]) countedRows() []int {
	var rows []int
	for i := range h.one.q.Rows {
		if h.opts.Queries == nil || h.opts.Queries[i] {
			rows = append(rows, i)
		}
	}
	return rows
}

// placesOf returns where the numbers of some rows are among those of others. Both are ascending.
func placesOf(some, others []int) []int {
	places, at := make([]int, len(some)), 0
	for i, row := range some {
		for others[at] < row {
			at++
		}
		places[i] = at
	}
	return places
}
