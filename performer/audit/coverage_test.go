package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// misses chooses attention to 5 and 10 % for each of the heads, and returns how many choices were
// approximations and how many of these had a larger error over all rows.
func misses(t *testing.T, heads []head, candidates []kind[float64], seed uint64) (approximated, missed int) {
	var none dense.Matrix[float64]
	for i, h := range heads {
		softmax := performer.Softmax{Scale: h.scale}
		truth := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: softmax})).Forward(none, h.q, h.k, h.v)
		for _, tolerance := range []float64{0.05, 0.1} {
			o := ChooseOptions{Calls: 1000, Budget: 250, Reproducible: true}
			c, err := choose(t.Context(), softmax, input[float64]{h.q, h.k, h.v}, tolerance, o, candidates, densetest.Source(seed+uint64(i)))
			require.NoError(t, err)
			if c.Exact {
				continue
			}
			approximated++
			if relativeError(c.Attention.Forward(none, h.q, h.k, h.v), truth) > tolerance {
				missed++
			}
		}
	}
	return approximated, missed
}

// headsInOrder returns a number of draws of heads of all kinds.
func headsInOrder(seed uint64, draws, n, d int) []head {
	var heads []head
	for draw := range draws {
		kinds := headsOfKinds(rand.New(densetest.Source(seed+uint64(draw))), n, d)
		var names []string
		for name := range kinds {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			heads = append(heads, kinds[name])
		}
	}
	return heads
}

// Choices are within the tolerance in at least 95 of 100 runs. If each of 64 runs misses the
// tolerance with the probability 0.05, 9 runs miss it in one of 600 seeds.
func TestChooseKeepsTolerances(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	heads := headsInOrder(700, 4, 1024, 16)
	approximated, missed := misses(t, heads, cheap[float64](), 710)
	t.Logf("%d of %d choices are approximations, %d beyond the tolerance", approximated, 2*len(heads), missed)
	assert.Greater(t, approximated, len(heads)/2, "exact attention keeps every tolerance")
	assert.LessOrEqual(t, missed, 8)
}

// Choose accepts attention with errors in rows that are too rare for the sample.
// misses counts these choices, so that TestChooseKeepsTolerances would fail.
func TestCoverageSeesMisses(t *testing.T) {
	heads := headsInOrder(730, 1, 1024, 8)
	c := kind[float64]{name: "holes", sizes: []int{4}, cost: func(callSizes) float64 { return 1 }}
	c.create = func(e performer.Softmax, size int) (performer.Attention[float64], error) {
		return holes{must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: e})), rand.New(densetest.Source(731)).Perm(1024)[:size]}, nil
	}
	approximated, missed := misses(t, heads, []kind[float64]{c}, 732)
	assert.Greater(t, approximated, len(heads)/2)
	assert.Greater(t, missed, approximated/2)
}

// holes is exact attention with errors in some rows.
type holes struct {
	exact performer.Exact[float64]
	rows  []int
}

func (f holes) Forward(dst, q, k, v dense.Matrix[float64]) dense.Matrix[float64] {
	return rare{f.exact.Forward(dense.Matrix[float64]{}, q, k, v), f.rows}.Forward(dst, q, k, v)
}

// small64 returns n points of R^d with coordinates of size ½.
func small64(seed uint64, n, d int) dense.Matrix[float64] {
	x := dense.New[float64](n, d)
	rng := rand.New(densetest.Source(seed))
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64() / 2
	}
	return x
}

// A search that finds nothing costs at most half a call of exact attention, for any number of
// calls, and a quarter of a call if no error is near the tolerance.
func TestSearchesThatFindNothingAreCheap(t *testing.T) {
	const n, d = 4096, 64
	for name, near := range map[string]bool{"far": false, "near": true} {
		t.Run(name, func(t *testing.T) {
			q, k, v := sharp[float32](740, n, d)
			tolerance := 0.01
			if near { // as near as small sizes come
				q, k, v = flat[float32](741, n, d)
				tolerance = 0.0005
			}
			for _, calls := range []int{1, 10, 1000, math.MaxInt32} {
				o := ChooseOptions{Calls: calls, Reproducible: true}
				c, err := Choose[float32](t.Context(), performer.Softmax{Scale: 1}, q, k, v, tolerance, o, densetest.Source(742))
				require.NoError(t, err)
				assert.True(t, c.Exact, "%v", c)
				assert.Positive(t, c.Cost)
				assert.LessOrEqual(t, c.Cost, 0.5)
				best := c.best()
				if calls > 1 {
					require.NotNil(t, best)
				}
				if best != nil && best.Error > 2*tolerance {
					assert.LessOrEqual(t, c.Cost, 0.25, "%d calls: %+v", calls, c.Trials)
				}
			}
		})
	}
}
