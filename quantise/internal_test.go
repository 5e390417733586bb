package quantise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/seed-feabd252/randfeat/dense"
)

// better compares candidates, the best first.
func better(a, b scoredRow) int {
	if b.worse(a) {
		return -1
	}
	return 1
}

// Candidates in every order, with equal scores and without, give the best k and a worst of k that
// no candidate among the best k ranks below.
func TestKeep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 100, 2000} {
		for _, k := range []int{1, 2, 3, 7, 100, 1000} {
			for _, distinct := range []int{1, 3, 1 << 30} {
				for _, order := range []string{"random", "ascending", "descending"} {
					all := make([]scoredRow, n)
					for i := range all {
						all[i] = scoredRow{score: float64(r.IntN(distinct)), row: i}
					}
					want := slices.SortedFunc(slices.Values(all), better)
					want = want[:min(k, n)]
					switch order {
					case "random":
						r.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
					case "ascending":
						slices.SortFunc(all, func(a, b scoredRow) int { return better(b, a) })
					case "descending":
						slices.SortFunc(all, better)
					}
					var list []scoredRow
					for i, c := range all {
						list = keep(list, c, k)
						require.Less(t, len(list), 2*k+1)
						if i+1 >= k {
							require.False(t, want[min(k, n)-1].worse(list[k-1]), "the worst of k candidates so far ranks above the last of the best")
						}
					}
					list = cut(list, k)
					if len(list) == k {
						require.Equal(t, want[k-1], list[k-1])
					}
					slices.SortFunc(list, better)
					require.Equal(t, want, list, "n = %d, k = %d, %s", n, k, order)
				}
			}
		}
	}
}

// tail returns the probability that a coordinate of a uniform direction of R^m exceeds z of its
// standard deviations.
func tail(m int, z float64) float64 {
	t := z / math.Sqrt(float64(m))
	if t >= 1 {
		return 0
	}
	return mathext.RegIncBeta(float64(m-1)/2, 0.5, (1-t)*(1+t)) / 2
}

// The tail of a coordinate of a uniform direction beyond a quantile is at most that of a normal
// variate.
func TestNormalQuantile(t *testing.T) {
	for _, p := range []float64{0.1, 0.043, 0.04, 1e-3, 1e-9, 1e-100} {
		z := normalQuantile(p)
		assert.LessOrEqual(t, math.Erfc(z/math.Sqrt2)/2, p*(1+1e-6))
		for _, m := range []int{3, 15, 255} {
			assert.LessOrEqual(t, tail(m, z), p*(1+1e-6), "m = %d, p = %v", m, p)
		}
	}
}

// The bound is the largest cosine of which an estimate is z standard errors away.
func TestHighest(t *testing.T) {
	for _, c := range []float64{0, 1e-4, 0.03, 0.5, 1, 4} {
		for e := -2.0; e <= 2; e += 0.02 {
			high := new(rounded).upperCosine(e, c)
			require.LessOrEqual(t, high, 1.0)
			for rho := -1.0; rho <= 1; rho += 0.02 {
				if spread := c * math.Sqrt(1-rho*rho); e >= rho-spread {
					require.GreaterOrEqual(t, high, rho, "estimate %v, c = %v", e, c)
				}
			}
			if spread := c * math.Sqrt(1-high*high); math.Abs(e) < 1 {
				require.InDelta(t, e, high-spread, 3*roundings, "estimate %v, c = %v", e, c)
			}
		}
	}
}

// share returns the share of lists of k rows that are not exact, over rotations for each of which
// all queries are searched, and the share of rows that are looked at. A quarter of the rows have
// nearly the same cosine with a query, which is the hardest case. fault multiplies standard errors.
func share(t *testing.T, bits, k, rotations int, miss, fault float64) (wrong, looked float64) {
	const n, d, m = 60, 16, 4
	h := NewHaar(max(d, 64/bits), d, uint64(bits))
	x, queries := dense.New[float64](n, d), dense.New[float64](m, d)
	normal := func(v []float64) {
		for j := range v {
			v[j] = h.rng.NormFloat64()
		}
		floats.Scale(1/floats.Norm(v, 2), v)
	}
	for i := range m {
		normal(queries.Row(i))
	}
	for i := range n {
		row, query := x.Row(i), queries.Row(i%m)
		normal(row)
		floats.AddScaled(row, -floats.Dot(row, query), query)
		cosine := 0.8 - 1e-5*float64(i)
		floats.Scale(math.Sqrt(1-cosine*cosine)/floats.Norm(row, 2), row)
		floats.AddScaled(row, cosine, query)
	}
	q, err := New[float64](d, Options{Bits: float64(bits)}, h.rng)
	require.NoError(t, err)
	Rotate(q, h)
	var want [3][m][]int
	for by := range want {
		for i := range m {
			all := make([]scoredRow, n)
			for j := range all {
				all[j] = scoredRow{score: exactly(Measure(by), x.Row(j), queries.Row(i)), row: j}
			}
			slices.SortFunc(all, better)
			for _, c := range all[:k] {
				want[by][i] = append(want[by][i], c.row)
			}
		}
	}
	rows := RowsOf(x)
	o := SearchOptions[float64]{Rows: func(dst dense.Matrix[float64], ids []int) error {
		looked += float64(len(ids)) / float64(n*m*rotations)
		return rows(dst, ids)
	}}
	hits := make([][]Hit, m)
	for r := range rotations {
		h.Draw()
		c, err := q.Encode(context.Background(), x)
		require.NoError(t, err)
		by := Measure(r % 3)
		for i := range hits {
			hits[i] = make([]Hit, k)
		}
		s := q.(*quantiser[float64]).begin(c.(*codes[float64]).rows(), by)
		s.ctx, s.options = context.Background(), o
		for i := range hits {
			s.addQuery(q.Prepare(nil, queries.Row(i), by, miss), k)
			s.queries[i].zExact *= fault
		}
		require.NoError(t, s.readExact(hits))
		s.end()
		for i, list := range hits {
			for j, hit := range list {
				if hit.ID != want[by][i][j] {
					wrong += 1 / float64(m*rotations)
					break
				}
			}
		}
	}
	return wrong, looked
}

// Lists are exact in the stated share of 10,000 searches, for every number of bits, over rotations
// that are uniformly random, though few rows are looked at. The share of wrong ones is not above
// the probability by more than 4 standard errors: by the law a false alarm in 8,000 of such tests.
// Half as many standard errors are caught.
func TestListsAreExact(t *testing.T) {
	const rotations, miss = 2500, 0.1
	limit := miss + 4*math.Sqrt(miss*(1-miss)/(4*rotations))
	for bits, most := range map[int]float64{1: 0.3, 2: 0.27, 4: 0.26, 8: 0.26} {
		t.Run(fmt.Sprintf("bits=%d", bits), func(t *testing.T) {
			t.Parallel()
			wrong, looked := share(t, bits, 3, rotations, miss, 1)
			assert.LessOrEqual(t, wrong, limit)
			assert.Less(t, looked, most)
			planted, _ := share(t, bits, 3, rotations/5, miss, 0.5)
			assert.Greater(t, planted, 2*limit)
		})
	}
}
