package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/stream"
)

// Auto is the form, of linear and exact attention, that is predicted to be the faster
// one for the shapes of a call. It is a [Form], does not change after construction and
// may be shared by goroutines.
//
// The choice depends on the number of queries and of keys that count, by what [Shape]
// says of the costs, and on nothing else. Queries of padding cannot be told from others, so
// that at most as many queries count as there are keys. A causal Auto may choose
// otherwise when there are more tokens: outputs then change by the error of
// the linear form. Keep to one form where earlier outputs must not change.
type Auto[T dense.Float] struct {
	linear *Attention[T]
	exact  Exact[T]
}

// NewAuto returns the faster of the two forms. The caller ensures that they estimate the same
// kernel: the scale of exact is 1/√d unless set. It returns an error if linear is nil, if exact has
// a Softcap, or if one of the forms is causal or unnormalised and the other is not.
func NewAuto[T dense.Float](linear *Attention[T], exact Exact[T]) (*Auto[T], error) {
	if linear == nil {
		return nil, errors.New("performer: linear is nil")
	}
	if o := (Options{Causal: exact.Causal, Unnormalised: exact.Unnormalised}); linear.opts != o {
		return nil, fmt.Errorf("performer: linear has %+v, exact has %+v, want the same", linear.opts, o)
	}
	if exact.Softcap != 0 {
		return nil, fmt.Errorf("performer: exact.Softcap = %v, want 0, as linear has none", exact.Softcap)
	}
	return &Auto[T]{linear: linear, exact: exact}, nil
}

// errNoAuto is the error of an Auto that NewAuto has not made.
var errNoAuto = errors.New("performer: the Auto is zero, want one of NewAuto")

// Forward is that of the faster form, [Attention.Forward] or [Exact.Forward], with its
// bits. dst may be exactly q where shapes allow; it must not overlap k or v. Forward
// panics with the shapes if they do not fit; causal attention needs Lq = Lk.
func (a *Auto[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	a.check(q, k, v)
	return a.faster(q.Rows, k.Rows, v.Cols).Forward(dst, q, k, v)
}

// check panics unless NewAuto has made a, and q, k and v fit together and the maps.
func (a *Auto[T]) check(q, k, v dense.Matrix[T]) {
	a.made().check(q, k, v)
}

// made returns the linear form. It panics unless NewAuto has made a.
func (a *Auto[T]) made() *Attention[T] {
	if a.linear == nil {
		panic(errNoAuto.Error())
	}
	return a.linear
}

func (a *Auto[T]) dimension() int { return a.made().d }

func (a *Auto[T]) shares() bool { return a.made().shares() }

func (a *Auto[T]) attend(p request[T]) { a.fasterFor(p).attend(p) }

func (a *Auto[T]) attendBackward(p request[T]) { a.fasterFor(p).attendBackward(p) }

// fasterFor returns the form that is predicted to be faster for the keys of a request that count
// and are seen.
func (a *Auto[T]) fasterFor(p request[T]) maskedForm[T] {
	keys := p.k.Rows
	if a.exact.Causal {
		keys = min(keys, max(p.past+p.q.Rows, 0))
	}
	if p.valid != nil {
		keys = count(p.valid[:keys])
	}
	return a.faster(p.q.Rows, keys, p.v.Cols)
}

// faster returns the form that is predicted to be faster.
func (a *Auto[T]) faster(queries, keys, values int) maskedForm[T] {
	queries = min(queries, keys)
	s := Shape{
		Queries: queries, Keys: keys, Dim: a.linear.d, Values: values, Features: a.linear.m,
		Projected:   !isELU(a.linear.key),
		Causal:      a.exact.Causal && queries == keys,
		ElementSize: stream.ElementSize[T](),
	}
	if s.linearIsFaster() {
		return a.linear
	}
	return &a.exact
}

// Backward is that of the form that Forward chooses, with its bits. dq, dk and dv must
// not overlap each other nor an input. It panics with the shapes if they do not fit, and
// with the text of CanBackward if that is an error.
func (a *Auto[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	if err := a.CanBackward(); err != nil {
		panic(err.Error())
	}
	a.check(q, k, v)
	return a.faster(q.Rows, k.Rows, v.Cols).Backward(dq, dk, dv, q, k, v, dout)
}

// CanBackward is that of the linear form, as either may be chosen.
func (a *Auto[T]) CanBackward() error {
	if a.linear == nil {
		return errNoAuto
	}
	return a.linear.CanBackward()
}
