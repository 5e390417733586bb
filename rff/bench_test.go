package rff_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// shape is a problem of n points of R^d with D features.
type shape struct{ n, d, D int }

var (
	small = shape{10000, 64, 1024}
	large = shape{10000, 784, 4096}
	broad = shape{1000, 4096, 8192}
)

func BenchmarkTransform(b *testing.B) {
	benchmarkTransform[float32](b, "float32")
	benchmarkTransform[float64](b, "float64")
}

func benchmarkTransform[T dense.Float](b *testing.B, typ string) {
	gaussian := func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
		return rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	}
	for _, p := range []struct {
		name     string
		ensemble orf.Ensemble
		sizes    []shape
	}{
		{"iid", orf.IID{}, []shape{small, large, broad}},
		{"orf", orf.GramSchmidt{}, []shape{small, large}},
		{"hadamard", orf.Hadamard{}, []shape{small, large, broad}},
		{"givens", orf.Givens{}, []shape{small, large}},
	} {
		for _, s := range p.sizes {
			measure(b, "gaussian", p.name, typ, s, 2, func(m, d int, src rand.Source) (rff.Map[T], error) {
				w, err := orf.Draw[T](p.ensemble, m, d, src)
				if err != nil {
					return nil, err
				}
				return gaussian(w, src)
			})
		}
	}
	names := map[string]string{
		"laplacian": "laplacian", "softmax trig": "trig", "softmax positive": "positive",
		"softmax hyperbolic": "hyperbolic", "softmax optimal": "optimal",
		"SADERF": "saderf", "ADERF": "aderf", "SDERF": "sderf",
		"dot product": "dotproduct", "angular": "angular", "arc-cosine": "arccosine",
	}
	for _, r := range randomMaps[T]() {
		if name, ok := names[r.name]; ok {
			measure(b, name, "iid", typ, small, r.per, r.draw)
		}
	}
	measure(b, "elu", "none", typ, shape{10000, 64, 64}, 1, func(_, d int, _ rand.Source) (rff.Map[T], error) { return rff.Draw[T](rff.ELU{D: d}, nil) })
	measure(b, "quadratic", "none", typ, shape{10000, 64, 2080}, 1, func(_, d int, _ rand.Source) (rff.Map[T], error) { return rff.Draw[T](rff.Quadratic{D: d}, nil) })
}

// measure runs the map that draw makes with D/per frequencies, rounded down.
func measure[T dense.Float](b *testing.B, name, projection, typ string, s shape, per int, draw func(m, d int, src rand.Source) (rff.Map[T], error)) {
	s.D -= s.D % per
	b.Run(fmt.Sprintf("map=%s/projection=%s/type=%s/n=%d/d=%d/D=%d", name, projection, typ, s.n, s.d, s.D), func(b *testing.B) {
		throughput(b, must.Have(draw(s.D/per, s.d, exprand.NewSource(1))), points[T](1, s.n, s.d, 0.1))
	})
}

// throughput runs f on x.
func throughput[T dense.Float](b *testing.B, f rff.Map[T], x dense.Matrix[T]) {
	_, out := f.Dims()
	dst := dense.New[T](x.Rows, out)
	b.ReportAllocs()
	b.SetBytes(int64(len(x.Data)+len(dst.Data)) * int64(simd.Size[T]()))
	for b.Loop() {
		f.Transform(dst, x)
	}
	b.ReportMetric(1e-6*float64(len(dst.Data))*float64(b.N)/b.Elapsed().Seconds(), "Mfeatures/s")
}

func BenchmarkNystroem(b *testing.B) {
	b.Run("type=float32", benchmarkNystroem[float32])
	b.Run("type=float64", benchmarkNystroem[float64])
}

func benchmarkNystroem[T dense.Float](b *testing.B) {
	const n, d = 10000, 64
	x := points[T](1, n, d, 0.1)
	for _, D := range []int{512, 1024, 2000} {
		var f rff.Map[T]
		b.Run(fmt.Sprintf("landmarks/d=%d/D=%d", d, D), func(b *testing.B) {
			for b.Loop() {
				f = must.Have(rff.Nystroem(kernels.Gaussian{LengthScale: 2}, x.RowRange(0, D)))
			}
		})
		b.Run(fmt.Sprintf("rows/n=%d/d=%d/D=%d", n, d, D), func(b *testing.B) { throughput(b, f, x) })
	}
}
