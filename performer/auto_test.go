package performer

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// Auto has the bits of one of its forms: of the exact one for short sequences and for a
// query over many keys, of the linear one for long sequences.
func TestAuto(t *testing.T) {
	densetest.Both(t, testAuto[float32], testAuto[float64])
}

func testAuto[T dense.Float](t *testing.T) {
	const d = 8
	rng := rand.New(source(210))
	for _, causal := range []bool{false, true} {
		linear, exact := attention(positive[T](16, d), Options{Causal: causal}), Exact[T]{Causal: causal}
		auto := must(NewAuto(linear, exact))
		b := must(NewBatch[T](1, 1, auto))
		for _, c := range []struct {
			queries, keys int
			want          Form[T]
		}{{10, 10, exact}, {700, 700, linear}, {1, 700, exact}, {700, 3, exact}, {0, 4, exact}, {4, 0, exact}} {
			q, k, v := densetest.Normal[T](rng, c.queries, d, 0, 1), densetest.Normal[T](rng, c.keys, d, 0, 1), densetest.Normal[T](rng, c.keys, 5, 0, 1)
			past := []int{max(c.keys-c.queries, 0)}
			want := must(NewBatch(1, 1, c.want)).ForwardSequences(dense.Matrix[T]{}, q, k, v, Sequences{Past: past})
			require.True(t, densetest.Identical(want, b.ForwardSequences(dense.Matrix[T]{}, q, k, v, Sequences{Past: past})), "batch, causal=%v, %d queries, %d keys", causal, c.queries, c.keys)
			if !causal || c.queries == c.keys {
				want := c.want.Forward(dense.Matrix[T]{}, q, k, v)
				require.True(t, densetest.Identical(want, auto.Forward(dense.Matrix[T]{}, q, k, v)), "causal=%v, %d queries, %d keys", causal, c.queries, c.keys)
			}
		}
	}
}

// Where queries and keys are as many, the choice is that of Crossover.
func TestAutoChangesAtCrossover(t *testing.T) {
	for _, causal := range []bool{false, true} {
		auto := must(NewAuto(attention(positive[float64](32, 4), Options{Causal: causal}), Exact[float64]{Causal: causal}))
		n := Crossover(Shape{Dim: 4, Values: 6, Features: 32, Projected: true, Causal: causal, ElementSize: 8})
		assert.False(t, choosesLinear(auto, n-1, n-1, 6))
		assert.True(t, choosesLinear(auto, n, n, 6))
		assert.False(t, choosesLinear(auto, 100*n, n-1, 6), "queries beyond the keys do not count")
	}
}

func TestNewAutoErrors(t *testing.T) {
	_, err := NewAuto(nil, Exact[float32]{})
	assert.EqualError(t, err, "performer: linear is nil")
	_, err = NewAuto(attention(positive[float32](4, 2), Options{Causal: true}), Exact[float32]{})
	assert.EqualError(t, err, "performer: linear has {Causal:true Unnormalised:false}, exact has {Causal:false Unnormalised:false}, want the same")
}

// choosesLinear reports whether the linear form is predicted to be faster.
func choosesLinear[T dense.Float](a *Auto[T], queries, keys, values int) bool {
	return a.faster(queries, keys, values) == maskedForm[T](a.linear)
}
