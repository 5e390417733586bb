package validate

import (
	"context"

	"github.com/seed-feabd252/randfeat/internal/argument"
)

// Options adjusts Measure and Compare. No option changes their results.
type Options struct {
	// Progress, if not nil, is called with the number of draws that are made and the number that
	// will be in all. The calls come in order from the goroutine that measures.
	Progress func(done, total int)
}

// control is the context and the progress of one call.
type control struct {
	ctx         context.Context
	progress    func(done, total int)
	done, total int
}

// newControl panics if ctx is nil.
func newControl(ctx context.Context, progress func(done, total int), total int) *control {
	_ = argument.Context("validate", ctx) // err returns its error
	return &control{ctx: ctx, progress: progress, total: total}
}

// err returns the error of the context.
func (c *control) err() error { return c.ctx.Err() }

// made reports n more draws.
func (c *control) made(n int) {
	c.done += n
	if c.progress != nil {
		c.progress(c.done, c.total)
	}
}
