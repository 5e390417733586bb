package quantise_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// Rows that come a few at a time lie in many blocks, and nothing shows that.
func TestBlocks(t *testing.T) {
	const n, d = 3000, 24
	x, query := random[float32](n, d, 1), random[float32](1, d, 2).Row(0)
	for _, o := range lawOptions(1, 4) {
		whole := encode(t, x, o)
		parts, err := whole.Quantiser().Encode(t.Context(), x.RowRange(0, 0))
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(3, 4))
		for at := 0; at < n; {
			next := min(n, at+1+rng.IntN(9))
			require.NoError(t, parts.Append(t.Context(), x.RowRange(at, next)))
			at = next
		}
		assert.Equal(t, whole.Bytes(), parts.Bytes())
		assert.Equal(t, fileOf(t, whole), fileOf(t, parts), "%v", o)
		assert.Equal(t, estimates(whole, nil, query, quantise.InnerProduct), estimates(parts, nil, query, quantise.InnerProduct), "%v", o)
		assert.Equal(t, estimates(whole, nil, query, quantise.Cosine)[:700], estimates(parts, make([]float64, 700), query, quantise.Cosine), "%v", o)
		for _, by := range measures {
			assert.Equal(t, search(whole, make([]quantise.Hit, 20), query, by), search(parts, make([]quantise.Hit, 20), query, by), "%v, measure %d", o, by)
		}
		assert.Equal(t, whole.Decode(dense.Matrix[float32]{}, 100, 900), parts.Decode(dense.Matrix[float32]{}, 100, 900), "%v", o)
	}
}

// Goroutines read codes while others append, also rows that are refused: every call sees the rows
// of whole calls of Append, and the right codes of them.
//
//ci:race
func TestSharedAppend(t *testing.T) {
	const n, d, batch = 1200, 16, 4
	x := random[float32](n, d, 5)
	query := x.Row(17)
	for i, o := range []quantise.Options{{Bits: 1}, {Bits: 4}, {Bits: 4}} {
		whole := encode(t, x, o)
		if i == 2 {
			var err error
			whole, err = around(t, o, x.RowRange(0, 5)).Encode(t.Context(), x)
			require.NoError(t, err)
		}
		want := estimates(whole, nil, query, quantise.Cosine)
		decoded := whole.Decode(dense.Matrix[float32]{}, 0, n)
		c, err := whole.Quantiser().Encode(t.Context(), x.RowRange(0, batch))
		require.NoError(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		bad := dense.New[float32](batch, d)
		bad.Set(batch-1, 3, float32(math.NaN()))

		var next, reads atomic.Int64
		next.Store(batch)
		var order sync.Mutex // rows come in the order of x
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for {
					for seen := reads.Load(); seen == reads.Load() && c.Len() < n && !t.Failed(); {
						runtime.Gosched()
					}
					assert.Error(t, c.Append(t.Context(), bad))
					assert.ErrorIs(t, c.Append(ended, bad), context.Canceled)
					order.Lock()
					at := int(next.Load())
					if at < n {
						assert.NoError(t, c.Append(t.Context(), x.RowRange(at, at+batch)))
						next.Store(int64(at + batch))
					}
					order.Unlock()
					if at >= n {
						return
					}
				}
			})
		}
		for range 2 {
			group.Go(func() {
				for c.Len() < n && !t.Failed() {
					before := c.Len()
					reads.Add(1)
					got := estimates(c, nil, query, quantise.Cosine)
					assert.Zero(t, len(got)%batch)
					assert.GreaterOrEqual(t, len(got), before)
					assert.Equal(t, want[:len(got)], got)
					for _, hit := range search(c, make([]quantise.Hit, 5), query, quantise.Cosine) {
						assert.Equal(t, want[hit.ID], hit.Value)
					}
					last := c.Len() - 1
					assert.Equal(t, decoded.Row(last), c.Decode(dense.Matrix[float32]{}, last, last+1).Row(0))
				}
			})
		}
		group.Wait()
		assert.Equal(t, fileOf(t, whole), fileOf(t, c), "%v", o)
	}
}
