package quantise_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/quantise"
)

// lists returns m lists for k rows.
func lists(m, k int) [][]quantise.Hit {
	hits := make([][]quantise.Hit, m)
	for i := range hits {
		hits[i] = make([]quantise.Hit, k)
	}
	return hits
}

// Many queries at once find what each finds alone, to the bit, and so do queries of several
// segments.
func TestManyQueries(t *testing.T) {
	testManyQueries[float32](t)
	testManyQueries[float64](t)
}

func testManyQueries[T dense.Float](t *testing.T) {
	const n, d, k = 1500, 40, 12
	for _, o := range lawOptions(1, 2, 4, 8) {
		x, queries := random[T](n, d, 1), random[T](19, d, 2)
		copy(x.Row(1200), x.Row(3)) // estimates that are equal
		clear(x.Row(77))
		clear(queries.Row(5))
		queries.Set(6, 1, T(math.NaN()))
		whole := encode(t, x, o)
		var parts [3]quantise.Codes[T]
		starts := []int{0, 400, 401, n}
		for i := range parts {
			var err error
			parts[i], err = whole.Quantiser().Encode(t.Context(), x.RowRange(starts[i], starts[i+1]))
			require.NoError(t, err)
		}
		for _, by := range measures {
			together, apart := lists(queries.Rows, k), lists(queries.Rows, k)
			require.NoError(t, searchAll(whole.Quantiser(), t.Context(), together, queries, by, quantise.SearchOptions[T]{}, whole))
			require.NoError(t, searchAll(parts[0].Quantiser(), t.Context(), apart, queries, by, quantise.SearchOptions[T]{}, parts[:]...))
			for i := range queries.Rows {
				want := search(whole, make([]quantise.Hit, k), queries.Row(i), by)
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(together[i]), "%v, measure %d, query %d", o, by, i)
				for j, hit := range apart[i] {
					hit.ID += starts[hit.Segment]
					hit.Segment = 0
					apart[i][j] = hit
				}
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(apart[i]), "%v, measure %d, query %d", o, by, i)
			}
		}
	}
}

// A search with filters finds what is left of all rows in the order of their estimates.
func TestFilters(t *testing.T) {
	const n, d, k = 5000, 24, 10
	x, query := random[float64](n, d, 1), random[float64](1, d, 2)
	for _, o := range []quantise.Options{{Bits: 2}, {Bits: 4}, {Bits: 8}, {Scheme: quantise.LloydMax}} {
		c := encode(t, x.RowRange(0, 100), o)
		require.NoError(t, c.Append(t.Context(), x.RowRange(100, n))) // blocks that begin at odd rows
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
				only, others := make(quantise.Bitmap, (n+63)/64), make(quantise.Bitmap, (n+63)/64)
				for id := range n {
					kept := keep(id)
					only.Set(id, kept)
					others.Set(id, !kept)
				}
				var want []quantise.Hit
				for _, hit := range all {
					if only.Has(hit.ID) && len(want) < k {
						want = append(want, hit)
					}
				}
				var asked atomic.Int64
				for i, filter := range []quantise.SearchOptions[float64]{
					{Only: []quantise.Set{only}},
					{Except: []quantise.Set{others}},
					{Only: []quantise.Set{only}, Except: []quantise.Set{others}},
					{Accept: func(segment, id int) bool { asked.Add(1); return segment == 0 && only.Has(id) }},
				} {
					hits := lists(1, k)
					require.NoError(t, searchAll(c.Quantiser(), t.Context(), hits, query, by, filter, c))
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

// Rows that are not finite numbers of any measure still respect the filters.
func TestFiltersWithoutValues(t *testing.T) {
	c := encode(t, random[float32](600, 20, 6), quantise.Options{})
	query := random[float32](1, 20, 7)
	query.Data[3] = float32(math.Inf(1))
	o := quantise.SearchOptions[float32]{
		Only:   []quantise.Set{quantise.Bitmap{0b1011}, quantise.Bitmap{1 << 9}},
		Except: []quantise.Set{quantise.Bitmap{0b1}, quantise.Bitmap(nil)},
		Accept: func(segment, id int) bool { return segment == 1 || id != 1 },
	}
	hits := lists(1, 5)
	require.NoError(t, searchAll(c.Quantiser(), t.Context(), hits, query, quantise.Cosine, o, c, c))
	require.Len(t, hits[0], 2)
	assert.Equal(t, []int{0, 3, 1, 9}, []int{hits[0][0].Segment, hits[0][0].ID, hits[0][1].Segment, hits[0][1].ID})
	assert.True(t, math.IsNaN(hits[0][1].Value))
}

func TestBitmap(t *testing.T) {
	b := make(quantise.Bitmap, 2)
	for _, id := range []int{0, 63, 64, 127} {
		assert.False(t, b.Has(id))
		b.Set(id, true)
		assert.True(t, b.Has(id))
	}
	b.Set(63, false)
	b.Set(62, false)
	assert.Equal(t, quantise.Bitmap{1, 1<<63 | 1}, b)
	assert.False(t, b.Has(128))
	assert.False(t, b.Has(-1))
	assert.PanicsWithValue(t, "quantise: row 128 in a Bitmap of 2 words of 64 rows", func() { b.Set(128, true) })
	assert.PanicsWithValue(t, "quantise: row -1 in a Bitmap of 2 words of 64 rows", func() { b.Set(-1, false) })
}

// searching calls Search and returns the error.
func searching[T dense.Float](o quantise.SearchOptions[T], queries dense.Matrix[T], by quantise.Measure, segments ...quantise.Codes[T]) error {
	return searchAll(segments[0].Quantiser(), context.Background(), lists(queries.Rows, 3), queries, by, o, segments...)
}

func TestSearchErrors(t *testing.T) {
	type options = quantise.SearchOptions[float64]
	x := random[float64](50, 10, 1)
	queries := x.RowRange(0, 2)
	c, other, lloyd := encode(t, x, quantise.Options{}), encode(t, x, quantise.Options{Bits: 2}), encode(t, x, quantise.Options{Scheme: quantise.LloydMax})
	cosine := c.Quantiser().Prepare(nil, x.Row(0), quantise.Cosine, 0)
	rows := quantise.RowsOf(x)
	broken := errors.New("a broken disk")
	for want, err := range map[string]error{
		"quantise: query 1 is not prepared by the quantiser":                                     c.Quantiser().Search(t.Context(), lists(2, 3), []*quantise.Query{cosine, new(quantise.Query)}, options{}, c),
		"quantise: query 0 is not prepared by the quantiser":                                     c.Quantiser().Search(t.Context(), lists(1, 3), []*quantise.Query{other.Quantiser().Prepare(nil, x.Row(0), 0, 0)}, options{}, c),
		"quantise: query 1 has measure 0, want 1 like the first":                                 c.Quantiser().Search(t.Context(), lists(2, 3), []*quantise.Query{cosine, c.Quantiser().Prepare(nil, x.Row(0), 0, 0)}, options{}, c),
		"quantise: segment 1 is nil":                                                             searching(options{}, queries, 0, c, nil),
		"quantise: segment 1 is of another quantiser":                                            searching(options{}, queries, 0, c, other),
		"quantise: Only has 1 sets for 2 segments":                                               searching(options{Only: make([]quantise.Set, 1)}, queries, 0, c, c),
		"quantise: Except has 0 sets for 1 segments":                                             searching(options{Except: []quantise.Set{}}, queries, 0, c),
		"quantise: MissProbability = 0.1 without Rows":                                           searching(options{MissProbability: 0.1}, queries, 0, c),
		"quantise: MissProbability = 1, want a probability between 0 and 1":                      searching(options{Rows: rows, MissProbability: 1}, queries, 0, c),
		"quantise: MissProbability = NaN, want a probability between 0 and 1":                    searching(options{Rows: rows, MissProbability: math.NaN()}, queries, 0, c),
		"quantise: Rows with codes of LloydMax, want RaBitQ, which knows the error of each code": searching(options{Rows: rows}, queries, 0, lloyd),
		"a broken disk": searching(options{Rows: func(dense.Matrix[float64], int, []int) error { return broken }}, queries, 0, c),
		"quantise: rows of segment 0, of 0 matrices":               searching(options{Rows: quantise.RowsOf[float64]()}, queries, 0, c),
		"quantise: segment 0 has rows of 9 elements, want 10":      searching(options{Rows: quantise.RowsOf(dense.New[float64](50, 9))}, queries, 0, c),
		"quantise: row 0 of segment 0, which has 0 rows in memory": searching(options{Rows: quantise.RowsOf(dense.New[float64](0, 10))}, queries, 0, encode(t, x.RowRange(0, 1), quantise.Options{})),
		"quantise: row 0 of segment 0 that Rows read holds NaN or ±Inf, or overflows": searching(options{Rows: func(dst dense.Matrix[float64], _ int, _ []int) error {
			dst.Set(0, 0, math.NaN())
			return nil
		}}, queries, 0, encode(t, x.RowRange(0, 1), quantise.Options{})),
	} {
		assert.EqualError(t, err, want)
	}
	assert.EqualError(t, searchAll(c.Quantiser(), t.Context(), lists(3, 1), queries, 0, options{}, c), "quantise: 3 lists of hits for 2 queries")
	var none context.Context
	assert.PanicsWithValue(t, "quantise: ctx is nil", func() { _ = searchAll(c.Quantiser(), none, lists(2, 1), queries, 0, options{}, c) })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range []options{{}, {Rows: rows}} {
		assert.ErrorIs(t, searchAll(c.Quantiser(), ended, lists(2, 1), queries, 0, o, c), context.Canceled)
	}

	hits := lists(2, 3)
	require.NoError(t, searchAll(c.Quantiser(), t.Context(), hits, queries, 0, options{}))
	assert.Empty(t, hits[0])
	hits = lists(2, 0)
	require.NoError(t, searchAll(c.Quantiser(), t.Context(), hits, queries, 0, options{Rows: rows}, c))
	assert.Empty(t, hits[1])
	require.NoError(t, searchAll(c.Quantiser(), t.Context(), nil, dense.New[float64](0, 10), 0, options{}, c))
}

// A search ends soon after its context, while others go on.
func TestSearchEnds(t *testing.T) {
	x := random[float32](40_000, 32, 1)
	c := encode(t, x, quantise.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	o := quantise.SearchOptions[float32]{Accept: func(int, int) bool { cancel(); return true }}
	assert.ErrorIs(t, searchAll(c.Quantiser(), ctx, lists(1, 10), x.RowRange(0, 1), 0, o, c), context.Canceled)
}

// Segments with equal quantisers, as those of files, are searched together.
func TestEqualQuantisers(t *testing.T) {
	x := random[float32](300, 16, 1)
	c := encode(t, x, quantise.Options{})
	var file bytes.Buffer
	_, err := c.WriteTo(&file)
	require.NoError(t, err)
	read, err := quantise.Read[float32](&file)
	require.NoError(t, err)
	hits := lists(1, 4)
	require.NoError(t, searchAll(c.Quantiser(), t.Context(), hits, x.RowRange(9, 10), quantise.SquaredDistance, quantise.SearchOptions[float32]{}, c, read))
	for i, hit := range hits[0][:2] {
		assert.Equal(t, []int{i, 9}, []int{hit.Segment, hit.ID})
	}
}

func TestSearchAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	x := random[float32](10_000, 64, 10)
	some := make(quantise.Bitmap, 100)
	queries, hits, only := x.RowRange(0, 20), lists(20, 10), []quantise.Set{some}
	for i := range some {
		some[i] = 0xf0f0f0f0f0f0f0f0
	}
	for _, bits := range []int{1, 2, 4, 8} {
		c := encode(t, x, quantise.Options{Bits: bits})
		q, segments, prepared := c.Quantiser(), []quantise.Codes[float32]{c}, make([]*quantise.Query, queries.Rows)
		for _, o := range []quantise.SearchOptions[float32]{{Only: only}, {Rows: quantise.RowsOf(x)}} {
			for _, processors := range []int{1, 2} {
				assert.Zero(t, allocs.Settled(processors, func() {
					for i := range prepared {
						prepared[i] = q.Prepare(prepared[i], queries.Row(i), quantise.InnerProduct, 0)
					}
					_ = q.Search(context.Background(), hits, prepared, o, segments...)
				}), "%d bits, %d processors", bits, processors)
			}
		}
	}
}
