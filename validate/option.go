package validate

import "context"

// Option adjusts how Bias, Variance, Compare and Choose work, not what they find.
type Option struct{ set func(*control) }

// WithContext makes a measurement end early, with ctx.Err() in its error, once ctx is
// done. It is noticed between draws, between pairs of laws and kernels, and between blocks of 64
// pairs of features.
func WithContext(ctx context.Context) Option {
	return Option{func(c *control) { c.ctx = ctx }}
}

// OnProgress has f called as draws are made, with how many are and how many will be in
// all. The calls come in order from the goroutine that measures.
func OnProgress(f func(done, total int)) Option {
	return Option{func(c *control) { c.progress = f }}
}

// control is what the options of one call amount to.
type control struct {
	ctx         context.Context // nil: never done
	progress    func(done, total int)
	done, total int
}

// controlled returns the control of a measurement of total draws.
func controlled(total int, opts []Option) *control {
	c := &control{total: total}
	for _, o := range opts {
		if o.set != nil {
			o.set(c)
		}
	}
	return c
}

// err returns why to end early, if so.
func (c *control) err() error {
	if c.ctx == nil {
		return nil
	}
	return c.ctx.Err()
}

// made reports n more draws.
func (c *control) made(n int) {
	c.done += n
	if c.progress != nil {
		c.progress(c.done, c.total)
	}
}
