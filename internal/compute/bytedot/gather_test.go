package bytedot

import (
	"math"
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

// Sums of weighted values are exact integers, scaled once for each query and once for each column.
func TestWeighted(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		var w, v Columns
		for _, keys := range []int{1, 4, 31, 66} {
			for _, n := range []int{1, 3, 16, 17, 64, 85, 130} {
				for _, cols := range []int{1, 15, 16, 65, 80} {
					scores, shifts, totals := dense.New[float32](four*groups(keys), Padded(n)), make([]float32, Padded(n)), make([]int32, Padded(n))
					for i := range scores.Data {
						scores.Data[i] = float32(r.NormFloat64() * Octave)
					}
					Close(shifts)
					Peaks(shifts, scores)
					Weigh(&w, keys, n, totals, scores, shifts)
					x, factors := normals(r, keys, cols), make([]float32, n)
					for j := range factors {
						factors[j] = r.Float32()
					}
					require.True(t, QuantiseTile(&v, x))
					y := dense.New[float32](n, Padded(cols))
					weights := slices.Clone(w.bytes)
					Weighted(y, &w, totals, factors, &v)
					column := make([]float32, keys)
					for c := range cols {
						for l := range column {
							column[l] = x.At(l, c)
						}
						codes, scale := codesOf(column)
						require.Equal(t, scale, v.Scales[c])
						all := 0
						for _, code := range codes {
							all += int(code)
						}
						require.Equal(t, float32(128*all)*scale, v.halves[c])
						for j := range n {
							sum := int32(0)
							for l, code := range codes {
								at, step := w.sixteenAt(j / Lanes * Lanes)
								sum += int32(code) * (int32(weights[at+l/four*step+j%Lanes*four+l%four]) - 128)
							}
							if want := float32(float32(sum)*factors[j]) * scale; want != y.At(j, c) {
								t.Fatalf("%d keys, query %d of %d, column %d of %d: %g, want %g", keys, j, n, c, cols, y.At(j, c), want)
							}
						}
					}
				}
			}
		}
		x := normals(r, 5, 20)
		x.Row(3)[18] = float32(math.NaN())
		assert.False(t, QuantiseTile(&v, x))
		assert.True(t, v.Scales[18] != v.Scales[18] && v.Scales[17] == v.Scales[17], "NaN stays in its column")
		assert.Panics(t, func() { Weighted(dense.New[float32](1, 32), &w, nil, nil, &v) })
	})
}

// Rows are added to the rows of the list alone, in its order.
func TestAddRows(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		testAddRows[float32](t)
		testAddRows[float64](t)
	})
	var v Columns
	QuantiseTile(&v, dense.New[float32](1, 16))
	dst, x, list, factors := dense.New[float32](4, 16), dense.New[float32](16, 16), make([]int32, 16), make([]float32, 16)
	assert.Panics(t, func() { AddRows(dst, list, dense.New[float32](15, 16), factors, factors, factors, &v) })
	assert.Panics(t, func() { AddRows(dst, list, x, factors[:15], factors, factors, &v) })
	assert.Panics(t, func() { AddRows(dst, list, x, factors, factors[:15], factors, &v) })
	assert.Panics(t, func() { AddRows(dst, list, x, factors, factors, factors[:15], &v) })
	assert.Panics(t, func() { AddRows(dst, list, x, factors, factors, factors, new(Columns)) })
	for _, row := range []int32{4, -1} {
		list[5] = row
		assert.Panics(t, func() { AddRows(dst, list, x, factors, factors, factors, &v) })
	}
	assert.Equal(t, dense.New[float32](4, 16), dst, "nothing is added before all rows are known")
}

func testAddRows[T dense.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var v Columns
	for _, cols := range []int{1, 7, 16, 17, 33, 64, 100} {
		for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 50} {
			const rows = 20
			stride := cols + r.IntN(3)
			data, check := guarded[T](rows*stride, cols, stride)
			dst := dense.Matrix[T]{Rows: rows, Cols: cols, Data: data, Stride: stride}
			for i := range rows {
				for c := range dst.Row(i) {
					dst.Row(i)[c] = T(r.NormFloat64())
				}
			}
			QuantiseTile(&v, normals(r, 9, cols))
			x, sizes, factors := normals(r, n, cols+r.IntN(20)), normals(r, 1, n).Data, normals(r, 1, n).Data
			means, list := make([]T, cols), make([]int32, n)
			for c := range means {
				means[c] = T(r.NormFloat64())
			}
			for j := range list {
				list[j] = int32(r.IntN(rows))
			}
			want := slices.Clone(data)
			for j, i := range list {
				for c := range cols {
					want[int(i)*stride+c] += T(x.At(j, c) + float32(sizes[j]*float32(means[c])) + float32(factors[j]*v.halves[c]))
				}
			}
			AddRows(dst, list, x, sizes, means, factors, &v)
			check(t)
			require.Equal(t, want, data, "%d columns, %d rows", cols, n)
		}
	}
}
