package quantise_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

// testGrow compares codes with reserved memory with the codes of the same rows without it: after
// Grow, after Append to reserved memory and beyond it, after rows are removed, and from a file.
func testGrow[T dense.Float](t *testing.T) {
	const d = 24
	for _, n := range []int{10, 30, 1000} {
		for _, k := range []int{0, 1, 3} {
			x, centres := clusters[T](2*n, d, max(k, 1), 3, 0.5, 1)
			for _, o := range []quantise.Options{{Bits: 4}, {Scheme: quantise.LloydMax, Bits: 2}, {Scheme: quantise.QJL, Bits: 2}} {
				if n == 1000 && o.Scheme != quantise.RaBitQ {
					continue
				}
				q, err := quantise.New[T](d, o, rand.NewPCG(1, 2))
				require.NoError(t, err)
				if k > 0 {
					q, err = q.WithCentres(centres)
					require.NoError(t, err)
				}
				for _, more := range []int{1, n / 2, 3 * n} {
					what := fmt.Sprintf("%d rows, %d centres, %v, Grow(%d)", n, k, o, more)
					want, err := q.Encode(t.Context(), x.RowRange(0, n))
					require.NoError(t, err)
					got, err := q.Encode(t.Context(), x.RowRange(0, n))
					require.NoError(t, err)
					require.NoError(t, got.Grow(more))
					sameCodes(t, want, got, x.Row(1), what)
					require.NoError(t, got.Grow(more/3))
					for _, c := range []quantise.Codes[T]{want, got} {
						require.NoError(t, c.Append(t.Context(), x.RowRange(n, n+n/3)))
						require.NoError(t, c.AppendRows(c, []int{n - 1, 0, 7}))
						require.NoError(t, c.Append(t.Context(), x.RowRange(n+n/3, 2*n)))
					}
					require.NoError(t, got.Grow(more))
					sameCodes(t, want, got, x.Row(n+1), what+", appended")

					var kept []int
					for i := 0; i < want.Len(); i += 1 + i%3 {
						kept = append(kept, i)
					}
					wantKept, err := q.Encode(t.Context(), x.RowRange(0, 0))
					require.NoError(t, err)
					require.NoError(t, wantKept.AppendRows(want, kept))
					gotKept, err := q.Encode(t.Context(), x.RowRange(0, 0))
					require.NoError(t, err)
					require.NoError(t, gotKept.Grow(len(kept)/2))
					require.NoError(t, gotKept.AppendRows(got, kept))
					require.NoError(t, gotKept.Grow(more))
					sameCodes(t, wantKept, gotKept, x.Row(2), what+", removed")
					read, err := quantise.Read[T](bytes.NewReader(fileOf(t, gotKept)))
					require.NoError(t, err)
					require.NoError(t, read.Grow(more))
					sameCodes(t, wantKept, read, x.Row(2), what+", read")
				}
			}
		}
	}
}

func TestGrow(t *testing.T) { densetest.Both(t, testGrow[float32], testGrow[float64]) }

// Goroutines read codes while rows are appended to reserved memory.
//
//ci:race
func TestSharedGrow(t *testing.T) {
	const n, first, step, d = 300, 30, 19, 16
	for _, k := range []int{0, 1, 3} {
		x, centres := clusters[float32](n, d, max(k, 1), 3, 0.5, 1)
		q, err := quantise.New[float32](d, quantise.Options{}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		if k > 0 {
			q, err = q.WithCentres(centres)
			require.NoError(t, err)
		}
		whole, err := q.Encode(t.Context(), x)
		require.NoError(t, err)
		query := q.Prepare(nil, x.Row(3), quantise.SquaredDistance, 0)
		want, decoded := whole.Estimates(make([]quantise.Estimate, n), query, 0), whole.Decode(dense.Matrix[float32]{}, 0, n)
		c, err := q.Encode(t.Context(), x.RowRange(0, first))
		require.NoError(t, err)
		require.NoError(t, c.Grow(n))
		var group sync.WaitGroup
		var reads atomic.Int64
		for range 2 {
			group.Go(func() {
				moved, err := q.Encode(t.Context(), x.RowRange(0, 0))
				assert.NoError(t, err)
				for seen := 0; seen < n && !t.Failed(); {
					seen = c.Len()
					last := seen - 1
					assert.Equal(t, want[:seen], c.Estimates(make([]quantise.Estimate, seen), query, 0))
					assert.Equal(t, want[last], c.EstimateRows(make([]quantise.Estimate, 1), query, []int{last})[0])
					assert.Equal(t, decoded.Row(last), c.Decode(dense.Matrix[float32]{}, last, seen).Row(0))
					for _, hit := range c.Search(make([]quantise.Hit, 5), query) {
						assert.Equal(t, want[hit.ID], hit.Estimate)
					}
					assert.NoError(t, moved.AppendRows(c, []int{last, 0}))
					_, err := c.WriteTo(io.Discard)
					assert.NoError(t, err)
					reads.Add(1)
				}
			})
		}
		for at := first; at < n; at += step {
			for seen := reads.Load(); reads.Load() < seen+2 && !t.Failed(); {
				runtime.Gosched()
			}
			assert.NoError(t, c.Append(t.Context(), x.RowRange(at, min(at+step, n))))
			assert.NoError(t, c.Grow(at%5*step))
		}
		group.Wait()
		sameCodes(t, whole, c, x.Row(3), fmt.Sprintf("%d centres", k))
	}
}
