package rff

import (
	"fmt"
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Paired is a map φ of queries with a partner ψ = Keys(), a map of keys: φ(x)ᵀψ(y) estimates
// Kernel. φ(x)ᵀφ(y) does not, unless φ and ψ are the same. ψ is Paired too, with the partner φ. The
// method Kernel of φ and of ψ returns the kernel that φ(x)ᵀψ(y) estimates. A map that is not Paired
// is its own partner.
type Paired[T dense.Float] interface {
	Map[T]

	// Keys returns ψ, which has the dimensions of φ.
	Keys() Map[T]
}

// Keys returns the map of keys for the map m of queries: m.Keys() if m is Paired, m itself
// otherwise.
func Keys[T dense.Float](m Map[T]) Map[T] {
	if p, ok := m.(Paired[T]); ok {
		return p.Keys()
	}
	return m
}

// keysRecipe is the map of keys of a map of queries.
type keysRecipe[T dense.Float] struct{ Of Map[T] }

func newKeys[T dense.Float](r keysRecipe[T]) (Map[T], error) {
	if r.Of == nil {
		return nil, fmt.Errorf("rff: keys of no map")
	}
	return Keys(r.Of), nil
}

// join returns query, paired with key. law is the law of the estimate, and reverse its law with
// query and key exchanged. recipe is what the result is made of.
func join[T dense.Float](query, key Map[T], k kernels.Kernel, law, reverse mse.Law, recipe any) Map[T] {
	q, p := &side[T]{Map: query, kernel: k, law: law, recipe: recipe}, &side[T]{Map: key, kernel: k, law: reverse}
	q.keys, p.keys = like(p, key), like(q, query)
	p.recipe = keysRecipe[T]{p.keys}
	return p.keys
}

// side is one of the two maps of a pair. like hides the methods that its Map does not have.
type side[T dense.Float] struct {
	Map[T]
	keys   Map[T]
	kernel kernels.Kernel
	law    mse.Law
	recipe any // nil if Map has none
}

func (s *side[T]) Keys() Map[T] { return s.keys }

func (s *side[T]) Kernel() kernels.Kernel { return s.kernel }

func (s *side[T]) Law() mse.Law { return s.law }

func (s *side[T]) Recipe() (any, error) { return s.recipe, nil }

func (s *side[T]) String() string { return fmt.Sprint(s.Map) }

func (s *side[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return s.Map.(LogMap[T]).LogTransform(dst, x)
}

func (s *side[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	return s.Map.(Differentiable[T]).Backward(dst, x, dphi)
}

func (s *side[T]) LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T] {
	return s.Map.(DifferentiableLog[T]).LogBackward(dst, x, dlog)
}

func (s *side[T]) CanBackward() error { return s.Map.(Differentiable[T]).CanBackward() }

// same reports whether a and b are one map. A user's map may be of a type that cannot be compared.
func same[T dense.Float](a, b Map[T]) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
