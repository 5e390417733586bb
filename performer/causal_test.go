package performer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

func hasNaN[T dense.Float](x []T) bool {
	return slices.ContainsFunc(x, func(v T) bool { return v != v })
}

// Growing norms: token t has norm t/10, so that the sums over later tokens are
// larger by hundreds of orders of magnitude and chunks are cut short.
func TestGrowingNorms(t *testing.T) {
	densetest.Both(t, testGrowingNorms[float32], testGrowingNorms[float64])
}

func testGrowingNorms[T dense.Float](t *testing.T) {
	const n, d = 400, 4
	rng := rand.New(densetest.Source(21))
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
		for _, opts := range []performer.LinearOptions{{}, {Causal: true}} {
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
	for _, opts := range []performer.LinearOptions{{}, {Causal: true}} {
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

// The sign of a zero is a bit too. Here all that rows from 257 on add up is −0, of
// products that underflow and of negative zeros, with what comes from rows far before
// as well. Zeros of the future would make it +0.
func TestSignOfZeroInThePast(t *testing.T) {
	densetest.Both(t, testSignOfZero[float32], testSignOfZero[float64])
}

func testSignOfZero[T dense.Float](t *testing.T) {
	const n, near, at = 300, 256, 290
	tiny := T(math.SmallestNonzeroFloat32)
	if small := math.SmallestNonzeroFloat64; densetest.Roundoff[T]() < 0x1p-50 {
		tiny = T(small)
	}
	v := densetest.Filled[T](n, 1, T(math.Copysign(0, -1)))
	v.Data[0], v.Data[near] = -tiny, -tiny

	// Weights 0.16, of sums that are −tiny; or e^(−10) and, for what is before, e^(−9).
	q, k := densetest.Filled[T](n, 1, 0.4), densetest.Filled[T](n, 1, 0.4)
	k.Data[0] = 1
	ones, steps := densetest.Filled[T](n, 1, 1), densetest.Filled[T](n, 1, 10)
	for j := range near {
		steps.Data[j] = 0.5
	}
	steps.Data[0], steps.Data[near] = 1, 0
	for _, o := range forms[1:] {
		for _, c := range []struct {
			form performer.Attention[T]
			q, k dense.Matrix[T]
		}{
			{attention[T](must.Have(rff.Draw[T](rff.Identity{D: 1}, nil)), o), q, k},
			{must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: 1, Causal: true}})), ones, steps},
		} {
			want := c.form.Forward(dense.Matrix[T]{}, c.q, c.k, v)
			require.Zero(t, want.Data[at-1])
			for _, future := range []float64{0, 1, -1, math.NaN(), math.Inf(1)} {
				changed := v.Clone()
				for i := at; i < n; i++ {
					changed.Data[i] = T(future)
				}
				got := c.form.Forward(dense.Matrix[T]{}, c.q, c.k, changed)
				assert.True(t, densetest.Identical(want.RowRange(0, at), got.RowRange(0, at)), "%T, future %v", c.form, future)
			}
		}
	}
}
