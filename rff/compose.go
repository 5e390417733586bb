package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Compose returns the map φ(x) = ψ(A·(x − c) + b) from R^d to R^D, which applies the affine map
// first and to the result the feature map ψ = then. The kernel of the map of Compose is the
// kernels.Pullback of the kernel of then, or nil if then has a nil Kernel. The map of Compose is
// Paired, a LogMap, Differentiable or DifferentiableLog if the map then is.
//
// Each method of the map of Compose costs one matrix product, and the same method of the map then;
// Backward costs two products. Methods of the map of Compose transform 256 rows at once and keep
// scratch memory, and dst must not overlap an input. Compose returns an error if Draw returns one
// for first, and for a then that is nil or a map of points of another dimension than the results of
// first.
func Compose[T dense.Float](first Affine, then Map[T]) (Map[T], error) {
	return build[T](composeRecipe[T]{first, then})
}

type composeRecipe[T dense.Float] struct {
	First Affine
	Then  Map[T]
}

func newCompose[T dense.Float](r composeRecipe[T]) (Map[T], error) {
	first, err := newAffine[T](r.First)
	if err != nil {
		return nil, err
	}
	if r.Then == nil {
		return nil, fmt.Errorf("rff: then is nil, want a map")
	}
	if in, _ := r.Then.Dims(); in != first.out {
		return nil, fmt.Errorf("rff: then is a map of R^%d, want R^%d, where first leads", in, first.out)
	}
	r.First = first.recipe.(drawn[T]).Spec.(Affine) // the copy
	query, keys := compose(first, r.Then), Keys(r.Then)
	if same(r.Then, keys) {
		return join(query, nil, r), nil
	}
	return join(query, compose(first, keys), r), nil
}

func compose[T dense.Float](first *affine[T], then Map[T]) complete[T] {
	c := newComposed(first, then)
	c.name = fmt.Sprintf("Compose(%v, %v)", first, then)
	affine := first.kernel.(kernels.Pullback)
	c.law = lawOf(then).Composed(affine.At)
	if affine.K = then.Kernel(); affine.K != nil {
		c.kernel = affine
	}
	return c
}

func newComposed[T dense.Float](first *affine[T], then Map[T]) *composed[T] {
	c := &composed[T]{first: first, then: then}
	c.in, c.rows = first.in, affineRows
	_, c.out = then.Dims()
	c.transform = c.after(then.Transform)
	if logs, ok := then.(LogMap[T]); ok {
		c.logTransform = c.after(logs.LogTransform)
	}
	if back, ok := then.(Differentiable[T]); ok {
		c.pull, c.backward = c.chained(back.Backward), back.CanBackward
	}
	if back, ok := then.(DifferentiableLog[T]); ok {
		c.logPull = c.chained(back.LogBackward)
	}
	return c
}

type composed[T dense.Float] struct {
	through[T, composedSpace[T]]
	first *affine[T]
	then  Map[T]
}

type composedSpace[T dense.Float] struct{ moved, z, dz []T }

func (c *composed[T]) after(f func(dst, z dense.Matrix[T]) dense.Matrix[T]) blockFunc[T, composedSpace[T]] {
	return func(s *composedSpace[T], dst, x, _ dense.Matrix[T]) {
		z := scratchMatrix(&s.z, x.Rows, c.first.out)
		c.first.apply(z, x, &s.moved)
		f(dst, z)
	}
}

// chained returns the function that computes Aᵀ·f(z, g), where f is the gradient of then.
func (c *composed[T]) chained(f func(dz, z, g dense.Matrix[T]) dense.Matrix[T]) blockFunc[T, composedSpace[T]] {
	return func(s *composedSpace[T], dst, x, g dense.Matrix[T]) {
		z, dz := scratchMatrix(&s.z, x.Rows, c.first.out), scratchMatrix(&s.dz, x.Rows, c.first.out)
		c.first.apply(z, x, &s.moved)
		f(dz, z, g)
		c.first.pullBack(dst, dz)
	}
}

func (c *composed[T]) String() string { return c.name }
