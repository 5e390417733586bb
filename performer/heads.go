package performer

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/layout"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// Heads is multi-head attention without projections: columns h·d … (h+1)·d−1 of q and
// k, and h·dv … (h+1)·dv−1 of v and the output, are head h, and the same form of
// attention runs over every head. It is a [Form], does not change after construction
// and may be shared by goroutines if its form may.
type Heads[T dense.Float] struct {
	form  Form[T]
	heads int
	calls pool.Of[headwise[T]]
}

// NewHeads returns the form over so many heads. It returns an error if form is nil, if
// heads is below 1, or if memory does not hold a number for each.
func NewHeads[T dense.Float](form Form[T], heads int) (*Heads[T], error) {
	if form == nil {
		return nil, errors.New("performer: form is nil")
	}
	if heads < 1 {
		return nil, fmt.Errorf("performer: heads = %d, want at least 1", heads)
	}
	if err := layout.CheckHeads[T](heads, heads); err != nil {
		return nil, fmt.Errorf("performer: %w", err)
	}
	return &Heads[T]{form: form, heads: heads}, nil
}

// Heads returns the number of heads.
func (h *Heads[T]) Heads() int { return h.heads }

// Forward computes the attention of each head of q (Lq×H·d) over its head of k
// (Lk×H·d) and v (Lk×H·dv) into dst (Lq×H·dv), which it returns; a zero dst is
// allocated. Each output has the bits that the form gives for its head alone, and
// aliasing, NaN and time, times H, are as the form has them.
//
// Heads are shared among GOMAXPROCS processors. Those that are left, when there are
// not as many for every processor, run one after another, with as much parallelism
// as the form has. It panics with the shapes if they do not fit, or if columns cannot
// be divided by the number of heads.
func (h *Heads[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	checkShapes(q, k, v, false)
	if q.Cols%h.heads != 0 || v.Cols%h.heads != 0 {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, v is %d×%d, want columns that %d heads can share",
			q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols, h.heads))
	}
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	c := h.calls.Get()
	*c = headwise[T]{h: h, dst: dst, q: q, k: k, v: v}
	processors := runtime.GOMAXPROCS(0)
	together := h.heads / processors * processors
	parallel.Do(together, c)
	for i := together; i < h.heads; i++ {
		c.head(i, processors)
	}
	*c = headwise[T]{}
	h.calls.Put(c)
	return dst
}

// headwise is the task of one call: a head is a piece.
type headwise[T dense.Float] struct {
	h            *Heads[T]
	dst, q, k, v dense.Matrix[T]
}

func (c *headwise[T]) Piece(i int) { c.head(i, 1) }

// head computes head i with work for so many processors.
func (c *headwise[T]) head(i, processors int) {
	dst, q, k, v := c.of(c.dst, i), c.of(c.q, i), c.of(c.k, i), c.of(c.v, i)
	if a, ok := c.h.form.(*Attention[T]); ok {
		a.forward(dst, q, k, v, processors)
	} else {
		c.h.form.Forward(dst, q, k, v)
	}
}

// of returns the columns of head i.
func (c *headwise[T]) of(m dense.Matrix[T], i int) dense.Matrix[T] {
	d := m.Cols / c.h.heads
	return m.ColRange(i*d, (i+1)*d)
}
