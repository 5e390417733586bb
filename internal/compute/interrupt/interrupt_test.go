package interrupt_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
)

func TestRowsDoesAllRangesOnce(t *testing.T) {
	var rows [1000]atomic.Int32
	assert.NoError(t, interrupt.Rows(context.Background(), len(rows), 7, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			rows[i].Add(1)
		}
	}))
	for i := range rows {
		assert.Equal(t, int32(1), rows[i].Load())
	}
}

// Ranges that goroutines have begun when a context ends are done, and no others.
func TestRowsEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var done atomic.Int32
	err := interrupt.Rows(ctx, 100000, 1, func(int, int) {
		done.Add(1)
		cancel()
	})
	assert.Equal(t, context.Canceled, err)
	assert.LessOrEqual(t, done.Load(), int32(100))
}

func TestRangesComeInOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var seen [][2]int
	for lo, hi := range interrupt.Ranges(ctx, 25, 10) {
		seen = append(seen, [2]int{lo, hi})
	}
	assert.Equal(t, [][2]int{{0, 10}, {10, 20}, {20, 25}}, seen)
	for lo := range interrupt.Ranges(ctx, 25, 10) {
		assert.Zero(t, lo)
		cancel()
	}
	for range interrupt.Ranges(ctx, 25, 10) {
		t.Error("a range after the end of the context")
	}
}

func TestAwaitReturnsBeforeItsFunction(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	hold, left := make(chan struct{}), make(chan struct{})
	err := interrupt.Await(ctx, func() {
		cancel()
		<-hold
		close(left)
	})
	assert.Equal(t, context.Canceled, err)
	close(hold)
	<-left
	assert.Equal(t, context.Canceled, interrupt.Await(ctx, func() { t.Error("f is called after the end of ctx") }))
}

func TestAwaitPassesOnPanics(t *testing.T) {
	assert.NoError(t, interrupt.Await(context.Background(), func() {}))
	assert.PanicsWithValue(t, "fault", func() { _ = interrupt.Await(context.Background(), func() { panic("fault") }) })
}
