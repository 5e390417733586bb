package parallel

import (
	"sync"
	"sync/atomic"
	"time"
)

// job is one call of Do, kept for later calls.
type job struct {
	task Task
	n    int64
	// taken counts the pieces taken. The caller takes them from the front and the
	// others from the back: what a processor had in its cache after one call of
	// Do is then likely to be what it works on in the next.
	taken, front, back atomic.Int64
	wait               sync.WaitGroup
	busy               atomic.Int64 // goroutines that have not called wait.Done yet
	// assist is what the other goroutines run. It is made once, as a method
	// value would be allocated at every use.
	assist func()

	mu    sync.Mutex
	fault any // the first panic
}

var jobs = sync.Pool{New: func() any {
	j := new(job)
	j.assist = func() {
		for next := j; next != nil; next = linger() {
			next.share()
		}
	}
	return j
}}

// start lets so many goroutines work on n pieces of t.
func (j *job) start(n int, t Task, goroutines int) {
	j.task, j.n = t, int64(n)
	j.taken.Store(0)
	j.front.Store(0)
	j.back.Store(0)
	j.wait.Add(goroutines)
	j.busy.Add(int64(goroutines))
	for range goroutines {
		if !offer(j) {
			go j.assist()
		}
	}
}

// share works in a goroutine other than the caller's.
func (j *job) share() {
	defer j.busy.Add(-1)
	defer j.wait.Done()
	defer j.catch()
	for j.taken.Add(1) <= j.n {
		j.task.Piece(int(j.n - j.back.Add(1)))
	}
}

// work works in the caller's goroutine.
func (j *job) work() {
	defer j.catch()
	for j.taken.Add(1) <= j.n {
		j.task.Piece(int(j.front.Add(1) - 1))
	}
}

// catch keeps the first panic and leaves the remaining pieces undone.
func (j *job) catch() {
	r := recover()
	if r == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault == nil {
		j.fault = r
	}
	j.taken.Store(j.n)
}

// finish waits for the goroutines, keeps the job for another call and panics if
// a piece did.
func (j *job) finish() {
	// The others are at their last pieces. Going to sleep and being woken takes
	// longer than those as a rule.
	for start := time.Now(); j.busy.Load() > 0 && time.Since(start) < patience; {
	}
	j.wait.Wait()
	fault := j.fault
	j.task, j.fault = nil, nil
	jobs.Put(j)
	if fault != nil {
		panic(fault)
	}
}
