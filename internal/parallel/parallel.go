// Package parallel runs independent pieces of work on GOMAXPROCS goroutines.
//
// Pieces are cut by size, never by the number of goroutines, so that a
// computation whose pieces do not depend on each other gives the same bits
// whatever GOMAXPROCS is.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Rows splits [0, n) into ranges of grain rows (the last may be shorter) and
// calls f(lo, hi) once for each, on up to GOMAXPROCS goroutines, in no
// particular order. It returns when all are done. With one range or one
// processor f runs on the calling goroutine. A panic in f reaches the caller.
// A grain below 1 counts as 1.
func Rows(n, grain int, f func(lo, hi int)) {
	grain = max(grain, 1)
	Pieces((n+grain-1)/grain, func(i int) {
		f(i*grain, min((i+1)*grain, n))
	})
}

// Pieces calls f(i) once for every 0 ≤ i < n on up to GOMAXPROCS goroutines,
// in no particular order, and returns when all are done. With one piece or one
// processor f runs on the calling goroutine. A panic in f reaches the caller.
func Pieces(n int, f func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var (
		next  atomic.Int64
		wait  sync.WaitGroup
		once  sync.Once
		fault any
	)
	work := func() {
		defer func() {
			if r := recover(); r != nil {
				once.Do(func() { fault = r })
				next.Store(int64(n))
			}
		}()
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	}
	for range workers - 1 {
		wait.Go(work)
	}
	work()
	wait.Wait()
	if fault != nil {
		panic(fault)
	}
}
