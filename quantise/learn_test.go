package quantise_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

// decaying returns rows of R^d whose standard deviations along random directions fall by the factor
// fall from the first to the last, plus a mean of the given size in units of the first. The lengths
// of rows differ.
func decaying[T dense.Float](n, d int, fall, mean float64, seed uint64) dense.Matrix[T] {
	axes := quantise.NewHaar(d, d, 5)
	rng := rand.New(rand.NewPCG(seed, 9))
	y := dense.New[float64](n, d)
	for i := range n {
		length := math.Exp(0.3 * rng.NormFloat64())
		for j := range d {
			y.Set(i, j, length*rng.NormFloat64()*math.Pow(fall, -float64(j)/float64(d)))
		}
		y.Row(i)[d/2] += mean * math.Sqrt(float64(d))
	}
	return dense.Copy(dense.New[T](n, d), axes.Apply(dense.Matrix[float64]{}, y))
}

func learned[T dense.Float](t testing.TB, sample dense.Matrix[T], bits float64, seed uint64) quantise.Quantiser[T] {
	t.Helper()
	q, err := quantise.Learn(t.Context(), sample, quantise.Options{Bits: bits}, rand.NewPCG(seed, 2))
	require.NoError(t, err)
	return q
}

// errorAndLaw returns the root mean squared error of the estimates, relative to that of the
// measure, and the mean of (error/StdErr)².
func errorAndLaw[T dense.Float](c quantise.Codes[T], x, queries dense.Matrix[T], by quantise.Measure) (rms, law float64) {
	q, all := c.Quantiser(), make([]quantise.Estimate, x.Rows)
	for i := range queries.Rows {
		y := queries.Row(i)
		c.Estimates(all, q.Prepare(nil, y, by, 0), nil)
		for j, e := range all {
			miss := e.Value - truth(by, doubles(x.Row(j)), doubles(y))
			rms += miss * miss
			law += miss * miss / (e.StdErr * e.StdErr)
		}
	}
	n := float64(x.Rows * queries.Rows)
	return math.Sqrt(rms / n), law / n
}

// StdErr is the root mean squared error, within a tenth of the variance, for rows like the sample
// and every measure. Errors are smaller than those of New with as many bits.
func testLearnedLaw[T dense.Float](t *testing.T, allBits []float64) {
	const n, d = 300, 128
	for _, mean := range []float64{0, 1, 100} {
		sample := decaying[T](1000, d, 30, mean, 1)
		x, queries := decaying[T](n, d, 30, mean, 2), decaying[T](30, d, 30, mean, 3)
		for _, bits := range allBits {
			q := learned(t, sample, bits, 1)
			assert.Equal(t, mean > 0, quantise.HasMean(q))
			_, each := quantise.Bands(q)
			assert.False(t, slices.ContainsFunc(each, func(b int) bool { return b%2 == 1 }), "%v bits", each)
			c := codesOf(t, q, x)
			for _, by := range measures {
				if mean == 100 && by == quantise.Cosine {
					continue // the cosines are 1
				}
				rms, law := errorAndLaw(c, x, queries, by)
				assert.InDelta(t, 1, law, 0.1, "bits = %v, mean = %v, measure %d", bits, mean, by)
				if bits == 1 || bits == 2 || bits == 4 {
					plain, _ := errorAndLaw(encode(t, x, quantise.Options{Bits: bits}), x, queries, by)
					assert.Less(t, rms, 0.7*plain, "bits = %v, mean = %v, measure %d", bits, mean, by)
				}
			}
		}
		q := learned(t, sample, 2, 1)
		quantise.MoreNoise(q)
		_, law := errorAndLaw(codesOf(t, q, x), x, queries, quantise.InnerProduct)
		assert.Less(t, law, 0.9)
	}
}

func TestLearnedLaw(t *testing.T) {
	// Rows have bands of all numbers of bits.
	t.Run("type=float32", func(t *testing.T) { testLearnedLaw[float32](t, []float64{0.5, 2, 4}) })
	t.Run("type=float64", func(t *testing.T) { testLearnedLaw[float64](t, []float64{1, 2.5, 8}) })
}

// Over the rotations of bands, the mean of the estimate is the one that combine states. Without
// bands it is the inner product.
func TestLearnedMeans(t *testing.T) {
	const d, draws = 62, 160
	rng := rand.New(rand.NewPCG(1, 3))
	for _, fall := range []float64{1, 30} {
		sample := decaying[float64](200, d, fall, 0, 1)
		x := decaying[float64](6, d, fall, 0, 2)
		y := x.Clone()
		for i := range y.Data {
			y.Data[i] += 0.5 * rng.NormFloat64() * math.Abs(y.Data[i])
		}
		for _, bits := range []float64{1, 2.5} {
			sums, squares := make([]float64, x.Rows), make([]float64, x.Rows)
			for seed := range uint64(draws) {
				q := learned(t, sample, bits, seed)
				require.False(t, quantise.HasMean(q))
				sizes, _ := quantise.Bands(q)
				require.Equal(t, fall > 1, len(sizes) > 1)
				c := codesOf(t, q, x)
				for i := range x.Rows {
					e := c.Estimates(make([]quantise.Estimate, 1), q.Prepare(nil, y.Row(i), quantise.InnerProduct, 0.01), []int{i})[0]
					want := quantise.Expected(q, x.Row(i), y.Row(i))
					v := e.Value - want
					sums[i] += v / draws
					squares[i] += v * v / draws
				}
			}
			for i, mean := range sums {
				assert.Less(t, math.Abs(mean), 4.5*math.Sqrt(squares[i]/draws), "fall = %v, bits = %v, row %d", fall, bits, i)
			}
		}
	}
}

// For vectors without a decaying spectrum, Learn is New. It is one band if New has more dimensions.
func TestLearnedFlat(t *testing.T) {
	for _, d := range []int{64, 62} {
		oneHot, rng := dense.New[float32](800, d), rand.New(rand.NewPCG(2, 3))
		for i := range oneHot.Rows {
			oneHot.Set(i, rng.IntN(d), 2)
		}
		queries := decaying[float32](20, d, 1, 0, 3)
		for _, x := range []dense.Matrix[float32]{decaying[float32](800, d, 1, 0, 1), oneHot} {
			for _, bits := range []float64{1, 2, 4, 8} {
				const draws = 6
				mean := 0.0
				for seed := range uint64(draws) {
					c := codesOf(t, learned(t, x, bits, seed), x)
					if d == 64 {
						q, err := quantise.New[float32](d, quantise.Options{Bits: bits}, rand.NewPCG(seed, 2))
						require.NoError(t, err)
						require.Equal(t, fileOf(t, codesOf(t, q, x)), fileOf(t, c))
						break
					}
					sizes, _ := quantise.Bands(c.Quantiser())
					require.Equal(t, []int{d}, sizes)
					_, law := errorAndLaw(c, x, queries, quantise.InnerProduct)
					mean += law / draws
				}
				if d != 64 {
					assert.InDelta(t, 1, mean, 0.1, "bits = %v", bits)
				}
			}
		}
	}
}

// A later row may have nothing in the directions that have bits. Its estimates are 0, and StdErr is
// of the size of the errors.
func TestRowsWithoutBits(t *testing.T) {
	const d = 64
	rng := rand.New(rand.NewPCG(1, 2))
	x, queries := dense.New[float32](800, d), dense.New[float32](200, d)
	for _, m := range []dense.Matrix[float32]{x, queries} {
		for i := range m.Data {
			m.Data[i] = float32(rng.NormFloat64() * math.Pow(0.05, float64(i%d/16)))
		}
	}
	later := dense.New[float32](1, d)
	later.Set(0, d-3, 1)
	for _, bits := range []float64{0.5, 1, 2} {
		_, law := errorAndLaw(codesOf(t, learned(t, x, bits, 1), later), later, queries, quantise.InnerProduct)
		assert.Less(t, law, 2.0, "bits = %v", bits)
	}
}

// Few rows, rows of norm 0 and rows in a plane are a sample too. The law holds for later rows like
// them.
func TestSmallSamples(t *testing.T) {
	const d = 40
	x := decaying[float64](50, d, 100, 0, 2)
	for name, sample := range map[string]dense.Matrix[float64]{
		"two rows": x.RowRange(0, 2), "few rows": x.RowRange(0, 12), "zeros": dense.New[float64](30, d),
	} {
		if name == "zeros" {
			dense.Copy(sample.RowRange(20, 30), x.RowRange(0, 10))
		}
		for _, bits := range []float64{0.5, 1, 4, 8} {
			c := codesOf(t, learned(t, sample, bits, 1), x)
			rms, _ := errorAndLaw(c, x, x, quantise.InnerProduct)
			plain, _ := errorAndLaw(codesOf(t, learned(t, x, bits, 1), x), x, x, quantise.InnerProduct)
			assert.Less(t, rms, 6*plain, "%s, bits = %v", name, bits)
		}
	}
	plane := dense.New[float64](300, d)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range plane.Rows {
		plane.Set(i, 3, rng.NormFloat64())
		plane.Set(i, 7, rng.NormFloat64())
	}
	for _, bits := range []float64{1, 4} {
		c := codesOf(t, learned(t, plane, bits, 1), plane)
		_, law := errorAndLaw(c, plane, plane.RowRange(0, 100), quantise.InnerProduct)
		// In a plane 1 − ρ² has the mean ½, which the law of several bands leaves out.
		assert.InDelta(t, 0.6, law, 0.4, "bits = %v", bits)
	}
}

// A row has at most d·Bits/8 bytes rounded up to words, and the numbers beside them.
func TestLearnedBytes(t *testing.T) {
	for _, d := range []int{1, 3, 17, 64, 100, 200} {
		sample := decaying[float32](100, d, 30, 0, 1)
		for _, bits := range []float64{0.125, 0.3, 1, 1.1, 2, 3, 4, 5.5, 8} {
			q := learned(t, sample, bits, 1)
			c := codesOf(t, q, sample)
			most := 8*max(1, int(math.Ceil(float64(d)*bits/64))) + 8
			if bits > 1 {
				most += 4
			}
			if quantise.HasMean(q) {
				most += 4
			}
			assert.LessOrEqual(t, c.Bytes(), most*sample.Rows, "d = %d, bits = %v", d, bits)
			sizes, each := quantise.Bands(q)
			sum := 0
			for i, n := range sizes {
				sum += n
				assert.True(t, each[i] >= 0 && each[i] <= 8)
			}
			assert.Equal(t, max(d, 8), sum)
		}
	}
}

// Codes in files and pages and codes that were appended at once, in parts and by rows are the same.
func testLearnedCodes[T dense.Float](t *testing.T) {
	const n, d = 303, 136
	for _, mean := range []float64{0, 3} {
		x := decaying[T](n, d, 100, mean, 1)
		for _, bits := range []float64{0.7, 2.5, 8} {
			what := fmt.Sprintf("bits = %v, mean = %v", bits, mean)
			q := learned(t, x, bits, 1)
			want, query := codesOf(t, q, x), x.Row(7)
			parts := codesOf(t, q, x.RowRange(0, 100))
			require.NoError(t, parts.Append(t.Context(), x.RowRange(100, n)))
			sameCodes(t, want, parts, query, what)
			file := fileOf(t, want)
			view, err := quantise.View[T](aligned(file, 0))
			require.NoError(t, err)
			sameCodes(t, want, view, query, what)
			for _, by := range measures {
				for _, miss := range []float64{0, 0.01} {
					prepared := q.Prepare(nil, query, by, miss)
					all := make([]quantise.Estimate, n)
					require.NoError(t, q.EstimateBytes(all, prepared, pageOf(t, q, x)))
					assert.Equal(t, want.Estimates(make([]quantise.Estimate, n), prepared, nil), all, what)
				}
				assert.Equal(t, ranked(want, query, by)[0].ID, search(want, make([]quantise.Hit, 3), query, by)[0].ID, what)
			}
			other := codesOf(t, learned(t, x, bits, 2), x)
			assert.ErrorContains(t, want.AppendRows(other, nil), "another rotation", what)
		}
	}
}

func TestLearnedCodes(t *testing.T) {
	densetest.Both(t, testLearnedCodes[float32], testLearnedCodes[float64])
}

// Decoded rows are near the rows, the nearer the more bits.
func TestLearnedDecode(t *testing.T) {
	for _, mean := range []float64{0, 50} {
		x := decaying[float64](200, 64, 30, mean, 1)
		last := math.Inf(1)
		for _, bits := range []float64{1, 2, 4, 8} {
			c := codesOf(t, learned(t, x, bits, 1), x)
			y, sum := c.Decode(dense.Matrix[float64]{}, 0, x.Rows), 0.0
			for i := range x.Rows {
				sum += truth(quantise.SquaredDistance, x.Row(i), y.Row(i)) / float64(x.Rows*64)
			}
			assert.Less(t, sum, 0.7*last, "bits = %v", bits)
			last = sum
		}
		assert.Less(t, last, 1e-3)
	}
}

// Measures are outside of Low and High as rarely as Prepare promises, also for queries near a row.
// Searches with rows are exact.
func TestLearnedBounds(t *testing.T) {
	const n, d, miss = 1000, 64, 0.01
	for _, mean := range []float64{0, 2} {
		sample, x := decaying[float64](1500, d, 30, mean, 1), decaying[float64](n, d, 30, mean, 2)
		queries := decaying[float64](40, d, 30, mean, 3)
		for i := range 20 {
			for j := range d {
				queries.Set(i, j, x.At(i, j)+0.2*(queries.At(i, j)-x.At(i, j)))
			}
		}
		for _, bits := range []float64{1, 2, 4} {
			q := learned(t, sample, bits, 1)
			c := codesOf(t, q, x)
			for _, by := range measures {
				low, high, width := 0, 0, 0.0
				for i := range queries.Rows {
					for j, e := range c.Estimates(make([]quantise.Estimate, n), q.Prepare(nil, queries.Row(i), by, miss), nil) {
						v := truth(by, x.Row(j), queries.Row(i))
						if v < e.Low {
							low++
						}
						if v > e.High {
							high++
						}
						width += (e.High - e.Low) / e.StdErr / float64(n*queries.Rows)
					}
				}
				assert.Less(t, float64(max(low, high))/float64(n*queries.Rows), miss, "bits = %v, measure %d", bits, by)
				assert.Less(t, width, 60.0)
				hits := lists(queries.Rows, 10)
				read := 0
				rows := quantise.RowsOf(x)
				require.NoError(t, searchAll(c, t.Context(), hits, queries, by, miss, quantise.SearchOptions[float64]{
					Rows: func(dst dense.Matrix[float64], ids []int) error {
						read += len(ids)
						return rows(dst, ids)
					},
				}))
				wrong := 0
				for i, list := range hits {
					for k, want := range exact(x, queries.Row(i), by, 10, nil) {
						if list[k].ID != want.ID {
							wrong++
							break
						}
					}
				}
				// of 0.4 expected
				assert.LessOrEqual(t, wrong, 2, "bits = %v, measure %d", bits, by)
			}
		}
	}
}

func TestLearnErrors(t *testing.T) {
	x, src := decaying[float32](10, 8, 2, 0, 1), rand.NewPCG(1, 2)
	bad, far, line := x.Clone(), x.Clone(), dense.New[float32](10, 8)
	bad.Set(3, 4, float32(math.NaN()))
	for i := range far.Data {
		far.Data[i] = 1e9
	}
	far.Data[0] = 0
	for i := range line.Rows {
		line.Set(i, 3, float32(1+i))
	}
	for _, c := range []struct {
		sample dense.Matrix[float32]
		o      quantise.Options
		src    rand.Source
		want   string
	}{
		{x, quantise.Options{Bits: 2}, nil, "quantise: src is nil"},
		{x, quantise.Options{Bits: 0.1}, src, "quantise: Bits = 0.1, want from 1/8 to 8, or 0 for 4"},
		{x, quantise.Options{Bits: 9}, src, "quantise: Bits = 9, want from 1/8 to 8, or 0 for 4"},
		{x, quantise.Options{Bits: math.NaN()}, src, "quantise: Bits = NaN, want from 1/8 to 8, or 0 for 4"},
		{dense.New[float32](4, 0), quantise.Options{}, src, "quantise: d = 0, want at least 1"},
		{dense.New[float32](4, 8), quantise.Options{}, src, "quantise: 0 rows of the sample have norms from 2⁻¹⁰⁰ to 2¹⁰⁰ about the mean, want 2"},
		{x.RowRange(0, 1), quantise.Options{}, src, "quantise: 1 rows of the sample have norms from 2⁻¹⁰⁰ to 2¹⁰⁰ about the mean, want 2"},
		{line, quantise.Options{}, src, "quantise: 0 rows of the sample have norms from 2⁻¹⁰⁰ to 2¹⁰⁰ about the mean, want 2"},
		{bad, quantise.Options{}, src, "quantise: row 3 of the sample holds NaN or ±Inf, or has a norm above 2¹⁰⁰"},
		{far, quantise.Options{}, src, "quantise: the mean of the sample has the norm 2.79e+09, want from 2⁻²⁴ to 2²⁴"},
	} {
		_, err := quantise.Learn(t.Context(), c.sample, c.o, c.src)
		assert.EqualError(t, err, c.want)
	}
	q := learned(t, x, 0, 1)
	assert.Equal(t, quantise.Options{Bits: 4}, q.Options())
	_, err := q.WithCentres(x)
	assert.EqualError(t, err, "quantise: a quantiser of Learn has no centres")
	for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), math.MaxFloat32} {
		bad := x.Clone()
		bad.Set(2, 1, v)
		_, err := q.Encode(t.Context(), bad)
		assert.ErrorContains(t, err, "quantise: row 2 ")
	}
}

// Rows of one coordinate are learnt about any mean, though nothing is left of them without the
// direction of the mean.
func TestLearnedNumbers(t *testing.T) {
	for _, mean := range []float64{0, 3, 1e4} {
		x := densetest.Normal[float64](rand.New(rand.NewPCG(1, 2)), 300, 1, mean, 1)
		for _, bits := range []float64{0.5, 1, 2, 4} {
			q, err := quantise.Learn(t.Context(), x, quantise.Options{Bits: bits}, rand.NewPCG(3, 4))
			require.NoError(t, err, "mean %v, %v bits", mean, bits)
			c, err := q.Encode(t.Context(), x)
			require.NoError(t, err)
			for _, e := range estimates(c, nil, x.Row(0), quantise.SquaredDistance) {
				require.False(t, math.IsNaN(e))
			}
		}
	}
}
