package tiles

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// Rows anywhere in memory have the output of the same rows side by side, whatever the number of
// calls, with and without a Softcap.
func TestAddRows(t *testing.T) { densetest.Both(t, testAddRows[float32], testAddRows[float64]) }

func testAddRows[T dense.Float](t *testing.T) {
	const d, dv = 20, 12
	rng := rand.New(densetest.Source(811))
	for _, n := range []int{1, 2, rowsAhead, rowsAhead + 1, Keys - 1, Keys, Keys + 1, 2*Keys + 7} {
		for _, softcap := range []float64{0, 2} {
			scores := Scores{Scale: 0.3, Softcap: softcap}
			q, k, v := densetest.Normal[T](rng, 1, d, 0, 2), densetest.Normal[T](rng, n, d, 1, 2), densetest.Normal[T](rng, n, dv, 3, 1)
			var keys, values [][]T
			for _, i := range rng.Perm(n) {
				keys, values = append(keys, k.Row(i)), append(values, v.Row(i))
			}
			got, want := dense.New[T](1, dv), dense.New[T](1, dv)
			whole := NewTile(scores, q, dv)
			whole.AddSeen(k, v, Mask[T]{}, 0)
			whole.Finish(want)
			whole.Release()
			listed := NewTile(scores, q, dv)
			listed.AddRows(nil, nil)
			listed.AddRows(keys[:n/3], values[:n/3])
			listed.AddRows(keys[n/3:], values[n/3:])
			listed.Finish(got)
			listed.Release()
			require.Less(t, densetest.RelativeErrors(got, want)[0], 2*densetest.Roundoff[T]()*float64(n+d), "%d rows, softcap %v", n, softcap)
		}
	}
}

// A score of +Inf or NaN makes the output NaN, and a key with the score −Inf has no weight.
func TestAddRowsNotFinite(t *testing.T) {
	for _, c := range []struct{ key, value, want float64 }{
		{math.NaN(), 1, math.NaN()}, {math.Inf(1), 1, math.NaN()}, {math.Inf(-1), 1, 5}, {1, math.Inf(1), math.Inf(1)}, {1, math.NaN(), math.NaN()},
	} {
		listed, out := NewTile(Scores{Scale: 1}, dense.Of(1, 1, []float64{1}), 1), dense.New[float64](1, 1)
		listed.AddRows([][]float64{{0}, {c.key}, {0}}, [][]float64{{5}, {c.value}, {5}})
		listed.Finish(out)
		listed.Release()
		require.Equal(t, fmt.Sprint(c.want), fmt.Sprint(out.At(0, 0)), "%+v", c)
	}
}
