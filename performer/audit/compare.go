package audit

import (
	"context"

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
