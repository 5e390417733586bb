package quantise_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

// times returns x·2^exponent.
func times[T dense.Float](x dense.Matrix[T], exponent int) dense.Matrix[T] {
	y := x.Clone()
	for i, v := range y.Data {
		y.Data[i] = T(math.Ldexp(float64(v), exponent))
	}
	return y
}

// Estimates for a query times a power of two are those of the query: the same bits without centres.
// They are NaN for a query whose norm is neither 0 nor between 2⁻¹⁰⁰ and 2¹⁰⁰.
func testQueriesOfAnySize[T dense.Float](t *testing.T) {
	const n, d, k = 100, 24, 3
	x, raw := random[T](n, d, 31), random[T](1, d, 32)
	for _, o := range options(1, 4) {
		for about, c := range []quantise.Codes[T]{encode(t, x, o), codesOf(t, around(t, o, x.RowRange(0, 4)), x)} {
			cosines, products := estimates(c, nil, raw.Row(0), quantise.Cosine), estimates(c, nil, raw.Row(0), quantise.InnerProduct)
			for _, e := range []int{90, -90, 110, -110} {
				query, what := times(raw, e).Row(0), fmt.Sprintf("%v, 2^%d, centres %v", o, e, about > 0)
				for _, by := range measures {
					for i, v := range estimates(c, nil, query, by) {
						switch {
						case e == 110 || e == -110:
							require.True(t, math.IsNaN(v), what)
						case by == quantise.Cosine && about == 0:
							require.Equal(t, cosines[i], v, what)
						case by == quantise.InnerProduct && about == 0:
							require.Equal(t, products[i], math.Ldexp(v, -e), what)
						case by == quantise.InnerProduct:
							require.InDelta(t, products[i], math.Ldexp(v, -e), 1e-5*d, what)
						}
					}
					for i, hit := range search(c, make([]quantise.Hit, k), query, by) {
						require.Equal(t, e == 110 || e == -110, math.IsNaN(hit.Value), what)
						require.True(t, hit.Value == hit.Value || hit.ID == i, what)
					}
					hits := [][]quantise.Hit{make([]quantise.Hit, k), make([]quantise.Hit, k)}
					pair := []*quantise.Query{c.Quantiser().Prepare(nil, query, by, 0), c.Quantiser().Prepare(nil, raw.Row(0), by, 0)}
					require.NoError(t, c.SearchAll(t.Context(), hits, pair, quantise.SearchOptions[T]{Rows: quantise.RowsOf(x)}), what)
					require.False(t, math.IsNaN(hits[1][0].Value), what)
				}
			}
		}
	}
}

func TestQueriesOfAnySize(t *testing.T) {
	densetest.Both(t, testQueriesOfAnySize[float32], testQueriesOfAnySize[float64])
}

// At the ends of the range of norms, with queries and centres of that size, searches find the
// largest estimates.
func testSmallAndLargeRows[T dense.Float](t *testing.T) {
	const n, d, k = 1000, 24, 10
	base, centres := clusters[T](n, d, 5, 1, 0.3, 4)
	for _, e := range []int{94, 64, -64, -94} {
		x, queries := times(base, e), times(base.RowRange(7, 9), e)
		for _, o := range options(1, 2, 4) {
			for _, c := range []quantise.Codes[T]{encode(t, x, o), codesOf(t, around(t, o, times(centres, e)), x)} {
				for _, by := range measures {
					all := ranked(c, queries.Row(0), by)
					for i, hit := range search(c, make([]quantise.Hit, k), queries.Row(0), by) {
						require.Equal(t, all[i].Value, hit.Value, "2^%d, %v, measure %d", e, o, by)
					}
				}
			}
		}
	}
}

func TestSmallAndLargeRows(t *testing.T) {
	densetest.Both(t, testSmallAndLargeRows[float32], testSmallAndLargeRows[float64])
}
