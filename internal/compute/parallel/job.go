package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

type job struct {
	task Task
	n    int64
	// taken counts the pieces that goroutines have taken. The caller takes pieces from the front
	// and helpers take pieces from the back: a processor then often finds the data of a piece in
	// its cache from the last call of Do.
	taken, front, back atomic.Int64
	// state holds, from the highest bit down, the number of calls so far that have used the job,
	// the bits open and waiting, and the number of helpers at work. A helper can join while the bit
	// open is set. So the caller waits only for helpers that have begun.
	state atomic.Uint64
	done  chan struct{} // the last helper wakes a waiting caller

	mu     sync.Mutex
	fault  any  // the first panic
	exited bool // a piece called runtime.Goexit
}

const (
	helperBits = 16
	waiting    = 1 << helperBits
	open       = waiting << 1
	oneCall    = open << 1

	helperMask = waiting - 1
)

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

type ticket struct {
	j    *job
	call uint64
}

func (j *job) begin(n int, t Task) ticket {
	j.task, j.n = t, int64(n)
	j.taken.Store(0)
	j.front.Store(0)
	j.back.Store(0)
	call := j.state.Load()/oneCall + 1
	j.state.Store(call*oneCall | open)
	return ticket{j, call}
}

// join reports whether the call of the ticket is still open. If so, it adds a helper to the call.
func (t ticket) join() bool {
	for {
		s := t.j.state.Load()
		if s/oneCall != t.call || s&open == 0 {
			return false
		}
		if t.j.state.CompareAndSwap(s, s+1) {
			return true
		}
	}
}

func (t ticket) help() {
	if !t.join() {
		return
	}
	j := t.j
	defer j.leave()
	normal := false
	defer j.catch(&normal)
	for j.taken.Add(1) <= j.n {
		j.task.Piece(int(j.n - j.back.Add(1)))
	}
	normal = true
}

// leave subtracts a helper from the call. The last helper wakes a waiting caller.
func (j *job) leave() {
	if s := j.state.Add(^uint64(0)); s&helperMask == 0 && s&waiting != 0 {
		j.done <- struct{}{}
	}
}

func (j *job) work() {
	normal := false
	defer j.catch(&normal)
	for j.taken.Add(1) <= j.n {
		j.task.Piece(int(j.front.Add(1) - 1))
	}
	normal = true
}

// catch records the first panic or call of runtime.Goexit of a piece, and skips the remaining
// pieces.
func (j *job) catch(normal *bool) {
	if *normal {
		return
	}
	r := recover()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault == nil && !j.exited {
		j.fault, j.exited = r, r == nil
	}
	j.taken.Store(j.n)
}

// end closes the call, waits for its helpers, and releases the job. If a piece panicked or called
// runtime.Goexit, end does the same.
func (j *job) end() {
	if j.state.And(^uint64(open))&helperMask != 0 {
		j.wait()
	}
	fault, exited := j.fault, j.exited
	j.task, j.fault, j.exited = nil, nil, false
	jobs.Put(j)
	switch {
	case exited:
		runtime.Goexit()
	case fault != nil:
		panic(fault)
	}
}

func (j *job) wait() {
	// The helpers are at their last pieces. Sleeping and waking usually takes longer than a piece.
	for deadline := time.Now().Add(patience()); j.state.Load()&helperMask != 0 && time.Now().Before(deadline); {
	}
	for {
		s := j.state.Load()
		if s&helperMask == 0 {
			return
		}
		if j.state.CompareAndSwap(s, s|waiting) {
			<-j.done
			return
		}
	}
}
