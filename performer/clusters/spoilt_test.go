package clusters_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// errors returns the errors without a mask and causal.
func errors(t *testing.T, bits int, opts clusters.Options, q, k, v dense.Matrix[float32]) (all [2]float64) {
	var none dense.Matrix[float32]
	for i, causal := range []bool{false, true} {
		want := must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}})).Forward(none, q, k, v)
		f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Bits: bits})), opts)
		all[i] = relative(f.Forward(none, q, k, v), want)
	}
	return all
}

// One key far from all others leaves the weights of other keys alone, whether or not queries attend
// to it: errors are those without it and those of exact attention.
func TestFarKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	n, d := 3000, 32
	words := func(norm float64) (q, k, v dense.Matrix[float32]) {
		points := densetest.Normal[float32](rng, 80, d, 0, norm/math.Sqrt(float64(d)))
		q, k, v = dense.New[float32](n, d), dense.New[float32](n, d), densetest.Normal[float32](rng, n, 8, 0, 1)
		for i := range n {
			a, b := points.Row(rng.IntN(80)), points.Row(rng.IntN(80))
			for j := range d - 1 { // none has the last coordinate
				k.Row(i)[j], q.Row(i)[j] = a[j]+0.3*float32(rng.NormFloat64()), b[j]+0.3*float32(rng.NormFloat64())
			}
		}
		return q, k, v
	}
	for _, c := range []struct {
		name  string
		norm  float64
		far   float32 // the last coordinate of one key
		sink  float32 // the last coordinate of all queries
		token int
	}{
		{"norm 1000, orthogonal to queries", 6, 1000, 0, 700},
		{"norm 150, orthogonal to queries", 9, 150, 0, 100},
		{"a sink of norm 20", 5, 20, 3, 0},
	} {
		q, k, v := words(c.norm)
		for i := range q.Rows {
			q.Row(i)[d-1] = c.sink
		}
		for _, bits := range []int{0, 8} {
			opts := clusters.Options{Clusters: 120} // of 80 words
			k.Row(c.token)[d-1] = 0
			without := errors(t, bits, opts, q, k, v)
			k.Row(c.token)[d-1] = c.far
			with := errors(t, bits, opts, q, k, v)
			var none dense.Matrix[float32]
			want := must.Have(performer.NewExact[float32](performer.ExactOptions{})).Forward(none, q, k, v)
			exact := relative(must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits})).Forward(none, q, k, v), want)
			t.Logf("%s, %d bits: %.4f without the key, %.4f with it, exact attention %.4f", c.name, bits, without, with, exact)
			for i := range with {
				assert.Less(t, with[i], 1.3*without[i]+0.002+exact, "%s, %d bits: %v", c.name, bits, []string{"no mask", "causal", "state"}[i])
			}
		}
	}
}

// Sums of values that overflow although their averages do not, and keys of norm 10⁴, have exact
// attention.
func TestSumsOutOfRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	q, k, v := tokens[float32](2000, 8, 3, 5, 7)
	for i := range v.Data {
		v.Data[i] *= 10
	}
	for j := range 8 {
		k.Row(900)[j] *= 40
	}
	for _, bits := range []int{0, 8} {
		for i, err := range errors(t, bits, clusters.Options{Clusters: 16}, q, k, v) {
			assert.Less(t, err, 0.05, "a key 40 times as long, %d bits, case %d", bits, i)
		}
	}
	for i := range v.Data {
		v.Data[i] = 1e37 * float32(rng.NormFloat64())
	}
	q, k, _ = tokens[float32](2000, 8, 3, 1e4, 7)
	for i, err := range errors(t, 0, clusters.Options{}, q, k, v) {
		assert.Less(t, err, 0.01, "norm of 10⁴, case %d", i)
	}
	var none dense.Matrix[float32]
	want := must.Have(performer.NewExact[float32](performer.ExactOptions{})).Forward(none, q, k, v)
	exact := relative(must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8})).Forward(none, q, k, v), want)
	for i, err := range errors(t, 8, clusters.Options{}, q, k, v) {
		assert.Less(t, err, 1.2*exact, "norm of 10⁴, 8 bits, case %d", i)
	}
}

// A query of ForwardPrefixes has the bits of the last query of causal attention over its prefix.
func TestPrefixesHaveTheBitsOfForward(t *testing.T) {
	densetest.Both(t, testPrefixBits[float32], testPrefixBits[float64])
}

func testPrefixBits[T dense.Float](t *testing.T) {
	const n = 1700
	var none dense.Matrix[T]
	for _, bits := range []int{0, 8} {
		for _, d := range []int{3, 16, 64} {
			q, k, v := tokens[T](n, d, d+1, 6, 9)
			k.Row(900)[1] = 500 // some rows are exact
			f := form(t, must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Bits: bits})), clusters.Options{Clusters: 20})
			prefixes := make([]int, 0, n)
			for i := range n {
				prefixes = append(prefixes, i*i/n)
			}
			out := f.ForwardPrefixes(none, q, k, v, prefixes)
			for i, p := range prefixes {
				if p == 0 {
					require.Zero(t, out.Row(i)[0])
					continue
				}
				if i%97 == 0 {
					queries := q.RowRange(0, p).Clone()
					copy(queries.Row(p-1), q.Row(i))
					want := f.Forward(none, queries, k.RowRange(0, p), v.RowRange(0, p))
					require.Equal(t, want.Row(p-1), out.Row(i), "%d bits, d = %d, query %d of %d keys", bits, d, i, p)
				}
			}
		}
	}
}

// NaN in a key reaches the queries that see the key, and only those.
func TestNaNInAKey(t *testing.T) {
	q, k, v := tokens[float32](2000, 8, 3, 5, 7)
	k.Row(800)[3] = float32(math.NaN())
	for _, bits := range []int{0, 8} {
		out := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Bits: bits})), clusters.Options{}).Forward(dense.Matrix[float32]{}, q, k, v)
		for i := range out.Rows {
			require.Equal(t, i >= 800, out.Row(i)[0] != out.Row(i)[0], "%d bits, query %d", bits, i)
		}
	}
}
