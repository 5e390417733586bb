package bytedot

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
)

// Gathered rows are the columns that come of the same points.
func TestGather(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		var rows Rows
		var got, want Columns
		for _, k := range []int{1, 3, 4, 16, 17, 64, 100} {
			x := dense.New[float32](50, k)
			for i := range x.Data {
				x.Data[i] = float32(r.NormFloat64())
			}
			x.Row(7)[k-1] = special[0]
			QuantiseRows(&rows, x, nil)
			for _, n := range []int{0, 1, 15, 16, 17, 63, 64, 65, 80, 200} {
				list, points := make([]int32, n), dense.New[float32](n, k)
				for j := range list {
					list[j] = int32(r.IntN(x.Rows))
					copy(points.Row(j), x.Row(int(list[j])))
				}
				got.Gather(&rows, list)
				QuantiseColumns(&want, points, nil)
				require.Equal(t, want.bytes, got.bytes, "%d of %d", n, k)
				equalBits(t, want.Scales, got.Scales, true, "scales")
			}
		}
	})
	var rows Rows
	QuantiseTransposed(&rows, dense.New[float32](3, 4))
	assert.Panics(t, func() { new(Columns).Gather(&rows, []int32{0}) })
	QuantiseRows(&rows, dense.New[float32](3, 4), nil)
	assert.Panics(t, func() { new(Columns).Gather(&rows, []int32{3}) })
	assert.Panics(t, func() { new(Columns).Gather(&rows, []int32{-1}) })
}

// Columns are added to the rows of the list alone, in its order.
func TestAddTransposed(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, cols := range []int{1, 7, 16, 17, 33, 64, 100} {
			for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 50} {
				const rows = 20
				stride := cols + r.IntN(3)
				data, check := guarded[float32](rows*stride, cols, stride)
				dst := dense.Matrix[float32]{Rows: rows, Cols: cols, Data: data, Stride: stride}
				for i := range rows {
					for j := range dst.Row(i) {
						dst.Row(i)[j] = float32(r.NormFloat64())
					}
				}
				x := dense.New[float32](cols, n+r.IntN(20))
				for i := range x.Data {
					x.Data[i] = float32(r.NormFloat64())
				}
				list := make([]int32, n)
				for j := range list {
					list[j] = int32(r.IntN(rows))
				}
				want := slices.Clone(data)
				for j, i := range list {
					for c := range cols {
						want[int(i)*stride+c] += x.At(c, j)
					}
				}
				AddTransposed(dst, list, x)
				check(t)
				equalBits(t, want, data, true, "%d columns", n)
			}
		}
	})
	dst, x := dense.New[float32](4, 16), dense.New[float32](16, 16)
	list := make([]int32, 16)
	assert.Panics(t, func() { AddTransposed(dst, list, dense.New[float32](15, 16)) })
	assert.Panics(t, func() { AddTransposed(dst, make([]int32, 17), x) })
	list[5] = 4
	assert.Panics(t, func() { AddTransposed(dst, list, x) })
	assert.Equal(t, dense.New[float32](4, 16), dst, "nothing is added before all rows are known")
}
