package audit

import (
	"math"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// clock tells how long exact attention takes, by the times of small parts of it.
type clock[T dense.Float] struct {
	exact   performer.Exact[T]
	q, k, v dense.Matrix[T] // of a part
	out     dense.Matrix[T]
	work    float64 // predicted, of the part
	second  float64 // a unit of predicted work in seconds, by the shortest of the last runs
}

const (
	partKeys = 256  // keys of a part
	partMost = 8192 // queries of a part, at most and at least
	partRows = 128
	parts    = 100 // of exact attention

	// The first run of a part takes up to three times as long as the next ones: its memory is new, and
	// idle processors have to wake up.
	partRuns = 3
)

// newClock returns a clock for a head, whose exact attention is so much work.
func newClock[T dense.Float](one *audit[T], exactWork float64) *clock[T] {
	k := one.k.RowRange(0, min(one.k.Rows, partKeys))
	row := exactCost[T](Call{Queries: 1, Keys: k.Rows, Dim: one.q.Cols, Values: one.v.Cols})
	rows := min(max(int(exactWork/parts/max(row, 1)), partRows), partMost, one.q.Rows)
	exact, err := performer.NewExact[T](performer.ExactOptions{})
	if err != nil {
		panic(err) // the zero options are in range
	}
	c := &clock[T]{exact: exact, q: one.q.RowRange(0, rows), k: k, v: one.v.RowRange(0, k.Rows), work: row * float64(rows)}
	c.out = dense.New[T](rows, c.v.Cols)
	c.set()
	return c
}

// set measures anew: what takes long next is compared with exact attention at the same time.
func (c *clock[T]) set() {
	least := time.Duration(math.MaxInt64)
	for range partRuns {
		least = min(least, timeOf(func() { c.exact.Forward(c.out, c.q, c.k, c.v) }))
	}
	c.second = least.Seconds() / max(c.work, 1)
}

// timeOf returns how long f takes, at least a nanosecond.
func timeOf(f func()) time.Duration {
	start := time.Now()
	f()
	return max(time.Since(start), 1)
}

// seconds returns a number of seconds as a duration.
func seconds(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
