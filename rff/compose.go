package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Compose returns the map φ(x) = ψ(A·(x − c) + b) that first applies an affine map
// R^d → R^r and then ψ = then, a map of R^r. Its kernel is that of then, pulled back:
// kernels.Pullback; nil if then does not know its own.
//
// It is Paired with the composition of the map of keys where then is Paired with one. It
// is a LogMap, Differentiable or DifferentiableLog where then is, so that
// attention and training work with it: a gradient goes back by the chain rule,
// Aᵀ·J_ψ(z)ᵀdφ. It may be shared by goroutines, a row of its results depends on its
// row of x alone, and neither dst of a method may overlap its inputs. Every method
// costs what that of then does and a matrix product with A, one more backwards; 256
// rows at a time are prepared in memory that is kept for later calls. Methods panic
// if a shape does not fit.
//
// An error reports a nil first or then, and a then that is not a map of R^r.
func Compose[T dense.Float](first *Affine[T], then Map[T]) (Map[T], error) {
	if first == nil {
		return nil, fmt.Errorf("rff: first is nil, want an affine map")
	}
	if then == nil {
		return nil, fmt.Errorf("rff: then is nil, want a map")
	}
	if in, _ := then.Dims(); in != first.out {
		return nil, fmt.Errorf("rff: then is a map of R^%d, want R^%d, where first leads", in, first.out)
	}
	c, f := compose(first, then)
	if c.keys = f; !isSymmetric(then) {
		k, keys := compose(first, Keys(then))
		c.keys, k.keys = keys, f
	}
	return f, nil
}

// compose returns the composition without its keys, and as the type that has the methods
// of then.
func compose[T dense.Float](first *Affine[T], then Map[T]) (*composed[T], Map[T]) {
	_, out := then.Dims()
	c := &composed[T]{first: first, then: then, middle: first.out, out: out, transform: then.Transform}
	if k := then.Kernel(); k != nil {
		pulled := first.kernel
		pulled.K = k
		c.kernel = pulled
	}
	logs, positive := then.(LogMap[T])
	back, differentiable := then.(Differentiable[T])
	logBack, both := then.(DifferentiableLog[T])
	l, b := composedLog[T]{c}, composedBack[T]{c}
	if positive {
		c.logTransform = logs.LogTransform
	}
	if differentiable {
		c.backward, c.canBackward = back.Backward, back.CanBackward
	}
	switch {
	case both:
		c.logBackward = logBack.LogBackward
		return c, composedLogBack[T]{c, l, b}
	case positive && differentiable:
		return c, struct {
			*composed[T]
			composedLog[T]
			composedBack[T]
		}{c, l, b}
	case positive:
		return c, struct {
			*composed[T]
			composedLog[T]
		}{c, l}
	case differentiable:
		return c, struct {
			*composed[T]
			composedBack[T]
		}{c, b}
	}
	return c, c
}

// composed is what all compositions have. The functions are nil where then has no
// such method.
type composed[T dense.Float] struct {
	first       *Affine[T]
	then        Map[T]
	keys        Map[T]
	kernel      kernels.Kernel
	middle, out int

	transform, logTransform func(dst, z dense.Matrix[T]) dense.Matrix[T]
	backward, logBackward   func(dst, z, g dense.Matrix[T]) dense.Matrix[T]
	canBackward             func() error

	passes pool.Of[composedPass[T]]
	spaces pool.Of[composedSpace[T]]
}

func (c *composed[T]) Dims() (in, out int) { return c.first.in, c.out }

func (c *composed[T]) Kernel() kernels.Kernel { return c.kernel }

func (c *composed[T]) Keys() Map[T] { return c.keys }

func (c *composed[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return c.ahead(dst, x, c.transform)
}

// String returns both maps.
func (c *composed[T]) String() string { return fmt.Sprintf("Compose(%v, %v)", c.first, c.then) }

// composedLog adds what a LogMap has.
type composedLog[T dense.Float] struct{ logged *composed[T] }

func (c composedLog[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return c.logged.ahead(dst, x, c.logged.logTransform)
}

// composedBack adds what a Differentiable has.
type composedBack[T dense.Float] struct{ differentiated *composed[T] }

func (c composedBack[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	return c.differentiated.pull("dphi", dst, x, dphi, c.differentiated.backward)
}

func (c composedBack[T]) CanBackward() error { return c.differentiated.canBackward() }

// composedLogBack is a composition with all there is.
type composedLogBack[T dense.Float] struct {
	*composed[T]
	composedLog[T]
	composedBack[T]
}

func (c composedLogBack[T]) LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T] {
	return c.pull("dlog", dst, x, dlog, c.logBackward)
}

// ahead applies the affine map and then f.
func (c *composed[T]) ahead(dst, x dense.Matrix[T], f func(dst, z dense.Matrix[T]) dense.Matrix[T]) dense.Matrix[T] {
	checkPoints(x, c.first.in)
	dst = dense.Ensure(dst, x.Rows, c.out)
	c.run(composedPass[T]{composed: c, dst: dst, x: x, forward: f})
	return dst
}

// pull takes the gradients g back through f and the affine map. name is what the
// caller calls g.
func (c *composed[T]) pull(name string, dst, x, g dense.Matrix[T], f func(dst, z, g dense.Matrix[T]) dense.Matrix[T]) dense.Matrix[T] {
	if err := c.canBackward(); err != nil {
		panic(err.Error())
	}
	checkGradient(name, x, g, c.first.in, c.out)
	dst = dense.Ensure(dst, x.Rows, c.first.in)
	c.run(composedPass[T]{composed: c, dst: dst, x: x, g: g, back: f})
	return dst
}

func (c *composed[T]) run(pass composedPass[T]) {
	inBlocks(&c.passes, pass, pass.x.Rows, affineRows)
}

// composedPass is one call: forward, or back with g.
type composedPass[T dense.Float] struct {
	*composed[T]
	dst, x, g dense.Matrix[T]
	forward   func(dst, z dense.Matrix[T]) dense.Matrix[T]
	back      func(dst, z, g dense.Matrix[T]) dense.Matrix[T]
}

// composedSpace is scratch for a block of rows.
type composedSpace[T dense.Float] struct{ moved, z, dz []T }

func (p *composedPass[T]) Piece(i int) {
	lo := i * affineRows
	hi := min(lo+affineRows, p.x.Rows)
	s := p.spaces.Get()
	z := scratchMatrix(&s.z, hi-lo, p.middle)
	p.first.apply(z, p.x.RowRange(lo, hi), &s.moved)
	dst := p.dst.RowRange(lo, hi)
	if p.forward != nil {
		p.forward(dst, z)
	} else {
		dz := scratchMatrix(&s.dz, hi-lo, p.middle)
		p.back(dz, z, p.g.RowRange(lo, hi))
		matmul.MulPacked(1, dz, &p.first.back, 0, dst, nil)
	}
	p.spaces.Put(s)
}
