package bytedot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// outputs is attention of queries to keys in tiles of so many keys, in 8 bits.
func outputs(q, k, v dense.Matrix[float32], keys int) (out dense.Matrix[float32]) {
	n := Padded(q.Rows)
	var qs, w CodedColumns
	var ks, vs CodedRows
	QuantiseColumns(&qs, q, nil)
	scales := slices.Clone(qs.Scales)
	for i := range scales {
		scales[i] *= float32(math.Log2E * Octave / math.Sqrt(float64(q.Cols)))
	}
	sums, y := dense.New[float32](v.Cols, n), dense.New[float32](four*groups(keys), n)
	peaks, olds, news := make([]float32, n), make([]float32, n), make([]float32, n)
	all, totals := slices.Repeat([]float32{float32(math.Inf(-1))}, n), make([]float32, n)
	for lo := 0; lo < k.Rows; lo += keys {
		hi := min(lo+keys, k.Rows)
		QuantiseRows(&ks, k.RowRange(lo, hi), nil)
		QuantiseTransposed(&vs, v.RowRange(lo, hi))
		Close(peaks)
		Scores(y.RowRange(0, hi-lo), peaks, &ks, &qs, scales)
		added := make([]int32, n)
		Weigh(&w, hi-lo, q.Rows, added, y.RowRange(0, four*groups(hi-lo)), peaks)
		for j, peak := range peaks {
			highest := max(all[j], peak)
			olds[j], news[j] = float32(math.Exp2(float64(all[j]-highest)/Octave)), float32(math.Exp2(float64(peak-highest)/Octave))
			all[j], totals[j] = highest, totals[j]*olds[j]+float32(added[j])*news[j]
		}
		Add(sums, olds, news, &vs, &w)
	}
	out = dense.New[float32](q.Rows, v.Cols)
	for i := range out.Rows {
		for c := range out.Cols {
			out.Set(i, c, sums.At(c, i)/totals[i])
		}
	}
	return out
}

// exact is attention of a query in float64: the shares of the keys and the output.
func exact(q []float32, k, v dense.Matrix[float32]) (shares, out []float64) {
	shares, out = make([]float64, k.Rows), make([]float64, v.Cols)
	total := 0.0
	for j := range shares {
		score := 0.0
		for l, x := range q {
			score += float64(x) * float64(k.At(j, l))
		}
		shares[j] = math.Exp(score / math.Sqrt(float64(len(q))))
		total += shares[j]
	}
	for j := range shares {
		shares[j] /= total
		for c := range out {
			out[c] += shares[j] * float64(v.At(j, c))
		}
	}
	return shares, out
}

// errorOf returns the expected square of the error of the outputs of a query: every code, of a step
// σ, is off by a number of variance σ²/12, and a weight with fraction f by one of variance
// f·(1 − f).
func errorOf(q []float32, shares, out []float64, k, v dense.Matrix[float32], keys int) (square float64) {
	step := func(x []float32) float64 {
		_, scale := codesOf(x)
		return float64(scale)
	}
	norm := func(x []float32) (sum float64) {
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		return sum / float64(len(x))
	}
	vt := dense.Transpose(dense.Matrix[float32]{}, v)
	stepQ, normQ := step(q), norm(q)
	for lo := 0; lo < k.Rows; lo += keys {
		tile := shares[lo:min(lo+keys, k.Rows)]
		values := make([]float64, v.Cols)
		for c := range values {
			values[c] = math.Pow(step(vt.Row(c)[lo:][:len(tile)]), 2) / 12
		}
		highest := slices.Max(tile)
		for j, share := range tile {
			key := k.Row(lo + j)
			score := (normQ*math.Pow(step(key), 2) + norm(key)*math.Pow(stepQ, 2)) / 12
			_, fraction := math.Modf(255 * share / highest)
			weight := math.Pow(highest/(255*share), 2) * fraction * (1 - fraction)
			for c, o := range out {
				off := float64(v.At(lo+j, c)) - o
				square += share * share * ((score+weight)*off*off + values[c])
			}
		}
	}
	return square
}

// Attention in 8 bits is off by what rounding explains, however keys are cut into tiles.
//
//ci:assembly
func TestAttention(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	q, k, v := densetest.Normal[float32](r, 37, 64, 0, 1), densetest.Normal[float32](r, 300, 64, 0, 1), densetest.Normal[float32](r, 300, 48, 0, 1)
	for _, keys := range []int{300, 256, 64, 33} {
		expected, size := 0.0, 0.0
		want := dense.New[float64](q.Rows, v.Cols)
		for i := range q.Rows {
			shares, out := exact(q.Row(i), k, v)
			expected += errorOf(q.Row(i), shares, out, k, v, keys)
			for _, o := range out {
				size += o * o
			}
			copy(want.Row(i), out)
		}
		everyTier(t, func(t *testing.T) {
			square := 0.0
			for i, x := range outputs(q, k, v, keys).Data {
				square += math.Pow(want.Data[i]-float64(x), 2)
			}
			t.Logf("tiles of %d keys: relative error %.4f, expected %.4f", keys, math.Sqrt(square/size), math.Sqrt(expected/size))
			// 1776 errors, of which those of one query are hardly dependent: their mean square is
			// off by 3.4 % at one standard deviation.
			assert.InDelta(t, 1, square/expected, 0.2)
		})
	}
}
