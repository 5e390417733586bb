package clusters_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// ForwardThresholds returns the outputs of calls with each threshold, for clusters with variances
// beyond the bound of weights (norm 60) as well, and for a query that needs exact attention.
func TestForwardThresholds(t *testing.T) {
	densetest.Both(t, testForwardThresholds[float32], testForwardThresholds[float64])
}

func testForwardThresholds[T dense.Float](t *testing.T) {
	const n = 1500
	thresholds := []float64{3, 0.3, 0.1, 0.03, 0.01, 0.003, 1e-4, 1e-15}
	for _, bits := range []int{0, 8} {
		for _, norm := range []float64{2, 8, 60} {
			q, k, v := tokens[T](n, 16, 7, norm, 21)
			q.Row(3)[0] = 1e25
			at := func(threshold float64) clusters.Attention[T] {
				return must.Have(clusters.New[T](clusters.Options{EightBits: bits == 8, Clusters: 20, Threshold: threshold}, densetest.Source(22)))
			}
			outs, scored := at(1).ForwardThresholds(q, k, v, thresholds)
			last := make([]int, q.Rows)
			for i, threshold := range thresholds {
				want := at(threshold).Forward(dense.Matrix[T]{}, q, k, v)
				assert.Less(t, relative(outs[i], want), 1e-5, "%d bits, norm %v, threshold %v", bits, norm, threshold)
				for j, n := range scored[i] {
					assert.GreaterOrEqual(t, n, last[j])
				}
				last = scored[i]
			}
			assert.NotEqual(t, last, scored[1])
			from := q.Rows - 3
			_, few := at(1).ForwardThresholds(q.RowRange(from, q.Rows), k, v, thresholds)
			for i := range scored {
				assert.Equal(t, scored[i][from:], few[i], "the last queries alone")
			}
		}
	}
	q, k, v := tokens[T](200, 16, 7, 2, 23)
	f := must.Have(clusters.New[T](clusters.Options{}, densetest.Source(22)))
	outs, scored := f.ForwardThresholds(q, k, v, []float64{1, 0.1})
	assert.Equal(t, f.Forward(dense.Matrix[T]{}, q, k, v), outs[1], "exact attention of few keys")
	assert.Equal(t, [][]int{make([]int, 200), make([]int, 200)}, scored)
	assert.Panics(t, func() { f.ForwardThresholds(q, k, v, []float64{0.1, 1}) })
}
