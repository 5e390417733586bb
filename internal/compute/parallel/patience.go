package parallel

import (
	"runtime"
	"sync/atomic"
	"time"
)

// patience returns how long a goroutine without pieces looks for another job, and how
// long a caller waits for its helpers awake. A sleeping processor takes about as long
// to wake, more than many jobs take, and calls of Do tend to follow each other. Where
// goroutines may outnumber processors, one that looks or waits keeps another from its
// work, and patience is zero.
func patience() time.Duration {
	if runtime.GOMAXPROCS(0) > runtime.NumCPU() {
		return 0
	}
	return 50 * time.Microsecond
}

var (
	// idle is the number of goroutines that look for a job or have yet to begin: those that
	// a busy processor has not come to are not started twice.
	idle atomic.Int32
	// tickets are for those who have time.
	tickets = make(chan ticket, 64)
)

// invite lets another goroutine help, one that looks for a job if there is one. The
// caller does not rely on it.
func invite(t ticket) {
	for sent := false; !sent; {
		select {
		case tickets <- t:
			sent = true
		default:
			// The oldest ticket is for a call that has ended, most likely.
			select {
			case <-tickets:
			default:
			}
		}
	}
	if int(idle.Load()) < min(len(tickets), runtime.GOMAXPROCS(0)-1) {
		idle.Add(1)
		go assist()
	}
}

// assist helps as long as there are jobs. It is counted as idle when it starts.
func assist() {
	for {
		t, ok := next()
		if !ok {
			return
		}
		t.help()
		idle.Add(1)
	}
}

// next returns a ticket, or false if there is none for long. The goroutine is idle until
// next returns.
func next() (t ticket, ok bool) {
	for deadline := time.Now().Add(patience()); ; runtime.Gosched() {
		select {
		case t = <-tickets:
			idle.Add(-1)
			return t, true
		default:
		}
		if !time.Now().Before(deadline) {
			break
		}
	}
	// Who saw this goroutine idle has put the ticket there before.
	idle.Add(-1)
	select {
	case t = <-tickets:
		return t, true
	default:
		return t, false
	}
}
