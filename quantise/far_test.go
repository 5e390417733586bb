package quantise_test

import (
	"cmp"
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

// farCase is rows and queries about centres that are far from the origin.
type farCase struct {
	mean, between float64 // mean and standard deviation of the coordinates of centres
	centres       int
	bits          int
}

// farData returns rows and queries that are normal variates of variance 1 about the centres in
// turn.
func farData[T dense.Float](c farCase, n, m, d int) (x, queries, centres dense.Matrix[T]) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, queries = densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, m, d, 0, 1)
	centres = densetest.Normal[T](rng, c.centres, d, c.mean, c.between)
	for _, rows := range []dense.Matrix[T]{x, queries} {
		for i := range rows.Rows {
			for j, v := range centres.Row(i % c.centres) {
				rows.Row(i)[j] = T(float64(rows.Row(i)[j]) + float64(v))
			}
		}
	}
	return x, queries, centres
}

// productOf returns xᵀy as a sum of two numbers, because one has too few digits far from the
// origin.
func productOf[T dense.Float](x, y []T) (sum, rest float64) {
	for i, v := range x {
		a, b := float64(v), float64(y[i])
		product := a * b
		next := sum + product
		added := next - sum
		rest += math.FMA(a, b, -product) + (sum - (next - added)) + (product - added)
		sum = next
	}
	return sum, rest
}

// testFar compares estimates of rows far from the origin with the truth. Errors are those that the
// standard errors say, bounds hold, and a search finds as many of the nearest rows as one of the
// same rows about the origin.
func testFar[T dense.Float](t *testing.T, c farCase) {
	const n, m, d, k, miss = 400, 15, 96, 10, 0.05
	what := fmt.Sprintf("%T, %+v", T(0), c)
	x, queries, centres := farData[T](c, n, m, d)
	q := around(t, quantise.Options{Bits: float64(c.bits)}, centres)
	codes := codesOf(t, q, x)
	x0, queries0, _ := farData[T](farCase{centres: c.centres}, n, m, d)
	codes0 := encode(t, x0, quantise.Options{Bits: float64(c.bits)})
	for _, by := range measures {
		if by == quantise.Cosine && c.mean > 1e5 {
			continue // float64 does not resolve the differences of the cosines
		}
		var squares, squaresNear, near, low, high float64
		found, found0 := 0, 0
		for i := range m {
			query := q.Prepare(nil, queries.Row(i), by, miss)
			ids, values := make([]int, 0, n), make([]float64, n)
			for j, e := range codes.Estimates(make([]quantise.Estimate, n), query, nil) {
				want, rest := truth(by, doubles(x.Row(j)), doubles(queries.Row(i))), 0.0
				if by == quantise.InnerProduct {
					want, rest = productOf(x.Row(j), queries.Row(i))
				}
				square := math.Pow((e.Value-want-rest)/e.StdErr, 2)
				squares += square / n / m
				if values[j] = want; i%c.centres == j%c.centres {
					ids = append(ids, j)
					squaresNear += square
					near++
				}
				if e.Low-want > rest {
					low += 1. / n / m
				}
				if e.High-want < rest {
					high += 1. / n / m
				}
			}
			if by != quantise.SquaredDistance {
				continue
			}
			own := setOf(n, func(id int) bool { return id%c.centres == i%c.centres })
			slices.SortFunc(ids, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
			hits0 := lists(1, k)
			query0 := codes0.Quantiser().Prepare(nil, queries0.Row(i), by, 0)
			require.NoError(t, codes0.SearchAll(t.Context(), hits0, []*quantise.Query{query0}, quantise.SearchOptions[T]{Only: own}))
			for j, hit := range codes.Search(make([]quantise.Hit, k), query) {
				if slices.Contains(ids[:k], hit.ID) {
					found++
				}
				if slices.Contains(ids[:k], hits0[0][j].ID) {
					found0++
				}
			}
		}
		if by == quantise.SquaredDistance {
			share := float64(found0) / m / k
			assert.InDelta(t, share, float64(found)/m/k, 5*math.Sqrt(2*share*(1-share)/m/k), what)
		}
		if by != quantise.Cosine || c.between < 1e5 {
			assert.InDelta(t, 1, squaresNear/near, 6*math.Sqrt(2/near), "%s, measure %d", what, by)
		}
		assert.LessOrEqual(t, squares, 1.2, "%s, measure %d", what, by)
		assert.LessOrEqual(t, max(low, high), miss, "%s, measure %d", what, by)
	}
}

// At a mean of 20 the query itself is rounded for near centres, and q − tc for the others.
func TestFar(t *testing.T) {
	for _, c := range []farCase{
		{20, 1, 3, 1}, {1e3, 1, 3, 8}, {1e6, 1, 1, 1}, {1e6, 1, 3, 4}, {0, 1e6, 3, 8},
	} {
		testFar[float32](t, c)
		testFar[float64](t, c)
	}
}

// Cosines of rows far shorter than the mean of Learn err by roundings, up to all digits. Cosines of
// rows that have the origin as centre do not.
func TestShortRows(t *testing.T) {
	const d = 6
	sample := densetest.Normal[float32](rand.New(rand.NewPCG(1, 2)), 100, d, 100, 1)
	for _, scale := range []float64{0, 0.02, 0.03, 1e-2, 1e-4, 1e-6, 1e-15} {
		x, y := densetest.Normal[float32](rand.New(rand.NewPCG(3, 4)), 50, d, 0, scale), random[float32](20, d, 2)
		c := codesOf(t, learned(t, sample, 2, 1), x)
		for i := range y.Rows {
			query := c.Quantiser().Prepare(nil, y.Row(i), quantise.Cosine, 0.01)
			all, err := c.Within(t.Context(), query, -1, quantise.SearchOptions[float32]{Rows: quantise.RowsOf(x)})
			require.NoError(t, err)
			assert.Len(t, all, x.Rows)
			for j, e := range c.Estimates(make([]quantise.Estimate, x.Rows), query, nil) {
				v := truth(quantise.Cosine, doubles(x.Row(j)), doubles(y.Row(i)))
				assert.Less(t, math.Abs(e.Value-v), 6*e.StdErr, "%v, row %d", scale, j)
				assert.True(t, e.Low <= v && v <= e.High, "%v, row %d: %v in %+v", scale, j, v, e)
			}
		}
		c = codesOf(t, around(t, quantise.Options{Bits: 8}, sample), x)
		for _, e := range c.Estimates(make([]quantise.Estimate, x.Rows), c.Quantiser().Prepare(nil, y.Row(0), quantise.Cosine, 0.01), nil) {
			assert.Less(t, e.High-e.Low, 0.1, "%v", scale)
		}
	}
}

// Distances of rows and queries of unequal norms have the error of the norms.
func testUnequalNorms[T dense.Float](t *testing.T) {
	const n, m, d = 500, 10, 96
	for _, scales := range [][2]float64{{1e6, 1}, {1, 1e6}, {1, 1e16}} {
		rng := rand.New(rand.NewPCG(1, 2))
		x, queries := densetest.Normal[T](rng, n, d, 0, scales[0]), densetest.Normal[T](rng, m, d, 0, scales[1])
		for _, q := range []quantise.Quantiser[T]{
			newQuantiser[T](t, d, quantise.Options{Bits: 4}), newQuantiser[T](t, d, quantise.Options{Bits: 8}), learned(t, x, 2.5, 1),
		} {
			codes, squares, outside, bits := codesOf(t, q, x), 0.0, 0, q.Options().Bits
			for i := range m {
				query := codes.Quantiser().Prepare(nil, queries.Row(i), quantise.SquaredDistance, 0.01)
				for j, e := range codes.Estimates(make([]quantise.Estimate, n), query, nil) {
					want := truth(quantise.SquaredDistance, doubles(x.Row(j)), doubles(queries.Row(i)))
					squares += math.Pow((e.Value-want)/e.StdErr, 2) / n / m
					if want < e.Low || want > e.High {
						outside++
					}
				}
			}
			// The rotations of float32 err by as much as rotationError in few dimensions only.
			assert.Less(t, squares, 1.2, "%T, norms %v, %v bits", T(0), scales, bits)
			if bits != 2.5 {
				assert.Greater(t, squares, 0.2, "%T, norms %v, %v bits", T(0), scales, bits)
			}
			assert.LessOrEqual(t, float64(outside), n*m/50+5*math.Sqrt(n*m/50), "%T, norms %v, %v bits", T(0), scales, bits)
		}
	}
}

func TestUnequalNorms(t *testing.T) {
	densetest.Both(t, testUnequalNorms[float32], testUnequalNorms[float64])
}
