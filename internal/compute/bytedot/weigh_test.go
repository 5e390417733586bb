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
func (c *CodedColumns) weightAt(key, column int) uint8 {
	at, step := c.sixteenAt(column / Lanes * Lanes)
	return c.bytes[at+key/four*step+column%Lanes*four+key%four]
}

// Weights are those of the definition in integers, for all numbers of keys and columns, and for
// differences of every kind; totals are their sums; bytes beyond the keys are 0.
//
//ci:assembly
func TestWeigh(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		var w CodedColumns
		for n := range 2*panel*Lanes + 2 {
			for _, keys := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 23, 32, 75} {
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
							weight = weightOf(shifts[j]-y.At(i, j), i)
							want[j] += int32(weight)
						}
						if got := w.weightAt(i, j); got != weight {
							require.Equal(t, weight, got, "key %d of %d, column %d of %d: %g", i, keys, j, n, shifts[j]-data[i*stride+j])
						}
					}
				}
				require.Equal(t, want, totals)
			}
		}
	})
}

// Every difference in integers has the same weight in every tier, with the thresholds of all rows.
func TestEveryDifference(t *testing.T) {
	const keys, columns = octave.Rows + 1, 1 << 16
	y := dense.New[float32](four*groups(keys), columns)
	for i := range keys {
		for j := range columns {
			y.Row(i)[j] = -float32(j - 1<<15)
		}
	}
	everyTier(t, func(t *testing.T) {
		var w CodedColumns
		Weigh(&w, keys, columns, make([]int32, columns), y, make([]float32, columns))
		for i := range keys {
			for j := range columns {
				if want, got := octave.Weight(int16(j-1<<15), i), w.weightAt(i, j); got != want {
					require.Equal(t, want, got, "difference %d, row %d", j-1<<15, i)
				}
			}
		}
	})
}

// Over all rows, weights have the mean and the variance of the exact weight rounded up with a
// probability of its fraction, for every difference in integers.
//
//ci:assembly
func TestMeanWeights(t *testing.T) {
	worst, worstSmall, least, most, sum, variances := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for x := range math.MaxInt16 + 1 {
		exact := 255 * math.Exp2(-float64(x)/Octave)
		mean, squares := 0.0, 0.0
		for row := range octave.Rows {
			w := float64(octave.Weight(int16(x), row))
			mean += w / octave.Rows
			squares += w * w / octave.Rows
		}
		_, fraction := math.Modf(exact)
		require.InDelta(t, exact, mean, 1.0/64+1.6e-4*exact, "difference %d", x)
		err, variance := mean-exact, squares-mean*mean-fraction*(1-fraction)
		require.InDelta(t, 0, variance, 1.0/64+1.6e-4*exact, "difference %d", x)
		if worst = max(worst, math.Abs(err)); exact < 25 {
			worstSmall = max(worstSmall, math.Abs(err))
		}
		least, most = min(least, variance), max(most, variance)
		sum += err
		variances += variance
	}
	t.Logf("mean error %.4f at most, %.4f of weights below 25, %.6f over all differences; variance off by %.4f to %.4f, %.5f over all",
		worst, worstSmall, sum/(math.MaxInt16+1), least, most, variances/(math.MaxInt16+1))
	assert.Less(t, worstSmall, 0.02)
	assert.InDelta(t, 0, sum/(math.MaxInt16+1), 1e-3)
}

// The largest weight is 255 with all thresholds, and what is far below has none.
func TestEnds(t *testing.T) {
	thresholds := map[int16]bool{}
	for row := range octave.Rows {
		thresholds[octave.Threshold(row)] = true
		require.Equal(t, octave.Threshold(row), octave.Threshold(row+octave.Rows))
		require.Equal(t, octave.Threshold(row), 2*octave.Half(row)+1)
		assert.EqualValues(t, 255, weightOf(0, row))
		for x := range math.MaxInt16 + 1 {
			w := octave.Weight(int16(x), row)
			if x >= 14*Octave && w > 0 {
				require.Zero(t, w, "difference %d, row %d", x, row)
			}
			if exact := 255 * math.Exp2(-float64(x)/Octave); math.Abs(float64(w)-exact) > 1.03 {
				require.InDelta(t, exact, w, 1.03, "difference %d, row %d", x, row)
			}
		}
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, math.MaxInt16, -Octave} {
			assert.Zero(t, weightOf(float32(x), row), "difference %g", x)
		}
	}
	require.Len(t, thresholds, octave.Rows)
	for d := range thresholds {
		assert.Equal(t, int16(1), d&1)
		assert.True(t, 0 < d && d < 64)
	}
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
		// column 34 is closed but for keys 0 and 6, and column 2 for key 1 …
		from := []int{0, 3, 35, 20, 16, 33, 0}
		for i, lo := range from {
			Close(y.Row(i)[:lo])
		}
		Close(y.Row(0)[34:])
		Close(y.Row(6)[:])
		peaks, totals := make([]float32, Padded(n)), make([]int32, Padded(n))
		Close(peaks)
		Peaks(peaks, y.RowRange(0, keys))
		var w CodedColumns
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

//ci:assembly
func TestWeighPanics(t *testing.T) {
	y := dense.New[float32](8, 32)
	x, totals := make([]float32, 32), make([]int32, 32)
	var w CodedColumns
	assert.NotPanics(t, func() { Weigh(&w, 7, 17, totals, y, x) })
	assert.Panics(t, func() { Weigh(&w, 7, 17, totals, y.RowRange(0, 7), x) }, "no room for a multiple of four rows")
	assert.Panics(t, func() { Weigh(&w, 7, 16, totals, y, x) }, "other columns")
	assert.Panics(t, func() { Weigh(&w, 7, 17, totals[:31], y, x) }, "totals are short")
	assert.Panics(t, func() { Weigh(&w, 7, 17, totals, y, x[:31]) }, "shifts are short")
	assert.Panics(t, func() { Peaks(x[:31:31], y) }, "peaks are short")
	assert.Panics(t, func() { Peaks(x, dense.New[float32](8, 20)) }, "columns are not padded")
}
