package rff_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// The same seed gives the same map in both precisions, to the rounding of
// float32: the argument a = g·wᵀx of a function has an error of at most
// (d+6)·u·g·Σ|w_j x_j|, which the function's slope magnifies.
func TestFloat32AgreesWithFloat64(t *testing.T) {
	const m, d, u = 40, 5, 0x1p-24
	narrow := randomMaps[float32]()
	x32, x64 := points[float32](1, 30, d, 0.8), points[float64](1, 30, d, 0.8)
	for i, r := range randomMaps[float64]() {
		f32 := must.Have(narrow[i].draw(m, d, exprand.NewSource(7)))
		f64 := must.Have(r.draw(m, d, exprand.NewSource(7)))
		got, want := f32.Transform(dense.Matrix[float32]{}, x32), f64.Transform(dense.Matrix[float64]{}, x64)
		w, gains := frequenciesOf(t, r.kernel, m, d, 7)
		for row := range x64.Rows {
			x := x64.Row(row)
			half := scaleOf * (kernels.DotProduct{}).Eval(x, x) / 2
			for j := range want.Cols {
				var a, size float64
				for l, v := range w.Row(j % m) {
					a += gains[j%m] * v * x[l]
					size += gains[j%m] * math.Abs(v*x[l])
				}
				phi := want.At(row, j)
				slope, norm := 1.0, 1/math.Sqrt(m)
				switch k := r.kernel.(type) {
				case kernels.Angular:
					slope = 0
				case kernels.Softmax:
					if slope = math.Abs(phi) / norm; r.name == "softmax trig" {
						slope = max(slope, math.Exp(half))
					}
					size += half + math.Log(2*m)
				case kernels.Gaussian:
					if slices.Contains(positiveMaps, r.name) {
						slope = math.Abs(phi) / norm
						size += 2*half/(scaleOf*k.LengthScale*k.LengthScale) + math.Log(2*m)
					} else {
						norm *= math.Sqrt2
						size += 2 * math.Pi // the phase, where there is one
					}
				case kernels.ArcCosine:
					norm *= math.Sqrt2
					slope = []float64{0, 1, 2 * math.Abs(a)}[k.Order]
				default:
					norm *= math.Sqrt2
				}
				moved := (d + 6) * u * size
				if slope == 0 && math.Abs(a) <= moved {
					continue // the sign may differ
				}
				tolerance := norm*slope*moved + 4*u*math.Abs(phi) + 2*norm*slope*moved*moved
				if k, ok := r.kernel.(kernels.ArcCosine); ok && k.Order == 2 {
					tolerance += norm * moved * moved
				}
				assert.InDelta(t, phi, float64(got.At(row, j)), tolerance, "%s (%d, %d)", r.name, row, j)
			}
		}
	}
}

// frequenciesOf draws again what the map of a kernel draws: the rows of w and
// the factor that each of them has.
func frequenciesOf(t *testing.T, k kernels.Kernel, m, d int, seed uint64) (w dense.Matrix[float64], gains []float64) {
	src := exprand.NewSource(seed)
	gains = make([]float64, m)
	for i := range gains {
		gains[i] = 1
	}
	set := func(g func() float64) {
		for i := range gains {
			gains[i] = g()
		}
	}
	if _, ok := k.(kernels.Laplacian); ok {
		w = dense.New[float64](m, d)
		rng := rand.New(src)
		for i := range w.Data {
			w.Data[i] = math.Tan(math.Pi * (rng.Float64() - 0.5))
		}
		set(func() float64 { return 1 / lengthScale })
		return w, gains
	}
	p := must.Have(orf.Draw[float64](orf.IID{}, m, d, src))
	switch k := k.(type) {
	case kernels.Gaussian:
		set(func() float64 { return 1 / lengthScale })
	case kernels.Softmax:
		set(func() float64 { return math.Sqrt(scaleOf) })
	case kernels.Matern:
		law := distuv.ChiSquared{K: 2 * k.Nu, Src: src}
		set(func() float64 { return math.Sqrt(2*k.Nu/law.Rand()) / lengthScale })
	}
	return p.Frequencies(), gains
}
