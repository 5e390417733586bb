package performer_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// gradients are those of attention with respect to log-features and values, and bounds on
// their errors.
func (t *truth) gradients(v, dout dense.Matrix[float64]) (want, tol [3]dense.Matrix[float64]) {
	n := len(t.p)
	out, _ := t.attend(v)
	for at, cols := range []int{t.m, t.m, v.Cols} {
		want[at], tol[at] = dense.New[float64](n, cols), dense.New[float64](n, cols)
	}
	for i := range t.p {
		g := dout.Row(i)
		mean, _ := products(g, out.Row(i))
		meanSize := 0.0
		for j := range len(t.p[i]) / t.m {
			_, s := products(g, v.Row(j))
			meanSize += t.weight(i, j) * s
		}
		for j := range len(t.p[i]) / t.m {
			c, size := products(g, v.Row(j))
			c, size = c-mean, size+meanSize
			for f, p := range t.p[i][j*t.m : (j+1)*t.m] {
				off := (4*t.factor*p + t.lost) * size
				want[0].Row(i)[f] += p * c
				tol[0].Row(i)[f] += off
				want[1].Row(j)[f] += p * c
				tol[1].Row(j)[f] += off
			}
			w := t.weight(i, j)
			for at, x := range g {
				want[2].Row(j)[at] += w * x
				tol[2].Row(j)[at] += (4*t.factor*w + t.lost) * math.Abs(x)
			}
		}
	}
	return want, tol
}

// Gradients are those of the averages that Forward gives, whatever the log-features are.
func TestFarGradients(t *testing.T) {
	densetest.Both(t, testFarGradients[float32], testFarGradients[float64])
}

func testFarGradients[T dense.Float](t *testing.T) {
	const n, m, dv = 70, 4, 2
	rng := rand.New(densetest.Source(310))
	v, dout := densetest.Normal[T](rng, n, dv, 0, 1), densetest.Normal[T](rng, n, dv, 0, 1)
	double := func(x dense.Matrix[T]) dense.Matrix[float64] { return dense.Copy(dense.Matrix[float64]{}, x) }
	for _, s := range scenes[T](n, m) {
		for _, opts := range []performer.LinearOptions{{}, {Causal: true}} {
			a := attention(logarithms[T](m), opts)
			want, tol := s.truth(a).gradients(double(v), double(dout))
			for at, got := range backward[T](a, [3]dense.Matrix[T]{s.q, s.k, v}, dout) {
				densetest.RequireClose(t, want[at], tol[at], got, "%s %+v: input %d", s.name, opts, at)
			}
		}
	}
}

// The first far token may come at any place: what was done before is done again with a
// trail, for batches of any number of chunks and with any number of processors.
func TestFarGradientBits(t *testing.T) {
	densetest.Both(t, testFarGradientBits[float32], testFarGradientBits[float64])
}

func testFarGradientBits[T dense.Float](t *testing.T) {
	const n, d = 400, 4
	rng := rand.New(densetest.Source(311))
	v, dout := densetest.Normal[T](rng, n, 3, 0, 1), densetest.Normal[T](rng, n, 3, 0, 1)
	ordinary := densetest.Normal[T](rng, n, d, 0, 1)
	for _, from := range []int{0, 63, 64, 300, 399, n} {
		x := ordinary.Clone()
		for i := from; i < n; i += 1 + i%3 {
			for j := range d {
				x.Row(i)[j] *= T(1e6 * float64(1+i))
			}
		}
		for _, m := range positiveMaps[T](d) {
			a := attention(m.Map, performer.LinearOptions{Causal: true})
			in := func(processors int) sums.HeadGradients[T] {
				g := performer.NewGradients(x, x, v, dout)
				performer.InsideOf(a).Engine.BackwardCausal(processors, &g, nil, nil)
				return g
			}
			want := in(1)
			for at, g := range []dense.Matrix[T]{want.DQ, want.DK, want.DV} {
				require.True(t, layout.Finite(g), "%s from %d: input %d", m.name, from, at)
			}
			for _, processors := range []int{2, 5} {
				got := in(processors)
				require.True(t, densetest.Identical(want.DQ, got.DQ) && densetest.Identical(want.DK, got.DK) && densetest.Identical(want.DV, got.DV),
					"%s from %d: batches of %d processors", m.name, from, processors)
			}
			before := dense.Matrix[T]{}
			for _, processors := range []int{1, 2} {
				was := runtime.GOMAXPROCS(processors)
				got := backward[T](attention(m.Map, performer.LinearOptions{}), [3]dense.Matrix[T]{x, x, v}, dout)
				runtime.GOMAXPROCS(was)
				if processors == 1 {
					before = got[1]
				}
				require.True(t, densetest.Identical(before, got[1]), "%s from %d", m.name, from)
			}
			kept := performer.NewGradients(ordinary, ordinary, v, dout)
			performer.InsideOf(a).Engine.BackwardCausal(1, &kept, nil, nil)
			require.True(t, densetest.Identical(kept.DQ.RowRange(0, from), want.DQ.RowRange(0, from)), "%s from %d: queries before it", m.name, from)
		}
	}
}
