package quantise_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/quantise"
)

// Goroutines read codes with a shared query while others append and reserve memory, also rows that
// are refused: every call sees the rows of whole calls of Append, and the right codes of them.
//
//ci:race
func TestShared(t *testing.T) {
	const n, d, batch = 400, 16, 8
	for _, k := range []int{0, 3} {
		x, centres := clusters[float32](n, d, 3, 3, 0.5, 1)
		q := newQuantiser[float32](t, d, quantise.Options{})
		if k > 0 {
			q = around(t, quantise.Options{Bits: 1}, centres)
		}
		whole, page := codesOf(t, q, x), pageOf(t, q, x.RowRange(0, batch))
		query := q.Prepare(nil, x.Row(3), quantise.SquaredDistance, 0)
		want, decoded := whole.Estimates(make([]quantise.Estimate, n), query, nil), whole.Decode(dense.Matrix[float32]{}, 0, n)
		c := codesOf(t, q, x.RowRange(0, batch))
		bad := dense.New[float32](batch, d)
		bad.Set(batch-1, 3, float32(math.NaN()))
		ended, cancel := context.WithCancel(t.Context())
		cancel()

		var order sync.Mutex // rows come in the order of x
		var group sync.WaitGroup
		var reads atomic.Int64
		for range 2 {
			group.Go(func() {
				for at := 0; at < n && !t.Failed(); {
					for seen := reads.Load(); seen == reads.Load() && c.Len() < n && !t.Failed(); {
						runtime.Gosched()
					}
					assert.Error(t, c.Append(t.Context(), bad))
					assert.ErrorIs(t, c.Append(ended, bad), context.Canceled)
					order.Lock()
					if at = c.Len(); at < n {
						assert.NoError(t, c.Append(t.Context(), x.RowRange(at, at+batch)))
					}
					order.Unlock()
				}
			})
			group.Go(func() {
				moved, own := codesOf(t, q, x.RowRange(0, 0)), new(quantise.Query)
				for seen := 0; seen < n && !t.Failed(); {
					reads.Add(1)
					seen = c.Len()
					last := seen - 1
					assert.Zero(t, seen%batch)
					assert.Equal(t, want[:seen], c.Estimates(make([]quantise.Estimate, seen), query, nil))
					assert.Equal(t, want[last], c.Estimates(make([]quantise.Estimate, 1), q.Prepare(own, x.Row(3), quantise.SquaredDistance, 0), []int{last})[0])
					assert.Equal(t, decoded.Row(last), c.Decode(dense.Matrix[float32]{}, last, seen).Row(0))
					for _, hit := range c.Search(make([]quantise.Hit, 5), query) {
						assert.Equal(t, want[hit.ID], hit.Estimate)
					}
					few := make([]quantise.Estimate, batch)
					assert.NoError(t, q.EstimateBytes(few, query, page))
					assert.Equal(t, want[:batch], few)
					assert.NoError(t, moved.AppendRows(c, []int{last, 0}))
					assert.NoError(t, c.Write(io.Discard))
				}
			})
		}
		group.Wait()
		sameCodes(t, whole, c, x.Row(3), fmt.Sprintf("%d centres", k))
	}
}

// After the first call of a size, no call allocates.
func TestAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	const n = 5000
	dst, all, query, ids := make([]quantise.Hit, 10), make([]quantise.Estimate, n), new(quantise.Query), []int{4711, 0, 4711}
	some := setOf(n, func(id int) bool { return id%8 > 3 })
	for i, o := range []quantise.Options{{Bits: 1}, {Bits: 8}, {Bits: 4}, {Bits: 1}, {Bits: 4}} {
		mean := []float64{0, 0, 0, 1, 100}[i] // at 100, q − tc is rounded by itself
		x, centres := clusters[float32](n, 48, 6, mean, 0.5, 3)
		c := codesOf(t, around(t, o, centres), x)
		if mean == 0 {
			c = encode(t, x, o)
		}
		q, hits, prepared := c.Quantiser(), lists(9, 10), make([]*quantise.Query, 9)
		page, options := pageOf(t, q, x.RowRange(0, 100)), []quantise.SearchOptions[float32]{{Only: some}, {Rows: quantise.RowsOf(x)}}
		for _, processors := range []int{1, 2} {
			assert.Zero(t, allocs.Settled(processors, func() {
				for _, by := range measures {
					c.Search(dst, q.Prepare(query, x.Row(3), by, 0))
					c.Estimates(all, query, nil)
					c.Estimates(all[:3], query, ids)
				}
				for i := range prepared {
					prepared[i] = q.Prepare(prepared[i], x.Row(i), quantise.InnerProduct, 0)
				}
				for _, o := range options {
					_ = c.SearchAll(context.Background(), hits, prepared, o)
				}
				_, _ = q.EncodeBytes(page[:0], x.RowRange(0, 100))
				_ = q.EstimateBytes(all[:100], prepared[0], page)
			}), "mean %v, %v, %d processors", mean, o, processors)
		}
	}
}
