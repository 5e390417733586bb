package coded

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Variances sets squares[i] to the expected squared error of the output of query i, which is that
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
func Variances[T dense.Float](squares []float64, a tiles.Attention[T]) {
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

// variance is Variances of query i.
func (c *call[T]) variance(i int) float64 {
	first := max((i+c.skip)/c.rows*c.rows-c.skip, 0)
	var e encoding[T]
	var codes bytedot.Columns
	bytedot.QuantiseColumns(&codes, e.rotate(c.store.rotation, c.Q.RowRange(i, i+1)), c.store.dither)
	keys, d, dv := c.K.Rows, c.K.Cols, c.V.Cols
	scores, highest, counts := make([]float64, keys), make([]float64, tilesOf(keys)), make([]float64, tilesOf(keys))
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
		if counts[t] >= leastCount && c.whole(t) {
			rounding = 1. / 12
		}
		unit := math.Exp(highest[t]-most) / 255 / total
		sum += far * (p*p*scale*scale*norm*square(c.store.keys[t].Scales[j%tiles.Keys]) + unit*unit*rounding)
		centre := c.store.centresOf(t + 1).Row(t)
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
