package quantise_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/quantise"
)

// clusters returns rows about centres, all at a mean of the given size.
func clusters[T dense.Float](n, d, k int, mean, spread float64, seed uint64) (rows, centres dense.Matrix[T]) {
	rng := rand.New(rand.NewPCG(seed, 7))
	centres, rows = dense.New[T](k, d), dense.New[T](n, d)
	for i := range centres.Data {
		centres.Data[i] = T(mean + rng.NormFloat64())
	}
	for i := range n {
		centre := centres.Row(rng.IntN(k))
		for j := range d {
			rows.Set(i, j, T(float64(centre[j])+spread*rng.NormFloat64()))
		}
	}
	return rows, centres
}

func around[T dense.Float](t *testing.T, o quantise.Options, centres dense.Matrix[T]) *quantise.Quantiser[T] {
	t.Helper()
	q, err := quantise.New[T](centres.Cols, o, rand.NewPCG(1, 2))
	require.NoError(t, err)
	q, err = q.Around(centres)
	require.NoError(t, err)
	return q
}

// Rows may come at once or a few at a time, from files of all kinds, with the same codes.
func TestCentredRowsInParts(t *testing.T) {
	const n, d = 1500, 24
	x, centres := clusters[float32](n, d, 7, 3, 0.5, 1)
	copy(centres.Row(3), centres.Row(2)) // which stays empty
	query := x.Row(5)
	for _, o := range lawOptions(1, 4) {
		q := around(t, o, centres)
		whole, err := q.Encode(t.Context(), x)
		require.NoError(t, err)
		parts, err := q.Encode(t.Context(), x.RowRange(0, 0))
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(3, 4))
		for at := 0; at < n; {
			next := min(n, at+1+rng.IntN(19))
			require.NoError(t, parts.Append(t.Context(), x.RowRange(at, next)))
			at = next
		}
		sameCodes(t, whole, parts, query, fmt.Sprint(o))
		data := aligned(fileOf(t, whole), 0)
		var read, view quantise.Codes[float32]
		_, err = read.ReadFrom(bytes.NewReader(data))
		require.NoError(t, err)
		sameCodes(t, whole, &read, query, fmt.Sprint(o))
		require.NoError(t, view.View(data))
		sameCodes(t, whole, &view, query, fmt.Sprint(o))

		half, err := q.Encode(t.Context(), x.RowRange(0, 701))
		require.NoError(t, err)
		rest, err := q.Encode(t.Context(), x.RowRange(701, 1200))
		require.NoError(t, err)
		require.NoError(t, half.View(fileOf(t, rest)))
		require.NoError(t, half.Append(t.Context(), x.RowRange(1200, n)))
		sameCodes(t, whole, half, query, fmt.Sprint(o))
		assert.Equal(t, n*(8*((d*o.Bits+63)/64)+4+12), whole.Bytes()-n*map[bool]int{true: 4}[o.Scheme == quantise.RaBitQ || o.Scheme == quantise.Uniform])

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, half.Append(ended, x), context.Canceled)
		bad := x.RowRange(0, 10).Clone()
		bad.Set(7, 3, float32(math.NaN()))
		require.EqualError(t, half.Append(t.Context(), bad), "quantise: row 7 holds NaN or ±Inf, or has a norm above 1e150")
		sameCodes(t, whole, half, query, fmt.Sprint(o))
	}
}

// Decoded rows are nearer to the rows by the ratio of the distances from the centres to the norms.
func testCentredDecode[T dense.Float](t *testing.T) {
	const n, d = 400, 64
	x, centres := clusters[T](n, d, 5, 30, 0.3, 2)
	plain, err := quantise.New[T](d, quantise.Options{}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	mean := func(q *quantise.Quantiser[T]) (sum float64) {
		c, err := q.Encode(t.Context(), x)
		require.NoError(t, err)
		y := c.Decode(dense.Matrix[T]{}, 0, n)
		for i := range n {
			sum += floats.Distance(doubles(y.Row(i)), doubles(x.Row(i)), 2) / n
		}
		return sum
	}
	// Rows are 30·8 long, and 0.3·8 from their centres.
	assert.InEpsilon(t, 100, mean(plain)/mean(around(t, quantise.Options{}, centres)), 0.2)
}

func TestCentredDecode(t *testing.T) {
	densetest.Both(t, testCentredDecode[float32], testCentredDecode[float64])
}

// Errors of measures between codes over their standard errors have the mean square 1, for rows of one
// centre, of two, and of a centre and none.
func TestCentredBetween(t *testing.T) {
	const d, times = 64, 400
	planes := [2]*haarSpace{newHaarSpace(d, 4, 1), newHaarSpace(d, 4, 2)}
	x, centres := dense.New[float64](4, d), dense.New[float64](2, d)
	copy(centres.Row(0), []float64{5, 1})
	copy(centres.Row(1), []float64{4, 0, 3})
	copy(x.Row(0), []float64{5.5, 1, 0.3, 0.2})
	copy(x.Row(1), []float64{4.8, 0.7, 0, -0.4})
	copy(x.Row(2), []float64{4, 0.2, 2.8, 0.5})
	copy(x.Row(3), []float64{-0.6, 0.9, 0, 1})
	for _, o := range lawOptions(1, 2, 4) {
		if o.Scheme == quantise.QJL && o.Bits > 2 {
			continue
		}
		plain := newCodes(t, o, planes[0], planes[1]).Quantiser()
		for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 3}, {3, 2}} {
			var squares [3]float64
			for range times {
				planes[0].draw()
				planes[1].draw()
				q, err := plain.Around(centres)
				require.NoError(t, err)
				c, err := q.Encode(t.Context(), x)
				require.NoError(t, err)
				for i, by := range measures {
					e := c.Between(pair[0], pair[1], by)
					squares[i] += math.Pow((e.Value-truth(by, x.Row(pair[0]), x.Row(pair[1])))/e.StdErr, 2) / times
				}
			}
			tolerance := 0.25
			if o.Scheme == quantise.LloydMax || o.Scheme == quantise.Uniform {
				tolerance = 1 // the bias is known no better than the estimate
			}
			for i := range measures {
				assert.InDelta(t, 1, squares[i], tolerance, "%v, rows %v, measure %d", o, pair, i)
			}
		}
	}
}

// truth returns the measure itself.
func truth(by quantise.Measure, x, y []float64) float64 {
	switch by {
	case quantise.InnerProduct:
		return floats.Dot(x, y)
	case quantise.Cosine:
		return floats.Dot(x, y) / (floats.Norm(x, 2) * floats.Norm(y, 2))
	}
	return math.Pow(floats.Distance(x, y, 2), 2)
}

// haarSpace is a uniformly random rotation of R^d, restricted to the space of the first axes.
type haarSpace struct {
	axes [][]float64 // where they go
	rng  *rand.Rand
}

func newHaarSpace(d, n int, seed uint64) *haarSpace {
	h := &haarSpace{make([][]float64, n), rand.New(rand.NewPCG(seed, 11))}
	for i := range h.axes {
		h.axes[i] = make([]float64, d)
	}
	h.draw()
	return h
}

func (h *haarSpace) draw() {
	for i, v := range h.axes {
		for j := range v {
			v[j] = h.rng.NormFloat64()
		}
		for range 2 {
			for _, w := range h.axes[:i] {
				floats.AddScaled(v, -floats.Dot(v, w), w)
			}
		}
		floats.Scale(1/floats.Norm(v, 2), v)
	}
}

func (h *haarSpace) Dims() (in, out int) { return len(h.axes[0]), len(h.axes[0]) }

func (h *haarSpace) Apply(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	dst = dense.Ensure(dst, x.Rows, len(h.axes[0]))
	for i := range x.Rows {
		row := dst.Row(i)
		clear(row)
		for k, axis := range h.axes {
			floats.AddScaled(row, x.At(i, k), axis)
		}
	}
	return dst
}

func (h *haarSpace) ApplyTransposed(_, _ dense.Matrix[float64]) dense.Matrix[float64] {
	panic("not used")
}

// centredLaw has x, q and c of a plane of four axes, and the law of an estimate of each measure.
type centredLaw struct {
	x, centres dense.Matrix[float64]
	query      []float64
}

func newCentredLaw(d int) centredLaw {
	l := centredLaw{dense.New[float64](1, d), dense.New[float64](2, d), make([]float64, d)}
	copy(l.x.Data, []float64{7.5, 1.2, 0.4, -0.3})
	copy(l.centres.Row(0), []float64{7, 1.5})
	copy(l.centres.Row(1), []float64{-3, 0, 9})
	copy(l.query, []float64{7.6, 0.8, -0.2, 0.5})
	return l
}

// law returns mean and variance of the estimate of a measure.
func (l centredLaw) law(q *quantise.Quantiser[float64], by quantise.Measure) (mean, variance float64) {
	x, c := l.x.Row(0), l.centres.Row(0)
	a, p := slices.Clone(x), slices.Clone(l.query)
	floats.Sub(a, c)
	floats.AddScaled(p, -floats.Dot(l.query, c)/floats.Dot(c, c), c)
	scale := floats.Norm(a, 2) * floats.Norm(p, 2)
	cosine := floats.Dot(a, p) / scale
	mean, variance = q.Theory(cosine)
	switch by {
	case quantise.SquaredDistance:
		scale *= -2
	case quantise.Cosine:
		scale /= floats.Norm(x, 2) * floats.Norm(l.query, 2)
	}
	return truth(by, x, l.query) + scale*(mean-cosine), scale * scale * variance
}

// Mean and variance of estimates with centres over 20,000 rotations that are uniformly random: |z| < 4 in
// 30 comparisons, a false alarm in 520 of such tests. Codes without (x−c)ᵀc, and queries from which t·c is
// not taken whole, are caught.
func TestCentredEstimatesFollowTheLaws(t *testing.T) {
	const d = 64
	l, space := newCentredLaw(d), newHaarSpace(d, 4, 5)
	options := []quantise.Options{{Bits: 1}, {Bits: 2}, {Bits: 4}, {Scheme: quantise.LloydMax, Bits: 4}, {Scheme: quantise.QJL, Bits: 1}}
	samples, plain := make([][3]deviation, len(options)), make([]*quantise.Quantiser[float64], len(options))
	for i, o := range options {
		plain[i] = newCodes(t, o, space).Quantiser()
	}
	var dropped, shrunk deviation
	var squares [3]float64
	n := draws()
	for draw := range n {
		space.draw()
		for i, o := range options {
			q, err := plain[i].Around(l.centres)
			require.NoError(t, err)
			c, err := q.Encode(t.Context(), l.x)
			require.NoError(t, err)
			for k, by := range measures {
				s := &samples[i][k]
				if draw == 0 {
					s.mean, s.variance = l.law(q, by)
				}
				s.values = append(s.values, c.Estimates(nil, l.query, by)[0])
				if o.Scheme == quantise.RaBitQ && o.Bits == 2 && draw < n/10 {
					hit := c.Search(make([]quantise.Hit, 1), l.query, by)[0]
					squares[k] += math.Pow((hit.Value-truth(by, l.x.Row(0), l.query))/hit.StdErr, 2) / float64(n/10)
				}
			}
			if o.Bits != 4 || o.Scheme != quantise.RaBitQ || draw >= n/10 {
				continue
			}
			quantise.DropAlongs(c)
			dropped.values = append(dropped.values, c.Estimates(nil, l.query, quantise.SquaredDistance)[0])
			c, err = q.Encode(t.Context(), l.x)
			require.NoError(t, err)
			quantise.ShrinkCentres(q)
			shrunk.values = append(shrunk.values, c.Estimates(nil, l.query, quantise.InnerProduct)[0])
		}
	}
	for i, o := range options {
		for k := range measures {
			samples[i][k].check(t, fmt.Sprintf("%v, measure %d", o, k))
		}
	}
	for k := range measures {
		assert.InDelta(t, 1, squares[k], 5*math.Sqrt(2/float64(n/10)), "standard errors of measure %d", k)
	}
	dropped.mean, shrunk.mean = truth(quantise.SquaredDistance, l.x.Row(0), l.query), truth(quantise.InnerProduct, l.x.Row(0), l.query)
	for _, s := range []deviation{dropped, shrunk} {
		z, _ := s.z()
		assert.Greater(t, math.Abs(z), 8.0)
	}
}

// Search with centres finds what sorting all estimates finds, and a search of few centres what sorting
// those of their rows finds.
func testCentredSearch[T dense.Float](t *testing.T) {
	const n, d, k = 3000, 48, 20
	for _, mean := range []float64{0, 20} {
		x, centres := clusters[T](n, d, 12, mean, 0.7, 6)
		for i := range 40 {
			vecmath.Scale(x.Row(70*i), -0.5) // has no centre near
		}
		copy(x.Row(2000), x.Row(17))
		clear(x.Row(5))
		copy(x.Row(6), centres.Row(3))
		for _, o := range lawOptions(1, 2, 4, 8) {
			q := around(t, o, centres)
			c, err := q.Encode(t.Context(), x)
			require.NoError(t, err)
			for _, query := range [][]T{x.Row(100), centres.Row(3), random[T](1, d, 9).Row(0), make([]T, d)} {
				for _, by := range measures {
					what := fmt.Sprintf("mean %v, %v, measure %d", mean, o, by)
					all := ranked(c, query, by)
					got := c.Search(make([]quantise.Hit, k), query, by)
					require.Len(t, got, k)
					for i, hit := range got {
						tolerance := 0.1*hit.StdErr + 1e-6*math.Abs(hit.Value)
						require.InDelta(t, all[i].Value, hit.Value, tolerance, "%s, place %d", what, i)
					}
				}
			}
		}
	}
}

func TestCentredSearch(t *testing.T) {
	densetest.Both(t, testCentredSearch[float32], testCentredSearch[float64])
}

// nearestCentre returns the row of centres that is nearest to x, or −1 if 0 is nearer.
func nearestCentre[T dense.Float](x []T, centres dense.Matrix[T]) int {
	best, at := floats.Norm(doubles(x), 2), -1
	for i := range centres.Rows {
		if r := floats.Distance(doubles(x), doubles(centres.Row(i)), 2); r < best {
			best, at = r, i
		}
	}
	return at
}

// A search of few centres finds the best of their rows, and of those that have none.
func TestSearchOfFewCentres(t *testing.T) {
	const n, d, k, few = 1500, 48, 20, 3
	x, centres := clusters[float32](n, d, 12, 1, 0.7, 6)
	for i := range 40 {
		vecmath.Scale(x.Row(30*i), -2)
	}
	labels := make([]int, n)
	for i := range labels {
		labels[i] = nearestCentre(x.Row(i), centres)
	}
	for _, o := range lawOptions(1, 4, 8) {
		c, err := around(t, o, centres).Encode(t.Context(), x)
		require.NoError(t, err)
		queries := x.RowRange(100, 103)
		for _, by := range measures {
			hits := [][]quantise.Hit{make([]quantise.Hit, k), make([]quantise.Hit, k), make([]quantise.Hit, k)}
			require.NoError(t, quantise.Search(t.Context(), hits, queries, by, quantise.SearchOptions[float32]{Centres: few}, c))
			for i := range queries.Rows {
				query := queries.Row(i)
				order := make([]int, centres.Rows)
				values := make([]float64, centres.Rows)
				for j := range order {
					order[j], values[j] = j, truth(by, doubles(centres.Row(j)), doubles(query))
					if by == quantise.SquaredDistance {
						values[j] = -values[j]
					}
				}
				slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
				want := slices.DeleteFunc(ranked(c, query, by), func(h quantise.Hit) bool {
					at := labels[h.ID]
					return at >= 0 && !slices.Contains(order[:few], at)
				})
				require.Len(t, hits[i], k)
				for place, hit := range hits[i] {
					require.InDelta(t, want[place].Value, hit.Value, 0.1*hit.StdErr, "%v, measure %d, place %d", o, by, place)
				}
				all := c.Search(make([]quantise.Hit, k), query, by)
				only := make(quantise.Bitmap, n/64+1)
				for _, hit := range all[3:] {
					only[hit.ID/64] |= 1 << (hit.ID % 64)
				}
				list := [][]quantise.Hit{make([]quantise.Hit, k)}
				require.NoError(t, quantise.Search(t.Context(), list, queries.RowRange(i, i+1), by, quantise.SearchOptions[float32]{Only: []quantise.Bitmap{only}}, c))
				assert.Equal(t, all[3:], list[0])
			}
		}
	}
	var c *quantise.Codes[float32]
	err := quantise.Search(t.Context(), nil, centres.RowRange(0, 0), quantise.Cosine, quantise.SearchOptions[float32]{Centres: -1}, c)
	require.EqualError(t, err, "quantise: Centres = -1, want at least 0")
}

// Exact rows are found by the law of centred codes, from fewer rows than without centres.
func testCentredRerank[T dense.Float](t *testing.T) {
	const n, d, k, m = 2000, 64, 10, 8
	for _, mean := range []float64{0, 30} {
		x, centres := clusters[T](n, d, 20, mean, 0.5, 8)
		queries, _ := clusters[T](m, d, 20, mean, 0.5, 8)
		for i := range queries.Rows {
			queries.Row(i)[0] += T(0.1 * float64(i))
		}
		for _, o := range []quantise.Options{{Bits: 1}, {Bits: 4}, {Bits: 8}} {
			plain, err := quantise.New[T](d, o, rand.NewPCG(1, 2))
			require.NoError(t, err)
			for _, by := range measures {
				var read [2]int
				for i, q := range []*quantise.Quantiser[T]{plain, around(t, o, centres)} {
					c, err := q.Encode(t.Context(), x)
					require.NoError(t, err)
					hits := make([][]quantise.Hit, m)
					for j := range hits {
						hits[j] = make([]quantise.Hit, k)
					}
					rows := quantise.RowsOf(x)
					require.NoError(t, quantise.Search(t.Context(), hits, queries, by, quantise.SearchOptions[T]{
						Rows: func(dst dense.Matrix[T], segment int, ids []int) error {
							read[i] += len(ids)
							return rows(dst, segment, ids)
						},
					}, c))
					for j, list := range hits {
						values := make([]float64, n)
						for row := range n {
							values[row] = truth(by, doubles(x.Row(row)), doubles(queries.Row(j)))
							if by != quantise.SquaredDistance {
								values[row] = -values[row]
							}
						}
						slices.Sort(values)
						for place, hit := range list {
							require.InDelta(t, values[place], map[bool]float64{true: hit.Value, false: -hit.Value}[by == quantise.SquaredDistance],
								1e-12*math.Abs(hit.Value)*math.Abs(mean+1), "mean %v, %v, measure %d, place %d, centred %d, query %d", mean, o, by, place, i, j)
						}
					}
				}
				assert.LessOrEqual(t, read[1], read[0], "mean %v, %v, measure %d", mean, o, by)
			}
		}
	}
}

func TestCentredRerank(t *testing.T) {
	densetest.Both(t, testCentredRerank[float32], testCentredRerank[float64])
}

func TestCentredAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	x, centres := clusters[float32](5000, 48, 6, 1, 0.5, 3)
	dst, values := make([]quantise.Hit, 10), make([]float64, x.Rows)
	for _, o := range lawOptions(1, 4) {
		c, err := around(t, o, centres).Encode(t.Context(), x)
		require.NoError(t, err)
		for _, processors := range []int{1, 2} {
			assert.Zero(t, allocs.Settled(processors, func() {
				for _, by := range measures {
					c.Search(dst, x.Row(3), by)
					c.Estimates(values, x.Row(3), by)
					c.Between(0, 1, by)
				}
			}), "%v, %d processors", o, processors)
		}
	}
}

func TestAroundErrors(t *testing.T) {
	q, err := quantise.New[float32](3, quantise.Options{}, rand.NewPCG(1, 1))
	require.NoError(t, err)
	for want, centres := range map[string]dense.Matrix[float32]{
		"quantise: centres are 0×3, want K×3 with K ≥ 1":        dense.New[float32](0, 3),
		"quantise: centres are 2×4, want K×3 with K ≥ 1":        dense.New[float32](2, 4),
		"quantise: centre 1 has the norm NaN, want up to 2¹⁰⁰":  dense.Of(2, 3, []float32{1, 2, 3, 4, float32(math.NaN()), 6}),
		"quantise: centre 0 has the norm NaN, want up to 2¹⁰⁰":  dense.Of(1, 3, []float32{1, 2, float32(math.Inf(1))}),
		"quantise: centre 0 has the norm 2e+32, want up to 2¹⁰": dense.Of(1, 3, []float32{2e32, 0, 0}),
	} {
		_, err := q.Around(centres)
		assert.ErrorContains(t, err, want)
	}
	_, err = new(quantise.Quantiser[float32]).Around(dense.New[float32](1, 3))
	require.EqualError(t, err, "quantise: the Quantiser is zero, want one of New or NewRotated")
}
