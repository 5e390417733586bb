package conformance_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
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

func testProjections[T dense.Float](t *testing.T) {
	for _, s := range shapes {
		for _, e := range []orf.Ensemble{
			orf.IID{}, orf.GramSchmidt{}, orf.Hadamard{}, orf.Givens{}, orf.Simplex{}, orf.Halton{}, orf.Cauchy{},
		} {
			w := must.Have(orf.Draw[T](e, s[0], s[1], exprand.NewSource(1)))
			assert.NoError(t, conformance.Projection(w), "%v %v", e, s)
		}
		w := must.Have(orf.FromMatrix(cloud[T](s[0], s[1])))
		assert.NoError(t, conformance.Projection(w), "Of %v", s)
	}
}

func TestProjections(t *testing.T) {
	densetest.Both(t, testProjections[float32], testProjections[float64])
}

// histograms returns n points of R^d with coordinates that are at least 0, some of them 0.
func histograms[T dense.Float](n, d int) dense.Matrix[T] {
	x := cloud[T](n, d)
	for i := range x.Data {
		x.Data[i] = max(x.Data[i], -x.Data[i])
		if i%11 == 0 {
			x.Data[i] = 0
		}
	}
	return x
}

// boxKernel has 5 thresholds of equal weights for each of d coordinates.
func boxKernel(d int) kernels.Boxes {
	k := kernels.Boxes{Thresholds: cloud[float64](d, 5), Weights: dense.New[float64](d, 5)}
	for j := range d {
		slices.Sort(k.Thresholds.Row(j))
		for b := range k.Weights.Row(j) {
			k.Weights.Set(j, b, 1)
		}
	}
	return k
}

// maps are all maps of R^d.
func maps[T dense.Float](t *testing.T, d int) map[string]rff.Map[T] {
	src := exprand.NewSource(2)
	draw := func(m, d int) orf.Projection[T] {
		return must.Have(orf.Draw[T](orf.GramSchmidt{}, m, d, src))
	}
	w := draw(d+3, d)
	all := make(map[string]rff.Map[T])
	add := func(name string) func(m rff.Map[T], err error) {
		return func(m rff.Map[T], err error) {
			require.NoError(t, err, name)
			all[name] = m
		}
	}
	add("Identity")(rff.Draw[T](rff.Identity{D: d}, nil))
	add("Quadratic")(rff.Draw[T](rff.Quadratic{D: d}, nil))
	add("Taylor")(rff.Draw[T](rff.Taylor{D: d, Scale: 1.5}, nil))
	add("DotProduct")(rff.Draw(rff.DotProduct{}, w))
	add("Gaussian")(rff.Draw(rff.Gaussian{LengthScale: 0.75}, w))
	add("GaussianPhase")(rff.Draw(rff.GaussianPhase{LengthScale: 0.75, Src: src}, w))
	add("GaussianPositive")(rff.Draw(rff.GaussianPositive{LengthScale: 1.5}, w))
	add("GaussianHyperbolic")(rff.Draw(rff.GaussianHyperbolic{LengthScale: 1.5}, w))
	add("GaussianOptimal")(rff.Draw(rff.GaussianOptimal{LengthScale: 1.5, A: -0.2}, w))
	heavy := must.Have(orf.Draw[T](orf.Cauchy{}, 9, d, src))
	add("Laplacian")(rff.Draw(rff.Laplacian{LengthScale: 0.75}, heavy))
	add("Boxes")(rff.Draw[T](rff.Boxes{K: boxKernel(d), Features: 12, Src: src}, nil))
	add("Matern")(rff.Draw(rff.Matern{Nu: 1.5, LengthScale: 0.75, Src: src}, w))
	add("Gradients")(rff.Gradients(all["Matern"], cloud[float64](2*(d+3), 2)))
	add("SoftmaxTrig")(rff.Draw(rff.SoftmaxTrig{Scale: 1.5}, w))
	add("SoftmaxPositive")(rff.Draw(rff.SoftmaxPositive{Scale: 1.5}, w))
	add("SoftmaxHyperbolic")(rff.Draw(rff.SoftmaxHyperbolic{Scale: 1.5}, w))
	add("SoftmaxOptimal")(rff.Draw(rff.SoftmaxOptimal{Scale: 1.5, A: -0.2}, w))
	queries, keys := cloud[T](40, d), dense.Copy(dense.Matrix[T]{}, histograms[float64](30, d))
	add("SADERF")(rff.Draw(must.Have(rff.FitSADERF(queries, keys, 1.5)), w))
	add("SDERF")(rff.Draw(must.Have(rff.FitSDERF(queries, keys, 1.5)), w))
	add("ADERF")(rff.Draw(must.Have(rff.FitADERF(queries, keys, 1.5)), w))
	for _, name := range []string{"SoftmaxTrig", "SoftmaxHyperbolic", "ADERF"} {
		add("Centred " + name)(rff.Centred(all[name], queries.Row(0), keys.Row(0)))
	}
	add("ELU")(rff.Draw[T](rff.ELU{D: d}, nil))
	add("Angular")(rff.Draw(rff.Angular{}, w))
	add("ArcCosine 0")(rff.Draw(rff.ArcCosine{Order: 0}, w))
	add("ArcCosine 1")(rff.Draw(rff.ArcCosine{Order: 1}, w))
	for _, k := range []kernels.Kernel{kernels.Gaussian{}, kernels.ELU{}, kernels.Laplacian{}} {
		add(fmt.Sprintf("Nystroem %v", k))(rff.Nystroem(k, cloud[T](20, d)))
	}
	add("Spectral")(rff.Spectral(kernels.Matern{Nu: 0.5}, cloud[T](20, d), 5))
	for _, whiten := range []bool{false, true} {
		components := min(d, 3)
		pca := must.Have(rff.PCA(cloud[T](30, d), components, whiten))
		add(fmt.Sprintf("PCA whiten=%v", whiten))(rff.Draw[T](pca, nil))
		few := draw(6, components)
		then := func(m rff.Map[T], err error) (rff.Map[T], error) {
			require.NoError(t, err)
			return rff.Compose(pca, m)
		}
		add(fmt.Sprintf("Compose whiten=%v with a differentiable map", whiten))(then(rff.Draw(rff.Gaussian{LengthScale: 2}, few)))
		add(fmt.Sprintf("Compose whiten=%v with a map in log space", whiten))(then(rff.Draw(rff.SoftmaxPositive{Scale: 0.5}, few)))
		add(fmt.Sprintf("Compose whiten=%v with a pair", whiten))(then(rff.Draw(must.Have(rff.FitSADERF(cloud[T](9, components), histograms[T](9, components), 0.5)), few)))
		add(fmt.Sprintf("Compose whiten=%v with a map of no derivatives", whiten))(then(rff.Nystroem(kernels.Gaussian{}, cloud[T](9, components))))
	}
	pair := must.Have(rff.Draw(must.Have(rff.FitSADERF(queries, keys, 0.5)), w))
	gaussian := must.Have(rff.Draw(rff.Gaussian{LengthScale: 2}, w))
	identity := must.Have(rff.Draw[T](rff.Identity{D: d}, nil))
	add("Sum")(rff.Sum([]rff.Map[T]{gaussian, identity}, []float64{0.5, 3}))
	add("Sum with a weight of 0")(rff.Sum([]rff.Map[T]{gaussian, identity}, []float64{0, 1}))
	add("Sum with a pair")(rff.Sum([]rff.Map[T]{identity, pair}, []float64{0.5, 1}))
	add("New")(rff.New(rff.Scheme[T]{F: []func(T) T{func(t T) T { return t * t }}, DF: []func(T) T{func(t T) T { return 2 * t }}}, w))
	return all
}

// checkMap checks m and its map of keys, and properties of the maps of this module that
// conformance.Map does not check.
func checkMap[T dense.Float](t *testing.T, name string, m rff.Map[T], x dense.Matrix[T]) {
	sides := []rff.Map[T]{m}
	if keys := rff.Keys(m); keys != m {
		sides = append(sides, keys)
	}
	for i, m := range sides {
		assert.NoError(t, conformance.Map(m, x), "%s, side %d, d = %d", name, i, x.Cols)
		for j := range x.Cols {
			for sign := -1; sign <= 1; sign += 2 {
				p := x.RowRange(0, 1).Clone()
				p.Set(0, j, T(math.Inf(sign)))
				phi := m.Transform(dense.Matrix[T]{}, p).Row(0)
				assert.True(t, slices.ContainsFunc(phi, func(v T) bool { return v-v != 0 }), "%s, side %d, hides %v in coordinate %d", name, i, p.At(0, j), j)
			}
		}
		before := runtime.GOMAXPROCS(1)
		want := m.Transform(dense.Matrix[T]{}, x)
		runtime.GOMAXPROCS(4)
		got := m.Transform(dense.Matrix[T]{}, x)
		runtime.GOMAXPROCS(before)
		assert.Equal(t, want, got, "%s, side %d, on four processors", name, i)
	}
}

func testMaps[T dense.Float](t *testing.T) {
	for _, d := range []int{1, 7, 16} {
		for name, m := range maps[T](t, d) {
			checkMap(t, name, m, cloud[T](70, d))
		}
	}
}

func TestMaps(t *testing.T) {
	densetest.Both(t, testMaps[float32], testMaps[float64])
}

func TestKernels(t *testing.T) {
	check := func(k kernels.Kernel, x dense.Matrix[float64]) {
		assert.NoError(t, conformance.Kernel(k, x), "%v, d = %d", k, x.Cols)
		for j := range x.Cols {
			p := x.RowRange(0, 1).Clone()
			p.Set(0, j, math.Inf(1))
			for _, v := range []float64{k.Eval(p.Row(0), x.Row(1)), k.Eval(x.Row(1), p.Row(0)), k.Eval(p.Row(0), p.Row(0))} {
				assert.False(t, v-v == 0, "%v hides +Inf in coordinate %d: %v", k, j, v)
			}
		}
	}
	for _, d := range []int{1, 6} {
		for _, k := range []kernels.Kernel{
			kernels.Angular{}, kernels.ArcCosine{}, kernels.ArcCosine{Order: 1}, kernels.DotProduct{}, kernels.ELU{}, kernels.Gaussian{LengthScale: 2},
			kernels.Laplacian{}, kernels.Matern{Nu: 1.5}, kernels.Polynomial{Degree: 3, Offset: 1}, kernels.RationalQuadratic{}, kernels.Softmax{},
			kernels.Pullback{K: kernels.Gaussian{}, A: cloud[float64](3, d), Centre: make([]float64, d), Offset: []float64{1, 2, 3}},
			kernels.Sum{kernels.Gaussian{}, kernels.Scaled{K: kernels.DotProduct{}, By: 2}}, kernels.Product{kernels.Gaussian{}, kernels.Softmax{}},
		} {
			check(k, cloud[float64](30, d))
		}
	}
}
