package bytedot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/bytedot/octave"
)

// weightAt returns the weight of a key in a column.
func (c *Columns) weightAt(key, column int) uint8 {
	at, step := c.sixteenAt(column / Lanes * Lanes)
	return c.bytes[at+key/four*step+column%Lanes*four+key%four]
}

// Weights are those of the definition in integers, for all numbers of keys and columns, and for
// differences of every kind; totals are their sums; bytes beyond the keys are 0.
func TestWeigh(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		var w Columns
		for n := range 2*panel*Lanes + 2 {
			for _, keys := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 23} {
				if keys > 1 && n%3 > 0 && keys != n%24 {
					continue
				}
				padded, rows := Padded(n), four*groups(keys)
				stride := max(1, padded+r.IntN(3))
				data, check := guarded[float32](rows*stride, padded, stride)
				y := dense.Matrix[float32]{Rows: rows, Cols: padded, Data: data, Stride: stride}
				shifts, totals := make([]float32, padded), make([]int32, padded)
				for j := range shifts {
					shifts[j] = float32(3000 * r.NormFloat64())
					if r.IntN(10) == 0 {
						shifts[j] = special[r.IntN(len(special))]
					}
					totals[j] = int32(r.IntN(1000))
				}
				for i := range keys {
					for j := range padded {
						y.Row(i)[j] = shifts[j] - float32(9000*r.ExpFloat64())
						if r.IntN(10) == 0 {
							y.Row(i)[j] = float32(4000 * r.NormFloat64())
						}
						if r.IntN(10) == 0 {
							y.Row(i)[j] = special[r.IntN(len(special))]
						}
					}
				}
				before := append([]float32(nil), data...)
				want := slices.Clone(totals)
				Weigh(&w, keys, n, totals, y, shifts)
				check(t)
				equalBits(t, before[:keys*stride], data[:keys*stride], true, "scores")
				k, columns := w.Dims()
				require.Equal(t, []int{keys, n}, []int{k, columns})
				for j := range padded {
					for i := range rows {
						weight := uint8(0)
						if i < keys {
							weight = weightOf(shifts[j] - y.At(i, j))
							want[j] += int32(weight)
						}
						require.Equal(t, weight, w.weightAt(i, j), "key %d of %d, column %d of %d: %g", i, keys, j, n, shifts[j]-data[i*stride+j])
					}
				}
				require.Equal(t, want, totals)
			}
		}
	})
}

// Every difference in integers has the same weight in every tier, and rounds as the definition says.
func TestEveryDifference(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		const columns = 1 << 8
		y := dense.New[float32](1<<16/columns, columns)
		for i := range y.Data {
			y.Data[i] = -float32(i - 1<<15)
		}
		var w Columns
		Weigh(&w, y.Rows, columns, make([]int32, columns), y, make([]float32, columns))
		for i := range y.Data {
			require.Equal(t, octave.Weight(int16(i-1<<15)), w.weightAt(i/columns, i%columns), "difference %d", i-1<<15)
		}
	})
}

// The error of a weight, in units of 1/255 of the largest, is ½ from rounding and little besides.
func TestAccuracy(t *testing.T) {
	worst, sum, squares, rounding, roundings, count := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for x := float32(0); x < 12*Octave; x += 0.37 {
		exact := 255 * math.Exp2(-float64(x)/Octave)
		err := float64(weightOf(x)) - exact
		worst = max(worst, math.Abs(err))
		sum += err
		squares += err * err
		rounded := math.Round(exact) - exact
		rounding += rounded
		roundings += rounded * rounded
		count++
	}
	t.Logf("largest error %.4f, mean %.5f (%.5f by rounding alone), root mean square %.4f (%.4f)",
		worst, sum/count, rounding/count, math.Sqrt(squares/count), math.Sqrt(roundings/count))
	assert.Less(t, worst, 0.55)
	assert.InDelta(t, rounding/count, sum/count, 0.005)
	assert.InDelta(t, math.Sqrt(roundings/count), math.Sqrt(squares/count), 0.002)
	assert.EqualValues(t, 255, weightOf(0))
	assert.Zero(t, weightOf(float32(math.NaN())))
	assert.Zero(t, weightOf(float32(math.Inf(1))))
	assert.Zero(t, weightOf(math.MaxFloat32))
}

// Closed pairs have no weight, whatever the scale of a column is, and raise no peak.
func TestClose(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 2))
		const keys, n = 7, 35
		y := dense.New[float32](four*groups(keys), Padded(n))
		for i := range y.Data {
			y.Data[i] = float32(r.NormFloat64())
		}
		from := []int{0, 3, 35, 20, 16, 33, 0} // column 34 is closed but for keys 0 and 6, and column 2 for key 1 …
		for i, lo := range from {
			Close(y.Row(i)[:lo])
		}
		Close(y.Row(0)[34:])
		Close(y.Row(6)[:])
		peaks, totals := make([]float32, Padded(n)), make([]int32, Padded(n))
		Close(peaks)
		Peaks(peaks, y.RowRange(0, keys))
		var w Columns
		Weigh(&w, keys, n, totals, y, peaks)
		for j := range n {
			total := 0
			for i, lo := range from {
				open := j >= lo && (i > 0 || j < 34) && i < 6
				assert.Equal(t, open, w.weightAt(i, j) > 0, "key %d, column %d", i, j)
				total += int(w.weightAt(i, j))
			}
			assert.EqualValues(t, total, totals[j])
		}
		Close(y.Data)
		clear(totals)
		Close(peaks)
		Peaks(peaks, y.RowRange(0, keys))
		Weigh(&w, keys, n, totals, y, peaks)
		assert.Equal(t, make([]int32, Padded(n)), totals, "no key is open")
	})
}

func TestWeighPanics(t *testing.T) {
	y := dense.New[float32](8, 32)
	x, totals := make([]float32, 32), make([]int32, 32)
	var w Columns
	assert.NotPanics(t, func() { Weigh(&w, 7, 17, totals, y, x) })
	assert.Panics(t, func() { Weigh(&w, 7, 17, totals, y.RowRange(0, 7), x) }, "no room for a multiple of four rows")
	assert.Panics(t, func() { Weigh(&w, 7, 16, totals, y, x) }, "other columns")
	assert.Panics(t, func() { Weigh(&w, 7, 17, totals[:31], y, x) }, "totals are short")
	assert.Panics(t, func() { Weigh(&w, 7, 17, totals, y, x[:31]) }, "shifts are short")
	assert.Panics(t, func() { Peaks(x[:31:31], y) }, "peaks are short")
	assert.Panics(t, func() { Peaks(x, dense.New[float32](8, 20)) }, "columns are not padded")
}
