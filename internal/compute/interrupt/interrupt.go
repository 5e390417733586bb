// Package interrupt ends long computations soon after their context ends.
package interrupt

import (
	"context"
	"iter"

	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// Rows is parallel.Rows with a context. After ctx has ended, Rows starts no further range. Rows
// returns nil if all ranges are done, and the error of ctx otherwise.
func Rows(ctx context.Context, n, grain int, f func(lo, hi int)) error {
	parallel.Rows(n, grain, func(lo, hi int) {
		if ctx.Err() == nil {
			f(lo, hi)
		}
	})
	return ctx.Err()
}

// Ranges yields the ranges of parallel.Rows one after the other, until ctx ends.
func Ranges(ctx context.Context, n, grain int) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		for lo := 0; lo < n && ctx.Err() == nil && yield(lo, min(lo+grain, n)); lo += grain {
		}
	}
}

// Await calls f, which has no context, and returns when f has returned or ctx has ended. In the
// second case Await returns the error of ctx, and f continues on its own goroutine. The caller must
// then not use the memory of f. If f panics before Await returns, Await panics with the same value.
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
