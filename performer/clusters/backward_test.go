package clusters_test

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
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

var gradientNames = [3]string{"dq", "dk", "dv"}

// backward returns the gradients dq, dk and dv.
func backward[T dense.Float](f interface {
	Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T])
}, q, k, v, dout dense.Matrix[T]) (g [3]dense.Matrix[T]) {
	g[0], g[1], g[2] = f.Backward(g[0], g[1], g[2], q, k, v, dout)
	return g
}

// normal returns normal numbers.
func normal[T dense.Float](rows, cols int, seed uint64) dense.Matrix[T] {
	return densetest.Normal[T](rand.New(rand.NewPCG(seed, 0)), rows, cols, 0, 1)
}

// With all keys scored, gradients are those of exact attention to rounding, also of queries whose
// weights are out of range.
func TestBackwardExact(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testBackwardExact[float32](t, 1e-5) })
	t.Run("type=float64", func(t *testing.T) { testBackwardExact[float64](t, 1e-13) })
}

func testBackwardExact[T dense.Float](t *testing.T, rounding float64) {
	exact := must.Have(performer.NewExact[T](performer.ExactOptions{}))
	for _, n := range []int{0, 1, 255, 256, 257, 900, 2900} {
		for _, count := range []int{0, 1, 10000} {
			q, k, v := tokens[T](n, 8, 4, 6, 23)
			dout := normal[T](n, 4, 24)
			if n > 2 {
				q.Row(n / 2)[0] = 1e10
				for j := range 4 {
					dout.Row(n / 2)[j] *= 1e-11 // for gradients of the usual size
				}
			}
			f := form(t, exact, clusters.Options{Threshold: 1e-30, Clusters: count})
			want, got := backward(exact, q, k, v, dout), backward(f, q, k, v, dout)
			for i, name := range gradientNames {
				if e := relative(got[i], want[i]); n > 0 && e == e {
					assert.Less(t, e, rounding, "n = %d, C = %d, %s", n, count, name)
				} else {
					assert.Equal(t, want[i].Data, got[i].Data, "n = %d, %s", n, name)
				}
			}
			none := backward(f, q, k, v.ColRange(0, 0), dout.ColRange(0, 0))
			assert.Equal(t, make([]T, n*8), none[0].Data, "no columns of values")
			assert.Equal(t, make([]T, n*8), none[1].Data, "no columns of values")
		}
	}
}

// repeated returns normal queries and values, and keys that are words with noise.
func repeated(n, count, d, dv int, noise float64) (q, k, v dense.Matrix[float64]) {
	words := normal[float64](count, d, 3)
	q, k, v = normal[float64](n, d, 4), normal[float64](n, d, 5), normal[float64](n, dv, 6)
	for j := range n {
		for c, x := range words.Row(j * 7 % count) {
			k.Row(j)[c] = 2*x + noise*k.Row(j)[c]
		}
	}
	return q, k, v
}

// Errors of gradients are a few times those of outputs where keys of a cluster are equal, or nearly
// so, and their values differ. Without the product of differences of values with Σ_i P_ic·q_i·g_iᵀ,
// the error of dk is 0.96 for equal keys.
func TestBackwardEqualKeys(t *testing.T) {
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	for _, noise := range []float64{0, 0.01, 0.1, 0.3} {
		q, k, v := repeated(2000, 40, 16, 7, noise)
		dout := normal[float64](2000, 7, 24)
		want, wantOut := backward(exact, q, k, v, dout), exact.Forward(dense.Matrix[float64]{}, q, k, v)
		for _, o := range []clusters.Options{{}, {Clusters: 16}, {Threshold: 0.005}, {Threshold: 1}} {
			f := form(t, exact, o)
			outputs, got := relative(f.Forward(dense.Matrix[float64]{}, q, k, v), wantOut), backward(f, q, k, v, dout)
			for i, name := range gradientNames {
				e := relative(got[i], want[i])
				assert.Less(t, e, 0.015+2*outputs, "noise %v, %+v: %s, where outputs have %.4f", noise, o, name, outputs)
			}
		}
	}
}

// Where the keys of a cluster have one value, all gradients are the differences of Forward with
// fixed choices. Keys are near words that are far apart, and a word has one value.
func TestBackwardDifferences(t *testing.T) {
	const n, d, dv, words = 600, 5, 3, 6
	q, k, _ := repeated(n, words, d, dv, 0.05)
	points := normal[float64](words, d, 3)
	for i := range q.Data {
		q.Data[i] *= 3 // with t_c = 0.0025 and ‖q‖² of 45, exp(u_ic) is 1.01
	}
	v, dout := dense.New[float64](n, dv), normal[float64](n, dv, 22)
	q.Row(501)[d-1] = 150 // u_ic is beyond its bound
	for j := range n {
		k.Row(j)[d-1] -= 2 * points.Row(j * 7 % words)[d-1] // query 501 attends to all words
		copy(v.Row(j), normal[float64](words, dv, 9).Row(j*7%words))
	}
	for _, threshold := range []float64{1e-30, 0.01, 1e30} {
		exact := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Scale: 0.9}}))
		f := form(t, exact, clusters.Options{Threshold: threshold, Clusters: 40})
		g := backward(f, q, k, v, dout)
		loss := func() (sum float64) {
			out := f.Forward(dense.Matrix[float64]{}, q, k, v)
			for i, x := range out.Data {
				sum += x * dout.Data[i]
			}
			return sum
		}
		for i, x := range []dense.Matrix[float64]{q, k, v} {
			for at := 3; at < n; at += 83 {
				for _, col := range []int{at % x.Cols, x.Cols - 1} {
					const h = 1e-5
					cell := &x.Row(at)[col]
					was := *cell
					*cell = was + h
					up := loss()
					*cell = was - h
					down := loss()
					*cell = was
					assert.InDelta(t, (up-down)/(2*h), g[i].At(at, col), 1e-7, "τ = %v, %s of row %d, column %d", threshold, gradientNames[i], at, col)
				}
			}
		}
	}
}

// Bits depend neither on GOMAXPROCS nor on earlier calls, and options of 8 bits have the gradients
// of options without.
//
//ci:race
func TestBackwardBits(t *testing.T) {
	for _, n := range []int{3000, 700} {
		q, k, v := tokens[float32](n, 8, 8, 6, 25)
		dout := normal[float32](n, 8, 26)
		f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
		coded := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8})), clusters.Options{})
		require.NoError(t, coded.CanBackward())
		want := backward(f, q, k, v, dout)
		old := runtime.GOMAXPROCS(1)
		got := backward(coded, q, k, v, dout)
		runtime.GOMAXPROCS(old)
		require.Equal(t, want, got)
	}
}

// NaN in a query leaves outputs and gradients of other queries alone.
func TestBackwardNaN(t *testing.T) {
	const n, at = 1500, 700
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	q, k, v := tokens[float32](n, 4, 3, 5, 27)
	dout := normal[float32](n, 3, 28)
	outputs, want := f.Forward(dense.Matrix[float32]{}, q, k, v), backward(f, q, k, v, dout)
	q.Row(at)[1] = float32(math.NaN())
	out, got := f.Forward(dense.Matrix[float32]{}, q, k, v), backward(f, q, k, v, dout)
	for i := range n {
		if i == at {
			require.True(t, math.IsNaN(float64(got[0].At(i, 0))))
			continue
		}
		require.Equal(t, outputs.Row(i), out.Row(i), "row %d", i)
		require.Equal(t, want[0].Row(i), got[0].Row(i), "row %d", i)
		require.True(t, math.IsNaN(float64(got[1].At(i, 0))), "key %d", i)
	}
}

// Gradients of a batch are those of calls of its heads and sequences, whatever the padding holds.
// Padding has outputs without a gradient.
func TestBackwardPadding(t *testing.T) {
	const d, dv, queryHeads, keyHeads, rows = 5, 3, 4, 2, 900
	lengths := []int{700, 300, 0, 1, 890}
	none := dense.Matrix[float32]{}
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	b := batch[float32](t, queryHeads, keyHeads, f)
	q, k, v := heads[float32](rows*len(lengths), queryHeads, keyHeads, d, dv, 1)
	dout := normal[float32](q.Rows, queryHeads*dv, 2)
	s := performer.Sequences{Valid: make([]bool, k.Rows)}
	for i, n := range lengths {
		s.Queries = append(s.Queries, rows)
		for j := i * rows; j < (i+1)*rows; j++ {
			if s.Valid[j] = j >= (i+1)*rows-n; !s.Valid[j] { // padding at the left
				for _, x := range []dense.Matrix[float32]{q, k, v} {
					layout.Fill(x.Row(j), float32(math.NaN()))
				}
				clear(dout.Row(j))
			}
		}
	}
	dq, dk, dV := b.BackwardSequences(none, none, none, q, k, v, dout, s)
	for i, n := range lengths {
		lo, hi := (i+1)*rows-n, (i+1)*rows
		require.Equal(t, make([]float32, (rows-n)*dk.Cols), dk.RowRange(i*rows, lo).Clone().Data)
		for g := range keyHeads {
			sums := [2]dense.Matrix[float32]{dense.New[float32](n, d), dense.New[float32](n, v.Cols/keyHeads)}
			for h := g * 2; h < (g+1)*2; h++ {
				of := func(x dense.Matrix[float32], h, heads int) dense.Matrix[float32] {
					return layout.Head(x.RowRange(lo, hi), h, heads)
				}
				one := backward(f, of(q, h, queryHeads), of(k, g, keyHeads), of(v, g, keyHeads), of(dout, h, queryHeads))
				identical(t, one[0], of(dq, h, queryHeads).Clone(), "sequence", i, "head", h)
				for j := range sums {
					for l, x := range one[1+j].Data {
						sums[j].Data[l] += x
					}
				}
			}
			for j, x := range []dense.Matrix[float32]{dk, dV} {
				got := layout.Head(x.RowRange(lo, hi), g, keyHeads).Clone()
				assert.InDeltaSlice(t, sums[j].Data, got.Data, 1e-4, "sequence %d, keys %d", i, g)
			}
		}
	}
}

func TestBackwardErrors(t *testing.T) {
	x := dense.New[float32](3, 2)
	none := dense.Matrix[float32]{}
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	assert.PanicsWithValue(t, "performer: dout is 3×1, q is 3×2, v is 3×2, want 3×2, a gradient for each output", func() { f.Backward(none, none, none, x, x, x, x.ColRange(0, 1)) })
	assert.PanicsWithValue(t, "performer: q is 3×1, k is 3×2, want queries and keys of one dimension", func() { f.Backward(none, none, none, x.ColRange(0, 1), x, x, x) })
}
