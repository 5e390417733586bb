package components_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/components"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// squares returns the sums of the gradients of f = x₀² + 2·x₁² and g = 3·x₁ at the rows of x, which
// are [2x₀, 4x₁] and [0, 3].
func squares[T dense.Float](t *testing.T, x dense.Matrix[T]) *ridge.Sums[T] {
	quadratic := must.Have(rff.Draw[T](rff.Quadratic{D: 2}, nil))
	identity := must.Have(rff.Draw[T](rff.Identity{D: 2}, nil))
	phi := must.Have(rff.Sum([]rff.Map[T]{quadratic, identity}, []float64{1, 1}))
	w := dense.New[float64](5, 2) // of x₀², x₁², √2·x₀x₁, x₀ and x₁
	w.Set(0, 0, 1)
	w.Set(1, 0, 2)
	w.Set(4, 1, 3)
	gradients := must.Have(rff.Gradients(phi, w))
	s := must.Have(ridge.NewSums(gradients, 0))
	require.NoError(t, s.Add(x, dense.Matrix[T]{}, nil))
	return s
}

// At the rows (1, 1) and (−1, 1), M = [4 0; 0 16 + 9] on average. Halves of the rows merge to it.
func testMetric[T dense.Float](t *testing.T) {
	whole := squares(t, dense.Of(2, 2, []T{1, 1, -1, 1}))
	half, other := squares(t, dense.Of(1, 2, []T{1, 1})), squares(t, dense.Of(1, 2, []T{-1, 1}))
	require.NoError(t, half.Merge(other))
	for _, s := range []*ridge.Sums[T]{whole, half} {
		l := must.Have(components.Metric(t.Context(), s))
		squared := dense.New[float64](2, 2)
		for i := range 2 {
			for j := range 2 {
				for k := range 2 {
					squared.Row(i)[j] += l.At(i, k) * l.At(k, j)
				}
			}
		}
		for i, want := range []float64{4.0/25 + 1e-4, 0, 0, 1 + 1e-4} {
			assert.InDelta(t, want, squared.Data[i], 8*densetest.Roundoff[T]())
		}
	}
}

func TestMetric(t *testing.T) { densetest.Both(t, testMetric[float32], testMetric[float64]) }

func TestMetricErrors(t *testing.T) {
	metric := func(s *ridge.Sums[float64]) error {
		_, err := components.Metric(t.Context(), s)
		return err
	}
	assert.EqualError(t, metric(nil), "components: sums is nil or zero, want those of ridge.NewSums or ridge.Sum")
	identity := must.Have(rff.Draw[float64](rff.Identity{D: 2}, nil))
	s := must.Have(ridge.NewSums(identity, 0))
	assert.EqualError(t, metric(s), "components: no rows, want at least 1 with a weight above 0")
	require.NoError(t, s.Add(dense.New[float64](3, 2), dense.Matrix[float64]{}, nil))
	assert.EqualError(t, metric(s), "components: the gradients are zero, which tells no metric")
	pairs := must.Have(rff.Draw[float64](rff.Quadratic{D: 2}, nil))
	s = must.Have(ridge.NewSums(pairs, 0))
	assert.EqualError(t, metric(s), "components: sums of a map R^2 → R^3, want those of rff.Gradients")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := components.Metric(ctx, squares(t, dense.Of(1, 2, []float64{1, 1})))
	assert.ErrorIs(t, err, context.Canceled)
}

// constant returns the sums of the gradient w of f = w·x at a point of R.
func constant(t *testing.T, w float64) *ridge.Sums[float64] {
	identity := must.Have(rff.Draw[float64](rff.Identity{D: 1}, nil))
	gradients := must.Have(rff.Gradients(identity, dense.Of(1, 1, []float64{w})))
	s := must.Have(ridge.NewSums(gradients, 0))
	require.NoError(t, s.Add(dense.New[float64](1, 1), dense.Matrix[float64]{}, nil))
	return s
}

// In R the metric does not depend on the size of the gradient. A gradient whose square overflows is
// an error.
func TestMetricOfOneColumn(t *testing.T) {
	for _, w := range []float64{1e-150, -1, 1e150} {
		l := must.Have(components.Metric(t.Context(), constant(t, w)))
		assert.InEpsilon(t, math.Sqrt(1+1e-4), l.At(0, 0), 4*0x1p-53)
	}
	_, err := components.Metric(t.Context(), constant(t, 1e200))
	assert.EqualError(t, err, "components: products of gradients[0][0] = +Inf, want a finite number")
}
