package quantise_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

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

// Centres that lie so close together that their distances from a row differ by less than products
// of float32 round: the nearest one is that of distances in float64.
func TestNearestOfCloseCentres(t *testing.T) {
	const n, d, k = 4200, 48, 12 // more than the labels of one array
	rng := rand.New(rand.NewPCG(8, 9))
	x, centres := densetest.Normal[float32](rng, n, d, 3, 1), densetest.Normal[float32](rng, k, d, 3, 1)
	for i := 2; i < k; i++ {
		for j, v := range centres.Row(i % 2) { // far from the mean of all
			centres.Set(i, j, v+float32(0x1p-21*rng.NormFloat64()))
		}
	}
	c := codesOf(t, around(t, quantise.Options{Bits: 1}, centres), x)
	for row := range n {
		require.Equal(t, 1+nearestCentre(x.Row(row), centres), quantise.Label(c, row), "row %d", row)
	}
}

// Decoded rows are nearer to the rows by the ratio of the distances from the centres to the norms.
func testCentredDecode[T dense.Float](t *testing.T) {
	const n, d = 400, 64
	x, centres := clusters[T](n, d, 5, 30, 0.3, 2)
	plain, err := quantise.New[T](d, quantise.Options{}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	mean := func(q quantise.Quantiser[T]) (sum float64) {
		c := codesOf(t, q, x)
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

// Centres that do not fit the rows change nothing: those of other data, equal ones, and 0. A search
// of one of them is one of all rows.
func TestCentresThatDoNotFit(t *testing.T) {
	const n, d, k = 500, 32, 10
	x := random[float64](n, d, 1)
	far := dense.New[float64](3, d)
	for i := range far.Rows - 1 { // two are equal, and the last is 0
		far.Set(i, 4, 1e4)
	}
	o := quantise.Options{Bits: 8} // the query has as many bytes with centres as without
	plain := encode(t, x, o)
	c := codesOf(t, around(t, o, far), x)
	for _, query := range [][]float64{x.Row(7), far.Row(1), random[float64](1, d, 2).Row(0)} {
		for _, by := range measures {
			want := search(plain, make([]quantise.Hit, k), query, by)
			hits := [][]quantise.Hit{make([]quantise.Hit, k)}
			require.NoError(t, searchAll(c, t.Context(), hits, dense.Of(1, d, query), by, 0, quantise.SearchOptions[float64]{Centres: 1}))
			for i, hit := range hits[0] {
				assert.Equal(t, want[i].ID, hit.ID)
				assert.InDelta(t, want[i].Value, hit.Value, 1e-12*math.Abs(want[i].Value)+1e-9*want[i].StdErr)
				assert.InEpsilon(t, want[i].StdErr, hit.StdErr, 1e-12)
			}
		}
	}
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
	for _, o := range options(1, 8) {
		c := codesOf(t, around(t, o, centres), x)
		queries := x.RowRange(119, 122) // of which one has no centre
		for _, by := range measures {
			hits := [][]quantise.Hit{make([]quantise.Hit, k), make([]quantise.Hit, k), make([]quantise.Hit, k)}
			require.NoError(t, searchAll(c, t.Context(), hits, queries, by, 0, quantise.SearchOptions[float32]{Centres: few}))
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
			}
		}
	}
}
