package validate

import "context"

// Options adjusts how Measure and Compare work, not what they find. The zero value does nothing.
type Options struct {
	// Context stops the work early when it is cancelled, with Context.Err() in the error. Nil means
	// that nothing stops it. It is checked between draws, between values of kernels and laws, and
	// between blocks of 64 pairs of features.
	Context context.Context

	// Progress, if not nil, is called with the number of draws that are made and the number that
	// will be in all. The calls come in order from the goroutine that measures.
	Progress func(done, total int)
}

// control is the Options of one call and how far it is.
type control struct {
	Options
	done, total int
}

// err returns why to end early, if so.
func (c *control) err() error {
	if c.Context == nil {
		return nil
	}
	return c.Context.Err()
}

// made reports n more draws.
func (c *control) made(n int) {
	c.done += n
	if c.Progress != nil {
		c.Progress(c.done, c.total)
	}
}
