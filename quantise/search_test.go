package quantise_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

// Any number of processors, of rows and of results gives the same.
func TestSearchSizes(t *testing.T) {
	const d = 32
	x, query := random[float64](20_000, d, 3), random[float64](1, d, 4).Row(0)
	c := encode(t, x, quantise.Options{})
	assert.Empty(t, search(c, nil, query, quantise.Cosine))
	most := search(c, make([]quantise.Hit, 30_000), query, quantise.Cosine)
	assert.Len(t, most, 20_000)
	for _, k := range []int{1, 2, 10, 1000} {
		assert.Equal(t, most[:k], search(c, make([]quantise.Hit, k), query, quantise.Cosine), "k = %d", k)
	}
	old := runtime.GOMAXPROCS(1)
	one := search(c, make([]quantise.Hit, 10), query, quantise.Cosine)
	runtime.GOMAXPROCS(old)
	assert.Equal(t, most[:10], one)

	none := codesOf(t, c.Quantiser(), dense.New[float64](0, d))
	assert.Empty(t, search(none, make([]quantise.Hit, 3), query, quantise.Cosine))
	assert.Empty(t, estimates(none, nil, query, quantise.Cosine))
}

// Many queries at once find what each finds alone, to the bit, though other kernels multiply long
// rows by one query.
func TestManyQueries(t *testing.T) {
	densetest.Both(t, testManyQueries[float32], testManyQueries[float64])
}

func testManyQueries[T dense.Float](t *testing.T) {
	const n, d, k = 1503, 136, 12
	x, queries := random[T](n, d, 1), random[T](19, d, 2)
	copy(x.Row(1200), x.Row(3)) // estimates that are equal
	copy(x.Row(n-1), queries.Row(0))
	clear(x.Row(77))
	clear(queries.Row(5))
	queries.Set(6, 1, T(math.NaN()))
	few := x.Clone() // large along 40 directions: Learn has codes of several widths
	for i := range n {
		scaleBy(0.1, few.Row(i)[40:])
	}
	all := []quantise.Codes[T]{codesOf(t, learned(t, few, 1.5, 1), few)}
	for _, o := range options(1, 2, 4, 8) {
		all = append(all, encode(t, x, o))
	}
	for _, c := range all {
		o := c.Quantiser().Options()
		for _, by := range measures {
			together := lists(queries.Rows, k)
			require.NoError(t, searchAll(c, t.Context(), together, queries, by, 0, quantise.SearchOptions[T]{}))
			for i := range queries.Rows {
				want := search(c, make([]quantise.Hit, k), queries.Row(i), by)
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(together[i]), "%v, measure %d, query %d", o, by, i)
			}
		}
	}
}

// A search with filters finds what is left of all rows in the order of their estimates.
func TestFilters(t *testing.T) {
	const n, d, k = 5000, 24, 10
	x, centres := clusters[float64](n, d, 5, 10, 0.5, 6)
	scaleBy(-1, x.Data[:20*d]) // rows without a centre near
	query := x.RowRange(77, 78)
	var quantisers []quantise.Quantiser[float64]
	for _, o := range options(2, 4, 8) {
		quantisers = append(quantisers, newQuantiser[float64](t, d, o), around(t, o, centres))
	}
	for _, q := range quantisers {
		c, o := codesOf(t, q, x.RowRange(0, 100)), q.Options()
		// blocks that begin at odd rows
		require.NoError(t, c.Append(t.Context(), x.RowRange(100, n)))
		for _, by := range measures {
			all := ranked(c, query.Row(0), by)
			for name, keep := range map[string]func(id int) bool{
				"none":  func(int) bool { return false },
				"one":   func(id int) bool { return id == 4999 },
				"few":   func(id int) bool { return id%1000 == 7 },
				"range": func(id int) bool { return id >= 2111 && id < 2250 },
				"half":  func(id int) bool { return uint32(id)*2654435761>>31 == 0 },
				"most":  func(id int) bool { return id%100 != 99 },
				"worst": func(id int) bool {
					return slices.ContainsFunc(all[n-20:], func(h quantise.Hit) bool { return h.ID == id })
				},
			} {
				only, others := setOf(n, keep), setOf(n, func(id int) bool { return !keep(id) })
				var want []quantise.Hit
				for _, hit := range all {
					if keep(hit.ID) && len(want) < k {
						want = append(want, hit)
					}
				}
				var asked atomic.Int64
				for i, filter := range []quantise.SearchOptions[float64]{
					{Only: only},
					{Except: others},
					{Only: only, Except: others[:20]},
					{Accept: func(id int) bool { asked.Add(1); return only[id/64]>>(id%64)&1 == 1 }},
				} {
					hits := lists(1, k)
					require.NoError(t, searchAll(c, t.Context(), hits, query, by, 0, filter))
					require.Len(t, hits[0], len(want), "%v, measure %d, %s, filter %d", o, by, name, i)
					for j, hit := range hits[0] {
						require.Equal(t, want[j].ID, hit.ID, "%v, measure %d, %s, filter %d", o, by, name, i)
						require.Equal(t, want[j].Value, hit.Value)
					}
				}
				if name == "most" {
					assert.Less(t, asked.Load(), int64(n/4), "only rows that would enter the list")
				}
			}
		}
	}
}

// Rows that are not finite numbers of any measure still respect the filters, and sets may be short.
func TestFiltersWithoutValues(t *testing.T) {
	c := encode(t, random[float32](600, 20, 6), quantise.Options{})
	query := random[float32](1, 20, 7)
	query.Data[3] = float32(math.Inf(1))
	o := quantise.SearchOptions[float32]{Only: []uint64{0b11011}, Except: []uint64{0b1}, Accept: func(id int) bool { return id != 1 }}
	hits := lists(1, 5)
	require.NoError(t, searchAll(c, t.Context(), hits, query, quantise.Cosine, 0, o))
	require.Len(t, hits[0], 2)
	assert.Equal(t, []int{3, 4}, []int{hits[0][0].ID, hits[0][1].ID})
	assert.True(t, math.IsNaN(hits[0][1].Value))
	hits = lists(1, 5)
	require.NoError(t, searchAll(c, t.Context(), hits, query, quantise.Cosine, 0, quantise.SearchOptions[float32]{Only: []uint64{}}))
	assert.Empty(t, hits[0])
}

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

// testTies has many rows with equal values, with and without centres that are rows: one or two
// queries, all rows or selected ones, have the order of the estimates of all rows, and exact rows
// that of exact values. Equal values are ordered by row.
func testTies[T dense.Float](t *testing.T, seed uint64, k int) {
	const n, d = 600, 9
	x, vectors := integers[T](rand.New(rand.NewPCG(seed, 2)), n, d, 60)
	all := setOf(n, func(int) bool { return true })
	negative := vectors.RowRange(3, 4).Clone()
	scaleBy(-1, negative.Data)
	queries := [][]T{vectors.Row(2), negative.Row(0), vectors.Row(5)}
	for _, o := range options(1, 4) {
		for _, q := range []quantise.Quantiser[T]{newQuantiser[T](t, d, o), around(t, o, vectors.RowRange(2, 5))} {
			c := codesOf(t, q, x)
			for i, row := range queries {
				for _, by := range measures {
					what := fmt.Sprintf("%v, query %d, measure %d", o, i, by)
					query := q.Prepare(nil, row, by, 0)
					same := func(want []quantise.Hit, options quantise.SearchOptions[T]) {
						t.Helper()
						hits, alone := lists(2, k), lists(1, k/2)
						require.NoError(t, c.SearchAll(t.Context(), hits, []*quantise.Query{query, query}, options), what)
						require.NoError(t, c.SearchAll(t.Context(), alone, []*quantise.Query{query}, options), what)
						for _, list := range append(hits, alone...) {
							for j, hit := range list {
								require.Equal(t, want[j].ID, hit.ID, "%s, place %d", what, j)
							}
						}
					}
					want := ranked(c, row, by)
					same(want, quantise.SearchOptions[T]{})
					same(want, quantise.SearchOptions[T]{Only: all})
					query = q.Prepare(nil, row, by, 1e-9)
					same(integerRanks(x, row, by), quantise.SearchOptions[T]{Rows: quantise.RowsOf(x)})
				}
			}
		}
	}
}

// integerRanks returns all rows by values without rounding errors, and equal values by row.
func integerRanks[T dense.Float](x dense.Matrix[T], query []T, by quantise.Measure) []quantise.Hit {
	all := make([]quantise.Hit, x.Rows)
	for i := range all {
		var xy, xx, yy float64
		for j, v := range x.Row(i) {
			a, b := float64(v), float64(query[j])
			xy, xx, yy = xy+a*b, xx+a*a, yy+b*b
		}
		value := xy
		switch {
		case by == quantise.SquaredDistance:
			value = 2*xy - xx - yy
		case by == quantise.Cosine && xx > 0:
			value /= math.Sqrt(xx) * math.Sqrt(yy)
		}
		all[i] = quantise.Hit{ID: i, Estimate: quantise.Estimate{Value: value}}
	}
	return sorted(all, quantise.InnerProduct)
}

// At these sizes of lists, the value of the last place is that of a row that is 0, or of a centre.
func TestManyTies(t *testing.T) {
	testTies[float32](t, 1, 100)
	testTies[float64](t, 39, 170)
}

func scaleBy[T dense.Float](c T, x []T) {
	for i := range x {
		x[i] *= c
	}
}

func TestSearchErrors(t *testing.T) {
	type options = quantise.SearchOptions[float64]
	x := random[float64](50, 10, 1)
	queries, rows, broken := x.RowRange(0, 2), quantise.RowsOf(x), errors.New("a broken disk")
	c, other := encode(t, x, quantise.Options{}), encode(t, x, quantise.Options{Bits: 2})
	cosine := c.Quantiser().Prepare(nil, x.Row(0), quantise.Cosine, 0)
	all := func(o options, queries ...*quantise.Query) error {
		return c.SearchAll(t.Context(), lists(len(queries), 3), queries, o)
	}
	for want, err := range map[string]error{
		"quantise: query 1 is not prepared by the quantiser":     all(options{}, cosine, new(quantise.Query)),
		"quantise: query 0 is not prepared by the quantiser":     all(options{}, other.Quantiser().Prepare(nil, x.Row(0), 0, 0)),
		"quantise: query 1 has measure 0, want 1 like the first": all(options{}, cosine, c.Quantiser().Prepare(nil, x.Row(0), 0, 0)),
		"quantise: Centres = -1, want at least 0":                all(options{Centres: -1}, cosine),
		"quantise: 3 lists of hits for 1 queries":                c.SearchAll(t.Context(), lists(3, 1), []*quantise.Query{cosine}, options{}),
		"a broken disk":                         all(options{Rows: func(dense.Matrix[float64], []int) error { return broken }}, cosine),
		"quantise: rows of 9 elements, want 10": all(options{Rows: quantise.RowsOf(dense.New[float64](50, 9))}, cosine),
		"quantise: row 0 of a matrix of 0 rows": all(options{Only: []uint64{1}, Rows: quantise.RowsOf(dense.New[float64](0, 10))}, cosine),
		"quantise: row 0 that Rows read holds NaN or ±Inf, or overflows": all(options{Only: []uint64{1}, Rows: func(dst dense.Matrix[float64], _ []int) error {
			dst.Set(0, 0, math.NaN())
			return nil
		}}, cosine),
	} {
		assert.EqualError(t, err, want)
	}
	var none context.Context
	assert.PanicsWithValue(t, "quantise: ctx is nil", func() { _ = c.SearchAll(none, nil, nil, options{}) })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range []options{{}, {Rows: rows}} {
		assert.ErrorIs(t, searchAll(c, ended, lists(2, 1), queries, 0, 0, o), context.Canceled)
	}
	hits := lists(2, 0)
	require.NoError(t, searchAll(c, t.Context(), hits, queries, 0, 0, options{Rows: rows}))
	assert.Empty(t, hits[1])
	require.NoError(t, all(options{}))
}
