package performer

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// Sums over two sets of features are those of attention with all of them.
func TestPooled(t *testing.T) {
	densetest.Both(t, testPooled[float32], testPooled[float64])
}

func testPooled[T dense.Float](t *testing.T) {
	const n, d, m = 150, 8, 16
	rng := rand.New(source(73))
	w := must(orf.Draw[T](orf.IID{}, 2*m, d, source(74))).Frequencies()
	positive := func(w dense.Matrix[T]) rff.LogMap[T] { return must(rff.SoftmaxPositive(must(orf.Of(w)), 1)) }
	for _, norm := range []float64{0.5, 4, 100} {
		q, k, v := sphere[T](rng, n, d, norm), sphere[T](rng, n, d, norm), densetest.Normal[T](rng, n, 3, 0, 1)
		for _, causal := range []bool{false, true} {
			whole := attention[T](positive(w), Options{Causal: causal})
			want, tol := newPairs(whole, q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
			one := positive(w.RowRange(0, m))
			s := must(newSumming(one, one, causal))
			var first, second pooled
			first.empty(n, 3)
			second.empty(n, 3)
			s.addTo(&first, q, k, v)
			s.redraw(positive(w.RowRange(m, 2*m)))
			s.addTo(&second, q, k, v)
			for _, pair := range [][2]*pooled{{&first, &second}, {&second, &first}} {
				var sum pooled
				sum.empty(n, 3)
				sum.add(pair[0])
				sum.add(pair[1])
				got := dense.New[float64](n, 3)
				sum.quotients(got)
				densetest.RequireClose(t, want, tol, dense.Copy(dense.Matrix[T]{}, got), "norm %v, causal %v", norm, causal)
			}
		}
	}
}

// Sums over two sets of features far out, where a float32 holds the scale of a row to less than
// a factor: averages of values, and in float64 those of all features together.
func TestPooledFar(t *testing.T) {
	densetest.Both(t, testPooledFar[float32], testPooledFar[float64])
}

func testPooledFar[T dense.Float](t *testing.T) {
	const n, d, m = 70, 64, 8
	rng := rand.New(source(75))
	w := must(orf.Draw[T](orf.IID{}, 2*m, d, source(76))).Frequencies()
	positive := func(w dense.Matrix[T]) rff.LogMap[T] { return must(rff.SoftmaxPositive(must(orf.Of(w)), 1.0/8)) }
	for _, norm := range []float64{1e5, 1e10, of[T](1e19, 1e100)} {
		q, k, v := sphere[T](rng, n, d, norm), sphere[T](rng, n, d, norm), densetest.Normal[T](rng, n, 3, 0, 1)
		for _, causal := range []bool{false, true} {
			var sum pooled
			sum.empty(n, 3)
			one := positive(w.RowRange(0, m))
			s := must(newSumming(one, one, causal))
			s.addTo(&sum, q, k, v)
			s.redraw(positive(w.RowRange(m, 2*m)))
			s.addTo(&sum, q, k, v)
			got := dense.New[float64](n, 3)
			sum.quotients(got)
			requireAverages(t, got, dense.Copy(dense.Matrix[float64]{}, v), "norm %v, causal %v", norm, causal)
			if densetest.Roundoff[T]() < 0x1p-50 && norm < 1e6 {
				want, tol := truthOf(attention[T](positive(w), Options{Causal: causal}), q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
				for i := range tol.Data {
					tol.Data[i] += 1e-6 // scales of e^(10⁹) are known to 2⁻²³
				}
				densetest.RequireClose(t, want, tol, got, "norm %v, causal %v", norm, causal)
			}
		}
	}
}

// What is 2^2000 times as large takes over, in either order, and a row without weights
// changes nothing.
func TestPooledExponents(t *testing.T) {
	for _, order := range [][]float64{{-1000, 1000}, {1000, -1000}} {
		var p pooled
		p.empty(1, 1)
		addRow(&p, 0, []float32{0, 0}, 1, 5000)
		for _, e := range order {
			addRow(&p, 0, []float32{float32(e), 1}, 1.5, e)
		}
		addRow(&p, 0, []float32{0, 0}, 1, 5000)
		got := dense.New[float64](1, 1)
		p.quotients(got)
		assert.Equal(t, 1000.0, got.Data[0])
	}
}
