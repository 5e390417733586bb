package orf_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
)

// pointSets are the ensembles of dependent points.
var pointSets = []orf.Ensemble{orf.Halton{}}

func TestPointSetErrors(t *testing.T) {
	src := exprand.NewSource(1)
	_, err := orf.Draw[float32](orf.Halton{}, 1, 1001, src)
	assert.EqualError(t, err, "orf: Halton: d = 1001, want at most 1000")
	p, err := orf.Draw[float32](orf.Halton{}, 3, 1000, src)
	require.NoError(t, err, "the largest dimension")
	for _, v := range p.Frequencies().Data {
		require.Less(t, math.Abs(float64(v)), 10.0, "finite")
	}
}

func TestPointSetsOfSeedsTypesAndLengths(t *testing.T) {
	for _, e := range pointSets {
		must := func(m, d int, seed uint64) dense.Matrix[float64] {
			p, err := orf.Draw[float64](e, m, d, exprand.NewSource(seed))
			require.NoError(t, err)
			return p.Frequencies()
		}
		for _, s := range shapes {
			m, d := s[0], s[1]
			w := must(m, d, 4)
			assert.Equal(t, w, must(m, d, 4), "%s: same seed", e)
			assert.NotEqual(t, w, must(m, d, 5), "%s: another seed", e)
			assert.Equal(t, w, must(3*m+1, d, 4).RowRange(0, m).Clone(), "%s: the first of more", e)
			p, err := orf.Draw[float32](e, m, d, exprand.NewSource(4))
			require.NoError(t, err)
			assert.Equal(t, dense.Copy(dense.Matrix[float32]{}, w), p.Frequencies(), "%s: float32 is float64 rounded", e)
		}
	}
}

// TestPointSetsAreStratified: of b^k points from a multiple of b^k on, every
// coordinate has one in each interval of length b^(−k).
func TestPointSetsAreStratified(t *testing.T) {
	const d = 7
	for e, bases := range map[orf.Ensemble][d]int{orf.Halton{}: {2, 3, 5, 7, 11, 13, 17}} {
		p, err := orf.Draw[float64](e, 600, d, exprand.NewSource(3))
		require.NoError(t, err)
		w := p.Frequencies()
		for j, b := range bases {
			for n := b; 2*n <= w.Rows; n *= b {
				for from := 0; from+n <= w.Rows; from += n {
					seen := make([]bool, n)
					for k := range n {
						seen[int(distuv.UnitNormal.CDF(w.At(from+k, j))*float64(n))] = true
					}
					require.NotContains(t, seen, false, "%v: coordinate %d, %d points from %d", e, j, n, from)
				}
			}
		}
	}
}

// TestPointSetMarginals: over the draws, every frequency, the first too, is N(0, I):
// two coordinates pass a Kolmogorov–Smirnov test at 2.5, false-alarm rate 7e-6, and
// 5 moments stay within 4.5 standard errors, in each of 16 cases: 8e-4 in all. Points
// that are not drawn afresh are caught.
func TestPointSetMarginals(t *testing.T) {
	const draws = 4000
	columns := []int{0, 1, 5}
	for _, e := range pointSets {
		// Values of frequency k and coordinate j, a draw each.
		sample := func(seed func(i int) uint64) map[[2]int][]float64 {
			values := map[[2]int][]float64{}
			for i := range draws {
				p, err := orf.Draw[float64](e, 13, 6, exprand.NewSource(seed(i)))
				require.NoError(t, err)
				w := p.Frequencies()
				for _, k := range []int{0, 1, 5, 12} {
					for _, j := range columns {
						values[[2]int{k, j}] = append(values[[2]int{k, j}], w.At(k, j))
					}
				}
			}
			return values
		}
		values := sample(func(i int) uint64 { return uint64(i) })
		for _, k := range []int{0, 1, 5, 12} {
			for _, j := range columns[1:] {
				at := fmt.Sprintf("%v: frequency %d, coordinates 0 and %d", e, k, j)
				first, second := values[[2]int{k, 0}], values[[2]int{k, j}]
				var m moments
				for i, u := range first {
					v := second[i]
					m.add(u, v, u*v, u*u, v*v)
				}
				assert.Less(t, m.z(0, 0, 0, 1, 1), 4.5, at)
				assert.Less(t, kolmogorov(first, distuv.UnitNormal.CDF), 2.5, at)
				assert.Less(t, kolmogorov(second, distuv.UnitNormal.CDF), 2.5, at)
			}
		}
		fault := sample(func(i int) uint64 { return uint64(i % 4) })
		assert.Greater(t, kolmogorov(fault[[2]int{0, 0}], distuv.UnitNormal.CDF), 5.0, e)
	}
}
