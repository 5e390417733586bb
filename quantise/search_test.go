package quantise_test

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/quantise"
)

var measures = []quantise.Measure{quantise.InnerProduct, quantise.Cosine, quantise.SquaredDistance}

// ranked returns all rows by their estimates.
func ranked[T dense.Float](c quantise.Codes[T], query []T, by quantise.Measure) []quantise.Hit {
	all := make([]quantise.Hit, c.Len())
	for i, v := range estimates(c, nil, query, by) {
		all[i] = quantise.Hit{ID: i, Estimate: quantise.Estimate{Value: v}}
		if by == quantise.SquaredDistance {
			all[i].Value = -v
		}
	}
	slices.SortFunc(all, func(a, b quantise.Hit) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.ID, b.ID))
	})
	for i := range all {
		if by == quantise.SquaredDistance {
			all[i].Value = -all[i].Value
		}
	}
	return all
}

// Search finds what sorting all estimates finds.
func TestSearchSortsEstimates(t *testing.T) {
	const n, d, k = 3000, 64, 25
	x, query := random[float32](n, d, 1), random[float32](1, d, 2).Row(0)
	copy(x.Row(2000), x.Row(17)) // estimates that are equal
	for _, o := range lawOptions(1, 2, 4, 8) {
		c := encode(t, x, o)
		for _, by := range measures {
			want := ranked(c, query, by)[:k]
			got := search(c, make([]quantise.Hit, k), query, by)
			require.Len(t, got, k)
			for i, hit := range got {
				assert.Positive(t, hit.StdErr)
				require.Equal(t, want[i].ID, hit.ID, "%v, measure %d, place %d", o, by, i)
				assert.Equal(t, want[i].Value, hit.Value)
			}
		}
	}
}

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

	none, err := c.Quantiser().Encode(t.Context(), dense.New[float64](0, d))
	require.NoError(t, err)
	assert.Empty(t, search(none, make([]quantise.Hit, 3), query, quantise.Cosine))
	assert.Empty(t, estimates(none, nil, query, quantise.Cosine))
}

// Equal rows come in their order.
func TestTies(t *testing.T) {
	x := random[float64](1, 40, 5)
	same := dense.New[float64](5000, 40)
	for i := range same.Rows {
		copy(same.Row(i), x.Row(0))
	}
	for _, o := range lawOptions(1, 4, 8) {
		for i, hit := range search(encode(t, same, o), make([]quantise.Hit, 7), x.Row(0), quantise.InnerProduct) {
			assert.Equal(t, i, hit.ID, "%v", o)
		}
	}
}

func TestQueriesThatAreNotFinite(t *testing.T) {
	for _, o := range lawOptions(1, 4, 8) {
		c := encode(t, random[float64](600, 20, 6), o)
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			query := random[float64](1, 20, 7).Row(0)
			query[3] = bad
			for _, by := range measures {
				for _, v := range estimates(c, nil, query, by) {
					require.True(t, math.IsNaN(v), "%v, measure %d", o, by)
				}
				for i, hit := range search(c, make([]quantise.Hit, 3), query, by) {
					assert.Equal(t, i, hit.ID)
					assert.True(t, math.IsNaN(hit.Value) && math.IsNaN(hit.StdErr))
				}
			}
		}
	}
}

// Goroutines share codes, for all measures at once.
//
//ci:race
func TestShared(t *testing.T) {
	x, query := random[float32](5000, 48, 8), random[float32](1, 48, 9).Row(0)
	c := encode(t, x, quantise.Options{Bits: 1})
	var want [3][]quantise.Hit
	for i, by := range measures {
		want[i] = search(c, make([]quantise.Hit, 10), query, by)
	}
	var wg sync.WaitGroup
	for g := range 12 {
		wg.Go(func() {
			for range 5 {
				assert.Equal(t, want[g%3], search(c, make([]quantise.Hit, 10), query, measures[g%3]))
			}
		})
	}
	wg.Wait()
}

func TestAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	x, query := random[float32](10_000, 96, 10), random[float32](1, 96, 11).Row(0)
	dst, all, prepared := make([]quantise.Hit, 10), make([]quantise.Estimate, x.Rows), new(quantise.Query)
	ids := []int{4711, 0, 4711}
	for _, o := range lawOptions(1, 4, 8) {
		c := encode(t, x, o)
		for _, processors := range []int{1, 2} {
			assert.Zero(t, allocs.Settled(processors, func() {
				for _, by := range measures {
					c.Search(dst, c.Quantiser().Prepare(prepared, query, by, 0))
					c.Estimates(all, prepared, 0)
					c.EstimateRows(all[:3], prepared, ids)
				}
			}), "%v, %d processors", o, processors)
		}
	}
}
