package quantise_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/quantise"
)

// Search with centres finds what sorting all estimates finds, and a search of few centres what
// sorting those of their rows finds.
func testCentredSearch[T dense.Float](t *testing.T) {
	const n, d, k = 3000, 48, 20
	for _, mean := range []float64{0, 20} {
		x, centres := clusters[T](n, d, 12, mean, 0.7, 6)
		for i := range 40 {
			vecmath.Scale(x.Row(70*i), -0.5) // has no centre near
		}
		copy(x.Row(2000), x.Row(17))
		clear(x.Row(5))
		copy(x.Row(6), centres.Row(3))
		for _, o := range lawOptions(1, 2, 4, 8) {
			q := around(t, o, centres)
			c, err := q.Encode(t.Context(), x)
			require.NoError(t, err)
			for _, query := range [][]T{x.Row(100), centres.Row(3), random[T](1, d, 9).Row(0), make([]T, d)} {
				for _, by := range measures {
					what := fmt.Sprintf("mean %v, %v, measure %d", mean, o, by)
					all := ranked(c, query, by)
					got := search(c, make([]quantise.Hit, k), query, by)
					require.Len(t, got, k)
					for i, hit := range got {
						tolerance := 0.1*hit.StdErr + 1e-6*math.Abs(hit.Value)
						require.InDelta(t, all[i].Value, hit.Value, tolerance, "%s, place %d", what, i)
					}
				}
			}
		}
	}
}

func TestCentredSearch(t *testing.T) {
	densetest.Both(t, testCentredSearch[float32], testCentredSearch[float64])
}

// nearestCentre returns the row of centres that is nearest to x, or −1 if 0 is nearer.
func nearestCentre[T dense.Float](x []T, centres dense.Matrix[T]) int {
	best, at := floats.Norm(doubles(x), 2), -1
	for i := range centres.Rows {
		if r := floats.Distance(doubles(x), doubles(centres.Row(i)), 2); r < best {
			best, at = r, i
		}
	}
	return at
}

// Centres that do not fit the rows change nothing: those of other data, equal ones, and 0. A search
// of one of them is one of all rows.
func TestCentresThatDoNotFit(t *testing.T) {
	const n, d, k = 500, 32, 10
	x := random[float64](n, d, 1)
	far := dense.New[float64](3, d)
	for i := range far.Rows - 1 { // two are equal, and the last is 0
		far.Set(i, 4, 1e4)
	}
	o := quantise.Options{Bits: 8} // the query has as many bytes with centres as without
	plain := encode(t, x, o)
	c, err := around(t, o, far).Encode(t.Context(), x)
	require.NoError(t, err)
	for _, query := range [][]float64{x.Row(7), far.Row(1), random[float64](1, d, 2).Row(0)} {
		for _, by := range measures {
			want := search(plain, make([]quantise.Hit, k), query, by)
			hits := [][]quantise.Hit{make([]quantise.Hit, k)}
			require.NoError(t, searchAll(c.Quantiser(), t.Context(), hits, dense.Of(1, d, query), by, quantise.SearchOptions[float64]{Centres: 1}, c))
			for i, hit := range hits[0] {
				assert.Equal(t, want[i].ID, hit.ID)
				assert.InDelta(t, want[i].Value, hit.Value, 1e-12*math.Abs(want[i].Value)+1e-9*want[i].StdErr)
				assert.InEpsilon(t, want[i].StdErr, hit.StdErr, 1e-12)
			}
		}
	}
}

// A search of few centres finds the best of their rows, and of those that have none.
func TestSearchOfFewCentres(t *testing.T) {
	const n, d, k, few = 1500, 48, 20, 3
	x, centres := clusters[float32](n, d, 12, 1, 0.7, 6)
	for i := range 40 {
		vecmath.Scale(x.Row(30*i), -2)
	}
	labels := make([]int, n)
	for i := range labels {
		labels[i] = nearestCentre(x.Row(i), centres)
	}
	for _, o := range lawOptions(1, 4, 8) {
		c, err := around(t, o, centres).Encode(t.Context(), x)
		require.NoError(t, err)
		queries := x.RowRange(100, 103)
		for _, by := range measures {
			hits := [][]quantise.Hit{make([]quantise.Hit, k), make([]quantise.Hit, k), make([]quantise.Hit, k)}
			require.NoError(t, searchAll(c.Quantiser(), t.Context(), hits, queries, by, quantise.SearchOptions[float32]{Centres: few}, c))
			for i := range queries.Rows {
				query := queries.Row(i)
				order := make([]int, centres.Rows)
				values := make([]float64, centres.Rows)
				for j := range order {
					order[j], values[j] = j, truth(by, doubles(centres.Row(j)), doubles(query))
					if by == quantise.SquaredDistance {
						values[j] = -values[j]
					}
				}
				slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
				want := slices.DeleteFunc(ranked(c, query, by), func(h quantise.Hit) bool {
					at := labels[h.ID]
					return at >= 0 && !slices.Contains(order[:few], at)
				})
				require.Len(t, hits[i], k)
				for place, hit := range hits[i] {
					require.InDelta(t, want[place].Value, hit.Value, 0.1*hit.StdErr, "%v, measure %d, place %d", o, by, place)
				}
				all := search(c, make([]quantise.Hit, k), query, by)
				only := make(quantise.Bitmap, n/64+1)
				for _, hit := range all[3:] {
					only[hit.ID/64] |= 1 << (hit.ID % 64)
				}
				list := [][]quantise.Hit{make([]quantise.Hit, k)}
				require.NoError(t, searchAll(c.Quantiser(), t.Context(), list, queries.RowRange(i, i+1), by, quantise.SearchOptions[float32]{Only: []quantise.Set{only}}, c))
				assert.Equal(t, all[3:], list[0])
			}
		}
	}
	q := around(t, quantise.Options{}, centres)
	err := searchAll(q, t.Context(), nil, centres.RowRange(0, 0), quantise.Cosine, quantise.SearchOptions[float32]{Centres: -1}, nil)
	require.EqualError(t, err, "quantise: Centres = -1, want at least 0")
}

// Exact rows are found by the law of centred codes, from fewer rows than without centres.
func testCentredRerank[T dense.Float](t *testing.T) {
	const n, d, k, m = 2000, 64, 10, 8
	for _, mean := range []float64{0, 30} {
		x, centres := clusters[T](n, d, 20, mean, 0.5, 8)
		queries, _ := clusters[T](m, d, 20, mean, 0.5, 8)
		for i := range queries.Rows {
			queries.Row(i)[0] += T(0.1 * float64(i))
		}
		for _, o := range []quantise.Options{{Bits: 1}, {Bits: 4}, {Bits: 8}} {
			plain, err := quantise.New[T](d, o, rand.NewPCG(1, 2))
			require.NoError(t, err)
			for _, by := range measures {
				var read [2]int
				for i, q := range []quantise.Quantiser[T]{plain, around(t, o, centres)} {
					c, err := q.Encode(t.Context(), x)
					require.NoError(t, err)
					hits := make([][]quantise.Hit, m)
					for j := range hits {
						hits[j] = make([]quantise.Hit, k)
					}
					rows := quantise.RowsOf(x)
					require.NoError(t, searchAll(c.Quantiser(), t.Context(), hits, queries, by, quantise.SearchOptions[T]{
						Rows: func(dst dense.Matrix[T], segment int, ids []int) error {
							read[i] += len(ids)
							return rows(dst, segment, ids)
						},
					}, c))
					for j, list := range hits {
						values := make([]float64, n)
						for row := range n {
							values[row] = truth(by, doubles(x.Row(row)), doubles(queries.Row(j)))
							if by != quantise.SquaredDistance {
								values[row] = -values[row]
							}
						}
						slices.Sort(values)
						for place, hit := range list {
							require.InDelta(t, values[place], map[bool]float64{true: hit.Value, false: -hit.Value}[by == quantise.SquaredDistance],
								1e-12*math.Abs(hit.Value)*math.Abs(mean+1), "mean %v, %v, measure %d, place %d, centred %d, query %d", mean, o, by, place, i, j)
						}
					}
				}
				assert.LessOrEqual(t, read[1], read[0], "mean %v, %v, measure %d", mean, o, by)
			}
		}
	}
}

func TestCentredRerank(t *testing.T) {
	densetest.Both(t, testCentredRerank[float32], testCentredRerank[float64])
}

func TestCentredAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	dst, all, query := make([]quantise.Hit, 10), make([]quantise.Estimate, 5000), new(quantise.Query)
	for _, mean := range []float64{1, 100} { // at 100, q − tc is rounded by itself
		x, centres := clusters[float32](len(all), 48, 6, mean, 0.5, 3)
		for _, o := range lawOptions(1, 4) {
			c, err := around(t, o, centres).Encode(t.Context(), x)
			require.NoError(t, err)
			for _, processors := range []int{1, 2} {
				assert.Zero(t, allocs.Settled(processors, func() {
					for _, by := range measures {
						c.Search(dst, c.Quantiser().Prepare(query, x.Row(3), by, 0))
						c.Estimates(all, query, 0)
					}
				}), "mean %v, %v, %d processors", mean, o, processors)
			}
		}
	}
}
