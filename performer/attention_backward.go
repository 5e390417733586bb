package performer

import (
	"fmt"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
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
func (a *Attention[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	if err := a.CanBackward(); err != nil {
		panic(err.Error())
	}
	a.check(q, k, v)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	switch {
	case g.empty():
	case a.opts.Causal:
		a.causalBackward(windowOf(q.Rows, runtime.GOMAXPROCS(0)), &g, nil, nil)
	default:
		a.bidirectionalBackward(&g)
	}
	return g.dq, g.dk, g.dv
}

// CanBackward returns nil if the maps can be differentiated, and an error that says
// which cannot and why otherwise. They have to be [rff.Differentiable], or
// [rff.DifferentiableLog] if attention works on their logarithms.
func (a *Attention[T]) CanBackward() error {
	if err := a.canBackward(a.query); err != nil {
		return fmt.Errorf("performer: queries: %w", err)
	}
	if err := a.canBackward(a.key); err != nil {
		return fmt.Errorf("performer: keys: %w", err)
	}
	return nil
}

func (a *Attention[T]) canBackward(m rff.Map[T]) error {
	d, ok := m.(rff.Differentiable[T])
	if !ok {
		return fmt.Errorf("%T has no derivatives, want an rff.Differentiable", m)
	}
	if _, ok := m.(rff.DifferentiableLog[T]); a.logs && !ok {
		return fmt.Errorf("%T has logarithms without derivatives, want an rff.DifferentiableLog", m)
	}
	return d.CanBackward()
}

// pullQueries writes the gradients with respect to the queries q into dq, where slopes
// are those with respect to their (log-)features.
func (a *Attention[T]) pullQueries(dq, q, slopes dense.Matrix[T]) {
	a.pull(a.query, dq, q, slopes)
	if a.landmarks != nil {
		a.landmarks.pullFactors(dq, slopes, false)
	}
}

// pullKeys is pullQueries for keys.
func (a *Attention[T]) pullKeys(dk, k, slopes dense.Matrix[T]) {
	a.pull(a.key, dk, k, slopes)
	if a.landmarks != nil {
		a.landmarks.pullFactors(dk, slopes, true)
	}
}

func (a *Attention[T]) pull(m rff.Map[T], dx, x, slopes dense.Matrix[T]) {
	switch {
	case a.landmarks != nil:
		a.landmarks.logBackward(dx, slopes)
	case a.logs:
		m.(rff.DifferentiableLog[T]).LogBackward(dx, x, slopes)
	default:
		m.(rff.Differentiable[T]).Backward(dx, x, slopes)
	}
}

// quotientSlope turns slope, which is Σ_j φ_jf·(v_j·g) for the gradient g with respect
// to the output of a query, into the gradient with respect to its (log-)features x. sums
// are Σ_j φ_jf. It returns the denominator D = Σ_f x_f·sums_f and the product δ of g and
// the output, which is Σ_f x_f·slope_f/D, as numerator and slope are the same sums:
//
//	(slope_f − δ·sums_f)/D,  times x_f with logarithms.
func (a *Attention[T]) quotientSlope(slope, x, sums []T) (total, mean T) {
	total = vecmath.Dot(x, sums)
	mean = vecmath.Dot(x, slope) / total
	vecmath.AddScaled(slope, sums, -mean)
	vecmath.Scale(slope, 1/total)
	if a.logs {
		vecmath.Multiply(slope, x)
	}
	return total, mean
}

// sumSlope is quotientSlope without a denominator, for features that were divided by s.
func (a *Attention[T]) sumSlope(slope, x []T, s scale) {
	if a.logs {
		vecmath.Multiply(slope, x)
		multiply(slope, s)
	}
}

// multiply multiplies x by s. What is beyond the range of T becomes ±Inf or zero.
func multiply[T dense.Float](x []T, s scale) {
	const least, greatest = 0x1p-100, 0x1p100
	if f := s.float64(); least <= f && f <= greatest {
		vecmath.Scale(x, T(f))
		return
	}
	applyScale(x, x, s)
}

// column copies the last column of m into x.
func column[T dense.Float](x []T, m dense.Matrix[T]) {
	for f := range x {
		x[f] = m.Data[f*m.Stride+m.Cols-1]
	}
}
