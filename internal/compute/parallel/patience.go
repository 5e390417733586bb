package parallel

import (
	"runtime"
	"sync/atomic"
	"time"
)

// patience returns how long an idle goroutine looks for another job before it ends, and how long a
// caller waits for its helpers before it sleeps. A sleeping processor takes about as long to wake,
// and many jobs take less. If goroutines may outnumber processors, patience is 0, because a
// goroutine that looks or waits would keep another from its work.
func patience() time.Duration {
	if runtime.GOMAXPROCS(0) > runtime.NumCPU() {
		return 0
	}
	return 50 * time.Microsecond
}

var (
	// idle is the number of goroutines that look for a job or have not yet begun. Goroutines that
	// have not begun count, so that a busy processor does not get more and more of them.
	idle    atomic.Int32
	tickets = make(chan ticket, 64)
)

// invite offers a ticket to idle goroutines, and starts a goroutine if too few are idle. The job
// does not depend on help.
func invite(t ticket) {
	for sent := false; !sent; {
		select {
		case tickets <- t:
			sent = true
		default:
			// The call of the oldest ticket has probably ended.
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

// assist helps job after job until next finds none. Its goroutine counts as idle when it starts.
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

// next returns a ticket, or false if it finds none for the time of patience. The goroutine counts
// as idle until next returns.
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
	// A caller that counted this goroutine as idle has sent its ticket before.
	idle.Add(-1)
	select {
	case t = <-tickets:
		return t, true
	default:
		return t, false
	}
}
