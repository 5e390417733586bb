package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

func TestRowsCoversEveryRowOnce(t *testing.T) {
	for _, procs := range []int{1, 2, 5} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		for _, n := range []int{0, 1, 7, 64, 65} {
			for _, grain := range []int{-1, 1, 8, 100} {
				counts := make([]atomic.Int32, n)
				Rows(n, grain, func(lo, hi int) {
					assert.LessOrEqual(t, hi-lo, max(grain, 1))
					for i := lo; i < hi; i++ {
						counts[i].Add(1)
					}
				})
				for i := range counts {
					assert.EqualValues(t, 1, counts[i].Load(), "n=%d grain=%d row %d", n, grain, i)
				}
			}
		}
	}
}

func TestPanicReachesCaller(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	assert.PanicsWithValue(t, "row 17", func() {
		Pieces(40, func(i int) {
			if i == 17 {
				panic("row 17")
			}
		})
	})
}

func TestEveryPanicLeavesTheNextCallSound(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for range 100 {
		assert.Panics(t, func() { Pieces(8, func(int) { panic("all") }) })
		var count atomic.Int32
		Pieces(8, func(int) { count.Add(1) })
		assert.EqualValues(t, 8, count.Load())
	}
}

// twoProcessors sets GOMAXPROCS to 2 for the test. It leaves the test out where one goroutine runs
// at a time all the same, as in WebAssembly.
func twoProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("there is one processor, whatever GOMAXPROCS is set to")
	}
}

// TestGoexitEndsTheCaller has piece 0 and piece 1 at work at the same time, so that one
// of them is a helper's, and lets either end its goroutine.
func TestGoexitEndsTheCaller(t *testing.T) {
	twoProcessors(t)
	for guilty := range 2 {
		for range 50 {
			returned, ended := false, make(chan struct{})
			go func() {
				defer close(ended)
				meet := make(chan bool)
				Pieces(2, func(i int) {
					if i == 0 {
						meet <- true
					} else {
						<-meet
					}
					if i == guilty {
						runtime.Goexit()
					}
				})
				returned = true
			}()
			<-ended
			assert.False(t, returned, "piece %d", guilty)
			var count atomic.Int32
			Pieces(8, func(int) { count.Add(1) })
			assert.EqualValues(t, 8, count.Load())
		}
	}
}

func TestALateHelperIsNotWaitedFor(t *testing.T) {
	j := jobs.New().(*job)
	var c counter
	late := j.begin(3, &c)
	j.work()
	j.end()
	assert.EqualValues(t, 3, c.count.Load())

	j.begin(5, &c)
	late.help()
	assert.EqualValues(t, 3, c.count.Load(), "a ticket of the call before")
	j.work()
	j.end()
	assert.EqualValues(t, 8, c.count.Load())
}

func TestNestedCalls(t *testing.T) {
	for _, procs := range []int{1, 2, 5} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		var count atomic.Int32
		Pieces(7, func(int) {
			Rows(50, 3, func(lo, hi int) {
				Pieces(hi-lo, func(int) { count.Add(1) })
			})
		})
		assert.EqualValues(t, 350, count.Load(), "GOMAXPROCS = %d", procs)
	}
}

// TestTheCallerWorksToo has two pieces that wait for each other, and two
// goroutines, one of them the caller's, to do them.
func TestTheCallerWorksToo(t *testing.T) {
	twoProcessors(t)
	meet := make(chan bool)
	Pieces(2, func(i int) {
		if i == 0 {
			meet <- true
		} else {
			<-meet
		}
	})
}

type counter struct{ count atomic.Int64 }

func (c *counter) Piece(int) { c.count.Add(1) }

// TestDoesNotAllocate counts as testing.AllocsPerRun does, which would reduce
// GOMAXPROCS to 1.
func TestDoesNotAllocate(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const warm, runs, pieces = 100, 1000, 10
	var c counter
	rows := func(lo, hi int) { c.count.Add(int64(hi - lo)) }
	piece := func(int) { c.count.Add(1) }
	all := func() {
		Do(pieces, &c)
		Rows(pieces, 3, rows)
		Pieces(pieces, piece)
	}
	for range warm {
		all()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		all()
	}
	runtime.ReadMemStats(&after)
	assert.Zero(t, (after.Mallocs-before.Mallocs)/runs)
	assert.EqualValues(t, 3*pieces*(warm+runs), c.count.Load())
}

// TestHelpersDoNotPileUp keeps the other processor busy, so that no helper begins.
func TestHelpersDoNotPileUp(t *testing.T) {
	twoProcessors(t)
	var stop atomic.Bool
	defer stop.Store(true)
	go func() {
		for !stop.Load() {
		}
	}()
	before, most := runtime.NumGoroutine(), 0
	for range 2000 {
		Pieces(2, func(int) {})
		most = max(most, runtime.NumGoroutine())
	}
	assert.LessOrEqual(t, most, before+4)
}
