package parallel

import (
	"runtime"
	"sync/atomic"
	"time"
)

// patience is how long a goroutine that has run out of pieces looks for another
// job. A sleeping processor takes about as long to wake, more than many jobs take,
// and calls of Do tend to follow each other.
const patience = 100 * time.Microsecond

var (
	// idle is the number of goroutines that linger and that no job has claimed.
	idle atomic.Int32
	// offers holds jobs, one for each goroutine claimed.
	offers = make(chan *job, 64)
)

// offer hands j to a goroutine that lingers; false if there is none.
func offer(j *job) bool {
	if !claim() {
		return false
	}
	offers <- j
	return true
}

// claim takes one from idle; false if that is 0.
func claim() bool {
	for {
		n := idle.Load()
		if n == 0 {
			return false
		}
		if idle.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// linger returns the next job offered, or nil if there is none for long.
func linger() *job {
	idle.Add(1)
	for start := time.Now(); time.Since(start) < patience; {
		select {
		case j := <-offers:
			return j
		default:
			runtime.Gosched()
		}
	}
	if claim() {
		return nil
	}
	return <-offers // claimed by a job that is on its way
}
