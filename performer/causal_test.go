package performer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// Whatever becomes of the tokens from some position on, outputs before it keep
// every bit.
func TestFutureLeavesThePastAlone(t *testing.T) {
	densetest.Both(t, testFuture[float32], testFuture[float64])
}

func testFuture[T dense.Float](t *testing.T) {
	const n, d = 200, 4
	rng := rand.New(source(20))
	var causal []Form[T]
	for _, m := range maps[T](d) {
		causal = append(causal, attention(m.Map, Options{Causal: true}), attention(m.Map, Options{Causal: true, Unnormalised: true}))
	}
	causal = append(causal, Exact[T]{Causal: true}, Exact[T]{Causal: true, Unnormalised: true})

	in := [3]dense.Matrix[T]{densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1)}
	for number, form := range causal {
		want := form.Forward(dense.Matrix[T]{}, in[0], in[1], in[2])
		for _, at := range []int{1, 40, 63, 64, 130, 199} {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e30, 50} {
				var changed [3]dense.Matrix[T]
				for i := range in {
					changed[i] = in[i].Clone()
					for row := at; row < n; row++ {
						changed[i].Set(row, rng.IntN(d), T(bad))
					}
				}
				got := form.Forward(dense.Matrix[T]{}, changed[0], changed[1], changed[2])
				require.True(t, densetest.Identical(want.RowRange(0, at), got.RowRange(0, at)), "form %d (%T): %v from row %d", number, form, bad, at)
				if math.IsNaN(bad) {
					for row := at; row < n; row++ {
						require.True(t, hasNaN(got.Row(row)), "form %d (%T): row %d hides a NaN", number, form, row)
					}
				}
			}
		}
	}
}

func hasNaN[T dense.Float](x []T) bool {
	for _, v := range x {
		if v != v {
			return true
		}
	}
	return false
}

// A chunk ends where a later key would need another reference, rather than
// taking the maximum over all of its keys.
func TestReferenceFollowsTheFirstTokenOnly(t *testing.T) {
	r := newReference[float64](2)
	logs := dense.Of(4, 2, []float64{1, 2, 5, 2, 1, 170, 1, 180})
	r.raise(logs.Row(0), nil)
	assert.Equal(t, []int64{2, 3}, r.exponent, "1 ≤ 2·ln 2, 2 ≤ 3·ln 2")
	assert.Equal(t, 3, r.admits(logs, false), "180 is more than 250 bits above 3·ln 2, 170 is not")
	peaks := make([]float64, 2)
	peaksOf(peaks, logs)
	assert.False(t, r.admitsAll(peaks))
	changes := r.raise(peaks, nil)
	assert.Equal(t, []int64{8, 260}, r.exponent)
	assert.Equal(t, []change{{0, 2, 8}, {1, 3, 260}}, changes)
}

// Growing norms: token t has norm t/10, so that the sums over later tokens are
// larger by hundreds of orders of magnitude and chunks are cut short.
func TestGrowingNorms(t *testing.T) {
	densetest.Both(t, testGrowingNorms[float32], testGrowingNorms[float64])
}

func testGrowingNorms[T dense.Float](t *testing.T) {
	const n, d = 400, 4
	rng := rand.New(source(21))
	x := densetest.Normal[T](rng, n, d, 0, 1)
	for i := range n {
		norm := 0.0
		for _, v := range x.Row(i) {
			norm = math.Hypot(norm, float64(v))
		}
		for j := range d {
			x.Row(i)[j] *= T(float64(i) / 10 / norm)
		}
	}
	v := densetest.Normal[T](rng, n, 2, 0, 1)
	for _, m := range positiveMaps[T](d) {
		for _, opts := range []Options{{}, {Causal: true}} {
			a := attention(m.Map, opts)
			want, tol := newPairs(a, x, x).attend(dense.Copy(dense.Matrix[float64]{}, v))
			require.Less(t, largest(tol), 1e-2, "the test means something")
			densetest.RequireClose(t, want, tol, a.Forward(dense.Matrix[T]{}, x, x, v), "%s %+v", m.name, opts)
		}
	}
}

// Every key exceeds all before it by more than a chunk admits, so that each
// token is a chunk of its own and each segment has references far from those of
// the others; and the reverse, which keeps whole chunks. One feature is zero for
// the first half of the keys.
func TestExplodingFeatures(t *testing.T) {
	densetest.Both(t, testExploding[float32], testExploding[float64])
}

func testExploding[T dense.Float](t *testing.T) {
	const n = 400
	steps := logRowMap[T]{rowMap[T]{in: 2, out: 2, row: func(phi, x []T) {
		phi[0], phi[1] = x[0], x[0]/2
		if x[1] < n/2 {
			phi[1] = T(math.Inf(-1))
		}
	}}}
	for _, opts := range []Options{{}, {Causal: true}} {
		a := attention[T](steps, opts)
		for _, sign := range []T{1, -1} {
			x, v := dense.New[T](n, 2), dense.New[T](n, 1)
			for i := range n {
				x.Row(i)[0], x.Row(i)[1], v.Data[i] = sign*T(i)*100, T(i), T(i)
			}
			want, tol := newPairs(a, x, x).attend(dense.Copy(dense.Matrix[float64]{}, v))
			densetest.RequireClose(t, want, tol, a.Forward(dense.Matrix[T]{}, x, x, v), "%+v sign %v", opts, sign)
		}
	}
}
