package rff

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Compose returns the map φ(x) = ψ(A·(x − c) + b) that first applies an affine map R^d → R^r, of
// Affine, Scale, Standardise or PCA, and then ψ = then, a map of R^r. Its kernel is the kernel of
// then, pulled back: kernels.Pullback; nil if then does not know its own.
//
// If then is Paired, so is the composition; its Keys are the composition with the Keys of then. The
// composition is a LogMap, Differentiable or DifferentiableLog if then is, so that attention and
// training work with it. A gradient goes back by the chain rule, Aᵀ·J_ψ(z)ᵀdφ. Goroutines may share
// the composition. A row of a result depends on its row of x alone. The dst of a method must not
// overlap the inputs. Every method costs the method of then and a matrix product with A, and a
// gradient costs one product more. Methods transform 256 rows at a time, keep the memory for later
// calls, and panic if a shape does not fit.
//
// Compose returns an error for a first that is not a map of Affine, Scale, Standardise or PCA, a
// nil then, and a then that is not a map of R^r.
func Compose[T dense.Float](first, then Map[T]) (Map[T], error) {
	return build[Map[T]](composeRecipe[T]{first, then})
}

// composeRecipe holds the parts of Compose that a file stores.
type composeRecipe[T dense.Float] struct{ First, Then Map[T] }

func newCompose[T dense.Float](r composeRecipe[T]) (Map[T], error) {
	first, then := r.First, r.Then
	a, ok := first.(*affine[T])
	if !ok {
		return nil, fmt.Errorf("rff: first is %T, want a map of Affine, Scale, Standardise or PCA", first)
	}
	if then == nil {
		return nil, fmt.Errorf("rff: then is nil, want a map")
	}
	if in, _ := then.Dims(); in != a.out {
		return nil, fmt.Errorf("rff: then is a map of R^%d, want R^%d, where first leads", in, a.out)
	}
	query := compose(a, then)
	keys := Keys(then)
	if same(then, keys) {
		return query, nil
	}
	key := compose(a, keys)
	return join(query, key, query.Kernel(), lawOf(query), lawOf(key), composeRecipe[T]{first, then}), nil
}

func compose[T dense.Float](first *affine[T], then Map[T]) Map[T] {
	_, out := then.Dims()
	c := &composed[T]{first: first, through: through[T, composedSpace[T]]{inner: then}}
	c.frame = frame{in: first.in, out: out, recipe: composeRecipe[T]{first, then}}
	c.rows = affineRows
	if k := then.Kernel(); k != nil {
		pulled := first.kernel.(kernels.Pullback)
		pulled.K = k
		c.kernel = pulled
	}
	c.law = lawOf(then).Composed(image(first.kernel.(kernels.Pullback)))
	c.transform = c.after(then.Transform)
	if logs, ok := then.(LogMap[T]); ok {
		c.logTransform = c.after(logs.LogTransform)
	}
	if back, ok := then.(Differentiable[T]); ok {
		c.pull = c.chained(back.Backward)
	}
	if back, ok := then.(DifferentiableLog[T]); ok {
		c.logPull = c.chained(back.LogBackward)
	}
	c.self = like(c, then)
	return c.self
}

// image returns the affine map of k in float64.
func image(k kernels.Pullback) func(x []float64) []float64 {
	return func(x []float64) []float64 {
		if k.Centre != nil {
			x = floats.SubTo(make([]float64, len(x)), x, k.Centre)
		}
		z := make([]float64, k.A.Rows)
		for i := range z {
			z[i] = floats.Dot(k.A.Row(i), x)
		}
		if k.Offset != nil {
			floats.Add(z, k.Offset)
		}
		return z
	}
}

// composed is the map of Compose.
type composed[T dense.Float] struct {
	through[T, composedSpace[T]]
	first *affine[T]
	self  Map[T]
}

// composedSpace is scratch for a block of rows.
type composedSpace[T dense.Float] struct{ moved, z, dz []T }

// after returns the function that applies f to z = A·(x − c) + b.
func (c *composed[T]) after(f func(dst, z dense.Matrix[T]) dense.Matrix[T]) blockFunc[T, composedSpace[T]] {
	return func(s *composedSpace[T], dst, x, _ dense.Matrix[T]) {
		z := scratchMatrix(&s.z, x.Rows, c.first.out)
		c.first.apply(z, x, &s.moved)
		f(dst, z)
	}
}

// chained returns the function that computes Aᵀ·f(z, g): f is the gradient of then with respect to
// z.
func (c *composed[T]) chained(f func(dz, z, g dense.Matrix[T]) dense.Matrix[T]) blockFunc[T, composedSpace[T]] {
	return func(s *composedSpace[T], dst, x, g dense.Matrix[T]) {
		z, dz := scratchMatrix(&s.z, x.Rows, c.first.out), scratchMatrix(&s.dz, x.Rows, c.first.out)
		c.first.apply(z, x, &s.moved)
		f(dz, z, g)
		c.first.pullBack(dst, dz)
	}
}

func (c *composed[T]) Keys() Map[T] { return c.self }

// String returns both maps.
func (c *composed[T]) String() string { return fmt.Sprintf("Compose(%v, %v)", c.first, c.inner) }
