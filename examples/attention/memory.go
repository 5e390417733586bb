package main

import (
	"runtime"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
)

// watched computes linear attention of every head. It returns the largest live heap that was seen
// during one head, less the heap before: scratch memory and the output, without garbage.
func (c *comparison[T]) watched(f rff.Map[T]) ([]dense.Matrix[T], uint64, error) {
	var most uint64
	out := make([]dense.Matrix[T], len(c.heads))
	for i, h := range c.heads {
		g := &gauge{every: max(1, (h.q.Rows+h.k.Rows)/1024)}
		a, err := c.linear(watch(f, g))
		if err != nil {
			return nil, 0, err
		}
		before := liveHeap()
		out[i] = a.Forward(dense.Matrix[T]{}, h.q, h.k, h.v)
		g.look()
		runtime.KeepAlive(a)
		if g.peak > before {
			most = max(most, g.peak-before)
		}
	}
	return out, most, nil
}

// gauge looks at the heap now and then.
type gauge struct {
	mu           sync.Mutex
	every, calls int
	peak         uint64
}

// call is called for every block of rows that is mapped.
func (g *gauge) call() {
	g.mu.Lock()
	g.calls++
	due := g.calls%g.every == 0
	g.mu.Unlock()
	if due {
		g.look()
	}
}

func (g *gauge) look() {
	live := liveHeap()
	g.mu.Lock()
	g.peak = max(g.peak, live)
	g.mu.Unlock()
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // the memory of a pool survives one collection
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// watch returns f, which calls the gauge after every block of rows. It is a LogMap if f is.
func watch[T dense.Float](f rff.Map[T], g *gauge) rff.Map[T] {
	if log, ok := f.(rff.LogMap[T]); ok {
		return watchedLog[T]{log, g}
	}
	return watchedMap[T]{f, g}
}

type watchedMap[T dense.Float] struct {
	rff.Map[T]
	gauge *gauge
}

func (w watchedMap[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = w.Map.Transform(dst, x)
	w.gauge.call()
	return dst
}

type watchedLog[T dense.Float] struct {
	rff.LogMap[T]
	gauge *gauge
}

func (w watchedLog[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = w.LogMap.LogTransform(dst, x)
	w.gauge.call()
	return dst
}
