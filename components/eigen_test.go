package components

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// spectrum returns the symmetric matrix of the given eigenvalues, with random eigenvectors.
func spectrum(values []float64) dense.Matrix[float64] {
	n := len(values)
	rng := rand.New(rand.NewPCG(3, 4))
	random := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			random.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(random)
	var q mat.Dense
	qr.QTo(&q)
	var scaled mat.Dense
	scaled.Apply(func(_, j int, v float64) float64 { return v * values[j] }, &q)
	a := dense.New[float64](n, n)
	mat.NewDense(n, n, a.Data).Mul(&scaled, q.T())
	for i := range n {
		for j := range i {
			a.Set(i, j, a.At(j, i))
		}
	}
	return a
}

// A Krylov space gives what a decomposition gives, or says that it does not suffice: for spectra
// that decay, that have groups of equal values, that are nearly flat, and of small rank.
func TestLeading(t *testing.T) {
	const n, r = 240, 7
	decay := func(f func(i int) float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = f(i)
		}
		return values
	}
	for name, c := range map[string]struct {
		values  []float64
		suffice bool
	}{
		"exponential": {decay(func(i int) float64 { return math.Exp(-float64(i) / 3) }), true},
		"power":       {decay(func(i int) float64 { return 1 / float64((1+i)*(1+i)) }), true},
		"groups":      {decay(func(i int) float64 { return math.Pow(0.25, float64(i/5)) }), true},
		"rank 3":      {decay(func(i int) float64 { return max(0, 3-float64(i)) }), true},
		"rank 1":      {decay(func(i int) float64 { return max(0, 1-float64(i)) }), true},
		"equal":       {decay(func(int) float64 { return 1 }), true},
		"tail":        {decay(func(i int) float64 { return 1 + 1/float64(1+i) }), false},
		"flat":        {decay(func(i int) float64 { return 1 - float64(i)/(10*n) }), false},
		"huge gap":    {decay(func(i int) float64 { return math.Pow(1e-12, math.Min(float64(i), 1)) / float64(1+i) }), true},
	} {
		a := spectrum(c.values)
		values, _, err := krylov(t.Context(), a, r)
		require.NoError(t, err)
		assert.Equal(t, c.suffice, values != nil, name)
		values, vectors, err := leading(t.Context(), a, r)
		require.NoError(t, err)
		assert.InDeltaSlice(t, c.values[:r], values, 4*n*unit, name)
		product, gram := dense.New[float64](r, n), dense.New[float64](r, r)
		matmul.Mul(1, vectors, a, 0, product)
		matmul.MulT(1, vectors, vectors, 0, gram)
		for k := range r {
			for j, v := range product.Row(k) {
				require.InDelta(t, values[k]*vectors.At(k, j), v, 4*n*unit, "%s, vector %d", name, k)
			}
			for l := range r {
				require.InDelta(t, map[bool]float64{true: 1}[k == l], gram.At(k, l), 1e-11, "%s, vectors %d and %d", name, k, l)
			}
		}
	}
}

func TestLeadingStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, n := range []int{10, 300} {
		_, _, err := leading(ctx, spectrum(make([]float64, n)), 1)
		assert.ErrorIs(t, err, context.Canceled)
	}
}
