package quantise_test

import (
	"bytes"
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
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
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

func around[T dense.Float](t *testing.T, o quantise.Options, centres dense.Matrix[T]) quantise.Quantiser[T] {
	t.Helper()
	q, err := quantise.New[T](centres.Cols, o, rand.NewPCG(1, 2))
	require.NoError(t, err)
	q, err = q.WithCentres(centres)
	require.NoError(t, err)
	return q
}

// Centres that lie so close together that their distances from a row differ by less than products
// of float32 round: the nearest one is that of distances in float64.
func TestNearestOfCloseCentres(t *testing.T) {
	const n, d, k = 300, 48, 12
	rng := rand.New(rand.NewPCG(8, 9))
	x, centres := densetest.Normal[float32](rng, n, d, 3, 1), densetest.Normal[float32](rng, k, d, 3, 1)
	for i := 2; i < k; i++ {
		for j, v := range centres.Row(i % 2) { // far from the mean of all
			centres.Set(i, j, v+float32(0x1p-21*rng.NormFloat64()))
		}
	}
	c, err := around(t, quantise.Options{Bits: 1}, centres).Encode(t.Context(), x)
	require.NoError(t, err)
	for row := range n {
		require.Equal(t, 1+nearestCentre(x.Row(row), centres), quantise.Label(c, row), "row %d", row)
	}
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
		read, err := quantise.Read[float32](bytes.NewReader(data))
		require.NoError(t, err)
		sameCodes(t, whole, read, query, fmt.Sprint(o))
		view, err := quantise.View[float32](data)
		require.NoError(t, err)
		sameCodes(t, whole, view, query, fmt.Sprint(o))

		half, err := q.Encode(t.Context(), x.RowRange(0, 701))
		require.NoError(t, err)
		half, err = quantise.View[float32](aligned(fileOf(t, half), 0))
		require.NoError(t, err)
		require.NoError(t, half.Append(t.Context(), x.RowRange(701, n)))
		sameCodes(t, whole, half, query, fmt.Sprint(o))
		more := map[quantise.Scheme]int{quantise.RaBitQ: 4, quantise.Uniform: 4}[o.Scheme]
		if o.Scheme == quantise.RaBitQ && o.Bits > 1 {
			more += 4
		}
		assert.Equal(t, n*(8*((d*o.Bits+63)/64)+4+16+more), whole.Bytes())

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
	mean := func(q quantise.Quantiser[T]) (sum float64) {
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
			if v := x.At(i, k); v != 0 {
				floats.AddScaled(row, v, axis)
			}
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
func (l centredLaw) law(q quantise.Quantiser[float64], by quantise.Measure) (mean, variance float64) {
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

// Mean and variance of estimates with centres over 20,000 rotations that are uniformly random: |z|
// < 4 in 30 comparisons, a false alarm in 520 of such tests. Codes without (x−c)ᵀc, and queries
// from which t·c is not taken whole, are caught.
func TestCentredEstimatesFollowTheLaws(t *testing.T) {
	const d = 64
	l, space := newCentredLaw(d), newHaarSpace(d, 4, 5)
	options := []quantise.Options{{Bits: 1}, {Bits: 2}, {Bits: 4}, {Scheme: quantise.LloydMax, Bits: 4}, {Scheme: quantise.QJL, Bits: 1}}
	samples, plain := make([][3]deviation, len(options)), make([]quantise.Quantiser[float64], len(options))
	for i, o := range options {
		plain[i] = newCodes(t, o, space).Quantiser()
	}
	var dropped, shrunk deviation
	var squares [3]float64
	n := draws()
	for draw := range n {
		space.draw()
		for i, o := range options {
			q, err := plain[i].WithCentres(l.centres)
			require.NoError(t, err)
			c, err := q.Encode(t.Context(), l.x)
			require.NoError(t, err)
			for k, by := range measures {
				s := &samples[i][k]
				if draw == 0 {
					s.mean, s.variance = l.law(q, by)
				}
				s.values = append(s.values, estimates(c, nil, l.query, by)[0])
				if o.Scheme == quantise.RaBitQ && o.Bits == 2 && draw < n/10 {
					hit := search(c, make([]quantise.Hit, 1), l.query, by)[0]
					squares[k] += math.Pow((hit.Value-truth(by, l.x.Row(0), l.query))/hit.StdErr, 2) / float64(n/10)
				}
			}
			if o.Bits != 4 || o.Scheme != quantise.RaBitQ || draw >= n/10 {
				continue
			}
			quantise.DropCentreProducts(c)
			dropped.values = append(dropped.values, estimates(c, nil, l.query, quantise.SquaredDistance)[0])
			quantise.ShrinkCentres(q)
			c, err = q.Encode(t.Context(), l.x)
			require.NoError(t, err)
			shrunk.values = append(shrunk.values, estimates(c, nil, l.query, quantise.InnerProduct)[0])
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

func TestWithCentresErrors(t *testing.T) {
	q, err := quantise.New[float32](3, quantise.Options{}, rand.NewPCG(1, 1))
	require.NoError(t, err)
	for want, centres := range map[string]dense.Matrix[float32]{
		"quantise: centres are 0×3, want K×3 with K ≥ 1":        dense.New[float32](0, 3),
		"quantise: centres are 2×4, want K×3 with K ≥ 1":        dense.New[float32](2, 4),
		"quantise: centre 1 has the norm NaN, want up to 2¹⁰⁰":  dense.Of(2, 3, []float32{1, 2, 3, 4, float32(math.NaN()), 6}),
		"quantise: centre 0 has the norm NaN, want up to 2¹⁰⁰":  dense.Of(1, 3, []float32{1, 2, float32(math.Inf(1))}),
		"quantise: centre 0 has the norm 2e+32, want up to 2¹⁰": dense.Of(1, 3, []float32{2e32, 0, 0}),
	} {
		_, err := q.WithCentres(centres)
		assert.ErrorContains(t, err, want)
	}
}
