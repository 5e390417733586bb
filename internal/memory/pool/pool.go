// Package pool keeps scratch memory between calls.
package pool

import "sync"

// Of keeps values of one type. The zero value is empty and ready for use by
// goroutines.
type Of[V any] struct{ values sync.Pool }

// Get returns a value that was put, as it was then, or a new zero one.
func (p *Of[V]) Get() *V {
	if v, ok := p.values.Get().(*V); ok {
		return v
	}
	return new(V)
}

// Put takes v, which the caller does not use again.
func (p *Of[V]) Put(v *V) { p.values.Put(v) }

// Pair keeps values of two types, such as a generic type for float32 and for float64: a generic
// function has no variables of its own to keep them in. The zero value is empty and ready for use
// by goroutines.
type Pair[A, B any] struct {
	a Of[A]
	b Of[B]
}

// Get returns the pool's value of type V, A or B, as [Of.Get] does.
func Get[V, A, B any](p *Pair[A, B]) *V { return of[V](p).Get() }

// Put takes v, which the caller does not use again.
func Put[V, A, B any](p *Pair[A, B], v *V) { of[V](p).Put(v) }

func of[V, A, B any](p *Pair[A, B]) *Of[V] {
	if values, ok := any(&p.a).(*Of[V]); ok {
		return values
	}
	return any(&p.b).(*Of[V])
}
