package performer_test

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// forms are all combinations of the options.
var forms = []performer.LinearOptions{{}, {Causal: true}}

// Inputs have a positive mean, so that no denominator of a signed map is near zero and its
// condition does not hide a fault. They are columns of wider matrices, as heads are. At 520 rows
// the keys are cut into several segments.
func testAgainstPairs[T dense.Float](t *testing.T) {
	const d, dv = 5, 3
	rng := rand.New(densetest.Source(10))
	for _, m := range maps[T](d) {
		for _, n := range []int{0, 1, 63, 64, 65, 520} {
			q, k, v := stridedRows[T](rng, n, d), stridedRows[T](rng, n, d), stridedRows[T](rng, n, dv)
			p := newPairs(attention(m.Map, performer.LinearOptions{}), q, k)
			for _, opts := range forms {
				a := attention(m.Map, opts)
				want, tol := p.of(opts).attend(dense.Copy(dense.Matrix[float64]{}, v))
				if _, double := any(T(0)).(float64); double {
					require.Less(t, largest(tol), 1e-10, "the bound for %s is no looser than promised", m.name)
				}
				densetest.RequireClose(t, want, tol, a.Forward(dense.Matrix[T]{}, q, k, v), "%s %+v L=%d", m.name, opts, n)
			}
		}
	}
}

func rowsOf[T dense.Float](rng *rand.Rand, n, d int) dense.Matrix[T] {
	return densetest.Normal[T](rng, n, d, 0.4, 0.2)
}

func TestLinearEqualsQuadratic(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testAgainstPairs[float32], testAgainstPairs[float64])
}

func stridedRows[T dense.Float](rng *rand.Rand, n, d int) dense.Matrix[T] {
	return rowsOf[T](rng, n, d+7).ColRange(3, 3+d)
}

// everyForm returns linear and exact attention in all combinations of options.
func everyForm[T dense.Float](d int) []performer.Attention[T] {
	var all []performer.Attention[T]
	for _, o := range forms {
		all = append(all, attention(maptest.Positive[T](32, d), o), attention[T](must.Have(rff.Draw(rff.Gaussian{LengthScale: 4}, maptest.Frequencies[T](32, d))), o),
			must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: o.Causal}})))
	}
	return all
}

func TestCrossAttention(t *testing.T) {
	densetest.Both(t, testCrossAttention[float32], testCrossAttention[float64])
}

func testCrossAttention[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(13))
	for _, size := range [][2]int{{1, 300}, {300, 1}, {70, 500}, {5, 0}, {0, 5}} {
		q, k, v := rowsOf[T](rng, size[0], 4), rowsOf[T](rng, size[1], 4), rowsOf[T](rng, size[1], 2)
		a := attention(maptest.Positive[T](16, 4), performer.LinearOptions{})
		got := a.Forward(densetest.Filled[T](size[0], 2, 7), q, k, v)
		if size[1] == 0 {
			assert.Equal(t, dense.New[T](size[0], 2), got, "no keys")
			continue
		}
		want, tol := newPairs(a, q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
		densetest.RequireClose(t, want, tol, got, "%v", size)
	}
}

// Queries and keys through different maps: logarithms when both have them.
func TestPairOfMaps(t *testing.T) {
	densetest.Both(t, testPairOfMaps[float32], testPairOfMaps[float64])
}

func testPairOfMaps[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(14))
	q, k, v := rowsOf[T](rng, 90, 4), rowsOf[T](rng, 90, 4), rowsOf[T](rng, 90, 2)
	w := maptest.Frequencies[T](16, 4)
	pairsOfMaps := map[string][2]rff.Map[T]{
		"both in log space": {must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 2}, w)), must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 0.5}, w))},
		"one in log space":  {must.Have(rff.Draw[T](rff.ELU{D: 4}, nil)), must.Have(rff.Draw[T](rff.Identity{D: 4}, nil))},
	}
	for name, query := range map[string]rff.Map[T]{
		"SADERF, both in log space": must.Have(rff.Draw(must.Have(rff.FitSADERF(q, k, 0.5)), w)),
		"ADERF, both in log space":  must.Have(rff.Draw(must.Have(rff.FitADERF(q, k, 0.5)), w)),
	} {
		pairsOfMaps[name] = [2]rff.Map[T]{query, rff.Keys(query)}
	}
	for name, f := range pairsOfMaps {
		for _, opts := range forms {
			a := must.Have(performer.NewLinearOf(f[0], f[1], opts))
			assert.Equal(t, strings.HasSuffix(name, "both in log space"), performer.InsideOf(a).Engine.Logs)
			want, tol := newPairs(a, q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
			densetest.RequireClose(t, want, tol, a.Forward(dense.Matrix[T]{}, q, k, v), "%s %+v", name, opts)
		}
	}
}

// Numerator and denominator add the same products in the same order.
func TestOnesComeOutAsOnes(t *testing.T) {
	densetest.Both(t, testOnes[float32], testOnes[float64])
}

func testOnes[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(15))
	for _, sd := range []float64{0.3, 3} {
		q, k := densetest.Normal[T](rng, 700, 8, 0, sd), densetest.Normal[T](rng, 700, 8, 0, sd)
		ones := densetest.Filled[T](700, 3, 1)
		for _, opts := range []performer.LinearOptions{{}, {Causal: true}} {
			for _, m := range positiveMaps[T](8) {
				assert.Equal(t, ones, attention(m.Map, opts).Forward(dense.Matrix[T]{}, q, k, ones), "%s %+v", m.name, opts)
			}
			exact := must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: opts.Causal}}))
			assert.Equal(t, ones, exact.Forward(dense.Matrix[T]{}, q, k, ones), "exact %+v", opts)
		}
	}
}

//ci:race
func TestProcessorsDoNotMatter(t *testing.T) {
	densetest.Both(t, testProcessors[float32], testProcessors[float64])
}

func testProcessors[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(16))
	q, k, v := densetest.Normal[T](rng, 1100, 6, 0, 1), densetest.Normal[T](rng, 1100, 6, 0, 1), densetest.Normal[T](rng, 1100, 5, 0, 1)
	for _, form := range everyForm[T](6) {
		want := form.Forward(dense.Matrix[T]{}, q, k, v)
		for _, procs := range []int{1, 3, 8} {
			before := runtime.GOMAXPROCS(procs)
			got := form.Forward(dense.Matrix[T]{}, q, k, v)
			runtime.GOMAXPROCS(before)
			assert.True(t, densetest.Identical(want, got), "%T %d processors", form, procs)
		}
	}
}

// dst may be q, k or v for linear attention and q for exact attention.
func TestDestinationIsInput(t *testing.T) {
	densetest.Both(t, testAliases[float32], testAliases[float64])
}

func testAliases[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(18))
	for _, form := range everyForm[T](4) {
		inputs := 3
		if _, exact := form.(performer.Exact[T]); exact {
			inputs = 1
		}
		for i := range inputs {
			in := [3]dense.Matrix[T]{rowsOf[T](rng, 300, 4), rowsOf[T](rng, 300, 4), rowsOf[T](rng, 300, 4)}
			want := form.Forward(dense.Matrix[T]{}, in[0], in[1], in[2])
			got := form.Forward(in[i], in[0], in[1], in[2])
			assert.True(t, densetest.Identical(want, got), "%T, dst is input %d", form, i)
		}
	}
}

func TestNewErrors(t *testing.T) {
	id := func(d int) rff.Map[float32] { return must.Have(rff.Draw[float32](rff.Identity{D: d}, nil)) }
	dot := must.Have(rff.Draw(rff.DotProduct{}, must.Have(orf.Draw[float32](orf.IID{}, 4, 2, densetest.Source(1)))))
	for want, phi := range map[string]rff.Map[float32]{
		"performer: phi is nil": nil,
		"performer: Keys of phi, a performer_test.pairOfMaps[float32], is nil":                        pairOfMaps[float32]{id(2), nil},
		"performer: phi maps points of R^2 to 2 features, its Keys points of R^3 to 3, want the same": pairOfMaps[float32]{id(2), id(3)},
		"performer: phi maps points of R^2 to 2 features, its Keys points of R^2 to 4, want the same": pairOfMaps[float32]{id(2), dot},
	} {
		_, err := performer.NewLinear(phi, performer.LinearOptions{})
		assert.EqualError(t, err, want)
	}
	assert.Equal(t, 2, attention(maptest.Positive[float32](6, 2), performer.LinearOptions{}).Describe().Dim)
}

func TestShapesPanic(t *testing.T) {
	mat := dense.New[float64]
	var none dense.Matrix[float64]
	bi, causal := attention(reLU[float64](4), performer.LinearOptions{}), attention(reLU[float64](4), performer.LinearOptions{Causal: true})
	for want, f := range map[string]func(){
		"performer: q is 5×4, k is 6×3, want queries and keys of one dimension":                        func() { bi.Forward(none, mat(5, 4), mat(6, 3), mat(6, 2)) },
		"performer: q is 5×3, k is 6×3: heads have dimension 3, but the attention takes points of R^4": func() { bi.Forward(none, mat(5, 3), mat(6, 3), mat(6, 2)) },
		"performer: k is 6×4, v is 7×2, want as many values as keys":                                   func() { bi.Forward(none, mat(5, 4), mat(6, 4), mat(7, 2)) },
		"performer: q is 5×4, k is 6×4, want as many queries as keys for causal attention":             func() { causal.Forward(none, mat(5, 4), mat(6, 4), mat(6, 2)) },
		"performer: q is 7×4, k is 6×4, want as many queries as keys for causal attention": func() {
			must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})).Forward(none, mat(7, 4), mat(6, 4), mat(6, 2))
		},
		"dense: destination is 5×3, want 5×2": func() { bi.Forward(mat(5, 3), mat(5, 4), mat(6, 4), mat(6, 2)) },
	} {
		assert.PanicsWithValue(t, want, f)
	}
}
