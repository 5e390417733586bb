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
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// Norms of 30 and norms that grow from 0 to 40 in either direction, so that references
// move by hundreds of powers of two on both ways and chunks are cut short.
func TestBackwardOfLargeNorms(t *testing.T) {
	densetest.Both(t, testBackwardOfLargeNorms[float32], testBackwardOfLargeNorms[float64])
}

func testBackwardOfLargeNorms[T dense.Float](t *testing.T) {
	const n, d = 300, 4
	rng := rand.New(densetest.Source(220))
	large := densetest.Sphere[T](rng, n, d, 30)
	growing, shrinking := densetest.Sphere[T](rng, n, d, 1), densetest.Sphere[T](rng, n, d, 1)
	for i := range n {
		for j := range d {
			growing.Row(i)[j] *= T(i) * 40 / n
			shrinking.Row(i)[j] *= T(n-i) * 40 / n
		}
	}
	v, dout := densetest.Normal[T](rng, n, 3, 0, 1), densetest.Normal[T](rng, n, 3, 0, 1)
	for name, x := range map[string]dense.Matrix[T]{"large": large, "growing": growing, "shrinking": shrinking} {
		in := [3]dense.Matrix[T]{x, x, v}
		for _, m := range positiveMaps[T](d)[:3] {
			for _, opts := range []performer.LinearOptions{{}, {Causal: true}} {
				a := attention(m.Map, opts)
				for at, g := range backward[T](a, in, dout) {
					require.True(t, layout.Finite(g), "%s %s %+v: input %d", name, m.name, opts, at)
				}
				requireLogGradients(t, a, in, dout, "%s %s %+v", name, m.name, opts)
			}
		}
		for at, g := range backward[T](must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})), in, dout) {
			require.True(t, layout.Finite(g), "%s exact: input %d", name, at)
		}
	}
}

// requireLogGradients compares gradients of values with weights formed in log space.
// Their bound allows for the rounding of log-features and for weights that are lost.
func requireLogGradients[T dense.Float](t *testing.T, a performer.Linear[T], in [3]dense.Matrix[T], dout dense.Matrix[T], format string, args ...any) {
	t.Helper()
	p := newPairs(a, in[0], in[1])
	n := in[0].Rows
	want, tol := dense.New[float64](n, dout.Cols), dense.New[float64](n, dout.Cols)
	factor := (float64(p.features+2*n+16) + 4*p.spread) * 2 * p.unitRoundoff
	for i := range n {
		seen := n
		if p.causal {
			seen = i + 1
		}
		total := logSumExp(p.weight.Row(i)[:seen], make([]float64, seen))
		for j := range seen {
			w := math.Exp(p.weight.At(i, j) - total)
			for c, g := range dout.Row(i) {
				want.Row(j)[c] += w * float64(g)
				tol.Row(j)[c] += (factor*w + p.lost) * math.Abs(float64(g))
			}
		}
	}
	require.Less(t, largest(tol), 0.2, "the test means something")
	densetest.RequireClose(t, want, tol, backward[T](a, in, dout)[2], format, args...)
}

// exponential is the positive map of the feature e^x.
type exponential[T dense.Float] struct{ logRowMap[T] }

func newExponential[T dense.Float]() rff.Map[T] {
	return exponential[T]{logRowMap[T]{rowMap[T]{in: 1, out: 1, row: func(phi, x []T) { phi[0] = x[0] }}}}
}

func (exponential[T]) CanBackward() error { return nil }

func (exponential[T]) LogBackward(dst, _, g dense.Matrix[T]) dense.Matrix[T] {
	return dense.Copy(dst, g)
}

func (exponential[T]) Backward(dst, _, _ dense.Matrix[T]) dense.Matrix[T] {
	panic("attention works on logarithms")
}

// causalForms returns every causal form that can be differentiated.
func causalForms[T dense.Float](d int) []performer.Attention[T] {
	var all []performer.Attention[T]
	for _, o := range forms[1:] {
		for _, m := range differentiableMaps[T](d) {
			all = append(all, attention(m.Map, o))
		}
		all = append(all, must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})))
	}
	return all
}

// Whatever becomes of the tokens and gradients from some position on, gradients of
// queries before it keep every bit; and what becomes NaN reaches the gradients that
// depend on it.
func TestFutureLeavesGradientsOfQueriesAlone(t *testing.T) {
	densetest.Both(t, testFutureOfGradients[float32], testFutureOfGradients[float64])
}

func testFutureOfGradients[T dense.Float](t *testing.T) {
	const n, d = 200, 4
	rng := rand.New(densetest.Source(221))
	in := [4]dense.Matrix[T]{}
	for i := range in {
		in[i] = rowsOf[T](rng, n, d)
	}
	for number, form := range causalForms[T](d) {
		want := backward(form, [3]dense.Matrix[T](in[:3]), in[3])
		for place, at := range []int{1, 63, 64, 130, 199} {
			for which, bad := range []float64{math.NaN(), math.Inf(1), -1e30, 50} {
				if (number+place+which)%2 == 1 {
					continue // the next form has it
				}
				var changed [4]dense.Matrix[T]
				for i := range in {
					changed[i] = in[i].Clone()
					for row := at; row < n; row++ {
						changed[i].Set(row, rng.IntN(d), T(bad))
					}
				}
				got := backward(form, [3]dense.Matrix[T](changed[:3]), changed[3])
				require.True(t, densetest.Identical(want[0].RowRange(0, at), got[0].RowRange(0, at)), "form %d (%T): %v from row %d", number, form, bad, at)
				if math.IsNaN(bad) {
					for row := at; row < n; row++ {
						require.True(t, hasNaN(got[0].Row(row)), "form %d (%T): dq hides a NaN in row %d", number, form, row)
					}
					for row := range n {
						require.True(t, hasNaN(got[2].Row(row)), "form %d (%T): dv hides a NaN in row %d", number, form, row)
					}
				}
			}
		}
	}
}

// In exact attention gradients of keys and values do not depend on queries and output
// gradients before them.
func TestPastLeavesGradientsOfKeysAlone(t *testing.T) {
	const n, d, at = 300, 3, 140
	rng := rand.New(densetest.Source(222))
	in := [3]dense.Matrix[float64]{rowsOf[float64](rng, n, d), rowsOf[float64](rng, n, d), rowsOf[float64](rng, n, d)}
	dout := rowsOf[float64](rng, n, d)
	form := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}))
	want := backward(form, in, dout)
	changed, changedOut := in, dout.Clone()
	changed[0] = in[0].Clone()
	for i := range at {
		changed[0].Row(i)[0], changedOut.Row(i)[1] = math.NaN(), math.NaN()
	}
	got := backward(form, changed, changedOut)
	for _, x := range []int{1, 2} {
		assert.True(t, densetest.Identical(want[x].RowRange(at, n), got[x].RowRange(at, n)), "input %d", x)
		assert.True(t, hasNaN(got[x].Row(0)), "input %d", x)
	}
}

// NaN anywhere reaches every gradient of bidirectional attention.
func TestBackwardShowsNaN(t *testing.T) {
	rng := rand.New(densetest.Source(223))
	for _, form := range []performer.Attention[float64]{must.Have(performer.NewExact[float64](performer.ExactOptions{})), attention(maptest.Positive[float64](16, 3), performer.LinearOptions{}), attention(must.Have(rff.Draw(rff.Gaussian{LengthScale: 3}, maptest.Frequencies[float64](16, 3))), performer.LinearOptions{})} {
		for spoilt := range 4 {
			var in [4]dense.Matrix[float64]
			for i := range in {
				in[i] = rowsOf[float64](rng, 150, 3)
			}
			in[spoilt].Set(100, 1, math.NaN())
			for at, g := range backward(form, [3]dense.Matrix[float64](in[:3]), in[3]) {
				// Gradients of values do not depend on values, nor queries on each other.
				if at != 2 || spoilt != 2 {
					assert.True(t, hasNaN(g.Row(100)), "%T: NaN in %d, gradient %d", form, spoilt, at)
				}
				depends := at == 1 && spoilt != 2 || at == 2 && spoilt != 2 || at == 0 && spoilt%3 != 0
				if depends {
					assert.True(t, hasNaN(g.Row(7)), "%T: NaN in %d, gradient %d", form, spoilt, at)
				}
			}
		}
	}
}

//ci:race
func TestBackwardBitsDoNotDependOnProcessors(t *testing.T) {
	densetest.Both(t, testBackwardBits[float32], testBackwardBits[float64])
}

func testBackwardBits[T dense.Float](t *testing.T) {
	const n, d = 700, 6
	rng := rand.New(densetest.Source(224))
	growing := densetest.Normal[T](rng, n, d, 0, 1)
	for i := range n {
		for j := range d {
			growing.Row(i)[j] *= T(i) / 20
		}
	}
	dout := densetest.Normal[T](rng, n, d, 0, 1)
	for _, x := range []dense.Matrix[T]{rowsOf[T](rng, n, d), growing} {
		in := [3]dense.Matrix[T]{x, x, dout}
		for _, form := range append(everyForm[T](d), must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 3}, attention(maptest.Positive[T](8, 2), performer.LinearOptions{Causal: true})))) {
			var want [3]dense.Matrix[T]
			for _, processors := range []int{1, 2, 5} {
				before := runtime.GOMAXPROCS(processors)
				got := backward(form, in, dout)
				runtime.GOMAXPROCS(before)
				if processors == 1 {
					want = got
				}
				for at := range got {
					require.True(t, densetest.Identical(want[at], got[at]), "%T %d processors: input %d", form, processors, at)
				}
			}
		}
	}
}
