package components_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/components"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// normal returns n rows of d correlated normal variables with the given mean.
func normal[T dense.Float](n, d int, mean float64, seed uint64) dense.Matrix[T] {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := dense.New[T](n, d)
	for i := range n {
		common := rng.NormFloat64()
		for j := range d {
			x.Set(i, j, T(mean+(common+rng.NormFloat64())/float64(1+j)))
		}
	}
	return x
}

// gaussian returns features of the Gaussian kernel with m independent frequencies.
func gaussian[T dense.Float](m, d int, lengthScale float64, seed uint64) rff.Map[T] {
	w := must.Have(orf.Draw[T](orf.IID{}, m, d, rand.NewPCG(seed, 2)))
	return must.Have(rff.Draw(rff.Gaussian{LengthScale: lengthScale}, w))
}

func fit[T dense.Float](t testing.TB, phi rff.Map[T], x dense.Matrix[T], r int, whiten bool) *components.Model[T] {
	t.Helper()
	return must.Have(components.Fit(t.Context(), phi, ridge.Block[T]{X: x}, r, whiten))
}

// peak returns the element of largest absolute value.
func peak(row []float64) (at float64) {
	for _, v := range row {
		if math.Abs(v) > math.Abs(at) {
			at = v
		}
	}
	return at
}

// With φ(x) = x the components are those of ordinary PCA, also far from the origin.
func TestIdentityIsPCA(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testIdentity[float32](t, 1e-5) })
	t.Run("type=float64", func(t *testing.T) { testIdentity[float64](t, 1e-10) })
}

func testIdentity[T dense.Float](t *testing.T, tolerance float64) {
	const n, d = 700, 6
	for _, mean := range []float64{0, 1000} {
		x := normal[T](n, d, mean, 1)
		double := dense.Copy(dense.Matrix[float64]{}, x)
		var pc stat.PC
		require.True(t, pc.PrincipalComponents(mat.NewDense(n, d, double.Data), nil))
		variances := pc.VarsTo(nil)
		var want mat.Dense
		pc.VectorsTo(&want)
		m := fit(t, must.Have(rff.Draw[T](rff.Identity{D: d}, nil)), x, d, false)
		v, z := m.Components(), m.Transform(dense.Matrix[T]{}, x)
		// T rounds what Transform returns; all else is float64.
		assert.InDeltaSlice(t, variances, m.ExplainedVariance(), 1e-10*variances[0])
		total := 0.0
		for _, share := range m.ExplainedVarianceRatio() {
			total += share
		}
		assert.InDelta(t, 1, total, 1e-12)
		for k := range d {
			row := v.Row(k)
			assert.Positive(t, peak(row), "the sign of component %d", k)
			sign := math.Copysign(1, row[0]*want.At(0, k))
			for j := range d {
				require.InDelta(t, sign*want.At(j, k), row[j], 1e-9, "component %d", k)
			}
			for i := range n {
				score := 0.0
				for j := range d {
					score += row[j] * (double.At(i, j) - m.Mean()[j])
				}
				require.InDelta(t, score, float64(z.At(i, k)), tolerance*(1+math.Abs(score)))
			}
		}
	}
}

// exact is kernel PCA on the centred Gram matrix of n rows [Schölkopf et al. 1998].
type exact struct {
	values  []float64 // eigenvalues of the matrix, the largest first
	vectors *mat.Dense
	gram    dense.Matrix[float64]
	k       kernels.Kernel
	x       dense.Matrix[float64]
}

func exactly(t testing.TB, k kernels.Kernel, x dense.Matrix[float64]) exact {
	n := x.Rows
	gram := kernels.Gram(dense.Matrix[float64]{}, k, x, x)
	e := exact{gram: gram, k: k, x: x}
	centred := mat.NewSymDense(n, nil)
	rows := rowMeans(gram)
	all := stat.Mean(rows, nil)
	for i := range n {
		for j := i; j < n; j++ {
			centred.SetSym(i, j, gram.At(i, j)-rows[i]-rows[j]+all)
		}
	}
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(centred, true))
	e.vectors = new(mat.Dense)
	eigen.VectorsTo(e.vectors)
	for i, v := range eigen.Values(nil) {
		e.values = append([]float64{v}, e.values[:i]...)
	}
	return e
}

func rowMeans(a dense.Matrix[float64]) []float64 {
	means := make([]float64, a.Rows)
	for i := range means {
		means[i] = stat.Mean(a.Row(i), nil)
	}
	return means
}

// score returns component c of z: the centred products with all rows times α/√λ.
func (e exact) score(c int, z []float64) float64 {
	n := e.x.Rows
	rows := rowMeans(e.gram)
	all := stat.Mean(rows, nil)
	products := make([]float64, n)
	for i := range n {
		products[i] = e.k.Eval(z, e.x.Row(i))
	}
	mean, sum := stat.Mean(products, nil), 0.0
	for i, p := range products {
		sum += (p - rows[i] - mean + all) * e.vectors.At(i, n-1-c)
	}
	return sum / math.Sqrt(e.values[c])
}

// Features that are exact give the components of the Gram matrix, at new points too.
func TestExactFeaturesAreKernelPCA(t *testing.T) {
	const n, d, r = 90, 3, 5
	x, fresh := normal[float64](n, d, 0.5, 1), normal[float64](10, d, 0.5, 2)
	for _, phi := range []rff.Map[float64]{must.Have(rff.Draw[float64](rff.Quadratic{D: d}, nil)), must.Have(rff.Draw[float64](rff.Taylor{D: d, Scale: 0.5}, nil))} {
		k := phi.Kernel()
		if _, ok := k.(kernels.Softmax); ok {
			k = taylor{0.5}
		}
		want := exactly(t, k, x)
		for _, whiten := range []bool{false, true} {
			m := fit(t, phi, x, r, whiten)
			z := m.Transform(dense.Matrix[float64]{}, fresh)
			for c, v := range m.ExplainedVariance() {
				assert.InDelta(t, want.values[c], (n-1)*v, 1e-10*want.values[0])
				scale := 1.0
				if whiten {
					scale = 1 / math.Sqrt(v)
				}
				sign := math.Copysign(1, z.At(0, c)*want.score(c, fresh.Row(0)))
				for i := range fresh.Rows {
					s := scale * want.score(c, fresh.Row(i))
					require.InDelta(t, sign*s, z.At(i, c), 1e-10*(1+math.Abs(s)), "%v, component %d", phi, c)
				}
			}
		}
	}
}

// taylor is 1 + s·xᵀy + (s·xᵀy)²/2.
type taylor struct{ scale float64 }

func (k taylor) Eval(x, y []float64) float64 {
	p := k.scale * kernels.DotProduct{}.Eval(x, y)
	return 1 + p + p*p/2
}

// Sums of parts, merged, and rows a block at a time have the components of all rows.
func TestMergedSums(t *testing.T) {
	t.Run("type=float32", testMergedSums[float32])
	t.Run("type=float64", testMergedSums[float64])
}

func testMergedSums[T dense.Float](t *testing.T) {
	const n, d, r = 900, 4, 3
	x := normal[T](n, d, 1, 1)
	phi := gaussian[T](20, d, 1, 1)
	want := fit(t, phi, x, r, true)
	all := must.Have(ridge.NewSums(phi, 0))
	for _, cut := range [][2]int{{500, 900}, {0, 500}} {
		part := must.Have(ridge.NewSums(phi, 0))
		require.NoError(t, part.Add(x.RowRange(cut[0], cut[1]), dense.Matrix[T]{}, nil))
		require.NoError(t, all.Merge(part))
	}
	got := must.Have(components.FromSums(t.Context(), all, r, true))
	assert.InDeltaSlice(t, want.Components().Data, got.Components().Data, 1e-11)
	assert.InDeltaSlice(t, want.ExplainedVariance(), got.ExplainedVariance(), 1e-13)

	// A target that a fit would refuse is not looked at.
	rows := ridge.Block[T]{X: x, Y: dense.New[T](n, 1)}
	rows.Y.Set(3, 0, T(math.NaN()))
	got = must.Have(components.Fit(t.Context(), phi, rows, r, true))
	assert.Equal(t, want.Components(), got.Components())
}

// Rows that count twice are rows of weight 2, but for the divisor, and rows of weight 0 are none.
func TestWeights(t *testing.T) {
	const n, d = 60, 3
	x := normal[float64](n, d, 1, 1)
	twice := dense.New[float64](2*n, d)
	dense.Copy(twice.RowRange(0, n), x)
	dense.Copy(twice.RowRange(n, 2*n), x)
	weights := make([]float64, 2*n)
	for i := range n {
		weights[i] = 5
	}
	phi := must.Have(rff.Draw[float64](rff.Identity{D: d}, nil))
	half := must.Have(components.Fit(t.Context(), phi, ridge.Block[float64]{X: twice, Weights: weights}, d, false))
	want, full := fit(t, phi, x, d, false), fit(t, phi, twice, d, false)
	for k, v := range want.ExplainedVariance() {
		assert.InDelta(t, v, half.ExplainedVariance()[k], 1e-12)
		assert.InDelta(t, v*(n-1)/n*(2*n)/(2*n-1), full.ExplainedVariance()[k], 1e-12)
	}
}

// Whitened components are uncorrelated with variance 1, and a component without variance is an
// error.
func TestWhitening(t *testing.T) {
	const n, d = 400, 4
	x := normal[float64](n, d, -3, 1)
	z := fit(t, gaussian[float64](30, d, 1, 1), x, 6, true).Transform(dense.Matrix[float64]{}, x)
	var c mat.SymDense
	stat.CovarianceMatrix(&c, mat.NewDense(n, 6, z.Data), nil)
	for i := range 6 {
		for j := range 6 {
			want := 0.0
			if i == j {
				want = 1
			}
			assert.InDelta(t, want, c.At(i, j), 1e-9)
		}
	}
	flat := x.Clone()
	for i := range n {
		flat.Set(i, 1, 2*flat.At(i, 0))
	}
	_, err := components.Fit(t.Context(), must.Have(rff.Draw[float64](rff.Identity{D: d}, nil)), ridge.Block[float64]{X: flat}, d, true)
	assert.ErrorContains(t, err, "components: component 3 has the variance")
	assert.ErrorContains(t, err, "want at most 3 components")
}

// The results have the same bits on one processor, and from goroutines that share the model.
func TestProcessors(t *testing.T) {
	x := normal[float32](3000, 4, 0, 1)
	phi := gaussian[float32](150, 4, 1, 1)
	one := fit(t, phi, x, 3, false)
	z := one.Transform(dense.Matrix[float32]{}, x)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again := fit(t, phi, x, 3, false)
	assert.Equal(t, one.Components(), again.Components())
	assert.Equal(t, z, again.Transform(dense.New[float32](3000, 5).ColRange(1, 4), x).Clone())
}

func TestErrors(t *testing.T) {
	x := normal[float64](20, 3, 0, 1)
	phi := must.Have(rff.Draw[float64](rff.Identity{D: 3}, nil))
	fails := func(x dense.Matrix[float64], r int, want string) {
		t.Helper()
		m, err := components.Fit(t.Context(), phi, ridge.Block[float64]{X: x}, r, false)
		assert.ErrorContains(t, err, want)
		assert.Nil(t, m)
	}
	fails(x, 0, "components: components = 0, want 1 to 3 for 3 features of 20 rows")
	fails(x, 4, "components: components = 4, want 1 to 3")
	fails(x.RowRange(0, 2), 3, "want 1 to 2 for 3 features of 2 rows")
	fails(x.RowRange(0, 1), 1, "components: 1 rows with a weight above 0, want at least 2")
	fails(dense.Matrix[float64]{}, 1, "ridge: no rows")
	same := dense.New[float64](20, 3)
	for i := range same.Data {
		same.Data[i] = 1e8 / 3.0
	}
	fails(same, 1, "components: the features do not vary")
	bad := x.Clone()
	bad.Set(7, 1, math.NaN())
	fails(bad, 1, "x[7][1] = NaN")
	for i := range bad.Data {
		bad.Data[i] = 1e200 * float64(i%7)
	}
	fails(bad, 1, "components: the sum of products of features")
	_, err := components.Fit[float64](t.Context(), nil, ridge.Block[float64]{X: x}, 1, false)
	assert.ErrorContains(t, err, "phi is nil")
	_, err = components.Fit[float64](t.Context(), phi, nil, 1, false)
	assert.ErrorContains(t, err, "rows is nil")
	_, err = components.FromSums[float64](t.Context(), nil, 1, false)
	assert.ErrorContains(t, err, "components: sums is nil or zero")
	_, err = components.FromSums(t.Context(), new(ridge.Sums[float64]), 1, false)
	assert.ErrorContains(t, err, "components: sums is nil or zero")
	assert.PanicsWithValue(t, "components: ctx is nil", func() { _, _ = components.Fit[float64](context.Context(nil), phi, nil, 1, false) })
	m := fit(t, phi, x, 2, false)
	assert.PanicsWithValue(t, "components: x is 20×2, want 20×3", func() { m.Transform(dense.Matrix[float64]{}, x.ColRange(0, 2)) })
	assert.PanicsWithValue(t, "dense: destination is 20×3, want 20×2", func() { m.Transform(dense.New[float64](20, 3), x) })
	assert.Panics(t, func() { new(components.Model[float64]).Transform(dense.Matrix[float64]{}, x) })

	// Numbers far from 1 are no obstacle, and NaN stays visible.
	for _, size := range []float64{1e-140, 1e140} {
		scaled := x.Clone()
		for i := range scaled.Data {
			scaled.Data[i] *= size
		}
		big := fit(t, phi, scaled, 2, true)
		assert.InDeltaSlice(t, m.Components().Data, big.Components().Data, 1e-12)
	}
	bad = x.RowRange(0, 1).Clone()
	bad.Set(0, 0, math.NaN())
	assert.True(t, math.IsNaN(m.Transform(dense.Matrix[float64]{}, bad).At(0, 0)))
}
