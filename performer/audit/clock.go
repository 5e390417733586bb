package audit

import (
	"math"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

type clock struct {
	forward func()
	work    float64 // the predicted work of the small call
	second  float64 // the time of a unit of work, in seconds
}

const (
	clockShare = 100 // the work of exact attention over the work of the small call
	clockKeys  = 256 // the keys of the small call

	// The first call takes up to three times as long as the next ones: memory is new, and
	// processors wake.
	clockRuns = 3
)

func newClock[T dense.Float](h *headSample[T], exactWork float64) *clock {
	const minRows, maxRows = 128, 8192
	n := min(h.k.Rows, clockKeys)
	row := exactCost[T](callSizes{queries: 1, keys: n, dim: h.q.Cols, values: h.v.Cols})
	rows := min(max(int(exactWork/clockShare/max(row, 1)), minRows), maxRows, h.q.Rows)
	exact, err := performer.NewExact[T](performer.ExactOptions{})
	if err != nil {
		panic(err) // the zero options are in range
	}
	out := dense.New[T](rows, h.v.Cols)
	c := &clock{work: row * float64(rows), forward: func() {
		exact.Forward(out, h.q.RowRange(0, rows), h.k.RowRange(0, n), h.v.RowRange(0, n))
	}}
	c.measure()
	return c
}

// measure sets the time of a unit of work. measure runs right before the call compared with exact
// attention: the speed of a machine changes.
func (c *clock) measure() {
	shortest := time.Duration(math.MaxInt64)
	for range clockRuns {
		start := time.Now()
		c.forward()
		shortest = min(shortest, max(time.Since(start), 1))
	}
	c.second = shortest.Seconds() / max(c.work, 1)
}

func (c *clock) time(work float64) time.Duration {
	return time.Duration(work * c.second * float64(time.Second))
}
