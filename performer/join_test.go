package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// TestLogSumsAndJoin: the logarithms are those of the weights themselves, and attention over two
// parts of the keys joins to attention over all keys, for queries that see keys in both parts, in
// one and in none.
func TestLogSumsAndJoin(t *testing.T) {
	t.Run("float32", func(t *testing.T) { logSumsAndJoin[float32](t) })
	t.Run("float64", func(t *testing.T) { logSumsAndJoin[float64](t) })
}

func logSumsAndJoin[T dense.Float](t *testing.T) {
	tolerance := 32 * densetest.Roundoff[T]()
	const batch, heads, keyHeads, lq, lk, d, dv = 2, 4, 2, 9, 300, 8, 5
	rng := rand.New(rand.NewPCG(3, 4))
	random := func(h, rows, cols int) dense.Tensor[T] {
		x := dense.NewTensor[T](batch, h, rows, cols)
		for i := range x.Data {
			x.Data[i] = T(rng.NormFloat64())
		}
		return x
	}
	mask := dense.NewTensor[bool](1, 1, lq, lk)
	for i := range lq {
		for j := range lk {
			mask.Row(0, 0, i)[j] = i > 0 && (i != 1 || j < 100) && (i != 2 || j >= 250) && (i+j)%7 != 0
		}
	}
	q, k, v := random(heads, lq, d), random(keyHeads, lk, d), random(keyHeads, lk, dv)
	part := func(x dense.Tensor[T], from, to int) dense.Tensor[T] {
		x.Data, x.Rows = x.Data[from*x.Stride:], to-from
		return x
	}
	near := func(want, got T) bool {
		return want == got || math.Abs(float64(want-got)) <= tolerance*(4+math.Abs(float64(want)))
	}
	for _, o := range []performer.ExactOptions{
		{}, {Bits: 8}, {Softcap: 3}, {Softmax: performer.Softmax{Scale: 40}}, {Softmax: performer.Softmax{Causal: true}}, {SinkWeight: 2.5}, {Window: 120},
	} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			args := performer.AttendArgs[T]{Q: q, K: k, V: v, LogSums: true, Scores: performer.ScoresAfterBias}
			if !o.Causal && o.Window == 0 {
				args.Mask = mask
			}
			exact := must.Have(performer.NewExact[T](o))
			all := must.Have(performer.Attend[T](exact, args))
			for b := range batch {
				for h := range heads {
					for i := range lq {
						sum := o.SinkWeight
						for _, s := range all.Scores.Row(b, h, i) {
							sum += math.Exp(float64(s))
						}
						want, got := T(math.Log(sum)), all.LogSums.Row(b, h, i)[0]
						require.True(t, near(want, got), "%v, want %v", got, want)
					}
				}
			}
			if o.Causal || o.Window != 0 {
				return
			}
			var parts []performer.Result[T]
			for _, at := range [][2]int{{0, 100}, {100, 100}, {100, lk}} {
				args.K, args.V, args.Mask = part(k, at[0], at[1]), part(v, at[0], at[1]), dense.NewTensor[bool](1, 1, lq, at[1]-at[0])
				for i := range lq {
					copy(args.Mask.Row(0, 0, i), mask.Row(0, 0, i)[at[0]:at[1]])
				}
				parts = append(parts, must.Have(performer.Attend[T](exact, args)))
				one := o
				one.SinkWeight = 0 // the sink is in the first part
				exact = must.Have(performer.NewExact[T](one))
			}
			joined := must.Have(performer.Join(parts...))
			largest := 0.0 // log sum, whose rounding changes weights
			for _, l := range all.LogSums.Data {
				if !math.IsInf(float64(l), 0) {
					largest = max(largest, math.Abs(float64(l)))
				}
			}
			for i, want := range all.Out.Data {
				require.InDelta(t, float64(want), float64(joined.Out.Data[i]), tolerance+2*largest*densetest.Roundoff[T]())
			}
			for i, want := range all.LogSums.Data {
				got := joined.LogSums.Data[i]
				require.True(t, near(want, got), "%v, want %v", got, want)
			}
		})
	}

	far := performer.AttendArgs[T]{Q: q, K: k, V: v, LogSums: true, Bias: dense.NewTensor[T](1, 1, 1, lk)}
	for j := range far.Bias.Data {
		far.Bias.Data[j] = -1e4
	}
	sink := must.Have(performer.NewExact[T](performer.ExactOptions{SinkWeight: 2}))
	assert.InDelta(t, math.Log(2), float64(must.Have(performer.Attend[T](sink, far)).LogSums.Data[0]), 4*densetest.Roundoff[T]())
	none := must.Have(performer.Attend[T](sink, performer.AttendArgs[T]{Q: q, K: k, V: dense.NewTensor[T](batch, keyHeads, lk, 0), LogSums: true}))
	far.Bias = dense.Tensor[T]{}
	assert.Equal(t, must.Have(performer.Attend[T](sink, far)).LogSums, none.LogSums, "values of dimension 0")
	nan, zero := T(math.NaN()), dense.TensorOf(1, 1, 1, 1, []T{0})
	for _, low := range []T{T(math.Inf(-1)), -2000} {
		joined := must.Have(performer.Join(performer.Result[T]{Out: dense.TensorOf(1, 1, 1, 1, []T{nan}), LogSums: dense.TensorOf(1, 1, 1, 1, []T{low})},
			performer.Result[T]{Out: zero, LogSums: dense.TensorOf(1, 1, 1, 1, []T{min(low, -1000) + 1000})}))
		assert.True(t, joined.Out.Data[0] != joined.Out.Data[0], "NaN of a part with the log sum %v", low)
	}

	linear := must.Have(performer.NewLinear[T](reLU[T](d), performer.LinearOptions{}))
	_, err := performer.Attend[T](linear, performer.AttendArgs[T]{Q: q, K: k, V: v, LogSums: true})
	assert.ErrorContains(t, err, "LogSums for")
	_, err = performer.Join[T]()
	assert.EqualError(t, err, "performer: Join of no parts, want at least 1")
	_, err = performer.Join(performer.Result[T]{Out: q})
	assert.ErrorContains(t, err, "part 0 has Out of [2 4 9 8] and LogSums of [0 0 0 0]")
}
