package coded

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// attention returns the attention of a head with the scale 1/√d.
func attention[T dense.Float](q, k, v dense.Matrix[T]) tiles.Attention[T] {
	return tiles.Attention[T]{
		Dst: dense.New[T](q.Rows, v.Cols), Q: q, K: k, V: v, Scores: tiles.Scores{Scale: 1 / math.Sqrt(float64(q.Cols))},
	}
}

// wide returns a in float64.
func wide(a tiles.Attention[float32]) tiles.Attention[float64] {
	double := func(x dense.Matrix[float32]) dense.Matrix[float64] { return dense.Copy(dense.Matrix[float64]{}, x) }
	return attention(double(a.Q), double(a.K), double(a.V))
}

// lawOf returns the variances of all queries.
func lawOf[T dense.Float](a tiles.Attention[T]) []float64 {
	squares := make([]float64, a.Q.Rows)
	variances(squares, a)
	return squares
}

func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// The error of rounding is what its law says, on average over outputs and draws. Where weights are
// nearly equal, all outputs have the same error of the mean of the values, so that a draw tells as
// much as dv numbers do: at 6·64 of them the standard error is 7 %, three of which are allowed.
// What the law says is then nearly the same for all draws, and taken of one.
func TestVariances(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	rng := rand.New(rand.NewPCG(15, 16))
	const n, d, dv = 600, 32, 64
	for _, s := range []struct {
		name       string
		norm, mean float64
		draws      int
	}{
		{"small queries", 0.3, 0, 6},
		{"normal points", 1, 0, 1},
		{"peaked weights", 2.5, 0, 1},
		{"values with a mean", 1, 5, 1},
	} {
		for _, o := range []tiles.Attention[float64]{
			{}, {Mask: tiles.Mask[float64]{Causal: true}},
			{Mask: tiles.Mask[float64]{Window: 300, Causal: true}, Scores: tiles.Scores{Sink: 300}},
		} {
			var measured, predicted float64
			for draw := range s.draws {
				a := attention(densetest.Normal[float64](rng, n, d, 0, s.norm), densetest.Normal[float64](rng, n, d, 0.5, s.norm), densetest.Normal[float64](rng, n, dv, s.mean, 1))
				a.Mask, a.Scores.Sink = o.Mask, o.Scores.Sink
				tiles.Attend(a)
				want := a.Dst.Clone()
				Attend(a)
				for i, x := range a.Dst.Data {
					measured += (x - want.Data[i]) * (x - want.Data[i])
				}
				if draw == 0 {
					predicted = float64(s.draws) * sumOf(lawOf(a))
				}
			}
			assert.InDelta(t, 1, measured/predicted, 0.2, "%s, %+v", s.name, o.Mask)
		}
	}
}

// Queries are not centred: with a mean of a hundred spreads their codes say little, and the law
// tells.
func TestVariancesOfQueriesWithAMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	const n, d = 512, 32
	a := attention(densetest.Normal[float32](rng, n, d, 100, 1), densetest.Normal[float32](rng, n, d, 0, 1), densetest.Normal[float32](rng, n, d, 0, 1))
	assert.Greater(t, sumOf(lawOf(a)), 0.001*n)
	a.K.Row(300)[7] = float32(math.NaN())
	for i, x := range lawOf(a) {
		require.True(t, math.IsNaN(x), "query %d: %v", i, x)
	}
}

// The law of errors is finite for the largest values, and goes with their square.
func TestVariancesOfLargeValues(t *testing.T) {
	const n, d, dv = 300, 8, 3
	rng := rand.New(rand.NewPCG(27, 28))
	uniform := func(_, _ int) float64 { return 2*rng.Float64() - 1 }
	a := attention(made(n, d, uniform), made(n, d, uniform), made(n, dv, uniform))
	times := func(x dense.Matrix[float32], size float64) dense.Matrix[float32] {
		return made(x.Rows, x.Cols, func(i, j int) float64 { return float64(x.At(i, j)) * size })
	}
	want, v := lawOf(a), a.V
	for _, size := range []float64{0x1p-60, 0x1p100, 0x1p127} {
		a.V = times(v, size)
		for i, x := range lawOf(a) {
			require.Positive(t, want[i])
			require.InEpsilon(t, want[i], x/size/size, 1e-6, "%g, query %d", size, i)
		}
	}
	a.Q.Row(0)[0] = 3e38
	for l := range d {
		a.K.Row(0)[l], a.Q.Row(1)[l] = 0, 3e38
	}
	a.K, a.V = times(a.K, 1e-38), v
	assert.True(t, layout.Finite(dense.Of(1, n, lawOf(a))), "queries that are computed exactly")
}

// variances sets squares[i] to the expected squared error of the output of query i, which is that
// of rounding to codes, to first order and without the Unnormalised of a:
//
//	Σ_c Var(out_ic) = s²σ_i²/12·‖Σ_j p_j·(v_j − out_i)(k_j − c_j)ᵀ‖²
//	                + Σ_j p_j²·(s²‖q_i‖²σ_j²/12 + r_j)·‖v_j − out_i‖² + Σ_c (Σ_j p_j·e_jc)²
//
// with the weights p_j, the scales σ_i of the query and σ_j of keys, and the mean c_j of the tile
// of key j. A weight w, of at most 255, is rounded up for a share f = w − ⌊w⌋ of the keys, with the
// relative variance r_j = f·(1 − f)/w², or 1/(12·w²) if it is compensated. e_jc is the error of
// value v_jc, which is known: errors of values that repeat are equal. Keys of tiles that are not
// coded have no errors. A query that sees no key has 0, and one whose scores are not finite NaN.
func variances[T dense.Float](squares []float64, a tiles.Attention[T]) {
	if a.Q.Rows == 0 || a.V.Cols == 0 || a.K.Rows == 0 {
		clear(squares)
		return
	}
	c, factor := new(call[T]), 1.0
	if c.begin(a); c.store.large() {
		c.begin(c.shrunk())
		factor = 1 / (Smaller * Smaller)
	}
	parallel.Rows(a.Q.Rows, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			squares[i] = c.variance(i) * factor
		}
	})
}

// variance is the element of variances of query i.
func (c *call[T]) variance(i int) float64 {
	first := max((i+c.skip)/c.rows*c.rows-c.skip, 0)
	var e encoding[T]
	var codes bytedot.Columns
	bytedot.QuantiseColumns(&codes, e.rotate(c.store.rotation, c.Q.RowRange(i, i+1)), c.store.dither)
	keys, d, dv := c.K.Rows, c.K.Cols, c.V.Cols
	scores, highest, counts := make([]float64, keys), make([]float64, c.store.tilesOf(keys)), make([]float64, c.store.tilesOf(keys))
	most, seen, exactly := math.Inf(-1), false, codes.Scales[0]-codes.Scales[0] != 0
	for j := range scores {
		t := j / tiles.Keys
		if j%tiles.Keys == 0 {
			highest[t] = math.Inf(-1)
		}
		if scores[j] = math.Inf(-1); c.sees(i, j) {
			scores[j] = c.Scores.Scale * dot(c.Q.Row(i), c.K.Row(j))
			highest[t] = math.Max(highest[t], scores[j])
			seen = true
			exactly = exactly || c.coded(t, first) && c.store.overflows(t, codes.Scales[0]*float32(c.Scores.Scale*octaves), 0)
		}
		most = math.Max(most, scores[j])
	}
	switch {
	case !seen:
		return 0
	case most-most != 0:
		return math.NaN()
	case exactly:
		return 0
	}
	total, out := 0.0, make([]float64, dv)
	for j, s := range scores {
		w := math.Exp(s - most)
		total += w
		counts[j/tiles.Keys] += 255 * math.Exp(s-highest[j/tiles.Keys])
		for l, x := range c.V.Row(j) {
			if w > 0 {
				out[l] += w * float64(x)
			}
		}
	}
	total = c.Scores.Total(total, most)
	for l := range out {
		out[l] /= total
	}
	moment, apart, left := make([]float64, dv*d), make([]float64, dv), make([]float64, dv)
	norm, scale := 0.0, c.Scores.Scale
	for _, x := range c.Q.Row(i) {
		norm += float64(x) * float64(x)
	}
	square := func(x float32) float64 { return float64(x) * float64(x) / 12 }
	sum := 0.0
	for j, s := range scores {
		t := j / tiles.Keys
		if math.IsInf(s, -1) || !c.coded(t, first) {
			continue
		}
		p, far := math.Exp(s-most)/total, 0.0
		values, means := &c.store.values[t], c.store.means.Rows(t+1).Row(t)
		for l, x := range c.V.Row(j) {
			apart[l] = float64(x) - out[l]
			far += apart[l] * apart[l]
			left[l] += p * (float64(x) - float64(means[l]) - float64(values.Scales[l])*float64(values.Code(l, j%tiles.Keys)))
		}
		w := 255 * math.Exp(s-highest[t])
		rounding := (w - math.Floor(w)) * (1 - w + math.Floor(w))
		if counts[t] >= leastMean*tiles.Keys && c.whole(t) {
			rounding = 1. / 12
		}
		unit := math.Exp(highest[t]-most) / 255 / total
		sum += far * (p*p*scale*scale*norm*square(c.store.keys[t].Scales[j%tiles.Keys]) + unit*unit*rounding)
		centre := c.store.centre(t)
		for b, x := range c.K.Row(j) {
			vecmath.AddScaled(moment[b*dv:][:dv], apart, p*(float64(x)-float64(centre[b])))
		}
	}
	for _, x := range left {
		sum += x * x
	}
	for _, x := range moment {
		sum += scale * scale * square(codes.Scales[0]) * x * x
	}
	return sum
}

// sees reports whether query i sees key j.
func (c *call[T]) sees(i, j int) bool {
	from, to := c.Mask.Queries(j, i, i+1)
	return from < to
}

func dot[T dense.Float](x, y []T) float64 {
	sum := 0.0
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}
