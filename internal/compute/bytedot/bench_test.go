package bytedot

import (
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// BenchmarkSteps times the steps of a tile.
func BenchmarkSteps(b *testing.B) {
	const keys, d, queries = 256, 64, 64
	r := rand.New(rand.NewPCG(1, 1))
	q, k, v := normals(r, queries, d), normals(r, keys, d), normals(r, keys, d)
	var scores, sums scratch.Buffer[float32]
	scores.Shape(keys, queries)
	sums.Shape(d, queries)
	y, out := scores.Rows(keys), sums.Rows(d)
	var qs, w Columns
	var ks, vs Rows
	QuantiseColumns(&qs, q, nil)
	QuantiseRows(&ks, k, nil)
	QuantiseTransposed(&vs, v)
	peaks, factors, totals := make([]float32, queries), make([]float32, queries), make([]int32, queries)
	for i := range factors {
		factors[i] = 300 * qs.Scales[i]
	}
	Scores(y, peaks, &ks, &qs, factors)
	Weigh(&w, keys, queries, totals, y, peaks)
	for _, step := range []struct {
		name string
		f    func()
	}{
		{"Scores", func() { Scores(y, peaks, &ks, &qs, factors) }},
		{"Peaks", func() { Peaks(peaks, y) }},
		{"Weigh", func() { Weigh(&w, keys, queries, totals, y, peaks) }},
		{"Add", func() { Add(out, factors, factors, &vs, &w) }},
		{"QuantiseRows", func() { QuantiseRows(&ks, k, nil) }},
		{"QuantiseColumns", func() { QuantiseColumns(&qs, q, nil) }},
		{"QuantiseTransposed", func() { QuantiseTransposed(&vs, v) }},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				step.f()
			}
		})
	}
}

func normals(r *rand.Rand, rows, cols int) dense.Matrix[float32] {
	m := dense.New[float32](rows, cols)
	for i := range m.Data {
		m.Data[i] = float32(r.NormFloat64())
	}
	return m
}
