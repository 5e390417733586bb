package quantise_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/quantise"
)

// With a miss probability that never happens, Within returns the exact rows, for codes of every
// kind and queries of every size.
func TestWithin(t *testing.T) { densetest.Both(t, testWithin[float32], testWithin[float64]) }

func testWithin[T dense.Float](t *testing.T) {
	const n, d, miss = 300, 60, 1e-30
	x := random[T](n, d, 1)
	for i := range n {
		scaleBy(T(math.Exp(float64(i%40)/8-2)), x.Row(i))
		if i%7 == 0 {
			copy(x.Row(i), x.Row(i/7)) // equal values
		}
	}
	clear(x.Row(3))
	src := rand.NewPCG(1, 2)
	one := must.Have(quantise.New[T](d, quantise.Options{Bits: 1}, src))
	sizes := []struct{ rows, query float64 }{{1, 1}, {1, 0}, {1, 1e-12}, {1, 1e-29}, {1, 1e28}, {1e26, 1e28}, {1e-26, 1e-29}}
	for name, q := range map[string]quantise.Quantiser[T]{
		"1 bit": one, "4 bits": must.Have(quantise.New[T](d, quantise.Options{}, src)),
		"learnt": must.Have(quantise.Learn(t.Context(), x, quantise.Options{Bits: 1.5}, src)), "centres": must.Have(one.WithCentres(random[T](5, d, 3))),
	} {
		for _, size := range sizes {
			x, y := x.Clone(), random[T](1, d, 2).Row(0)
			scaleBy(T(size.rows), x.Data)
			scaleBy(T(size.query), y)
			c := must.Have(q.Encode(t.Context(), x))
			for _, by := range measures {
				all := exact(x, y, by, n, nil)
				query := q.Prepare(nil, y, by, miss)
				for _, limit := range []float64{math.Inf(-1), all[0].Value, all[50].Value, all[n-1].Value, math.Inf(1)} {
					what := fmt.Sprintf("%s, sizes %v, measure %d, limit %v", name, size, by, limit)
					rows := must.Have(c.Within(t.Context(), query, limit, quantise.SearchOptions[T]{Rows: quantise.RowsOf(x)}))
					estimates := must.Have(c.Within(t.Context(), query, limit, quantise.SearchOptions[T]{}))
					place, bounded := make([]int, n), make([]bool, n)
					for j, hit := range rows {
						place[hit.ID] = j + 1
						assert.Zero(t, hit.StdErr, what)
					}
					for _, hit := range estimates {
						bounded[hit.ID] = true
					}
					require.False(t, name == "centres" && by == quantise.Cosine && limit > 1e-9 && bounded[3], "%s: the zero row", what)
					for _, hit := range all {
						beyond := hit.Value - limit
						if by == quantise.SquaredDistance {
							beyond = -beyond
						}
						if beyond != beyond {
							beyond = 0 // two infinities are equal
						}
						slack := 1e-9 * math.Abs(limit) // of sums
						if at := place[hit.ID]; !(beyond < slack) || at > 0 {
							require.GreaterOrEqual(t, beyond, -slack, what)
							require.NotZero(t, at, what)
							require.True(t, bounded[hit.ID], what)
							if !math.IsInf(hit.Value, 0) {
								require.InDelta(t, hit.Value, rows[at-1].Value, 1e-9*math.Abs(hit.Value), what)
							}
						}
					}
				}
			}
		}
	}
}

func TestWithinErrors(t *testing.T) {
	x := random[float32](300, 8, 1)
	c := must.Have(must.Have(quantise.New[float32](8, quantise.Options{}, rand.NewPCG(1, 2))).Encode(t.Context(), x))
	other := must.Have(quantise.New[float32](8, quantise.Options{}, rand.NewPCG(3, 4)))
	y, full := x.Row(0), fmt.Errorf("full")
	query := c.Quantiser().Prepare(nil, y, quantise.Cosine, 0.1)
	ended, end := context.WithCancel(t.Context())
	within := func(ctx context.Context, query *quantise.Query, limit float64, o quantise.SearchOptions[float32]) error {
		_, err := c.Within(ctx, query, limit, o)
		return err
	}
	type options = quantise.SearchOptions[float32]
	end()
	for want, err := range map[string]error{
		"context canceled":       within(ended, query, 0, options{}),
		"full":                   within(t.Context(), query, 0, options{Rows: func(dense.Matrix[float32], []int) error { return full }}),
		"quantise: limit is NaN": within(t.Context(), query, math.NaN(), options{}),
		"quantise: Centres = -1, want at least 0":                                within(t.Context(), query, 0, options{Centres: -1}),
		"quantise: the query is not prepared by the quantiser":                   within(t.Context(), other.Prepare(nil, y, quantise.Cosine, 0.1), 0, options{}),
		"quantise: Within for a query with the miss probability 0, want above 0": within(t.Context(), c.Quantiser().Prepare(nil, y, quantise.Cosine, 0), 0, options{}),
	} {
		assert.EqualError(t, err, want)
	}
	hits, err := c.Within(t.Context(), c.Quantiser().Prepare(nil, append([]float32{float32(math.NaN())}, y[1:]...), quantise.Cosine, 0.1), -1, options{})
	assert.NoError(t, err)
	assert.Empty(t, hits)
	hits, err = c.Within(t.Context(), query, -1, options{Except: []uint64{math.MaxUint64}, Accept: func(id int) bool { return id%3 == 0 }})
	assert.NoError(t, err)
	assert.Len(t, hits, 300/3-22)
}
