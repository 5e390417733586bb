package performer

import (
	"fmt"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/rff"
)

// Backward writes the gradients of L = Σ_ic dout_ic·out_ic, where Forward makes out of q (Lq×d), k
// (Lk×d) and v (Lk×dv), with respect to q, k and v into dq, dk and dv, and returns them; zero ones
// are allocated. The maps count as constants. Backward needs no outputs, because it computes them
// anyway.
//
// Backward takes O((Lq+Lk)·m·(d + dv)) time, about three times as long as Forward, and memory
// beyond the gradients that does not depend on the lengths. Once that memory is there, Backward
// allocates nothing. It gives the same bits whatever GOMAXPROCS is.
//
// Gradients are the derivatives of Forward at any size of log-features. They are zero where one key
// has all of the weight, except for rounding, which the derivatives of log-features multiply.
// Causal, normalised attention with log-features beyond ±9·10⁷ computes the tokens up to the first
// of them twice, and keeps 24 bytes for every growth of a reference until it returns: up to 24·L·m
// bytes if every key exceeds all keys before it in all features.
//
// NaN and Inf reach every gradient that depends on them. In causal attention dq_i depends on rows
// up to i only, and has the same bits whatever follows; dk_j and dv_j depend on the rows from j on
// and, when normalised, on earlier rows by way of denominators. Where Forward has 0/0, all
// gradients that depend on it are NaN. Gradients beyond the range of T are ±Inf, or NaN where they
// are sums of such numbers; products of values and dout have to be in range too.
//
// dq, dk and dv must not overlap each other or an input. Backward panics with the shapes if they do
// not fit, and with the text of CanBackward if CanBackward returns an error.
func (a *Linear[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return a.made().Backward(dq, dk, dv, q, k, v, dout)
}

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

// CanBackward returns nil if the maps can be differentiated, and an error that says
// which cannot and why otherwise. They have to be [rff.Differentiable], or
// [rff.DifferentiableLog] if attention works on their logarithms.
func (a *Linear[T]) CanBackward() error { return a.made().CanBackward() }

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

func (a *linear[T]) attendBackward(p gradientRequest[T]) {
	s := pool.Get[selection[T]](&selections)
	queries, keys, all := s.selected(p, a.opts.Causal)
	if !all {
		past, seen := overlap(queries, keys)
		if all = past > 0 && past >= seen-1; all {
			queries, keys = withoutHoles(queries[past:]), withoutHoles(keys[:seen])
		}
	}
	switch g := s.take(p, queries, keys); {
	case g.Empty():
	case all:
		a.engine.Backward(g)
	default:
		a.engine.BackwardCausal(p.processors, g, s.valid, s.asking)
	}
	s.give(p, queries, keys)
	pool.Put(&selections, s)
}
