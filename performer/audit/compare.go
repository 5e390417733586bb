package audit

import (
	"context"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer"
)

type outputs[T dense.Float] struct {
	attention performer.Attention[T]
	whole     dense.Matrix[T] // all outputs, or zero

	rows *headSample[T]  // test rows, or nil
	out  dense.Matrix[T] // the outputs of the test rows
}

// test tests attention of the next size on unused rows, and sets c if the upper bound of the error
// is within the tolerance. The bound is +Inf if outputs are not finite.
func (s *toleranceSearch[T]) test(ctx context.Context, l *ladder[T], o outputs[T], t *Trial, c *Choice[T]) (bound float64, err error) {
	s.tests++
	t.Tested = true
	compared := s.comparedRows(l)
	s.spent += s.testWork(l, l.next, compared)
	switch {
	case compared > 0:
		err = s.compare(ctx, l, &o, compared)
	case o.rows == nil:
		o.rows = s.testRows()
		if l.whole {
			o.out = layout.Rows(o.whole, o.rows.rows)
		} else {
			o.out = s.forward(o.attention, o.rows.rows)
		}
	}
	if err != nil || o.rows == nil {
		return math.Inf(1), err
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

// comparedRows returns the number of rows of q in which two draws of the next size are compared:
// all if that leaves half of the rest of the budget, else the least number, and 0 for attention
// that does not depend on random numbers.
func (s *toleranceSearch[T]) comparedRows(l *ladder[T]) int {
	all := s.head.q.Rows
	switch {
	case l.fixed:
		return 0
	case l.whole || s.within(l, l.next, s.testWork(l, l.next, all), (s.cost()+s.budget)/2):
		return all
	}
	return s.minCompared()
}

// compare makes the attention again with other random numbers, and compares the outputs in all rows
// or in the rows of a first draw. Rows with large errors may be too rare for a sample, but two
// draws of an approximation seldom have the same errors in the same rows. So compare draws half of
// the test rows from the compared rows in proportion to the squared differences. compare sets the
// rows and their outputs. It sets no rows if outputs are not finite.
func (s *toleranceSearch[T]) compare(ctx context.Context, l *ladder[T], o *outputs[T], compared int) error {
	if err := contextError(ctx); err != nil {
		return err
	}
	second, err := s.create(l, [2]uint64{s.rng.Uint64(), s.rng.Uint64()})
	if err != nil {
		return err
	}
	h, n := s.head, len(s.head.rows)
	first := h.draw(compared, s.rng)
	rows := first.rows
	if compared == h.q.Rows {
		rows = nil // a call with all queries, in which the attention may be less accurate
	}
	if !l.whole {
		o.whole = s.forward(o.attention, rows)
	}
	again := s.forward(second, rows)
	differences, largest := deviations(o.whole, again), 0.0
	for _, d := range differences {
		if !d.finite() {
			return nil
		}
		largest = max(largest, d.distance)
	}
	squares, others, weights := make([]float64, compared), make([]float64, compared), make([]float64, compared)
	for i, d := range differences {
		if largest > 0 {
			squares[i] = d.distance / largest * (d.distance / largest) / first.chances[i]
		}
		others[i] = h.weights[first.rows[i]] / first.chances[i]
	}
	addShare(weights, squares, 0.5)
	addShare(weights, others, 0.5)
	drawn, chances := draw(weights, n, s.rng)
	firsts, chances := pick(first.chances, drawn), pick(chances, drawn)
	for i := range chances {
		chances[i] *= firsts[i]
	}
	least := make([]float64, h.q.Rows)
	for i, w := range h.weights {
		least[i] = min(float64(n)*w/2, 1)
	}
	o.rows, o.out = h.at(pick(first.rows, drawn), chances, firsts, least), layout.Rows(o.whole, drawn)
	return nil
}
