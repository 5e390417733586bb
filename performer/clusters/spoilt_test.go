package clusters_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// errorOf returns the error.
func errorOf(bits int, opts clusters.Options, q, k, v dense.Matrix[float32]) float64 {
	var none dense.Matrix[float32]
	opts.EightBits = bits == 8
	f := must.Have(clusters.New[float32](opts, rand.NewPCG(5, 6)))
	return relative(f.Forward(none, q, k, v), must.Have(performer.NewExact[float32](performer.ExactOptions{})).Forward(none, q, k, v))
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
			without := errorOf(bits, opts, q, k, v)
			k.Row(c.token)[d-1] = c.far
			with := errorOf(bits, opts, q, k, v)
			var none dense.Matrix[float32]
			want := must.Have(performer.NewExact[float32](performer.ExactOptions{})).Forward(none, q, k, v)
			exact := relative(must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits})).Forward(none, q, k, v), want)
			t.Logf("%s, %d bits: %.4f without the key, %.4f with it, exact attention %.4f", c.name, bits, without, with, exact)
			assert.Less(t, with, 1.3*without+0.002+exact, "%s, %d bits", c.name, bits)
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
		assert.Less(t, errorOf(bits, clusters.Options{Clusters: 16}, q, k, v), 0.05, "a key 40 times as long, %d bits", bits)
	}
	for i := range v.Data {
		v.Data[i] = 1e37 * float32(rng.NormFloat64())
	}
	q, k, _ = tokens[float32](2000, 8, 3, 1e4, 7)
	assert.Less(t, errorOf(0, clusters.Options{}, q, k, v), 0.01, "norm of 10⁴")
	var none dense.Matrix[float32]
	want := must.Have(performer.NewExact[float32](performer.ExactOptions{})).Forward(none, q, k, v)
	exact := relative(must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8})).Forward(none, q, k, v), want)
	assert.Less(t, errorOf(8, clusters.Options{}, q, k, v), 1.2*exact, "norm of 10⁴, 8 bits")
}
