// Package parallel runs independent pieces of work on GOMAXPROCS goroutines. Callers divide work
// into pieces by size, so that results have the same bits for every GOMAXPROCS.
package parallel

import (
	"runtime"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Task is work whose pieces may run in any order and at the same time.
type Task interface {
	Piece(i int)
}

// Do calls t.Piece(i) once for every 0 ≤ i < n, in no particular order, on the calling goroutine
// and up to GOMAXPROCS − 1 others, and returns when all pieces are done. The calling goroutine
// works alone if there is one piece, or if other calls keep all processors busy.
//
// A panic in a piece reaches the caller, and runtime.Goexit in a piece ends the calling goroutine.
// A piece may call Do. Do allocates only if more calls run at a time than ever before.
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

// Idle returns the number of processors that would help Do now: usually 0 inside a piece.
func Idle() int { return max(0, runtime.GOMAXPROCS(0)-max(1, int(working.Load()))) }

// working is the number of goroutines that work for calls of Do, including the callers. A call from
// inside a piece usually finds no free processor, and does its pieces itself.
var working atomic.Int64

// Rows splits [0, n) into ranges of grain rows and calls f(lo, hi) once for each range, as Do calls
// Piece. The last range may be shorter. A grain below 1 counts as 1.
func Rows(n, grain int, f func(lo, hi int)) {
	grain = max(grain, 1)
	r := ranges.Get()
	*r = rowRanges{n: n, grain: grain, f: f}
	Do((n+grain-1)/grain, r)
	*r = rowRanges{}
	ranges.Put(r)
}

// Pieces calls f(i) once for every 0 ≤ i < n, as Do calls Piece.
func Pieces(n int, f func(i int)) { Do(n, pieceFunc(f)) }

type pieceFunc func(i int)

func (f pieceFunc) Piece(i int) { f(i) }

type rowRanges struct {
	n, grain int
	f        func(lo, hi int)
}

func (r *rowRanges) Piece(i int) { r.f(i*r.grain, min((i+1)*r.grain, r.n)) }

var ranges pool.Of[rowRanges]

// Share returns the beginning of share s if n is divided into shares of nearly equal size:
// n·s/shares, computed without the product n·s, which may overflow an int of 32 bits.
func Share(n, shares, s int) int { return n/shares*s + n%shares*s/shares }
