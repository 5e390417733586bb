package orf_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
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

// TestPaddedLengths: with d = 5 padded to 8, a frequency is five coordinates of
// one with length χ(8), so that its squared norm has mean 5 and, when the length
// is √8, each coordinate still has mean square 1. False-alarm rate 6e-5 a case.
func TestPaddedLengths(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		src := exprand.NewSource(9)
		var m moments
		for range 4000 {
			p := must.Have(orf.Draw[float64](orf.Hadamard{FixedLength: fixed}, 1, 5, src))
			w := p.Frequencies().Row(0)
			m.add(dot(w, w))
		}
		assert.Less(t, m.z(5), 4.0)
	}
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

// besselMean is ₀F₁(; d/2; −d·q/4).
func besselMean(d int, q float64) float64 {
	sum, term := 0.0, 1.0
	for k := 0.0; math.Abs(term) > 1e-18 || k < 10; k++ {
		sum += term
		term *= -float64(d) * q / 4 / ((float64(d)/2 + k) * (k + 1))
	}
	return sum
}

// TestFixedLengthBias: the mean of cos(w·z) is ₀F₁(; d/2; −d·q/4) with lengths
// √d and exp(−q/2) with χ lengths, and the two laws are told apart. False-alarm
// rate 6e-5 in each of eight cases.
func TestFixedLengthBias(t *testing.T) {
	for _, c := range constructions[float64]()[:2] {
		for _, d := range []int{4, 8} {
			t.Run(fmt.Sprintf("%s/d=%d", c.name, d), func(t *testing.T) {
				z := make([]float64, d)
				for j := range z {
					z[j] = math.Sqrt(3 / float64(d))
				}
				measure := func(c construction[float64]) *moments {
					src := exprand.NewSource(12)
					var m moments
					for range 10000 {
						p := must.Have(c.draw(d, d, src))
						w := p.Frequencies()
						sum := 0.0
						for k := range d {
							sum += math.Cos(dot(w.Row(k), z))
						}
						m.add(sum / float64(d))
					}
					return &m
				}
				fixed, chi := measure(c.fixedLength()), measure(c)
				assert.Less(t, fixed.z(besselMean(d, 3)), 4.0, "FixedLength obeys its law")
				assert.Less(t, chi.z(math.Exp(-1.5)), 4.0, "χ lengths are unbiased")
				assert.Greater(t, fixed.z(math.Exp(-1.5)), 10.0, "fixed lengths where χ is due are caught")
			})
		}
	}
}
