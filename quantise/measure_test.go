package quantise_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

// Exact cosines are in [−1, 1]: arccos is no NaN. A row has the cosine 1 with itself, and −1 with its
// negative.
func testExactCosines[T dense.Float](t *testing.T) {
	const n, d = 100, 48
	rng := rand.New(rand.NewPCG(1, 2))
	x := dense.New[T](3*n, d)
	for i := range n {
		for j := range d {
			v := T(rng.NormFloat64())
			for k, factor := range []T{1, -1, 3} {
				x.Set(k*n+i, j, factor*v)
			}
		}
	}
	q, err := quantise.New[T](d, quantise.Options{}, rand.NewPCG(3, 4))
	require.NoError(t, err)
	codes, err := q.Encode(t.Context(), x)
	require.NoError(t, err)
	hits, queries := make([][]quantise.Hit, n), make([]*quantise.Query, n)
	for i := range n {
		hits[i], queries[i] = make([]quantise.Hit, x.Rows), q.Prepare(nil, x.Row(i), quantise.Cosine, 0)
	}
	require.NoError(t, q.Search(t.Context(), hits, queries, quantise.SearchOptions[T]{Rows: quantise.RowsOf(x)}, codes))
	for i, list := range hits {
		for _, hit := range list {
			switch hit.ID {
			case i:
				assert.Equal(t, 1.0, hit.Value)
			case n + i:
				assert.Equal(t, -1.0, hit.Value)
			case 2*n + i:
				assert.InDelta(t, 1, hit.Value, d*densetest.Roundoff[T]())
			}
			assert.LessOrEqual(t, hit.Value, 1.0)
			assert.GreaterOrEqual(t, hit.Value, -1.0)
		}
	}
}

func TestExactCosines(t *testing.T) {
	densetest.Both(t, testExactCosines[float32], testExactCosines[float64])
}
