package rff

import (
	"fmt"
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/law/residual"
)

// Functions of through are nil where the other maps have no such method.
type through[T dense.Float, S any] struct {
	blockwise[T, S]
	keys                        Map[T]
	logTransform, pull, logPull blockFunc[T, S]
	backward                    func() error // CanBackward of the other maps
}

func (f *through[T, S]) Keys() Map[T] { return f.keys }

func (f *through[T, S]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return f.forward(dst, x, f.logTransform)
}

func (f *through[T, S]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	return f.differentiate("dphi", dst, x, dphi, f.pull)
}

func (f *through[T, S]) LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T] {
	return f.differentiate("dlog", dst, x, dlog, f.logPull)
}

func (f *through[T, S]) CanBackward() error { return f.backward() }

func (f *through[T, S]) differentiate(name string, dst, x, g dense.Matrix[T], pull blockFunc[T, S]) dense.Matrix[T] {
	if err := f.CanBackward(); err != nil {
		panic(err.Error())
	}
	checkGradient(name, x, g, f.in, f.out)
	return f.run(dense.Ensure(dst, x.Rows, f.in), x, g, pull)
}

func (f *through[T, S]) has() (logarithms, derivatives, both bool) {
	return f.logTransform != nil, f.pull != nil, f.logPull != nil
}

func (f *through[T, S]) link(keys Map[T], recipe any) { f.keys, f.recipe = keys, recipe }

type complete[T dense.Float] interface {
	always[T]
	withLogarithms[T]
	withDerivatives[T]
	LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T]

	// has reports which of LogTransform, Backward and LogBackward the map has.
	has() (logarithms, derivatives, both bool)
	// link sets the partner of the map, and what Write stores.
	link(keys Map[T], recipe any)
}

type always[T dense.Float] interface {
	residual.HasResidual[T]
	Paired[T]
	fmt.Stringer
	mse.Lawful
	registry.Made
}

type withLogarithms[T dense.Float] interface {
	LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T]
}

type withDerivatives[T dense.Float] interface {
	Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T]
	CanBackward() error
}

// shown returns m with the methods that it has.
func shown[T dense.Float](m complete[T]) Map[T] {
	switch logarithms, derivatives, both := m.has(); {
	case both:
		return m
	case logarithms && derivatives:
		return struct {
			always[T]
			withLogarithms[T]
			withDerivatives[T]
		}{m, m, m}
	case logarithms:
		return struct {
			always[T]
			withLogarithms[T]
		}{m, m}
	case derivatives:
		return struct {
			always[T]
			withDerivatives[T]
		}{m, m}
	}
	return struct{ always[T] }{m}
}

// join makes key the partner of query and returns query. The map is its own partner if key is nil.
func join[T dense.Float](query, key complete[T], recipe any) Map[T] {
	q := shown(query)
	if key == nil {
		query.link(q, recipe)
		return q
	}
	k := shown(key)
	query.link(k, recipe)
	key.link(q, keysRecipe[T]{q})
	return q
}

type keysRecipe[T dense.Float] struct{ Of Map[T] }

func newKeys[T dense.Float](r keysRecipe[T]) (Map[T], error) {
	if r.Of == nil {
		return nil, fmt.Errorf("rff: keys of no map")
	}
	return Keys(r.Of), nil
}

// same reports whether a and b are one map. A user's map may be of a type that cannot be compared.
func same[T dense.Float](a, b Map[T]) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

func lawOf[T dense.Float](m Map[T]) mse.Law {
	if l, ok := m.(mse.Lawful); ok {
		return l.Law()
	}
	return mse.Law{}
}
