package performer

import (
	"fmt"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/rff"
)

func (a *linear[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	if err := a.CanBackward(); err != nil {
		panic(err.Error())
	}
	a.check(q, k, v)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	switch {
	case g.Empty():
	case a.opts.Causal:
		a.engine.BackwardCausal(runtime.GOMAXPROCS(0), &g, nil, nil)
	default:
		a.engine.Backward(&g)
	}
	return g.DQ, g.DK, g.DV
}

func (a *linear[T]) CanBackward() error {
	if err := a.canBackward(a.query); err != nil {
		return fmt.Errorf("performer: queries: %w", err)
	}
	if err := a.canBackward(a.key); err != nil {
		return fmt.Errorf("performer: keys: %w", err)
	}
	return nil
}

func (a *linear[T]) canBackward(m rff.Map[T]) error {
	d, ok := m.(rff.Differentiable[T])
	if !ok {
		return fmt.Errorf("%T has no derivatives, want an rff.Differentiable", m)
	}
	if _, ok := m.(rff.DifferentiableLog[T]); a.engine.Logs && !ok {
		return fmt.Errorf("%T has logarithms without derivatives, want an rff.DifferentiableLog", m)
	}
	return d.CanBackward()
}

func (a *linear[T]) backwardSequence(s sequence.Backward[T]) {
	x := sequence.Select(s, a.opts.Causal)
	all := !a.opts.Causal // all queries see all keys
	if !all {
		past, seen := x.Overlap()
		if all = past > 0 && past >= seen-1; all {
			x.Shift()
			x.DropNoRows()
		}
	}
	switch notEmpty := x.Gather(s); {
	case !notEmpty:
	case all:
		a.engine.Backward(&x.Gradients)
	default:
		a.engine.BackwardCausal(s.Processors, &x.Gradients, x.ValidKeys, x.ValidQueries)
	}
	x.Scatter(s)
}
