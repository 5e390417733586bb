// Package pool reuses working memory in later calls.
package pool

import "sync"

// Of is a pool of values of one type. The zero value is ready to use, and goroutines may share it.
type Of[V any] struct{ values sync.Pool }

// Get returns a value of an earlier Put, unchanged, or a new zero value.
func (p *Of[V]) Get() *V {
	if v, ok := p.values.Get().(*V); ok {
		return v
	}
	return new(V)
}

// Put returns v to the pool. The caller must not use v afterwards.
func (p *Of[V]) Put(v *V) { p.values.Put(v) }

// Pair is a pool of values of two types, such as the float32 and float64 instances of a generic
// type. It serves generic functions, which cannot have a package variable for each instance. The
// zero value is ready to use, and goroutines may share it.
type Pair[A, B any] struct {
	a Of[A]
	b Of[B]
}

// Get returns a value of type V, which is A or B, as [Of.Get] does.
func Get[V, A, B any](p *Pair[A, B]) *V { return of[V](p).Get() }

func Put[V, A, B any](p *Pair[A, B], v *V) { of[V](p).Put(v) }

func of[V, A, B any](p *Pair[A, B]) *Of[V] {
	if values, ok := any(&p.a).(*Of[V]); ok {
		return values
	}
	return any(&p.b).(*Of[V])
}
