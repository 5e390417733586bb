package ard_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/ard"
)

// A small case in numbers that binary fractions hold.
func small[T dense.Float](t *testing.T) (rff.Map[T], ridge.Block[T]) {
	w, err := orf.FromMatrix(dense.Of(3, 2, []T{0.5, -1.25, 1.5, 0.25, -0.75, 2}))
	require.NoError(t, err)
	psi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	require.NoError(t, err)
	return psi, ridge.Block[T]{
		X:       dense.Of(6, 2, []T{0.5, -1, 1.25, 0.25, -0.75, 2, 0, -0.5, 2, 1.5, -1.5, 0.75}),
		Y:       dense.Of(6, 2, []T{1, 0.5, -0.25, 2, 0.75, -1, 1.5, 0, -2, 0.25, 0.125, -0.75}),
		Weights: []T{1, 2, 0.5, 1, 0.25, 4},
	}
}

// Values of the small case at ℓ = (¾, 2), σ² = ¼ and s² = 2. The evidence was written out with
// dense n×D features, a determinant and a solve by mpmath 1.3.0 with 90 digits, and the derivatives
// are central differences of order 6 with steps of 10⁻¹² there, right to 40 digits and more.
var golden = []struct {
	noIntercept            bool
	evidence, l0, l1, n, s float64
}{
	{
		false, -16.95302642548483519998845766911854424021,
		3.937923888449613679771625164784556462075, 0.8775726853397012916685728904928265014724,
		0.3484379989049681377459304037594926676915, -1.178663912142254187205226317082963760633,
	}, {
		true, -18.03995135515783158801164649794293829338,
		4.677612103899752420896350796655368698051, 1.300683170648070287319644327466082887128,
		0.3731202235554689708367979915529095693872, -1.223305649623386279130998296529743785513,
	},
}

func testGolden[T dense.Float](t *testing.T) {
	psi, rows := small[T](t)
	tolerance := 200 * densetest.Roundoff[T]()
	for _, g := range golden {
		o := ridge.Options{Noise: 0.25, Prior: 2, NoIntercept: g.noIntercept}
		e, err := ard.Evaluate(t.Context(), psi, rows, []float64{0.75, 2}, o)
		require.NoError(t, err)
		assert.InEpsilon(t, g.evidence, e.Model.LogEvidence(), tolerance)
		assert.InEpsilon(t, g.l0, e.Scales[0], tolerance)
		assert.InEpsilon(t, g.l1, e.Scales[1], tolerance)
		assert.InEpsilon(t, g.n, e.Noise[0]+e.Noise[1], tolerance)
		assert.InEpsilon(t, g.s, e.Prior[0]+e.Prior[1], tolerance)
	}
}

func TestEvaluateToFortyDigits(t *testing.T) {
	densetest.Both(t, testGolden[float32], testGolden[float64])
}

// maps are those of length-scale 1 with m frequencies.
func maps(t *testing.T, m, d int) map[string]rff.Map[float64] {
	src := rand.NewPCG(3, 4)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
	require.NoError(t, err)
	structured, err := orf.Draw[float64](orf.Hadamard{}, m, d, src)
	require.NoError(t, err)
	all := map[string]rff.Map[float64]{}
	add := func(name string) func(rff.Map[float64], error) {
		return func(phi rff.Map[float64], err error) {
			require.NoError(t, err)
			all[name] = phi
		}
	}
	add("gaussian")(rff.Draw(rff.Gaussian{LengthScale: 1}, w))
	add("hadamard")(rff.Draw(rff.Gaussian{LengthScale: 1}, structured))
	add("matern")(rff.Draw(rff.Matern{Nu: 1.5, LengthScale: 1, Src: src}, w))
	heavy, err := orf.Draw[float64](orf.Cauchy{}, m, d, src)
	require.NoError(t, err)
	add("laplacian")(rff.Draw(rff.Laplacian{LengthScale: 1}, heavy))
	add("quadratic")(rff.Draw[float64](rff.Quadratic{D: d}, nil))
	return all
}

// Derivatives by all parameters against central differences, for points of large means too.
func TestEvaluateIsTheDerivative(t *testing.T) {
	const n, d = 220, 4
	for name, psi := range maps(t, 40, d) {
		for _, o := range []ridge.Options{{Noise: 0.3, Prior: 4}, {Noise: 3, Prior: 0.5, NoIntercept: true}} {
			rng := rand.New(rand.NewPCG(5, 6))
			x := densetest.Normal[float64](rng, n, d, 0, 1)
			rows := ridge.Block[float64]{X: x, Y: densetest.Normal[float64](rng, n, 2, 5, 1), Weights: make([]float64, n)}
			for i := range n {
				rows.Weights[i] = float64(i%3) / 2
				rows.Y.Row(i)[0] += math.Sin(2*x.At(i, 0)) + x.At(i, 1)
			}
			at := [d + 2]float64{0, 0.7, 1.5, 0.2, math.Log(o.Noise), math.Log(o.Prior)}
			evaluate := func(k int, by float64) *ard.Evaluation[float64] {
				at := at
				at[k] += by
				scales := make([]float64, d)
				for j := range scales {
					scales[j] = math.Exp(at[j])
				}
				e, err := ard.Evaluate(t.Context(), psi, rows, scales,
					ridge.Options{Noise: math.Exp(at[d]), Prior: math.Exp(at[d+1]), NoIntercept: o.NoIntercept})
				require.NoError(t, err)
				return e
			}
			e := evaluate(0, 0)
			got := append(e.Scales, e.Noise[0]+e.Noise[1], e.Prior[0]+e.Prior[1])
			for k, v := range got {
				const h = 1e-3
				f := func(by float64) float64 { return evaluate(k, by).Model.LogEvidence() }
				want := (45*(f(h)-f(-h)) - 9*(f(2*h)-f(-2*h)) + (f(3*h) - f(-3*h))) / (60 * h)
				assert.InDelta(t, want, v, 1e-6*max(1, math.Abs(want)), "%s %d %+v", name, k, o)
			}
		}
	}
}

// Variances of maximum evidence leave nothing to gain from them, output by output.
func TestEvaluateAtMaximumEvidence(t *testing.T) {
	x, y := four[float64](500, 6, 1, 0.1)
	e, err := ard.Evaluate(t.Context(), gaussian[float64](t, 40, 6), ridge.Block[float64]{X: x, Y: y}, []float64{2, 2, 2, 2, 2, math.Inf(1)}, ridge.Options{})
	require.NoError(t, err)
	assert.InDelta(t, 0, e.Noise[0], 0.05)
	assert.InDelta(t, 0, e.Prior[0], 0.05)
	assert.Zero(t, e.Scales[5], "a column that is left out")
}

func testProcessors[T dense.Float](t *testing.T) {
	x, y := four[T](3000, 6, 1, 0.1)
	run := func(processors int) *ard.Evaluation[T] {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		e, err := ard.Evaluate(t.Context(), gaussian[T](t, 40, 6), ridge.Block[T]{X: x, Y: y}, []float64{1, 2, 3, 4, 5, 6}, ridge.Options{})
		require.NoError(t, err)
		return e
	}
	one := run(1)
	for _, processors := range []int{2, 5} {
		other := run(processors)
		assert.Equal(t, one.Scales, other.Scales)
		assert.Equal(t, one.Noise, other.Noise)
		assert.Equal(t, one.Model.LogEvidence(), other.Model.LogEvidence())
	}
}

func TestEvaluateDoesNotDependOnProcessors(t *testing.T) {
	densetest.Both(t, testProcessors[float32], testProcessors[float64])
}

func TestNilContext(t *testing.T) {
	psi, rows := small[float64](t)
	var none context.Context
	assert.PanicsWithValue(t, "ard: ctx is nil", func() { _, _ = ard.Fit(none, psi, rows, ard.Options{}, rand.NewPCG(1, 2)) })
}
