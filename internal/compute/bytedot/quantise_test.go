package bytedot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// codesOf returns the codes and the scale of x by their definition.
func codesOf[T dense.Float](x []T) (codes []int8, scale float32) {
	codes = make([]int8, len(x))
	span := float32(0)
	for _, v := range x {
		if s := float32(v) - float32(v); s != s {
			return codes, float32(math.NaN())
		}
		span = max(span, float32(math.Abs(float64(v))))
	}
	factor, scale := min(127/span, 0x1p127), span/127
	if span == 0 {
		return codes, 0
	}
	if factor == 0x1p127 {
		scale = 0x1p-127
	}
	for i, v := range x {
		codes[i] = int8(math.RoundToEven(float64(float32(v) * factor)))
	}
	return codes, scale
}

func sameScale(t *testing.T, want, got float32, text string, args ...any) {
	t.Helper()
	if want == want || got == got {
		require.Equal(t, want, got, append([]any{text}, args...)...)
	}
}

// Codes and scales are those of the definition for all shapes, with rows and columns of zeros, of
// tiny and of huge numbers and such that are not finite. Codes beyond the rows and the inner
// indices are 0, and the sums of products are corrected by what the codes are.
//
//ci:assembly
func TestQuantise(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		t.Run("type=float32", testQuantise[float32])
		t.Run("type=float64", testQuantise[float64])
	})
}

func testQuantise[T dense.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	var rows, transposed CodedRows
	var columns CodedColumns
	shapes := [][2]int{{0, 0}, {0, 5}, {5, 0}, {1, 1}, {3, 4}, {4, 3}, {16, 16}, {17, 16}, {16, 17}, {15, 64}, {33, 65}, {64, 64}, {67, 70}, {5, 129}, {130, 48}, {256, 3}}
	for _, shape := range shapes {
		for _, unusual := range []bool{false, true} {
			n, k := shape[0], shape[1]
			all := dense.New[T](n, k+3)
			for i := range all.Data {
				all.Data[i] = T(math.NaN()) // between rows
			}
			x := all.ColRange(0, k)
			finite := true
			for i := range n {
				size := 1.0
				if unusual {
					size = []float64{1, 0, 1e-45, 1e-38, 0x1p-121, 1e-30, 3e38}[r.IntN(7)]
				}
				for j := range k {
					x.Set(i, j, T(size*math.Tanh(r.NormFloat64())))
					if unusual && r.IntN(5*k) == 0 {
						x.Set(i, j, T([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)]))
						finite = finite && x.At(i, j) == 0
					}
				}
			}
			text := fmt.Sprintf("%d×%d, unusual %v", n, k, unusual)
			require.Equal(t, finite, QuantiseRows(&rows, x, nil), text)
			require.Equal(t, finite, QuantiseColumns(&columns, x, nil), text)
			require.Equal(t, finite, QuantiseTransposed(&transposed, x), text)
			for _, d := range [][2]int{dims(rows.Dims()), dims(columns.Dims()), dims(transposed.Dims())} {
				require.ElementsMatch(t, []int{n, k}, d[:], text)
			}
			require.Len(t, rows.Scales, n)
			require.Len(t, columns.Scales, Padded(n))
			require.Len(t, transposed.Scales, k)
			for i := range n {
				codes, scale := codesOf(x.Row(i))
				sameScale(t, scale, rows.Scales[i], "%s, row %d", text, i)
				sameScale(t, scale, columns.Scales[i], "%s, row %d", text, i)
				codes = append(codes, make([]int8, four*groups(k)-k)...)
				sum := int32(0)
				for l, code := range codes {
					sum += int32(code)
					require.Equal(t, code, rows.Code(i, l), "%s, row %d, %d", text, i, l)
					require.EqualValues(t, int(code)+offset, columns.weightAt(l, i), "%s, row %d, %d", text, i, l)
				}
				require.Equal(t, sum*correction(), rows.corrections[i], text)
			}
			for j := n; j < Padded(n); j++ {
				require.Zero(t, columns.Scales[j])
				for l := range four * groups(k) {
					require.EqualValues(t, offset, columns.weightAt(l, j), "%s, beyond: row %d, %d", text, j, l)
				}
			}
			xt := dense.Transpose(dense.Matrix[T]{}, x)
			for j := range k {
				codes, scale := codesOf(xt.Row(j))
				sameScale(t, scale, transposed.Scales[j], "%s, column %d", text, j)
				codes = append(codes, make([]int8, four*groups(n)-n)...)
				sum := int32(0)
				for l, code := range codes {
					sum += int32(code)
					require.Equal(t, code, transposed.Code(j, l), "%s, column %d, %d", text, j, l)
				}
				require.Equal(t, sum*correction(), transposed.corrections[j], text)
			}
		}
	}
}

func dims(a, b int) [2]int { return [2]int{a, b} }

// A dithered code less u is off by half a unit at most, and products with dithered columns have the
// sum of such codes, but for an integer and the rounding of codes of rows times u.
//
//ci:assembly
func TestDither(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		t.Run("type=float32", testDither[float32])
		t.Run("type=float64", testDither[float64])
	})
}

func testDither[T dense.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	var qs CodedColumns
	var ks CodedRows
	for _, shape := range [][3]int{{1, 1, 1}, {70, 33, 64}, {5, 90, 7}, {65, 17, 130}} {
		n, keys, d := shape[0], shape[1], shape[2]
		q, k := dense.Copy(dense.Matrix[T]{}, densetest.Normal[float32](r, n, d, 0, 1)), dense.Copy(dense.Matrix[T]{}, densetest.Normal[float32](r, keys, d, 0, 1))
		clear(q.Row(n / 2)[1:])
		clear(k.Row(keys / 2)[:d-1])
		u, products := make([]T, d), make([]T, keys)
		Dither(u)
		for j := range products {
			for l, x := range k.Row(j) {
				products[j] += u[l] * x
			}
		}
		require.True(t, QuantiseRows(&ks, k, products))
		require.True(t, QuantiseColumns(&qs, q.Clone(), u))
		ones := make([]float32, Padded(n))
		layout.Fill(ones, 1)
		y := dense.New[float32](keys, Padded(n))
		Scores(y, make([]float32, Padded(n)), &ks, &qs, ones)
		for i := range n {
			for l, x := range q.Row(i) {
				code := float64(qs.weightAt(l, i)) - offset - float64(u[l])
				require.InDelta(t, float64(x)/float64(qs.Scales[i]), code, 0.501, "%v: query %d, %d", shape, i, l)
			}
			for j := range keys {
				want, off := 0.0, 0.51
				for l := range d {
					code := float64(ks.Code(j, l))
					want += code * (float64(qs.weightAt(l, i)) - offset - float64(u[l]))
					off += math.Abs(float64(u[l]) * (code - float64(k.At(j, l))/float64(ks.Scales[j])))
				}
				require.InDelta(t, want, float64(y.At(j, i))/float64(ks.Scales[j]), off, "%v: key %d, query %d", shape, j, i)
			}
		}
	}
}

// Steps of a tile allocate nothing once memory is there.
func TestAllocations(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 3))
		q, k, v := densetest.Normal[float32](r, 70, 33, 0, 1), densetest.Normal[float32](r, 90, 33, 0, 1), densetest.Normal[float32](r, 90, 48, 0, 1)
		double := dense.Copy(dense.Matrix[float64]{}, v)
		var qs, w CodedColumns
		var ks, vs CodedRows
		y, sums := dense.New[float32](92, Padded(70)), dense.New[float32](48, Padded(70))
		tile := func() {
			var peaks [80]float32
			var totals [80]int32
			QuantiseColumns(&qs, q, nil)
			QuantiseRows(&ks, k, nil)
			QuantiseTransposed(&vs, double)
			QuantiseTransposed(&vs, v)
			Scores(y.RowRange(0, 90), peaks[:], &ks, &qs, qs.Scales)
			Peaks(peaks[:], y.RowRange(0, 90))
			Weigh(&w, 90, 70, totals[:], y, peaks[:])
			Add(sums, peaks[:], peaks[:], &vs, &w)
		}
		tile()
		assert.Zero(t, testing.AllocsPerRun(5, tile))
	})
}

// Code returns the code of row i at an inner index.
func (r *CodedRows) Code(i, inner int) int8 {
	if r.transposed {
		return r.codes[(i/Lanes*groups(r.k)+inner/four)*four*Lanes+i%Lanes*four+inner%four]
	}
	return r.codes[i*Padded(four*groups(r.k))+inner]
}
