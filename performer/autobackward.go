package performer

import "github.com/seed-feabd252/randfeat/dense"

// Backward is that of the form that Forward chooses, with its bits. dq, dk and dv must
// not overlap each other nor an input. It panics with the shapes if they do not fit, and
// with the text of CanBackward if that is an error.
func (a *Auto[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	if err := a.CanBackward(); err != nil {
		panic(err.Error())
	}
	a.check(q, k, v)
	if a.choosesLinear(q.Rows, k.Rows, v.Cols) {
		return a.linear.Backward(dq, dk, dv, q, k, v, dout)
	}
	return a.exact.Backward(dq, dk, dv, q, k, v, dout)
}

// CanBackward is that of the linear form, as either may be chosen.
func (a *Auto[T]) CanBackward() error { return a.linear.CanBackward() }

func (a *Auto[T]) attendBackward(p partGradient[T]) {
	if a.choosesLinear(p.q.Rows, a.keysOf(p.q.Rows, p.k.Rows, p.past, p.valid), p.v.Cols) {
		a.linear.attendBackward(p)
	} else {
		a.exact.attendBackward(p)
	}
}
