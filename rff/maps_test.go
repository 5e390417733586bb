package rff_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

var _ rand.Source = exprand.NewSource(1)

// randomMap is a named random map at fixed parameters.
type randomMap[T dense.Float] struct {
	name   string
	kernel kernels.Kernel
	per    int // features for each frequency
	draw   func(m, d int, src rand.Source) (rff.Map[T], error)
}

const (
	lengthScale = 0.75
	scaleOf     = 1.5
	damping     = -0.2 // the a of the optimal positive features
)

// fitPoints returns a sample of queries and one of keys, for the maps that are fitted, of
// the dimension of w and different moments.
func fitPoints[T dense.Float](w orf.Projection[T]) (x, y dense.Matrix[T]) {
	_, d := w.Shape()
	x, y = points[T](20, 40, d, 0.3), points[T](21, 30, d, 0.3)
	for j := range d {
		stretch := T(1 + 0.5*float64(j%3))
		for i := range x.Rows {
			x.Set(i, j, 0.25+x.At(i, j)*stretch)
		}
		for i := range y.Rows {
			y.Set(i, j, y.At(i, j)/stretch-0.125)
		}
	}
	return x, y
}

// randomMaps are all random maps, over independent frequencies.
func randomMaps[T dense.Float]() []randomMap[T] {
	on := func(f func(w orf.Projection[T], src rand.Source) (rff.Map[T], error)) func(int, int, rand.Source) (rff.Map[T], error) {
		return func(m, d int, src rand.Source) (rff.Map[T], error) {
			w, err := orf.Draw[T](orf.IID{}, m, d, src)
			if err != nil {
				return nil, err
			}
			return f(w, src)
		}
	}
	maps := []randomMap[T]{
		{"dot product", kernels.DotProduct{}, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) { return rff.DotProduct(w) })},
		{"gaussian", kernels.Gaussian{LengthScale: lengthScale}, 2, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			return rff.Gaussian(w, lengthScale)
		})},
		{"gaussian phase", kernels.Gaussian{LengthScale: lengthScale}, 1, on(func(w orf.Projection[T], src rand.Source) (rff.Map[T], error) {
			return rff.GaussianPhase(w, lengthScale, src)
		})},
		{"laplacian", kernels.Laplacian{LengthScale: lengthScale}, 2, func(m, d int, src rand.Source) (rff.Map[T], error) {
			return rff.Laplacian[T](m, d, lengthScale, src)
		}},
		{"softmax trig", kernels.Softmax{Gamma: scaleOf}, 2, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			return rff.SoftmaxTrig(w, scaleOf)
		})},
		{"softmax positive", kernels.Softmax{Gamma: scaleOf}, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			return rff.SoftmaxPositive(w, scaleOf)
		})},
		{"softmax optimal", kernels.Softmax{Gamma: scaleOf}, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			return rff.SoftmaxOptimal(w, scaleOf, damping)
		})},
		{"softmax hyperbolic", kernels.Softmax{Gamma: scaleOf}, 2, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			return rff.SoftmaxHyperbolic(w, scaleOf)
		})},
		{"gaussian positive", kernels.Gaussian{LengthScale: lengthScale}, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			return rff.GaussianPositive(w, lengthScale)
		})},
		{"gaussian hyperbolic", kernels.Gaussian{LengthScale: lengthScale}, 2, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			return rff.GaussianHyperbolic(w, lengthScale)
		})},
		{"gaussian optimal", kernels.Gaussian{LengthScale: lengthScale}, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			return rff.GaussianOptimal(w, lengthScale, damping)
		})},
		{"SADERF", kernels.Softmax{Gamma: scaleOf}, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			x, y := fitPoints[T](w)
			return rff.SADERF(w, x, y, scaleOf)
		})},
		{"ADERF", kernels.Softmax{Gamma: scaleOf}, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			x, y := fitPoints[T](w)
			return rff.ADERF(w, x, y, scaleOf)
		})},
		{"SDERF", kernels.Softmax{Gamma: scaleOf}, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			x, y := fitPoints[T](w)
			return rff.SDERF(w, x, y, scaleOf)
		})},
		{"angular", kernels.Angular{}, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) { return rff.Angular(w) })},
	}
	for _, nu := range []float64{0.5, 1.5, 2.5} {
		k := kernels.Matern{Nu: nu, LengthScale: lengthScale}
		maps = append(maps, randomMap[T]{k.String(), k, 2, on(func(w orf.Projection[T], src rand.Source) (rff.Map[T], error) {
			return rff.Matern(w, nu, lengthScale, src)
		})})
	}
	for order := range 3 {
		k := kernels.ArcCosine{Order: order}
		maps = append(maps, randomMap[T]{k.String(), k, 1, on(func(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
			return rff.ArcCosine(w, order)
		})})
	}
	return maps
}

// allMaps are the random maps with m = 20 and the exact ones, of R^d.
func allMaps[T dense.Float](t testing.TB, d int) map[string]rff.Map[T] {
	maps := map[string]rff.Map[T]{}
	for _, r := range randomMaps[T]() {
		f, err := r.draw(20, d, exprand.NewSource(5))
		require.NoError(t, err)
		maps[r.name] = f
	}
	w, err := orf.Draw[T](orf.IID{}, 20, d, exprand.NewSource(5))
	require.NoError(t, err)
	maps["new"] = newMap(w, func(x []T) T { return 1 + x[0]*x[0] },
		func(t T) T { return T(math.Cos(float64(t))) }, func(t T) T { return t * t })
	// Those above change frequencies, these the points.
	structured, err := orf.Draw[T](orf.Hadamard{}, 20, d, exprand.NewSource(5))
	require.NoError(t, err)
	x, y := fitPoints[T](structured)
	balanced, err := rff.SADERF(structured, x, y, scaleOf)
	require.NoError(t, err)
	mixed, err := rff.ADERF(structured, x, y, scaleOf)
	require.NoError(t, err)
	maps["structured SADERF"], maps["structured ADERF"] = balanced, mixed
	for name, f := range exactMaps[T](t, d) {
		maps[name] = f
	}
	landmarks := points[T](8, 11, d, 1)
	nystroem, err := rff.Nystroem(kernels.Gaussian{}, landmarks)
	require.NoError(t, err)
	spectral, err := rff.Spectral(kernels.Laplacian{}, landmarks, 6)
	require.NoError(t, err)
	maps["nystroem"], maps["spectral"] = nystroem, spectral
	for name, f := range madeOfOthers[T](t, d) {
		maps[name] = f
	}
	return maps
}

// madeOfOthers are the maps of R^d that prepare points for others.
func madeOfOthers[T dense.Float](t testing.TB, d int) map[string]rff.Map[T] {
	maps := map[string]rff.Map[T]{}
	pca, err := rff.PCA(points[T](9, 40, d, 1), d-1, true)
	require.NoError(t, err)
	affine, err := rff.Affine(points[T](10, d+1, d, 0.5), points[T](11, 1, d+1, 1).Data)
	require.NoError(t, err)
	maps["pca"], maps["affine"] = pca, affine
	means := points[T](12, 2, d, 0.4)
	for _, r := range randomMaps[T]() {
		if r.name != "softmax trig" && r.name != "softmax hyperbolic" && r.name != "SADERF" {
			continue
		}
		f, err := r.draw(20, d, exprand.NewSource(5))
		require.NoError(t, err)
		centred, err := rff.Centred(f, means.Row(0), means.Row(1))
		require.NoError(t, err)
		maps["centred "+r.name] = centred
	}
	for _, r := range randomMaps[T]() {
		if r.name != "gaussian" && r.name != "softmax hyperbolic" && r.name != "angular" {
			continue
		}
		before, err := r.draw(20, d-1, exprand.NewSource(5))
		require.NoError(t, err)
		composed, err := rff.Compose(pca, before)
		require.NoError(t, err)
		after, err := r.draw(20, d+1, exprand.NewSource(5))
		require.NoError(t, err)
		shifted, err := rff.Compose(affine, after)
		require.NoError(t, err)
		maps[r.name+" after pca"], maps[r.name+" after affine"] = composed, shifted
		f, err := r.draw(20, d, exprand.NewSource(5))
		require.NoError(t, err)
		sum, err := rff.Sum([]rff.Map[T]{shifted, f, affine}, []float64{0.5, 1, 2})
		require.NoError(t, err)
		maps["sum with "+r.name] = sum
	}
	return maps
}

// positiveMaps are the names of the random maps that have logarithms.
var positiveMaps = []string{
	"softmax positive", "softmax hyperbolic", "softmax optimal", "gaussian positive", "gaussian hyperbolic", "gaussian optimal",
	"SADERF", "ADERF", "SDERF",
}

// exactMaps are the explicit maps of R^d.
func exactMaps[T dense.Float](t testing.TB, d int) map[string]rff.Map[T] {
	maps := map[string]rff.Map[T]{}
	add := func(name string, f rff.Map[T], err error) {
		require.NoError(t, err)
		maps[name] = f
	}
	identity, err := rff.Identity[T](d)
	add("identity", identity, err)
	elu, err := rff.ELU[T](d)
	add("elu", elu, err)
	quadratic, err := rff.Quadratic[T](d)
	add("quadratic", quadratic, err)
	taylor, err := rff.Taylor[T](d, scaleOf)
	add("taylor", taylor, err)
	return maps
}

// points returns n normal points of R^d with the given standard deviation,
// rounded to float32 so that both types see the same.
func points[T dense.Float](seed uint64, n, d int, deviation float64) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(seed))
	x := dense.New[T](n, d)
	for i := range x.Data {
		x.Data[i] = T(float32(deviation * rng.NormFloat64()))
	}
	return x
}

func TestKernelsAndDimensions(t *testing.T) {
	densetest.Both(t, testKernelsAndDimensions[float32], testKernelsAndDimensions[float64])
}

func testKernelsAndDimensions[T dense.Float](t *testing.T) {
	for _, r := range randomMaps[T]() {
		f, err := r.draw(7, 3, exprand.NewSource(1))
		require.NoError(t, err)
		in, out := f.Dims()
		assert.Equal(t, 3, in, r.name)
		assert.Equal(t, 7*r.per, out, r.name)
		assert.Equal(t, r.kernel, f.Kernel(), r.name)
		_, positive := f.(rff.LogMap[T])
		assert.Equal(t, slices.Contains(positiveMaps, r.name), positive, r.name)
		keys := rff.Keys(f)
		in, out = keys.Dims()
		assert.Equal(t, []int{3, 7 * r.per}, []int{in, out}, r.name)
		assert.Equal(t, r.kernel, keys.Kernel(), r.name)
		assert.True(t, f == rff.Keys(keys), r.name)
		assert.Equal(t, slices.Contains([]string{"SADERF", "ADERF"}, r.name), f != keys, r.name)
	}
	maps := exactMaps[T](t, 3)
	for name, out := range map[string]int{"identity": 3, "elu": 3, "quadratic": 6, "taylor": 10} {
		in, got := maps[name].Dims()
		assert.Equal(t, 3, in, name)
		assert.Equal(t, out, got, name)
	}
	w, err := orf.Draw[T](orf.IID{}, 4, 2, exprand.NewSource(1))
	require.NoError(t, err)
	f := newMap(w, nil, func(t T) T { return t })
	assert.Nil(t, f.Kernel())
	f, err = rff.New(w, rff.Scheme[T]{F: []func(T) T{func(t T) T { return t }}, Kernel: kernels.DotProduct{}})
	require.NoError(t, err)
	assert.Equal(t, kernels.DotProduct{}, f.Kernel())
}

func TestString(t *testing.T) {
	w, err := orf.Draw[float64](orf.IID{}, 4, 2, exprand.NewSource(1))
	require.NoError(t, err)
	g, err := rff.Gaussian(w, 0.5)
	require.NoError(t, err)
	assert.Equal(t, "Gaussian(lengthScale=0.5): R^2 → R^8", fmt.Sprint(g))
	p, err := rff.SoftmaxPositive(w, 2)
	require.NoError(t, err)
	assert.Equal(t, "SoftmaxPositive(scale=2): R^2 → R^4", fmt.Sprint(p))
	e, err := rff.Nystroem(kernels.Angular{}, points[float64](1, 3, 2, 1))
	require.NoError(t, err)
	assert.Equal(t, "Nystroem(Angular{}): R^2 → R^3", fmt.Sprint(e))
}

// newMap is New of the functions h and f, which fit.
func newMap[T dense.Float](w orf.Projection[T], h func(x []T) T, f ...func(t T) T) rff.Map[T] {
	m, err := rff.New(w, rff.Scheme[T]{F: f, H: h})
	if err != nil {
		panic(err)
	}
	return m
}

// slopes returns m, which is Differentiable.
func slopes[T dense.Float](m rff.Map[T]) rff.Differentiable[T] { return m.(rff.Differentiable[T]) }

// logSlopes returns m, which is a DifferentiableLog.
func logSlopes[T dense.Float](m rff.LogMap[T]) rff.DifferentiableLog[T] {
	return m.(rff.DifferentiableLog[T])
}
