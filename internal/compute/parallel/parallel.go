// Package parallel runs independent pieces of work on GOMAXPROCS goroutines.
//
// Pieces are cut by size, never by the number of goroutines, so that a
// computation whose pieces do not depend on each other gives the same bits
// whatever GOMAXPROCS is.
package parallel

import (
	"runtime"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Task is work in pieces that may run in any order and at the same time.
type Task interface {
	// Piece does piece i.
	Piece(i int)
}

// Do calls t.Piece(i) once for every 0 ≤ i < n on up to GOMAXPROCS goroutines,
// the calling one among them, in no particular order, and returns when all are
// done. With one piece, or no processor that another call does not keep busy, only
// the calling goroutine works. A panic in a piece reaches the caller, and runtime.Goexit
// in a piece ends the calling goroutine, wherever the piece ran. A piece may call Do.
//
// Do allocates only when more calls run at a time than ever before.
func Do(n int, t Task) {
	helpers := 0
	if n > 1 {
		helpers = min(n-1, Idle())
	}
	if helpers == 0 {
		for i := range n {
			t.Piece(i)
		}
		return
	}
	working.Add(int64(helpers) + 1)
	defer working.Add(-int64(helpers) - 1)
	j := jobs.Get().(*job)
	admission := j.begin(n, t)
	for range helpers {
		invite(admission)
	}
	defer j.end()
	j.work()
}

// Idle returns the number of processors that would help a call of Do made now: 0
// inside a piece as a rule.
func Idle() int { return max(0, runtime.GOMAXPROCS(0)-max(1, int(working.Load()))) }

// working is the number of goroutines that calls of Do have set to work, their
// callers among them: a call from inside a piece finds no processor free and does
// its pieces itself.
var working atomic.Int64

// Rows splits [0, n) into ranges of grain rows (the last may be shorter) and
// calls f(lo, hi) once for each, on up to GOMAXPROCS goroutines, in no
// particular order. It returns when all are done. With one range or one
// processor f runs on the calling goroutine. A panic or runtime.Goexit in f reaches
// the caller. A grain below 1 counts as 1.
func Rows(n, grain int, f func(lo, hi int)) {
	grain = max(grain, 1)
	r := ranges.Get()
	*r = rowRanges{n: n, grain: grain, f: f}
	Do((n+grain-1)/grain, r)
	*r = rowRanges{}
	ranges.Put(r)
}

// Pieces calls f(i) once for every 0 ≤ i < n on up to GOMAXPROCS goroutines,
// in no particular order, and returns when all are done. With one piece or one
// processor f runs on the calling goroutine. A panic or runtime.Goexit in f reaches the
// caller.
func Pieces(n int, f func(i int)) { Do(n, function(f)) }

// function is the Task that calls itself.
type function func(i int)

func (f function) Piece(i int) { f(i) }

// rowRanges is the Task behind Rows.
type rowRanges struct {
	n, grain int
	f        func(lo, hi int)
}

func (r *rowRanges) Piece(i int) { r.f(i*r.grain, min((i+1)*r.grain, r.n)) }

var ranges pool.Of[rowRanges]

// Share returns the beginning of share s when n is cut into shares of nearly equal size:
// n·s/shares, without the product, which overflows a 32-bit int.
func Share(n, shares, s int) int { return n/shares*s + n%shares*s/shares }
