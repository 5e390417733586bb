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

// Pair joins two maps, φ = query and ψ = key, to an estimate φ(x)ᵀψ(y) of the kernel k. A nil k is
// a kernel without a name. Pair returns the map φ, whose Keys are ψ. The Keys of ψ are φ. The
// result is a LogMap if query and key are LogMaps, and Differentiable or DifferentiableLog if query
// is. Its Keys are Differentiable or DifferentiableLog if key is. Pair does not check that the
// estimate is an estimate of k; package validate does. The maps are used, not copied.
//
// Pair returns an error for a nil map, maps of different dimensions, a LogMap together with a map
// that is not one, and a map that is paired with a third map.
func Pair[T dense.Float](query, key Map[T], k kernels.Kernel) (Map[T], error) {
	if query == nil || key == nil {
		return nil, fmt.Errorf("rff: query = %v, key = %v, want two maps", query, key)
	}
	if err := checkPair(query, key); err != nil {
		return nil, err
	}
	for _, m := range []Map[T]{query, key} {
		if partner := Keys(m); !same(partner, query) && !same(partner, key) {
			return nil, fmt.Errorf("rff: %v is paired with another map, %v", m, partner)
		}
	}
	return build[Map[T]](pairRecipe[T]{query, key, k})
}

// pairRecipe holds the parts of Pair that a file stores.
type pairRecipe[T dense.Float] struct {
	Query, Key Map[T]
	K          kernels.Kernel
}

// newPair does not compare Keys(Query) with Key: a map that was read from a file has other
// pointers.
func newPair[T dense.Float](r pairRecipe[T]) (Map[T], error) {
	if r.Query == nil || r.Key == nil {
		return nil, fmt.Errorf("rff: a pair without two maps")
	}
	if err := checkPair(r.Query, r.Key); err != nil {
		return nil, err
	}
	return join(r.Query, r.Key, r.K, mse.Law{}, mse.Law{}, r), nil
}

// keysRecipe is the map of keys of a map of queries.
type keysRecipe[T dense.Float] struct{ Of Map[T] }

func newKeys[T dense.Float](r keysRecipe[T]) (Map[T], error) {
	if r.Of == nil {
		return nil, fmt.Errorf("rff: keys of no map")
	}
	return Keys(r.Of), nil
}

// checkPair reports maps of different dimensions, and a LogMap with a map that is none.
func checkPair[T dense.Float](query, key Map[T]) error {
	in, out := query.Dims()
	if keyIn, keyOut := key.Dims(); keyIn != in || keyOut != out {
		return fmt.Errorf("rff: query is a map of R^%d to R^%d, key one of R^%d to R^%d, want the same", in, out, keyIn, keyOut)
	}
	_, queryIsLog := query.(LogMap[T])
	_, keyIsLog := key.(LogMap[T])
	if queryIsLog != keyIsLog {
		return fmt.Errorf("rff: query is a %T, key a %T, want two LogMaps or none", query, key)
	}
	return nil
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
