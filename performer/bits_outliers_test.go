package performer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// A few keys or values much larger than the others, with weights of nearly zero, leave the errors
// of rounding to bits as they are without them, whatever their size is. So do large keys that all
// queries are orthogonal to, except in a State, which has nothing but codes of a key.
func TestBitsOfOutliers(t *testing.T) {
	densetest.Both(t, testBitsOfOutliers[float32], testBitsOfOutliers[float64])
}

func testBitsOfOutliers[T dense.Float](t *testing.T) {
	const n, d, dv = 600, 16, 8
	none := dense.Matrix[T]{}
	cases := 0
	for _, c := range []struct {
		name     string
		rounded  performer.Attention[T]
		state    bool
		truth    performer.ExactOptions
		relative float64 // a bound of the error without outliers
	}{
		{"exact", must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8})), false, performer.ExactOptions{}, 0.03},
		{"causal", must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Bits: 8})), false, performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, 0.03},
		{"a window", must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8, Window: 300, Sinks: 2})), false, performer.ExactOptions{Window: 300, Sinks: 2}, 0.03},
		{"a state of 8 bits", must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8})), true, performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, 0.03},
		{"a state of 4 bits", must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 4})), true, performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, 0.3},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		q, k, v := densetest.Normal[T](rng, n, d, 0, 1.5), densetest.Normal[T](rng, n, d, 0, 1.5), densetest.Normal[T](rng, n, dv, 0, 1)
		for i := range n {
			q.Row(i)[0] = 5 // a key with a large negative coordinate 0 has no weight
			q.Row(i)[1] = 0 // and one with a large coordinate 1 the weight of other keys
			k.Row(i)[1] = 0
		}
		truth := must.Have(performer.NewExact[T](c.truth))
		off := func(k, v dense.Matrix[T]) float64 {
			if c.state {
				s := must.Have(c.rounded.(streaming[T]).NewState(d, dv))
				return offBy(s.Step(none, q, k, v), truth.Forward(none, q, k, v))
			}
			return offBy(c.rounded.Forward(none, q, k, v), truth.Forward(none, q, k, v))
		}
		without := off(k, v)
		assert.Less(t, without, c.relative, c.name)
		for _, size := range []float64{10, 100, 1e3, 1e5, 1e9} {
			for _, places := range [][]int{{3}, {300}, {1, 70, 257, 330, 500}} {
				if cases++; cases%2 != parity[T]() {
					continue // the other type has it
				}
				unwanted, orthogonal, values, elements := k.Clone(), k.Clone(), v.Clone(), v.Clone()
				for _, i := range places {
					unwanted.Row(i)[0] = T(-10 * size)
					orthogonal.Row(i)[1] = T(size)
					elements.Row(i)[2] = T(10 * size)
					for j := range dv {
						values.Row(i)[j] *= T(size)
					}
				}
				most := 1.3*without + 0.002
				assert.Less(t, off(unwanted, v), most, "%s, keys of %g at %v", c.name, size, places)
				assert.Less(t, off(unwanted, values), most, "%s, keys and values of %g at %v", c.name, size, places)
				assert.Less(t, off(unwanted, elements), most, "%s, keys and an element of values of %g at %v", c.name, size, places)
				if !c.state && size <= 1e5 {
					assert.Less(t, off(orthogonal, v), most, "%s, orthogonal keys of %g at %v", c.name, size, places)
				}
			}
		}
	}
}
