package quantise_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// integers returns n rows, each of which is one of a few vectors of small integers. One of the
// vectors is 0.
func integers[T dense.Float](rng *rand.Rand, n, d, few int) (rows, vectors dense.Matrix[T]) {
	vectors, rows = dense.New[T](few, d), dense.New[T](n, d)
	for i := d; i < len(vectors.Data); i++ {
		vectors.Data[i] = T(rng.IntN(3) - 1)
	}
	for i := range n {
		copy(rows.Row(i), vectors.Row(rng.IntN(few)))
	}
	return rows, vectors
}

// byValues returns the k best rows by values without rounding errors, and equal values by row.
func byValues[T dense.Float](x dense.Matrix[T], query []T, by quantise.Measure, k int) (ids []int) {
	values := make([]float64, x.Rows)
	for i := range values {
		var xy, xx, yy float64
		for j, v := range x.Row(i) {
			a, b := float64(v), float64(query[j])
			xy, xx, yy = xy+a*b, xx+a*a, yy+b*b
		}
		switch {
		case by == quantise.SquaredDistance:
			values[i] = 2*xy - xx - yy
		case by == quantise.InnerProduct:
			values[i] = xy
		case xx > 0:
			values[i] = xy / (math.Sqrt(xx) * math.Sqrt(yy))
		}
		ids = append(ids, i)
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return ids[:k]
}

// testTies has many rows with equal values, with and without centres that are rows: one or two
// queries, in one or several Codes, all rows or selected ones, have the order of the estimates of
// all rows, and exact rows that of exact values. Equal values are ordered by row.
func testTies[T dense.Float](t *testing.T, seed uint64, k int) {
	const n, d = 900, 9
	x, vectors := integers[T](rand.New(rand.NewPCG(seed, 2)), n, d, 60)
	all := make(quantise.Bitmap, (n+63)/64)
	for i := range n {
		all.Set(i, true)
	}
	negative := vectors.RowRange(3, 4).Clone()
	floatsScale(-1, negative.Data)
	queries := [][]T{vectors.Row(2), negative.Row(0), vectors.Row(5)}
	for _, o := range lawOptions(1, 4) {
		plain, err := quantise.New[T](d, o, rand.NewPCG(1, 2))
		require.NoError(t, err)
		for _, q := range []quantise.Quantiser[T]{plain, around(t, o, vectors.RowRange(2, 5))} {
			c, err := q.Encode(t.Context(), x)
			require.NoError(t, err)
			starts := []int{0, 70, 500, n}
			var segments []quantise.Codes[T]
			var parts []dense.Matrix[T]
			for i := range starts[1:] {
				part := x.RowRange(starts[i], starts[i+1])
				segment, err := q.Encode(t.Context(), part)
				require.NoError(t, err)
				segments, parts = append(segments, segment), append(parts, part)
			}
			for i, row := range queries {
				for _, by := range measures {
					what := fmt.Sprintf("%v, query %d, measure %d", o, i, by)
					same := func(want []int, options quantise.SearchOptions[T], codes ...quantise.Codes[T]) {
						t.Helper()
						query := q.Prepare(nil, row, by, 0)
						hits := lists(2, k)
						require.NoError(t, q.Search(t.Context(), hits, []*quantise.Query{query, query}, options, codes...), what)
						alone := lists(1, k/2)
						require.NoError(t, q.Search(t.Context(), alone, []*quantise.Query{query}, options, codes...), what)
						for _, list := range append(hits, alone...) {
							for j, hit := range list {
								if len(codes) > 1 {
									hit.ID += starts[hit.Segment]
								}
								require.Equal(t, want[j], hit.ID, "%s, place %d", what, j)
							}
						}
					}
					var want []int
					for _, hit := range ranked(c, row, by) {
						want = append(want, hit.ID)
					}
					same(want, quantise.SearchOptions[T]{}, c)
					same(want, quantise.SearchOptions[T]{Only: []quantise.Set{all}}, c)
					same(want, quantise.SearchOptions[T]{}, segments...)
					if o.Scheme != quantise.RaBitQ {
						continue
					}
					want = byValues(x, row, by, k)
					same(want, quantise.SearchOptions[T]{Rows: quantise.RowsOf(x), MissProbability: 1e-9}, c)
					same(want, quantise.SearchOptions[T]{Rows: quantise.RowsOf(parts...), MissProbability: 1e-9}, segments...)
				}
			}
		}
	}
}

// At these sizes of lists, the value of the last place is that of a row that is 0, or of a centre.
func TestManyTies(t *testing.T) {
	testTies[float32](t, 1, 150)
	testTies[float64](t, 39, 250)
}
