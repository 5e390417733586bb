package quantise_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

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

// sizes are exponents at which the numbers of random are near the ends of a type, and with few
// digits left.
func sizes[T dense.Float]() []int {
	if any(T(0)) == any(float32(0)) {
		return []int{124, -40, -126, -140}
	}
	return []int{1020, 700, -40, -90, -700, -1040}
}

// For every finite query cosines are those of the query at another size, to the bit. Inner products
// are in proportion, and distances follow from both. Values that float64 cannot hold are ±Inf.
// Searches find the rows that they find at another size, and exact rows too.
func testQueriesOfAnySize[T dense.Float](t *testing.T) {
	const n, d, k = 250, 24, 5
	x := random[T](n, d, 31)
	for i := range x.Data {
		x.Data[i] += 0.1 // so that centres gain something
	}
	raw := random[T](1, d, 32)
	for _, o := range options(1, 4, 8) {
		plain := encode(t, x, o)
		centred := codesOf(t, around(t, o, x.RowRange(0, 4)), x)
		for about, c := range []quantise.Codes[T]{plain, centred} {
			for _, e := range sizes[T]() {
				large := times(raw, e)
				same := times(large, -e) // with the digits that are left
				what := fmt.Sprintf("%v, 2^%d, centres %v", o, e, about > 0)
				cosines, want := estimates(c, nil, large.Row(0), quantise.Cosine), estimates(c, nil, same.Row(0), quantise.Cosine)
				products, wantProducts := estimates(c, nil, large.Row(0), quantise.InnerProduct), estimates(c, nil, same.Row(0), quantise.InnerProduct)
				distances := estimates(c, nil, large.Row(0), quantise.SquaredDistance)
				if math.Abs(float64(e)) < 200 {
					var bounds [2][]quantise.Estimate
					for i, y := range []dense.Matrix[T]{large, same} {
						bounds[i] = c.Estimates(make([]quantise.Estimate, n), c.Quantiser().Prepare(nil, y.Row(0), quantise.InnerProduct, 0.01), nil)
					}
					for i, b := range bounds[0] {
						width := bounds[1][i].High - bounds[1][i].Low
						require.InDelta(t, width, math.Ldexp(b.High-b.Low, -e), 1e-4*width, what)
					}
				}
				q := doubles(large.Row(0))
				square := floats.Dot(q, q)
				for i := range n {
					row := doubles(x.Row(i))
					if about == 0 {
						require.Equal(t, want[i], cosines[i], what)
						require.Equal(t, math.Ldexp(wantProducts[i], e), products[i], what)
					} else {
						require.InDelta(t, want[i], cosines[i], 1e-5, what)
					}
					distance := square + floats.Dot(row, row) - 2*products[i]
					if math.IsInf(square, 1) {
						require.Equal(t, square, distances[i], what)
						continue
					}
					require.InEpsilon(t, distance, distances[i], 1e-5, what)
				}
				for _, by := range measures {
					hits := search(c, make([]quantise.Hit, k), large.Row(0), by)
					values := estimates(c, nil, large.Row(0), by)
					var found, want []int
					for _, hit := range search(c, make([]quantise.Hit, k), same.Row(0), by) {
						want = append(want, hit.ID)
					}
					for _, hit := range hits {
						found = append(found, hit.ID)
						if o.Bits == 8 || o.Bits == 4 {
							require.Equal(t, values[hit.ID], hit.Value, what)
						}
						require.True(t, hit.StdErr >= 0, what)
					}
					if by != quantise.SquaredDistance {
						// equal infinities have the order of rows
						require.ElementsMatch(t, want, found, what)
					}
				}
				sameExactRows(t, c, x, large, same, e, what)
			}
		}
	}
}

// sameExactRows compares searches with exact rows for a query and for the same at another size. By
// distances a large query ranks as by inner products, a small one as by norms.
func sameExactRows[T dense.Float](t *testing.T, c quantise.Codes[T], x, large, same dense.Matrix[T], e int, what string) {
	const k = 5
	search := func(query dense.Matrix[T], by quantise.Measure) []quantise.Hit {
		hits := [][]quantise.Hit{make([]quantise.Hit, k)}
		require.NoError(t, searchAll(c, t.Context(), hits, query, by, 1e-6, quantise.SearchOptions[T]{Rows: quantise.RowsOf(x)}), what)
		return hits[0]
	}
	q := doubles(same.Row(0))
	for _, by := range measures {
		hits := search(large, by)
		rows := make([]int, x.Rows)
		for i := range rows {
			rows[i] = i
		}
		key := func(i int) float64 {
			switch row := doubles(x.Row(i)); {
			case by == quantise.Cosine:
				return floats.Dot(q, row) / floats.Norm(row, 2)
			case by == quantise.InnerProduct || e > 0:
				return floats.Dot(q, row)
			default:
				return -floats.Dot(row, row)
			}
		}
		slices.SortFunc(rows, func(i, j int) int {
			if key(i) > key(j) {
				return -1
			}
			return 1
		})
		var found, want []int
		for i, hit := range hits {
			found, want = append(found, hit.ID), append(want, rows[i])
			value := key(hit.ID)
			switch by {
			case quantise.Cosine:
				require.InEpsilon(t, value/floats.Norm(q, 2), hit.Value, 1e-12, what)
			case quantise.InnerProduct:
				product := math.Ldexp(value, e)
				require.True(t, product == hit.Value || math.Abs(product-hit.Value) <= 1e-12*math.Abs(product)+1e-323, what)
			default:
				require.False(t, math.IsNaN(hit.Value), what)
			}
		}
		slices.Sort(found)
		slices.Sort(want)
		require.Equal(t, want, found, "%s, measure %d", what, by)
	}
}

func TestQueriesOfAnySize(t *testing.T) {
	densetest.Both(t, testQueriesOfAnySize[float32], testQueriesOfAnySize[float64])
}

// At the ends of the range of norms, with queries and centres of that size, searches find the
// largest estimates, which are near the true values.
func testSmallAndLargeRows[T dense.Float](t *testing.T) {
	const n, d, k = 1000, 24, 10
	base, centres := clusters[T](n, d, 5, 1, 0.3, 4)
	for _, e := range []int{94, 64, -64, -94} {
		x, queries := times(base, e), times(base.RowRange(7, 9), e)
		for _, o := range options(1, 2, 4) {
			for _, c := range []quantise.Codes[T]{encode(t, x, o), codesOf(t, around(t, o, times(centres, e)), x)} {
				for _, by := range measures {
					values := estimates(c, nil, queries.Row(0), by)
					for _, hit := range search(c, make([]quantise.Hit, k), queries.Row(0), by) {
						better := 0
						for _, v := range values {
							if by == quantise.SquaredDistance && v < hit.Value || by != quantise.SquaredDistance && v > hit.Value {
								better++
							}
						}
						require.Less(t, better, k, "2^%d, %v, measure %d", e, o, by)
					}
				}
				y := c.Decode(dense.Matrix[T]{}, 0, 3)
				for i := range y.Rows {
					size := floats.Norm(doubles(x.Row(i)), 2)
					assert.Less(t, floats.Distance(doubles(y.Row(i)), doubles(x.Row(i)), 2), size, "2^%d, %v", e, o)
				}
			}
		}
	}
}

func TestSmallAndLargeRows(t *testing.T) {
	densetest.Both(t, testSmallAndLargeRows[float32], testSmallAndLargeRows[float64])
}
