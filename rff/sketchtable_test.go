package rff_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// errorsAt returns the mean error of estimates of k(x, x), over the rows of x, of each of
// so many maps of independent draws, in parallel but in order.
func errorsAt(t testing.TB, x dense.Matrix[float32], draws int, seed uint64, draw func(src rand.Source) (rff.Map[float32], error)) []float64 {
	const shares = 16
	all := make([]float64, draws)
	faults := make([]error, shares)
	first, err := draw(rand.NewPCG(seed, shares))
	require.NoError(t, err)
	truth := make([]float64, x.Rows)
	for r := range truth {
		point := float64s(x.Row(r))
		truth[r] = first.Kernel().Eval(point, point)
	}
	parallel.Pieces(shares, func(i int) {
		src := rand.NewPCG(seed, uint64(i))
		var features dense.Matrix[float32]
		var phi dense.Matrix[float64]
		for j := parallel.Share(draws, shares, i); j < parallel.Share(draws, shares, i+1); j++ {
			f, err := draw(src)
			if err != nil {
				faults[i] = err
				return
			}
			features = f.Transform(features, x)
			phi = dense.Copy(phi, features)
			for r, want := range truth {
				all[j] += math.Abs(floats.Dot(phi.Row(r), phi.Row(r))-want) / float64(x.Rows)
			}
		}
	})
	for _, err := range faults {
		require.NoError(t, err)
	}
	return all
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// The mean error of estimates of (xᵀx)^p = 1 from 128 features in R^64, against reference figures
// for the two real laws at x = (1, …, 1)/8. Signs of coordinates do not change the law of w, so
// that every row of a Hadamard matrix over 8 is such an x: projections on the 64 of them are
// independent for GaussianWeights, and uncorrelated for RademacherWeights. The standard error is
// 0.3 to 0.6 % of the mean, beside that of the figures, 1 %, and 3 % is 2.5 standard deviations of
// both. For GaussianWeights wᵀx is N(0, 1), and 60,000 draws of products of squares of normal
// numbers tell the mean within 0.3 to 0.5 %: 0.0993, 0.1954, 0.3252, 0.4822.
func TestErrorsOfSketchesAreThoseKnown(t *testing.T) {
	const m, d, draws = 128, 64, 640
	x := dense.New[float32](d, d)
	for i := range x.Data {
		x.Data[i] = 0.125
		if bits.OnesCount(uint(i/d&(i%d)))%2 == 1 {
			x.Data[i] = -0.125
		}
	}
	for law, known := range map[rff.WeightLaw][]float64{
		rff.GaussianWeights:   {0.10009, 0.19648, 0.32463, 0.47379},
		rff.RademacherWeights: {0.09896, 0.19256, 0.32456, 0.47837},
	} {
		for i, want := range known {
			k := kernels.Polynomial{Degree: i + 1}
			e := errorsAt(t, x, draws, 0, func(src rand.Source) (rff.Map[float32], error) {
				return rff.PolynomialSketch[float32](m, d, k, law, src)
			})
			mean, deviation := stat.MeanStdDev(e, nil)
			t.Logf("%v, degree %d: %.5f ± %.5f", law, k.Degree, mean, deviation/math.Sqrt(draws))
			assert.InEpsilon(t, want, mean, 0.03, "%v, degree %d", law, k.Degree)
		}
	}
	// Complex weights and tensor sketches are better from degree 2 on, by as much as their
	// laws say: √((N+s²)^p + (2s²)^p − 2) = √(2^(p+1) − 2) against √(3^p − 1).
	for degree := 2; degree <= 4; degree++ {
		k := kernels.Polynomial{Degree: degree}
		e := errorsAt(t, x, draws/4, 0, func(src rand.Source) (rff.Map[float32], error) {
			return rff.TensorSketch[float32](m, d, k, src)
		})
		mean, deviation := stat.MeanStdDev(e, nil)
		t.Logf("TensorSketch, degree %d: %.5f ± %.5f", degree, mean, deviation/math.Sqrt(draws/4))
		assert.Less(t, mean, []float64{0.9, 0.8, 0.75}[degree-2]*[]float64{0.1954, 0.3252, 0.4822}[degree-2], "degree %d", degree)
	}
}
