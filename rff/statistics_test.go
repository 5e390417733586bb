package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// pairs are three pairs of points (rows 2i and 2i+1): close, at an obtuse angle,
// and of different norms. They are near the origin so that the fourth moments of
// exponential features, on which the error bars stand, are finite in practice.
var pairs = dense.Of(6, 4, []float64{
	0.3, -0.2, 0.1, 0.15,
	0.25, -0.1, 0.2, 0.1,

	0.5, 0.1, -0.3, 0.2,
	-0.2, 0.3, 0.35, -0.1,

	0.1, 0.05, 0.1, -0.1,
	0.6, 0.2, -0.1, 0.3,
})

const (
	draws       = 15000
	frequencies = 3
	maxZ        = 4
)

// sample returns draws estimates of the kernel at every pair.
func sample(t *testing.T, xy dense.Matrix[float64], draw func() (rff.Map[float64], error)) [][]float64 {
	estimates := make([][]float64, xy.Rows/2)
	every := dense.Matrix[float64]{Rows: xy.Rows / 2, Cols: xy.Cols, Stride: 2 * xy.Stride}
	x, y := every, every
	x.Data, y.Data = xy.Data, xy.Data[xy.Stride:]
	var phi, psi dense.Matrix[float64]
	for range draws {
		f := must.Have(draw())
		phi, psi = f.Transform(phi, x), rff.Keys(f).Transform(psi, y)
		for p := range estimates {
			estimates[p] = append(estimates[p], floats.Dot(phi.Row(p), psi.Row(p)))
		}
	}
	return estimates
}

// zOf returns how many of its standard errors the mean of v is from truth.
func zOf(v []float64, truth float64) float64 {
	mean, deviation := stat.MeanStdDev(v, nil)
	return (mean - truth) / (deviation / math.Sqrt(float64(len(v))))
}

// squaredErrors returns (v−truth)².
func squaredErrors(v []float64, truth float64) []float64 {
	e := make([]float64, len(v))
	for i, u := range v {
		e[i] = (u - truth) * (u - truth)
	}
	return e
}

// law returns the mean squared error of the estimate from one independent
// frequency, NaN where none is known in closed form.
func law(name string, k kernels.Kernel, x, y []float64) float64 {
	truth := k.Eval(x, y)
	dot, xx, yy := floats.Dot(x, y), floats.Dot(x, x), floats.Dot(y, y)
	p, q := scaleOf*(xx+yy+2*dot), xx+yy-2*dot
	theta := math.Acos(dot / math.Sqrt(xx*yy))
	switch k := k.(type) {
	case kernels.DotProduct:
		return dot*dot + xx*yy
	case kernels.Gaussian:
		l2 := k.LengthScale * k.LengthScale
		q /= l2
		near := (xx + yy + 2*dot) / l2
		switch name {
		case "gaussian positive":
			return truth * truth * math.Expm1(near)
		case "gaussian hyperbolic":
			return truth * truth * math.Expm1(near) * -math.Expm1(-near) / 2
		case "gaussian optimal":
			b, c, d := 1-4*damping, 1-8*damping, float64(len(x))
			return math.Pow(b, d)*math.Pow(c, -d/2)*math.Exp(2*b*near/c-2*(xx+yy)/l2) - truth*truth
		}
		if name == "gaussian phase" {
			return 1 + math.Exp(-2*q)/2 - math.Exp(-q)
		}
		return math.Pow(1-math.Exp(-q), 2) / 2
	case kernels.Laplacian, kernels.Matern:
		twice := func(v []float64) []float64 { return floats.ScaleTo(make([]float64, len(v)), 2, v) }
		return (1 + k.Eval(twice(x), twice(y)) - 2*truth*truth) / 2
	case kernels.Softmax:
		switch name {
		case "softmax trig":
			return math.Exp(p) / (truth * truth) * math.Pow(1-math.Exp(-scaleOf*q), 2) / 2
		case "softmax positive":
			return truth * truth * math.Exp(p) * (1 - math.Exp(-p))
		case "softmax optimal":
			b, c, d := 1-4*damping, 1-8*damping, float64(len(x))
			return math.Pow(b, d)*math.Pow(c, -d/2)*math.Exp(2*b*p/c-scaleOf*(xx+yy)) - truth*truth
		case "SADERF", "ADERF", "SDERF":
			return math.NaN() // the fit comes in: see package validate
		}
		return (1 - math.Exp(-p)) / 2 * truth * truth * math.Exp(p) * (1 - math.Exp(-p))
	case kernels.Angular:
		return 4 * theta * (math.Pi - theta) / (math.Pi * math.Pi)
	case kernels.ArcCosine:
		switch k.Order {
		case 0:
			return truth * (2 - truth)
		case 1:
			sin, cos := math.Sincos(theta)
			return 2*xx*yy*(3*sin*cos+(math.Pi-theta)*(1+2*cos*cos))/math.Pi - truth*truth
		}
	}
	return math.NaN()
}

// A right map fails one of these 120 comparisons with a probability below
// 120·6.4e-5 = 0.8 %; the seeds are fixed.
func TestMeanAndVarianceFollowTheLaws(t *testing.T) {
	for i, r := range randomMaps[float64]() {
		t.Run(r.name, func(t *testing.T) {
			src := exprand.NewSource(uint64(100 + i))
			estimates := sample(t, pairs, func() (rff.Map[float64], error) { return r.draw(frequencies, pairs.Cols, src) })
			for p, v := range estimates {
				x, y := pairs.Row(2*p), pairs.Row(2*p+1)
				truth := r.kernel.Eval(x, y)
				assert.Less(t, math.Abs(zOf(v, truth)), float64(maxZ), "mean, pair %d", p)
				want := law(r.name, r.kernel, x, y) / frequencies
				if !math.IsNaN(want) {
					assert.Less(t, math.Abs(zOf(squaredErrors(v, truth), want)), float64(maxZ), "variance, pair %d: want %v", p, want)
				}
			}
		})
	}
}

// The tests above would be worth nothing if they passed on these.
func TestPlantedFaultsAreCaught(t *testing.T) {
	x := []float64{0.9, -0.6, 0.3, 0.7}
	opposite := dense.New[float64](2, 4)
	for j, v := range x {
		opposite.Row(0)[j], opposite.Row(1)[j] = v, -v
	}
	truth := kernels.Softmax{}.Eval(opposite.Row(0), opposite.Row(1))

	t.Run("epsilon in positive features", func(t *testing.T) {
		src := exprand.NewSource(1)
		estimates := sample(t, opposite, func() (rff.Map[float64], error) {
			f, err := iid(t, frequencies, 4, src, rff.SoftmaxPositive{Scale: 1})
			return raised{f, 1e-4 / math.Sqrt(frequencies)}, err
		})
		assert.Greater(t, zOf(estimates[0], truth), float64(maxZ))
	})
	t.Run("fixed lengths", func(t *testing.T) {
		src := exprand.NewSource(2)
		estimates := sample(t, opposite, func() (rff.Map[float64], error) {
			w := must.Have(orf.Draw[float64](orf.IID{FixedLength: true}, frequencies, 4, src))
			return rff.Draw(rff.Gaussian{LengthScale: 1.5}, w)
		})
		k := kernels.Gaussian{LengthScale: 1.5}
		assert.Greater(t, math.Abs(zOf(estimates[0], k.Eval(opposite.Row(0), opposite.Row(1)))), float64(maxZ))
	})
	t.Run("one phase for all frequencies", func(t *testing.T) {
		src := exprand.NewSource(3)
		estimates := sample(t, pairs, func() (rff.Map[float64], error) {
			w := must.Have(orf.Draw[float64](orf.IID{}, frequencies, 4, src))
			phase := 2 * math.Pi * rand.New(src).Float64()
			return newMap(w, nil, func(t float64) float64 { return math.Sqrt2 * math.Cos(t+phase) }), nil
		})
		k := kernels.Gaussian{LengthScale: 1}
		x, y := pairs.Row(0), pairs.Row(1)
		truth := k.Eval(x, y)
		assert.Less(t, math.Abs(zOf(estimates[0], truth)), float64(maxZ), "the mean does not show it")
		want := law("gaussian phase", k, x, y) / frequencies
		assert.Greater(t, zOf(squaredErrors(estimates[0], truth), want), float64(maxZ))
	})
}

// raised adds to every feature of a map.
type raised struct {
	rff.Map[float64]
	by float64
}

func (f raised) Transform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	dst = f.Map.Transform(dst, x)
	floats.AddConst(f.by, dst.Data)
	return dst
}

func iid(t *testing.T, m, d int, src rand.Source, s rff.Spec) (rff.Map[float64], error) {
	w := must.Have(orf.Draw[float64](orf.IID{}, m, d, src))
	return rff.Draw(s, w)
}
