package audit

import (
	"fmt"
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

// understated has a quarter of its error in a call with few queries.
type understated struct {
	noisy
	few int
}

func (f understated) Describe() performer.Description {
	return performer.Description{IndependentQueries: true}
}

func (f understated) Forward(dst, q, k, v dense.Matrix[float64]) dense.Matrix[float64] {
	if q.Rows == f.exact.Rows {
		return f.noisy.Forward(dst, q, k, v)
	}
	small := noisy{must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, q, k, v), f.error / 4, f.spread, f.seed}
	return small.Forward(dst, q, k, v)
}

// Choose rejects attention that is less accurate with many queries than with few, whether two draws
// have the same errors or independent errors, because compare measures the sampled rows among all
// rows.
func TestChooseSeesUnderstatedErrors(t *testing.T) {
	const n = 1500
	x := small64(720, n, 8)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, x, x, x)
	for _, same := range []bool{false, true} {
		c := kind[float64]{name: "hopes", sizes: []int{4}, cost: func(callSizes) float64 { return 1 }}
		c.create = func(_ performer.Softmax, _, _ dense.Matrix[float64], _ int, src rand.Source) (performer.Attention[float64], error) {
			seed := src.Uint64()
			if same {
				seed = 721
			}
			return understated{noisy{exact, 0.15, 0.3, seed}, n}, nil
		}
		o := ChooseOptions{Calls: 1000, Budget: 250, Reproducible: true}
		chosen, err := choose(t.Context(), performer.Softmax{}, input[float64]{x, x, x}, 0.1, o, []kind[float64]{c}, densetest.Source(722))
		require.NoError(t, err)
		assert.True(t, chosen.Exact, "same errors in both draws: %v", same)
		assert.True(t, chosen.Trials[0].Tested)
		assert.Less(t, chosen.Trials[0].Error, 0.05)
	}
}

// Choose accepts attention whose draws share errors in rows that are too rare for the sample.
// misses counts these choices, so that TestChooseKeepsTolerances would fail.
func TestCoverageSeesMisses(t *testing.T) {
	heads := headsInOrder(730, 1, 1024, 8)
	c := kind[float64]{name: "holes", sizes: []int{4}, cost: func(callSizes) float64 { return 1 }}
	c.create = func(e performer.Softmax, q, k dense.Matrix[float64], size int, _ rand.Source) (performer.Attention[float64], error) {
		return holes{must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: e})), rand.New(densetest.Source(731)).Perm(q.Rows)[:size]}, nil
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

// Choose drops a kind after a size whose error is 1.
func TestHopelessKindsAreDropped(t *testing.T) {
	const n = 1000
	x := small64(750, n, 8)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, x, x, x)
	c := noisyCandidate(exact, 751, 1, 1, 1, 1, 1, 1, 1, 1)
	c.sizes = []int{1, 2, 4, 8, 16, 32, 64, 128}
	c.create = func(performer.Softmax, dense.Matrix[float64], dense.Matrix[float64], int, rand.Source) (performer.Attention[float64], error) {
		return noisy{exact, 1, 0.5, 752}, nil
	}
	dear := c
	dear.name, dear.cost = "dear guesses", func(c callSizes) float64 { return exactCost[float64](c) }
	o := ChooseOptions{Calls: 1000, Budget: 250, Reproducible: true}
	chosen, err := choose(t.Context(), performer.Softmax{}, input[float64]{x, x, x}, 0.01, o, []kind[float64]{c, dear}, densetest.Source(753))
	require.NoError(t, err)
	var tried []string
	for _, tr := range chosen.Trials {
		tried = append(tried, tr.Name)
	}
	assert.Equal(t, []string{"1 guesses"}, tried, "what costs as much as exact attention is never tried")
}

// climb extrapolates errors to the next sizes.
func TestLadder(t *testing.T) {
	for _, c := range []struct {
		size  int
		error float64
		want  string
		why   string
	}{
		{32, 0.3, "128", "0.3·8^(−0.6) < 0.1, but a leap is of 4 at most"},
		{32, 0.9, "none", "0.9·32^(−0.6) > 0.1"},
		{32, 1.2, "none", "an error above 1 counts as 1"},
		{64, 0.15, "128", "0.15·2^(−0.6) < 0.1"},
		{64, 0.2, "256", "0.2·4^(−0.6) < 0.1 < 0.2·2^(−0.6)"},
		{1024, 0.2, "none", "the largest size"},
	} {
		l := &ladder[float64]{kind: kind[float64]{sizes: []int{32, 64, 128, 256, 512, 1024}}}
		l.next = slices.Index(l.sizes, c.size)
		l.climb(c.size, c.error, 0.1)
		got := "none"
		if l.next < len(l.sizes) {
			got = fmt.Sprint(l.sizes[l.next])
		}
		assert.Equal(t, c.want, got, c.why)
	}
}
