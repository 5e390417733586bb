package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/mse"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Compose returns the map φ(x) = ψ(A·(x − c) + b) that first applies an affine map
// R^d → R^r, of Affine or PCA, and then ψ = then, a map of R^r. Its kernel is the kernel of then, pulled back:
// kernels.Pullback; nil if then does not know its own.
//
// It is Paired with the composition of the map of keys where then is Paired with one. It
// is a LogMap, Differentiable or DifferentiableLog where then is, so that
// attention and training work with it: a gradient goes back by the chain rule,
// Aᵀ·J_ψ(z)ᵀdφ. It may be shared by goroutines, a row of its results depends on its
// row of x alone, and neither dst of a method may overlap its inputs. Every method
// costs what the method of then does and a matrix product with A, one more backwards; 256
// rows at a time are prepared in memory that is kept for later calls. Methods panic
// if a shape does not fit.
//
// An error reports a first that is not a map of Affine or PCA, a nil then, and a then that is not
// a map of R^r.
func Compose[T dense.Float](first, then Map[T]) (Map[T], error) {
	a, ok := first.(*affine[T])
	if !ok {
		return nil, fmt.Errorf("rff: first is %T, want a map of Affine or PCA", first)
	}
	if then == nil {
		return nil, fmt.Errorf("rff: then is nil, want a map")
	}
	if in, _ := then.Dims(); in != a.out {
		return nil, fmt.Errorf("rff: then is a map of R^%d, want R^%d, where first leads", in, a.out)
	}
	return wrapped(then, func(then Map[T]) Map[T] { return compose(a, then) }), nil
}

func compose[T dense.Float](first *affine[T], then Map[T]) Map[T] {
	_, out := then.Dims()
	c := &composed[T]{first: first, then: then, middle: first.out, out: out}
	if k := then.Kernel(); k != nil {
		pulled := first.kernel
		pulled.K = k
		c.kernel = pulled
	}
	c.self = like(c, then)
	return c.self
}

// composed is a composition. The methods beyond those of Map are for compositions with a map
// that has them.
type composed[T dense.Float] struct {
	first       *affine[T]
	then        Map[T]
	self        Map[T]
	kernel      kernels.Kernel
	middle, out int

	passes pool.Of[composedPass[T]]
	spaces pool.Of[composedSpace[T]]
}

func (c *composed[T]) Dims() (in, out int) { return c.first.in, c.out }

func (c *composed[T]) Kernel() kernels.Kernel { return c.kernel }

func (c *composed[T]) Law() mse.Law { return mse.Law{} }

func (c *composed[T]) Fitted() string { return fitted(c.then) }

func (c *composed[T]) Keys() Map[T] { return c.self }

// String returns both maps.
func (c *composed[T]) String() string { return fmt.Sprintf("Compose(%v, %v)", c.first, c.then) }

func (c *composed[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return c.forward(dst, x, false)
}

func (c *composed[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return c.forward(dst, x, true)
}

func (c *composed[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	return c.backward("dphi", dst, x, dphi, false)
}

func (c *composed[T]) LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T] {
	return c.backward("dlog", dst, x, dlog, true)
}

func (c *composed[T]) CanBackward() error { return c.then.(Differentiable[T]).CanBackward() }

// forward is Transform, or LogTransform if log is set.
func (c *composed[T]) forward(dst, x dense.Matrix[T], log bool) dense.Matrix[T] {
	checkPoints(x, c.first.in)
	dst = dense.Ensure(dst, x.Rows, c.out)
	inBlocks(&c.passes, composedPass[T]{composed: c, dst: dst, x: x, log: log}, x.Rows, affineRows)
	return dst
}

// backward is Backward, or LogBackward if log is set, for gradients g, which the caller calls
// name.
func (c *composed[T]) backward(name string, dst, x, g dense.Matrix[T], log bool) dense.Matrix[T] {
	if err := c.CanBackward(); err != nil {
		panic(err.Error())
	}
	checkGradient(name, x, g, c.first.in, c.out)
	dst = dense.Ensure(dst, x.Rows, c.first.in)
	inBlocks(&c.passes, composedPass[T]{composed: c, dst: dst, x: x, g: g, log: log, back: true}, x.Rows, affineRows)
	return dst
}

// composedPass is one call.
type composedPass[T dense.Float] struct {
	*composed[T]
	dst, x, g dense.Matrix[T]
	log, back bool
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
	if !p.back {
		if p.log {
			p.then.(LogMap[T]).LogTransform(dst, z)
		} else {
			p.then.Transform(dst, z)
		}
	} else {
		g, dz := p.g.RowRange(lo, hi), scratchMatrix(&s.dz, hi-lo, p.middle)
		if p.log {
			p.then.(DifferentiableLog[T]).LogBackward(dz, z, g)
		} else {
			p.then.(Differentiable[T]).Backward(dz, z, g)
		}
		matmul.MulPacked(1, dz, &p.first.back, 0, dst, nil)
	}
	p.spaces.Put(s)
}
