package rff_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// benchmarkSketches are the maps of dot-product, χ² and generalised kernels.
func benchmarkSketches[T dense.Float](b *testing.B, typ string) {
	for _, degree := range []int{1, 2, 4} {
		k := kernels.Polynomial{Degree: degree}
		for _, l := range []struct {
			name string
			law  rff.WeightLaw
		}{{"rademacher", rff.RademacherWeights}, {"complex", rff.ComplexRademacherWeights}} {
			measure(b, fmt.Sprintf("polynomial%d", degree), l.name, typ, small, 1, func(m, d int, src rand.Source) (rff.Map[T], error) {
				return rff.PolynomialSketch[T](m, d, k, l.law, src)
			})
		}
		measure(b, fmt.Sprintf("tensorsketch%d", degree), "none", typ, small, 1, func(m, d int, src rand.Source) (rff.Map[T], error) {
			return rff.TensorSketch[T](m, d, k, src)
		})
	}
	series := kernels.Maclaurin{Coefficients: []float64{1, 1, 0.5, 1. / 6, 1. / 24, 1. / 120}}
	measure(b, "maclaurin", "rademacher", typ, small, 1, func(m, d int, src rand.Source) (rff.Map[T], error) {
		return rff.Maclaurin[T](m, d, series, rff.GeometricDegrees(series), rff.RademacherWeights, src)
	})
	for _, f := range []struct {
		name string
		f    kernels.Nonlinearity
	}{{"relu", kernels.ReLU}, {"square", kernels.Square}, {"exponential", kernels.Exponential}} {
		measure(b, "generalised-"+f.name, "iid", typ, small, 1, func(m, d int, src rand.Source) (rff.Map[T], error) {
			w, err := orf.Draw[T](orf.IID{}, m, d, src)
			require.NoError(b, err)
			return rff.Generalised(w, kernels.Generalised{F: f.f})
		})
	}
	x := histograms[T](1, small.n, small.d)
	measureAt(b, x, "skewedchisquare", "sech", typ, small, 1, func(m, d int, src rand.Source) (rff.Map[T], error) {
		return rff.SkewedChiSquare[T](m, d, 1, src)
	})
	measureAt(b, x, "additivechisquare", "none", typ, shape{10000, 64, 192}, 3, func(_, d int, _ rand.Source) (rff.Map[T], error) {
		return rff.AdditiveChiSquare[T](d, 2, 0)
	})
}
