package conformance_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate/conformance"
)

// cloud returns n normal points of R^d with the standard deviation ½.
func cloud[T dense.Float](n, d int) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(uint64(d)))
	x := dense.New[T](n, d)
	for i := range x.Data {
		x.Data[i] = T(0.5 * rng.NormFloat64())
	}
	return x
}

// shapes are numbers of frequencies and dimensions.
var shapes = [][2]int{{1, 1}, {3, 7}, {20, 12}, {70, 33}}

type constructor[T dense.Float] func(m, d int, src rand.Source, opts ...orf.Option) (orf.Projection[T], error)

func constructors[T dense.Float]() map[string]constructor[T] {
	return map[string]constructor[T]{
		"IID": orf.IID[T], "GramSchmidt": orf.GramSchmidt[T], "Hadamard": orf.Hadamard[T], "Givens": orf.Givens[T],
		"Simplex": orf.Simplex[T], "Fastfood": orf.Fastfood[T],
		"Halton": func(m, d int, src rand.Source, _ ...orf.Option) (orf.Projection[T], error) {
			return orf.Halton[T](m, d, src)
		},
		"Sobol": func(m, d int, src rand.Source, _ ...orf.Option) (orf.Projection[T], error) {
			return orf.Sobol[T](m, d, src)
		},
		"Of": func(m, d int, _ rand.Source, _ ...orf.Option) (orf.Projection[T], error) {
			return orf.Of(cloud[T](m, d))
		},
	}
}

func testProjections[T dense.Float](t *testing.T) {
	for name, draw := range constructors[T]() {
		for _, s := range shapes {
			w, err := draw(s[0], s[1], exprand.NewSource(1))
			require.NoError(t, err)
			assert.NoError(t, conformance.Projection(w), "%s %v", name, s)
		}
	}
}

func TestProjections(t *testing.T) {
	t.Run("type=float32", testProjections[float32])
	t.Run("type=float64", testProjections[float64])
}

// maps are all maps of R^d.
func maps[T dense.Float](t *testing.T, d int) map[string]rff.Map[T] {
	src := exprand.NewSource(2)
	w, err := orf.GramSchmidt[T](d+3, d, src)
	require.NoError(t, err)
	all := make(map[string]rff.Map[T])
	add := func(name string) func(m rff.Map[T], err error) {
		return func(m rff.Map[T], err error) {
			require.NoError(t, err, name)
			all[name] = m
		}
	}
	add("Identity")(rff.Identity[T](d))
	add("Quadratic")(rff.Quadratic[T](d))
	add("Taylor")(rff.Taylor[T](d, 1.5))
	add("DotProduct")(rff.DotProduct(w))
	add("Gaussian")(rff.Gaussian(w, 0.75))
	add("GaussianPhase")(rff.GaussianPhase(w, 0.75, src))
	add("Laplacian")(rff.Laplacian[T](9, d, 0.75, src))
	add("Matern")(rff.Matern(w, 1.5, 0.75, src))
	add("SoftmaxTrig")(rff.SoftmaxTrig(w, 1.5))
	add("SoftmaxPositive")(rff.SoftmaxPositive(w, 1.5))
	add("SoftmaxHyperbolic")(rff.SoftmaxHyperbolic(w, 1.5))
	add("SoftmaxOptimal")(rff.SoftmaxOptimal(w, 1.5, -0.2))
	add("ELU")(rff.ELU[T](d))
	add("Angular")(rff.Angular(w))
	add("ArcCosine")(rff.ArcCosine(w, 1))
	add("Nystroem")(rff.Nystroem(kernels.Gaussian{}, cloud[T](20, d)))
	add("New")(rff.New(w, nil, func(t T) T { return t * t }).WithDerivatives(nil, func(t T) T { return 2 * t }), nil)
	return all
}

func testMaps[T dense.Float](t *testing.T) {
	for _, d := range []int{1, 7, 16} {
		for name, m := range maps[T](t, d) {
			assert.NoError(t, conformance.Map(m, cloud[T](70, d)), "%s, d = %d", name, d)
		}
	}
}

func TestMaps(t *testing.T) {
	t.Run("type=float32", testMaps[float32])
	t.Run("type=float64", testMaps[float64])
}

func TestKernels(t *testing.T) {
	for _, k := range []kernels.Kernel{
		kernels.Angular{}, kernels.ArcCosine{}, kernels.ArcCosine{Order: 1}, kernels.DotProduct{}, kernels.ELU{}, kernels.Gaussian{LengthScale: 2},
		kernels.Laplacian{}, kernels.Matern{Nu: 1.5}, kernels.Polynomial{Degree: 3, Offset: 1}, kernels.RationalQuadratic{}, kernels.Softmax{},
		kernels.Sum{kernels.Gaussian{}, kernels.Scaled{K: kernels.DotProduct{}, By: 2}}, kernels.Product{kernels.Gaussian{}, kernels.Softmax{}},
	} {
		for _, d := range []int{1, 6} {
			assert.NoError(t, conformance.Kernel(k, cloud[float64](30, d)), "%v, d = %d", k, d)
		}
	}
}
