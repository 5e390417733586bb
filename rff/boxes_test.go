package rff_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// boxKernel has so many normal thresholds for each of d coordinates. Their weights differ, and
// every fifth weight is 0.
func boxKernel(d, thresholds int) kernels.Boxes {
	k := kernels.Boxes{Thresholds: points[float64](31, d, thresholds, 1), Weights: points[float64](32, d, thresholds, 1)}
	for j := range d {
		slices.Sort(k.Thresholds.Row(j))
	}
	for i, w := range k.Weights.Data {
		k.Weights.Data[i] = w * w
		if i%5 == 2 {
			k.Weights.Data[i] = 0
		}
	}
	return k
}

// The mean and the mean squared error of estimates over draws are the kernel and the law. A right
// map fails one of these 32 comparisons with a probability below 1e-6: means of 4000 values are
// nearly normal, and each is beyond 6 standard errors with a probability of 2e-9.
func TestLawOfBoxes(t *testing.T) {
	const d, draws = 3, 4000
	k := boxKernel(d, 40)
	x := points[float64](33, 8, d, 0.8)
	copy(x.Row(1), x.Row(0))
	x.Row(1)[1] += 0.05 // a pair with few thresholds between
	for _, features := range []int{4, 5, 24, 150} {
		var values, errors [4][]float64
		var law mse.Errors
		src := densetest.Source(uint64(features))
		for range draws {
			m := must.Have(rff.Draw[float64](rff.Boxes{K: k, Features: features, Src: src}, nil))
			law, _ = m.(mse.Lawful).Law().Errors()
			phi := m.Transform(dense.Matrix[float64]{}, x)
			for p := range values {
				dot, truth := 0.0, k.Eval(x.Row(2*p), x.Row(2*p+1))
				for i, v := range phi.Row(2 * p) {
					dot += v * phi.At(2*p+1, i)
				}
				values[p] = append(values[p], dot-truth)
				errors[p] = append(errors[p], (dot-truth)*(dot-truth))
			}
		}
		for p := range values {
			for name, of := range map[string]struct {
				v     []float64
				truth float64
			}{"mean": {values[p], 0}, "error": {errors[p], law.MSE(x.Row(2*p), x.Row(2*p+1))}} {
				mean, deviation := stat.MeanStdDev(of.v, nil)
				assert.InDelta(t, of.truth, mean, 6*deviation/math.Sqrt(draws)+1e-12, "%s of pair %d with %d features", name, p, features)
			}
		}
	}
}

// The law keeps its digits where few thresholds are between x and y: a sign differs with the
// probability w, and the error of a mean of m products of q signs is nearly 4qw/m.
func TestLawOfBoxesAtClosePoints(t *testing.T) {
	const w = 1e-10
	k := kernels.Boxes{Thresholds: dense.Of(1, 50, points[float64](34, 1, 50, 1).Data), Weights: dense.New[float64](1, 50)}
	slices.Sort(k.Thresholds.Data)
	for i := range k.Weights.Data {
		k.Weights.Data[i] = 1
	}
	k.Weights.Data[20] = 49 * w
	// 1, 20 signs, 17 pairs, 3 triples
	m := must.Have(rff.Draw[float64](rff.Boxes{K: k, Features: 41, Src: densetest.Source(1)}, nil))
	x, y := k.Thresholds.Data[20:21], k.Thresholds.Data[21:22]
	assert.InEpsilon(t, 4*w/(24*24)*(11.*11/20+5.*5*2/17+1.*1*3/3), errorOf(m, x, y), 2e-6)
	assert.Zero(t, errorOf(m, x, x))
	assert.True(t, math.IsNaN(errorOf(m, x, []float64{math.Inf(1)})))
}

// Signs compare points with thresholds exactly, also where they are equal, next to each other or
// beyond the range of T.
func testSidesOfBoxes[T dense.Float](t *testing.T) {
	negative := math.Copysign(0, -1)
	for _, at := range []float64{-1e300, -1, -math.Nextafter(0.1, 1), negative, 1e-320, 0.1, 1, 1e300} {
		m := must.Have(rff.Draw[T](rff.Boxes{K: kernels.Boxes{Thresholds: dense.Of(1, 1, []float64{at}), Weights: dense.Of(1, 1, []float64{2})}, Features: 4, Src: densetest.Source(1)}, nil))
		for _, v := range []float64{negative, 0, -1, 1, math.Nextafter(1, 2), 0.1, math.Nextafter(0.1, 0), -0.1, 1e30, -1e30, 1e-40, math.MaxFloat32} {
			x, sign := dense.Of(1, 1, []T{T(v)}), -1.0
			if float64(x.Data[0]) > at {
				sign = 1
			}
			want := []float64{math.Sqrt(7. / 24), sign * math.Sqrt(11./24), math.Sqrt(5. / 24), sign * math.Sqrt(1./24)}
			phi := dense.Copy(dense.Matrix[float64]{}, m.Transform(dense.Matrix[T]{}, x))
			assert.InDeltaSlice(t, want, phi.Data, 1e-7, fmt.Sprint(v, " ", at))
		}
	}
}

func TestSidesOfBoxes(t *testing.T) {
	densetest.Both(t, testSidesOfBoxes[float32], testSidesOfBoxes[float64])
}
