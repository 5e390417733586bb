// Package pool keeps scratch memory of one type between calls.
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
