package layer_test

import (
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// source returns the source of a test with this seed.
func source(seed uint64) rand.Source { return exprand.NewSource(seed) }

// must returns v, and panics if there is an error.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// frequencies returns m Gram–Schmidt frequencies of R^d.
func frequencies[T dense.Float](m, d int) orf.Projection[T] {
	return must(orf.Draw[T](orf.GramSchmidt{}, m, d, source(1)))
}

// positive returns softmax features with m positive features of R^d.
func positive[T dense.Float](m, d int) rff.Map[T] {
	return must(rff.SoftmaxPositive(frequencies[T](m, d), 1))
}

// linear returns linear attention with the features of phi.
func linear[T dense.Float](phi rff.Map[T], opts performer.LinearOptions) *performer.Linear[T] {
	return must(performer.NewLinear(phi, opts))
}

// batch returns attention of so many heads.
func batch[T dense.Float](heads, keyHeads int, forms ...performer.Form[T]) *performer.Batch[T] {
	return must(performer.NewBatch(heads, keyHeads, forms...))
}

// exactBatch returns exact attention of so many heads.
func exactBatch[T dense.Float](heads, keyHeads int) *performer.Batch[T] {
	return batch[T](heads, keyHeads, performer.Exact[T]{})
}

// everyForm returns linear and exact attention, normalised or not, causal or not, with positive
// features and elu+1.
func everyForm[T dense.Float](d int) []performer.Form[T] {
	var all []performer.Form[T]
	for _, causal := range []bool{false, true} {
		for _, unnormalised := range []bool{false, true} {
			o := performer.LinearOptions{Causal: causal, Unnormalised: unnormalised}
			all = append(all, linear(positive[T](32, d), o),
				performer.Exact[T]{Causal: causal, Unnormalised: unnormalised})
		}
		all = append(all, linear[T](must(rff.ELU[T](d)), performer.LinearOptions{Causal: causal}))
	}
	return all
}

// underived returns a map of R^d without derivatives.
func underived[T dense.Float](d int) rff.Map[T] { return opaque[T]{must(rff.Identity[T](d))} }

type opaque[T dense.Float] struct{ rff.Map[T] }

// fill sets all elements of x to v.
func fill[T dense.Float](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// isZero reports whether all elements of x are zero.
func isZero[T dense.Float](x []T) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}
