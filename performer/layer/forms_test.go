package layer_test

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// batch returns attention of so many heads.
func batch[T dense.Float](heads, keyHeads int, forms ...performer.Attention[T]) performer.Batch[T] {
	return must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, forms...))
}

// exactBatch returns exact attention of so many heads.
func exactBatch[T dense.Float](heads, keyHeads int) performer.Batch[T] {
	return batch[T](heads, keyHeads, must.Have(performer.NewExact[T](performer.ExactOptions{})))
}

// everyForm returns linear and exact attention, causal or not, with positive features and elu+1.
func everyForm[T dense.Float](d int) []performer.Attention[T] {
	var all []performer.Attention[T]
	for _, causal := range []bool{false, true} {
		all = append(all, must.Have(performer.NewLinear(maptest.Positive[T](32, d), performer.LinearOptions{Causal: causal})),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}})))
		all = append(all, must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Window: 3, Sinks: 2, Slope: 0.1})))
		all = append(all, must.Have(performer.NewLinear[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), performer.LinearOptions{Causal: causal})))
	}
	return all
}

// underived returns a map of R^d without derivatives.
func underived[T dense.Float](d int) rff.Map[T] {
	return opaque[T]{must.Have(rff.Draw[T](rff.Identity{D: d}, nil))}
}

type opaque[T dense.Float] struct{ rff.Map[T] }
