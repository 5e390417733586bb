package orf_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/internal/testing/must"
)

// kolmogorov returns √n·sup|F_n − F| of the sample against the cdf.
func kolmogorov(sample []float64, cdf func(float64) float64) float64 {
	slices.Sort(sample)
	n := float64(len(sample))
	worst := 0.0
	for i, v := range sample {
		f := cdf(v)
		worst = max(worst, f-float64(i)/n, float64(i+1)/n-f)
	}
	return math.Sqrt(n) * worst
}

// TestLengthsAreChi is a Kolmogorov–Smirnov test of 4000 squared lengths
// against χ²(d). The false-alarm rate at 2.5 is 2·exp(−2·2.5²) = 7e-6 in each
// of 20 cases. Fixed lengths where χ is due must fail it.
func TestLengthsAreChi(t *testing.T) {
	const n = 4000
	forEach(t, func(t *testing.T, c construction[float64]) {
		for _, d := range []int{1, 2, 4, 16, 64} {
			squares := func(c construction[float64]) []float64 {
				w := c.must(t, n, d, uint64(d)).Frequencies()
				s := make([]float64, n)
				for k := range s {
					s[k] = dot(w.Row(k), w.Row(k))
				}
				return s
			}
			law := distuv.ChiSquared{K: float64(d)}
			assert.Less(t, kolmogorov(squares(c), law.CDF), 2.5, "d = %d", d)
			fixed := squares(c.fixedLength())
			for _, v := range fixed {
				require.InDelta(t, d, v, 1e-13*float64(d), "d = %d: FixedLength", d)
			}
			assert.Greater(t, kolmogorov(fixed, law.CDF), 10.0, "d = %d: fixed lengths are caught", d)
		}
	})
}

// TestRowMarginals: every frequency of every construction has mean 0 and
// covariance I, and lengths of a block are uncorrelated. 4 + 10 + 1 statistics
// at 5 standard errors in each of eight cases: false-alarm rate below 1e-4.
func TestRowMarginals(t *testing.T) {
	const draws = 5000
	forEach(t, func(t *testing.T, c construction[float64]) {
		for _, k := range []int{0, 3} {
			src := exprand.NewSource(uint64(k) + 1)
			var m moments
			for range draws {
				p := must.Have(c.draw(4, 4, src))
				w := p.Frequencies()
				values := slices.Clone(w.Row(k))
				for i := range 4 {
					for j := range i + 1 {
						values = append(values, w.At(k, i)*w.At(k, j))
					}
				}
				m.add(append(values, (dot(w.Row(0), w.Row(0))-4)*(dot(w.Row(3), w.Row(3))-4))...)
			}
			want := make([]float64, 4, 15)
			for i := range 4 {
				for j := range i + 1 {
					want = append(want, map[bool]float64{true: 1}[i == j])
				}
			}
			assert.Less(t, m.z(append(want, 0)...), 5.0, "row %d", k)
		}
	})
}

// TestOneDimension: in R¹ a frequency is a standard normal number of either
// sign in every construction. Kolmogorov–Smirnov, false-alarm rate 7e-6 each.
func TestOneDimension(t *testing.T) {
	forEach(t, func(t *testing.T, c construction[float64]) {
		w := c.must(t, 4000, 1, 2).Frequencies()
		assert.Less(t, kolmogorov(w.Data, distuv.UnitNormal.CDF), 2.5)
		for _, v := range c.fixedLength().must(t, 100, 1, 2).Frequencies().Data {
			assert.InDelta(t, 1, math.Abs(v), 0x1p-52)
		}
	})
}
