package performer_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// Causal attention with features elu+1 is exact where features of keys or queries are far out of
// the range that is used as it is: from the beginning, from some token on, or for some tokens.
// Averages of ones are one, no token changes a bit of an earlier output, and outputs may go over an
// input.
func TestDirectCausal(t *testing.T) {
	densetest.Both(t, testDirectCausal[float32], testDirectCausal[float64])
}

func testDirectCausal[T dense.Float](t *testing.T) {
	const n, d, dv = 700, 70, 70
	rng := rand.New(densetest.Source(121))
	a := attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), performer.LinearOptions{Causal: true})
	usual, v := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, dv, 0, 1)
	shifted := func(shift float64, counts func(i, j int) bool) dense.Matrix[T] {
		x := usual.Clone()
		for i := range n {
			for j := range d {
				if counts(i, j) {
					x.Row(i)[j] += T(shift)
				}
			}
		}
		return x
	}
	always := func(int, int) bool { return true }
	from := func(first int) func(i, j int) bool { return func(i, _ int) bool { return i >= first } }
	for at, c := range []struct {
		what string
		q, k dense.Matrix[T]
	}{
		{"usual", usual, usual},
		{"keys small", usual, shifted(-200, always)},
		{"keys large", usual, shifted(1e12, always)},
		{"keys small at the end", usual, shifted(-200, from(n-1))},
		{"keys large from some token on", usual, shifted(1e6, from(131))},
		{"keys grow", usual, shifted(40, from(256))},
		{"one feature small", usual, shifted(-300, func(i, j int) bool { return i > 64 && j == 3 })},
		{"queries small", shifted(-300, always), usual},
		{"queries large", shifted(1e13, from(9)), usual},
		{"both small", shifted(-100, always), shifted(-100, from(5))},
	} {
		want, tol := newPairs(a, c.q, c.k).attend(dense.Copy(dense.Matrix[float64]{}, v))
		require.Less(t, largest(tol), 1e-2, "the test means something")
		got := a.Forward(dense.Matrix[T]{}, c.q, c.k, v)
		densetest.RequireClose(t, want, tol, got, "%s", c.what)
		ones := densetest.Filled[T](n, 2, 1)
		assert.Equal(t, ones, a.Forward(dense.Matrix[T]{}, c.q, c.k, ones), c.what)

		for i, cut := range []int{1, 6, 66, 133, 300} {
			// Each token is NaN for half of the inputs and large for the others, in turn by type.
			content := math.NaN()
			if (at+i+int(of[T](0, 1)))%2 == 0 {
				content = 1e20
			}
			k, values := c.k.Clone(), v.Clone()
			layout.Fill(k.Row(cut), T(content))
			layout.Fill(values.Row(cut), T(content))
			changed := a.Forward(dense.Matrix[T]{}, c.q, k, values)
			require.True(t, densetest.Identical(got.RowRange(0, cut), changed.RowRange(0, cut)), "%s, %v at %d", c.what, content, cut)
			if math.IsNaN(content) {
				require.False(t, layout.Finite(changed.RowRange(n-1, n)), "%s: NaN at %d stays", c.what, cut)
			}
		}
		for which := range 3 {
			x := [3]dense.Matrix[T]{c.q.Clone(), c.k.Clone(), v.Clone()}
			require.True(t, densetest.Identical(got, a.Forward(x[which], x[0], x[1], x[2])), "%s, into input %d", c.what, which)
		}
		before := runtime.GOMAXPROCS(1)
		one := a.Forward(dense.Matrix[T]{}, c.q, c.k, v)
		runtime.GOMAXPROCS(3)
		three := a.Forward(dense.Matrix[T]{}, c.q, c.k, v)
		runtime.GOMAXPROCS(before)
		require.True(t, densetest.Identical(one, three), "%s: processors", c.what)
	}
}

// Small values lose no more digits than they do in bidirectional attention: outputs are those of
// values 2¹⁰⁰ times larger, whose products are far from the smallest numbers.
func TestDirectCausalSmallValues(t *testing.T) {
	const n, d, dv = 200, 16, 8
	rng := rand.New(densetest.Source(122))
	a := attention[float32](must.Have(rff.Draw[float32](rff.ELU{D: d}, nil)), performer.LinearOptions{Causal: true})
	q, k := densetest.Normal[float32](rng, n, d, -8, 1), densetest.Normal[float32](rng, n, d, -8, 1)
	large := densetest.Normal[float32](rng, n, dv, 1, 0.1)
	for _, exponent := range []float64{-100, -113, -120, -123} {
		v := large.Clone()
		for i := range v.Data {
			v.Data[i] *= float32(math.Exp2(exponent))
		}
		got, want := a.Forward(dense.Matrix[float32]{}, q, k, v), dense.Copy(dense.Matrix[float64]{}, a.Forward(dense.Matrix[float32]{}, q, k, large))
		for i := range got.Data {
			require.InEpsilon(t, want.Data[i], math.Exp2(-exponent)*float64(got.Data[i]), 1e-5, "values of 2^%v, output %d", exponent, i)
		}
	}
}
