// Package interrupt runs long work so that it ends soon after its context.
package interrupt

import (
	"context"
	"iter"

	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// Rows is parallel.Rows up to the end of ctx: a range that comes later is left out. Rows returns
// the error of ctx, and nil only if all ranges are done.
func Rows(ctx context.Context, n, grain int, f func(lo, hi int)) error {
	parallel.Rows(n, grain, func(lo, hi int) {
		if ctx.Err() == nil {
			f(lo, hi)
		}
	})
	return ctx.Err()
}

// Ranges yields the ranges of parallel.Rows one after the other, up to the end of ctx.
func Ranges(ctx context.Context, n, grain int) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		for lo := 0; lo < n && ctx.Err() == nil && yield(lo, min(lo+grain, n)); lo += grain {
		}
	}
}

// Await calls f, which cannot look at a context, and returns when f has or when ctx ends. It
// returns the error of ctx if f is not done. f then goes on in a goroutine of its own until it is
// done, so that nobody else may use the memory of f. A panic of f reaches the caller while it
// waits.
func Await(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var fault any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { fault = recover() }()
		f()
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-done:
	}
	if fault != nil {
		panic(fault)
	}
	return nil
}
