package features_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/law/residual"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// shifted is the map φ(x) = (x_1 + mean, …, x_d + mean, x_1·x_d), rounded to T.
type shifted[T dense.Float] struct {
	d    int
	mean T
}

func (m shifted[T]) Dims() (in, out int) { return m.d, m.d + 1 }

func (m shifted[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, m.d+1)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			dst.Set(i, j, v+m.mean)
		}
		dst.Set(i, m.d, x.At(i, 0)*x.At(i, m.d-1))
	}
	return dst
}

// lacking is a map whose features lack the part |x_2| of its kernel.
type lacking[T dense.Float] struct{ shifted[T] }

func (m lacking[T]) Residual() residual.Residual[T] { return m }

func (m lacking[T]) AddResiduals(dst []float64, x, _ dense.Matrix[T], weight float64) {
	for i := range dst {
		dst[i] += weight * math.Abs(float64(x.At(i, 1)))
	}
}

// draw returns points, targets and weights whose numbers are multiples of 2⁻⁴, so that small sums
// are exact.
func draw[T dense.Float](n, d, p int) (x, y dense.Matrix[T], weights []T) {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	x, y, weights = dense.New[T](n, d), dense.New[T](n, p), make([]T, n)
	for _, part := range [...][]T{x.Data, y.Data} {
		for i := range part {
			part[i] = T(rng.IntN(65)-32) / 16
		}
	}
	for i := range weights {
		weights[i] = T(rng.IntN(4))
	}
	return x, y, weights
}

var sizes = [...]int{0, 1, 2, 17, 300}

// Centred subtracts in float64, so that means of thousands of spreads cost nothing beyond the
// rounding of the features, here none.
func TestCentred(t *testing.T) { densetest.Both(t, testCentred[float32], testCentred[float64]) }

func testCentred[T dense.Float](t *testing.T) {
	const d = 3
	phi := shifted[T]{d, 8192}
	mean := []float64{8192, 8192 + 0x1p-30, 8192, 0.5}
	for _, n := range sizes {
		x, _, _ := draw[T](n, d, 1)
		got := features.New(phi).Centred(dense.New[float64](n, d+1), x, mean)
		for i := range n {
			for j := range d {
				assert.Equal(t, float64(x.At(i, j))+8192-mean[j], got.At(i, j))
			}
			assert.Equal(t, float64(x.At(i, 0)*x.At(i, d-1))-0.5, got.At(i, d))
		}
	}
}

// Each gives f every row once, with its features, targets and weight, and writes both results into
// the same rows.
func TestEach(t *testing.T) { densetest.Both(t, testEach[float32], testEach[float64]) }

func testEach[T dense.Float](t *testing.T) {
	const d, p = 2, 3
	phi := shifted[T]{d, 4096}
	mean := []float64{4096, 4096, 0}
	for _, n := range sizes {
		for _, size := range []int{1, 7, 128} {
			x, y, weights := draw[T](n, d, p)
			first, second := dense.New[T](n, p), dense.New[T](n, 1)
			f := func(r *features.Design) {
				assert.LessOrEqual(t, r.Phi.Rows, size)
				r.First.Shape(r.Phi.Rows, p)
				r.Second.Shape(r.Phi.Rows, 1)
				a, b := r.First.Rows(r.Phi.Rows), r.Second.Rows(r.Phi.Rows)
				for i, w := range r.Weights {
					for j := range p {
						a.Set(i, j, w*r.Y.At(i, j))
					}
					b.Set(i, 0, r.Phi.At(i, 0)+r.Phi.At(i, d))
				}
			}
			features.New(phi).Each(size, mean, x, y, weights, first, second, f)
			for i := range n {
				for j := range p {
					assert.Equal(t, weights[i]*y.At(i, j), first.At(i, j))
				}
				assert.Equal(t, x.At(i, 0)+x.At(i, 0)*x.At(i, d-1), second.At(i, 0))
			}
			features.New(phi).Each(size, mean, x, dense.Matrix[T]{}, nil, dense.Matrix[T]{}, second, func(r *features.Design) {
				r.Second.Shape(r.Phi.Rows, 1)
				for i, w := range r.Weights {
					r.Second.Rows(r.Phi.Rows).Set(i, 0, w)
				}
			})
			for i := range n {
				assert.Equal(t, T(1), second.At(i, 0), "nil weights are 1")
			}
		}
	}
}

// Centring gives the weighted mean of a block, the rows minus the mean times √ω, and a last row. A
// row of weight 0 counts for nothing, even if it is NaN. The means are exact to a unit of rounding,
// although they are thousands of spreads.
func TestCentring(t *testing.T) { densetest.Both(t, testCentring[float32], testCentring[float64]) }

func testCentring[T dense.Float](t *testing.T) {
	const d, lo = 2, 3
	phi := shifted[T]{d, 8192}
	for _, n := range []int{1, 2, 17, 300} {
		x, y, weights := draw[T](lo+n, d, 1)
		weights[lo+n-1] = 2
		if n > 1 {
			weights[lo] = 0
			x.Set(lo, 0, T(math.NaN()))
		}
		c := features.New(phi).Centring(x, y, weights)
		require.Equal(t, lo+n, c.Len())
		b := features.Centred{Weights: make([]float64, n), Root: 3}
		for i := range n {
			b.Weights[i] = c.Weight(lo + i)
			require.Equal(t, float64(weights[lo+i]), b.Weights[i])
			b.Total += b.Weights[i]
			if b.Weights[b.First] == 0 {
				b.First = i
			}
		}
		z := phi.Transform(dense.Matrix[T]{}, x)
		for of, rows := range [...]dense.Matrix[T]{z, y} {
			width := rows.Cols
			b.Dst, b.Means, b.Before = densetest.Filled(n+1, width, math.NaN()), make([]float64, width), make([]float64, width)
			for j := range b.Before {
				b.Before[j] = float64(100 * j)
			}
			if of == 0 {
				c.Features(&b, lo)
			} else {
				c.Targets(&b, lo)
			}
			for j := range width {
				sum := 0.0 // exact
				for i, w := range b.Weights {
					if w > 0 {
						sum += w * float64(rows.At(lo+i, j))
					}
				}
				assert.InDelta(t, sum/b.Total, b.Means[j], 2*0x1p-52*math.Abs(sum/b.Total)+0x1p-50)
				for i, w := range b.Weights {
					want := 0.0
					if w > 0 {
						want = math.Sqrt(w) * (float64(rows.At(lo+i, j)) - b.Means[j])
					}
					// Rows are about the mean before its rounding.
					assert.InDelta(t, want, b.Dst.At(i, j), math.Sqrt(w)*0x1p-52*(math.Abs(b.Means[j])+math.Abs(want)))
				}
				assert.Equal(t, 3*(b.Means[j]-b.Before[j]), b.Dst.At(n, j))
			}
		}
	}
}

// The means and deviations of a Regression are those of its formulas, and calls of two goroutines
// do not disturb each other.
func TestRegression(t *testing.T) {
	densetest.Both(t, testRegression[float32], testRegression[float64])
}

func testRegression[T dense.Float](t *testing.T) {
	const n, d = 300, 3
	source := features.New(lacking[T]{shifted[T]{d, 2048}})
	r := &features.Regression{
		Weights: dense.Of(d+1, 2, []float64{1, 0, -0.5, 2, 0, 1, 0.25, -1}),
		Facts:   features.Facts{FeatureMean: []float64{2048, 2048, 2048, 1}, TargetMean: []float64{16, -4}, Noise: []float64{4, 9}, Ratio: 0.5, Base: 0.25},
	}
	x, _, _ := draw[T](n, d, 1)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			mean, sd := features.Predict(source, r, x, 32, func(rows *features.Design) {
				r.Mean(rows)
				variances := make([]float64, rows.Phi.Rows)
				for i := range variances {
					variances[i] = math.Abs(rows.Phi.At(i, 0))
				}
				r.Deviations(rows, variances, 1)
			})
			again := features.Mean(source, r, dense.Matrix[T]{}, x, 7)
			for i := range n {
				a, b, c := float64(x.At(i, 0)), float64(x.At(i, 1)), float64(x.At(i, 2))
				want := []T{T(16 + a - 0.5*b + 0.25*(a*c-1)), T(-4 + 2*b + c - (a*c - 1))}
				assert.Equal(t, want, mean.Row(i))
				assert.Equal(t, want, again.Row(i))
				v := math.Abs(a) + 0.25 + 2*math.Abs(b) + 1
				assert.Equal(t, []T{T(math.Sqrt(4 * v)), T(math.Sqrt(9 * v))}, sd.Row(i))
			}
		})
	}
	both.Wait()
	assert.Equal(t, []float64{16 - 2048 + 1024 - 0.25, -4 - 3*2048 + 1}, r.Intercepts())
	empty := features.Mean(source, r, dense.Matrix[T]{}, dense.New[T](0, d), 7)
	assert.Equal(t, [2]int{0, 2}, [2]int{empty.Rows, empty.Cols})
}

func TestCheckPoints(t *testing.T) {
	assert.PanicsWithValue(t, "name: the Model is zero, want a fitted one", func() {
		features.CheckPoints("name", nil, dense.New[float64](1, 2))
	})
	assert.PanicsWithValue(t, "name: x is 1×2, want 1×3", func() {
		features.CheckPoints[float64]("name", shifted[float64]{3, 0}, dense.New[float64](1, 2))
	})
	assert.NotPanics(t, func() { features.CheckPoints[float64]("name", shifted[float64]{2, 0}, dense.New[float64](1, 2)) })
}
