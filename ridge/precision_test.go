package ridge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// raised are features with a number added, rounded to T.
type raised[T dense.Float] struct {
	rff.Map[T]
	by T
}

func (r raised[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = r.Map.Transform(dst, x)
	for i := range dst.Rows {
		for j := range dst.Row(i) {
			dst.Row(i)[j] += r.by
		}
	}
	return dst
}

// slope returns rows of sin 5x₁ + x₂x₃ in the unit cube with noise of the given standard deviation,
// and the values without noise.
func slope[T dense.Float](n int, noise float64, seed uint64) (x, y, truth dense.Matrix[T]) {
	rng := rand.New(rand.NewPCG(seed, 5))
	x, y, truth = dense.New[T](n, 3), dense.New[T](n, 1), dense.New[T](n, 1)
	for i := range n {
		row := x.Row(i)
		for j := range row {
			row[j] = T(rng.Float64())
		}
		f := math.Sin(5*float64(row[0])) + float64(row[1])*float64(row[2])
		truth.Set(i, 0, T(f))
		y.Set(i, 0, T(f+noise*rng.NormFloat64()))
	}
	return x, y, truth
}

// reference is the fit of the features of few rows, whose types and rounding do not matter: they
// are numbers of float64 here. [Φᵀ; √λ·I] = QR gives K + λI = RᵀR without forming K = ΦΦᵀ, so that
// errors are some u·√(tr K/λ) and not u·tr K/λ.
type reference struct {
	noise, evidence, degrees float64
	mean                     []float64 // at z
}

func refer[T dense.Float](phi rff.Map[T], x, y, z dense.Matrix[T], ratio float64) (r reference) {
	wide := func(x dense.Matrix[T]) dense.Matrix[float64] {
		return dense.Copy(dense.Matrix[float64]{}, phi.Transform(dense.Matrix[T]{}, x))
	}
	train, test := wide(x), wide(z)
	n, d := train.Rows, train.Cols
	stack, targets, level := mat.NewDense(d+n, n, nil), mat.NewVecDense(n, nil), 0.0
	for i := range n {
		level += float64(y.At(i, 0)) / float64(n)
	}
	centre := make([]float64, d)
	for f := range d {
		for i := range n {
			centre[f] += (train.At(i, f) - train.At(0, f)) / float64(n)
		}
		centre[f] += train.At(0, f)
		for i := range n {
			stack.Set(f, i, train.At(i, f)-centre[f])
		}
	}
	for i := range n {
		stack.Set(d+i, i, math.Sqrt(ratio))
		targets.SetVec(i, float64(y.At(i, 0))-level)
	}
	var qr mat.QR
	qr.Factorize(stack)
	var upper mat.Dense
	qr.RTo(&upper)
	tri := mat.NewTriDense(n, mat.Upper, nil)
	size := 0.0
	for i := range n {
		for j := i; j < n; j++ {
			tri.SetTri(i, j, upper.At(i, j))
		}
		size += 2*math.Log(math.Abs(tri.At(i, i))) - math.Log(ratio)
	}
	var half, alpha mat.VecDense
	if err := half.SolveVec(tri.T(), targets); err != nil {
		panic(err)
	}
	if err := alpha.SolveVec(tri, &half); err != nil {
		panic(err)
	}
	rest := ratio * mat.Dot(&half, &half)
	rows := float64(n - 1)
	r.noise = rest / rows
	r.evidence = -0.5 * (rows + size + rows*math.Log(2*math.Pi*r.noise) + math.Log(float64(n)))
	var inverse mat.TriDense
	if err := inverse.InverseTri(tri); err != nil {
		panic(err)
	}
	norm := mat.Norm(&inverse, 2)
	r.degrees = float64(n) - ratio*norm*norm + 1
	for i := range test.Rows {
		sum := level
		for f := range d {
			w := 0.0
			for l := range n {
				w += stack.At(f, l) * alpha.AtVec(l)
			}
			sum += (test.At(i, f) - centre[f]) * w
		}
		r.mean = append(r.mean, sum)
		if i == 5 {
			break
		}
	}
	return r
}

// Fits of features with means up to a million, more features than rows, and noise far below what
// can be seen are either those of the reference for the same rounded features, or an error. λ is at
// least 2¹⁰ times the rounding of the sums, so that means are right to 2⁻¹⁰ of the targets, and
// chosen noise is at least 2¹⁰·u·n·yᵀy/(n − 1), whose rounding of some 10·u·yᵀy changes the
// evidence by 5/2¹⁰.
func TestPrecision(t *testing.T) { densetest.Both(t, testPrecision[float32], testPrecision[float64]) }

func testPrecision[T dense.Float](t *testing.T) {
	const n = 250
	z, _, truth := slope[T](200, 0, 2)
	failed := 0
	for _, noise := range []float64{0.1, 1e-6} {
		x, y, _ := slope[T](n, noise, 1)
		for _, m := range []int{64, 256} {
			for _, by := range []T{0, 10, 2000, 1e6} {
				phi := raised[T]{gaussian[T](t, m, 3, 1.3, 1), by}
				name := fmt.Sprintf("noise %-5.0e m %-4d mean %-5.0g", noise, m, float64(by))
				model, err := ridge.Fit[T](t.Context(), phi, ridge.Block[T]{X: x, Y: y}, ridge.Options{})
				if err != nil {
					failed++
					continue
				}
				ratio := model.Noise()[0] / model.Prior()[0]
				want := refer[T](phi, x, y, z.RowRange(0, 6), ratio)
				mean, far := model.Mean(dense.Matrix[T]{}, z), 0.0
				for i, v := range want.mean {
					far = math.Max(far, math.Abs(v-float64(mean.At(i, 0))))
				}
				assert.InEpsilon(t, want.noise, model.Noise()[0], 0x1p-10, name)
				assert.InDelta(t, want.evidence, model.LogEvidence(), 0.01, name)
				assert.InDelta(t, want.degrees, model.DegreesOfFreedom(), 0.01, name)
				assert.Less(t, far, 0x1p-10*0.7, "%s: the targets have the standard deviation 0.7", name)
				if noise == 0.1 && by < 1e6 {
					assert.Less(t, far, 1e-6, name)
					assert.Less(t, rmse(mean, truth), 0.07, name)
				}
			}
		}
	}
	assert.LessOrEqual(t, failed, 2, "features of float32 that do not vary")
}

// What the sums cannot tell is an error.
func TestFitsWithoutDigits(t *testing.T) {
	x, y, _ := slope[float64](60, 0.1, 1)
	phi := gaussian[float64](t, 100, 3, 1, 1)
	_, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{Noise: 1e-12, Prior: 1})
	assert.ErrorContains(t, err, "ridge: Noise/Prior = 1e-12, want more than ")
	for _, scale := range []float64{1e-160, 1e160} {
		scaled := y.Clone()
		for i := range scaled.Data {
			scaled.Data[i] *= scale
		}
		_, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: scaled}, ridge.Options{})
		assert.ErrorContains(t, err, "ridge: the sum of squares of output 0 is ")
		assert.ErrorContains(t, err, "scale the targets")
	}
	scaled := y.Clone()
	for i := range scaled.Data {
		scaled.Data[i] *= 0x1p400
	}
	want := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{}))
	got := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: scaled}, ridge.Options{}))
	assert.InEpsilon(t, want.Noise()[0], 0x1p-800*got.Noise()[0], 1e-9)
	small := must.Have(rff.Draw[float64](rff.Identity{D: 3}, nil))
	tiny := x.Clone()
	for i := range tiny.Data {
		tiny.Data[i] *= 1e-160
	}
	_, err = ridge.Fit[float64](t.Context(), small, ridge.Block[float64]{X: tiny, Y: y}, ridge.Options{})
	assert.ErrorContains(t, err, "scale the features")
}
