package bytedot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// BenchmarkTile adds 256 keys and values to the sums of some queries, in 8 bits and in float32.
func BenchmarkTile(b *testing.B) {
	const keys, d = 256, 64
	for _, queries := range []int{64, 256} {
		r := rand.New(rand.NewPCG(1, 1))
		q, k, v := normals(r, queries, d), normals(r, keys, d), normals(r, keys, d)
		var scores, sums scratch.Buffer[float32]
		scores.Shape(keys, queries)
		y := scores.Rows(keys)
		report := func(b *testing.B) {
			b.ReportMetric(float64(2*keys*queries*d)*float64(b.N)/1e9/b.Elapsed().Seconds(), "GMadd/s")
		}
		b.Run(fmt.Sprintf("bits=8/queries=%d", queries), func(b *testing.B) {
			b.ReportAllocs()
			var qs, w Columns
			var ks, vs Rows
			QuantiseColumns(&qs, q, nil)
			QuantiseRows(&ks, k, nil)
			QuantiseTransposed(&vs, v)
			sums.Shape(d, queries)
			out := sums.Rows(d)
			peaks, factors := make([]float32, queries), make([]float32, queries)
			ones := make([]float32, queries)
			totals := make([]int32, queries)
			for i := range factors {
				factors[i] = qs.Scales[i] * Octave * math.Log2E / 8
				ones[i] = 0.5
			}
			for b.Loop() {
				for i := range peaks {
					peaks[i] = float32(math.Inf(-1))
				}
				Scores(y, peaks, &ks, &qs, factors)
				Weigh(&w, keys, queries, totals, y, peaks)
				Add(out, ones, ones, &vs, &w)
			}
			report(b)
		})
		b.Run(fmt.Sprintf("bits=32/queries=%d", queries), func(b *testing.B) {
			var qs matmul.Packed[float32]
			matmul.PackT(&qs, q)
			sums.Shape(queries, d)
			out := sums.Rows(queries)
			peaks, totals, zeros := make([]float32, queries), make([]float32, queries), make([]float32, queries)
			for b.Loop() {
				for i := range peaks {
					peaks[i] = float32(math.Inf(-1))
				}
				matmul.MulPacked(1.0/8, k, &qs, 0, y, nil)
				vecmath.PeakRows(peaks, y.Data, y.Stride, y.Rows)
				vecmath.ExpRows(y.Data, y.Stride, y.Rows, peaks, zeros, totals)
				matmul.TMul(1, y, v, 1, out)
			}
			report(b)
		})
	}
}

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
