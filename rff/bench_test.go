package rff_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
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
		"gaussian hyperbolic": "gaussianhyperbolic", "gaussian optimal": "gaussianoptimal",
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
	measureAt(b, points[T](1, s.n, s.d, 0.1), name, projection, typ, s, per, draw)
}

// measureAt is measure at points x.
func measureAt[T dense.Float](b *testing.B, x dense.Matrix[T], name, projection, typ string, s shape, per int, draw func(m, d int, src rand.Source) (rff.Map[T], error)) {
	b.Run(fmt.Sprintf("map=%s/projection=%s/type=%s/n=%d/d=%d/D=%d", name, projection, typ, s.n, s.d, s.D), func(b *testing.B) {
		f, err := draw(s.D/per, s.d, exprand.NewSource(1))
		require.NoError(b, err)
		dst := dense.New[T](s.n, s.D)
		b.ReportAllocs()
		b.SetBytes(int64(len(x.Data)+len(dst.Data)) * int64(unitSize[T]()))
		for b.Loop() {
			f.Transform(dst, x)
		}
		b.ReportMetric(1e-6*float64(s.n*s.D)*float64(b.N)/b.Elapsed().Seconds(), "Mfeatures/s")
	})
}

// unitSize returns the number of bytes of a T.
func unitSize[T dense.Float]() int {
	if densetest.Roundoff[T]() == 0x1p-24 {
		return 4
	}
	return 8
}
