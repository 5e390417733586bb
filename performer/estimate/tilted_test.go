package estimate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// The moments of the weight of a frequency are sums over keys. The moments of the sample are within
// 4 standard errors of them, with one false alarm in 16,000 seeds each. Frequencies from N(0, I)
// alone underestimate the fourth moment.
func TestTilted(t *testing.T) {
	const n, d, dv, scale, a = 4000, 3, 2, 0.7, -0.3
	rng := rand.New(densetest.Source(92))
	q, k, v := densetest.Normal[float64](rng, 1, d, 0, 1.4), densetest.Normal[float64](rng, 5, d, 0, 1.4), densetest.Normal[float64](rng, 5, dv, 0, 1)
	u := must.Have(NewUnbiased[float64](UnbiasedOptions{Dim: d, Softmax: performer.Softmax{Scale: scale}, MaxCost: math.Inf(1)}, densetest.Source(93)))
	o := u.exactRow(0, q, k)
	s, err := tilt(n, o, q, k, v, scale, a, rng)
	require.NoError(t, err)
	require.Len(t, s.weights, distributions*n)

	// check compares E ω·f, with a separate mean and variance for each distribution.
	check := func(name string, want float64, f func(i int) float64) {
		t.Helper()
		var mean, variance float64
		for law := range distributions {
			m := newMoments(1, 1)
			for i := law * n; i < (law+1)*n; i++ {
				m.add(dense.Of(1, 1, []float64{s.shares[i] * f(i) * distributions * n}))
			}
			mean += m.mean.Data[0] / distributions
			variance += math.Pow(m.stderr(0)/distributions, 2)
		}
		assert.Less(t, math.Abs(mean-want), 4*math.Sqrt(variance), "%s: %v, want %v ± %v", name, mean, want, math.Sqrt(variance))
		assert.Less(t, math.Sqrt(variance), 0.1*max(want, 1), name)
	}
	exact := func(r int) float64 {
		return moment(o, q, k, scale, a, r, func(at []int) float64 { return 1 })
	}
	require.InDelta(t, 1, exact(1), 1e-12)
	check("E 1", 1, func(i int) float64 { return 1 / s.weights[i] })
	check("E ω", 1, func(i int) float64 { return 1 })
	check("E ω²", exact(2), func(i int) float64 { return s.weights[i] })
	check("E ω³", exact(3), func(i int) float64 { return math.Pow(s.weights[i], 2) })
	check("E ω⁴", exact(4), func(i int) float64 { return math.Pow(s.weights[i], 3) })
	check("E ω(V−out)", 0, func(i int) float64 { return s.away.At(i, 1) })

	var plain float64
	for i := range n {
		plain += math.Pow(s.weights[i], 4) / n
	}
	assert.Greater(t, exact(4), 1.5*plain, "what frequencies N(0, I) show")

	// With many features the terms approach an expansion in 1/m.
	const m = 1 << 20
	var out [dv]float64
	for j, w := range o.weights {
		for c := range out {
			out[c] += w * v.At(j, c)
		}
	}
	between := func(x, y int) (dot float64) {
		for c := range out {
			dot += (v.At(x, c) - out[c]) * (v.At(y, c) - out[c])
		}
		return dot
	}
	g := moment(o, q, k, scale, a, 2, func(at []int) float64 { return between(at[0], at[1]) })
	h := exact(2) - 1
	// The covariance C of ω and ω(V−out).
	var cc float64
	for c := range out {
		x := moment(o, q, k, scale, a, 2, func(at []int) float64 { return v.At(at[0], c) - out[c] })
		cc += x * x
	}
	variances, squares := make([]float64, 1), make([]float64, 1)
	s.addTerms(variances, squares, m, 3)
	assert.InEpsilon(t, 3*g/m, variances[0], 0.05)
	assert.InEpsilon(t, 3*(g*h+2*cc)/4/m/m, squares[0], 0.05)
}

// moment returns E Π ω_j·f over all r-tuples of keys j with weights P. With z = Σ √Scale·(q+k_j)
// and p = Σ Scale·‖q+k_j‖² over the tuple, E Π ω_j =
// (1+s)^(rd/2)·(1+rs)^(−d/2)·exp((1+s)‖z‖²/(2(1+rs)) − p/2).
func moment(o exactRow, q, k dense.Matrix[float64], scale, a float64, r int, f func(at []int) float64) (sum float64) {
	d, s, n := float64(k.Cols), -4*a, float64(r)
	at := make([]int, r)
	for {
		weight, p := f(at), 0.0
		z := make([]float64, k.Cols)
		for _, j := range at {
			weight *= o.weights[j]
			p += o.norms[j]
			for c := range z {
				z[c] += math.Sqrt(scale) * (q.At(0, c) + k.At(j, c))
			}
		}
		sum += weight * math.Pow(1+s, n*d/2) * math.Pow(1+n*s, -d/2) * math.Exp((1+s)*vecmath.HalfSquaredNorm(z)/(1+n*s)-p/2)
		i := 0
		for ; i < r; i++ {
			if at[i]++; at[i] < k.Rows {
				break
			}
			at[i] = 0
		}
		if i == r {
			return sum
		}
	}
}
