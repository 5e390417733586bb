package kmeans_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/kmeans"
	"github.com/seed-feabd252/randfeat/rff"
)

// objective is that of kernel k-means: Σk(x_i, x_i) − Σ_c 1/n_c·Σ_{i,j in c} k(x_i, x_j).
func objective(gram dense.Matrix[float64], labels []int, k int) float64 {
	sizes, within, total := make([]float64, k), make([]float64, k), 0.0
	for i, c := range labels {
		sizes[c]++
		total += gram.At(i, i)
		for j, other := range labels {
			if other == c {
				within[c] += gram.At(i, j)
			}
		}
	}
	for c, n := range sizes {
		if n > 0 {
			total -= within[c] / n
		}
	}
	return total
}

// The inertia of features is the objective of their kernel, and no clustering of 9 rows in 2 has a
// smaller one than the best of some starts.
func TestKernelObjective(t *testing.T) {
	const n, d, k = 9, 3, 2
	rng := rand.New(rand.NewPCG(1, 2))
	x := dense.New[float64](n, d)
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	phi := must.Have(rff.Draw[float64](rff.Quadratic{D: d}, nil))
	gram := kernels.Gram(dense.Matrix[float64]{}, phi.Kernel(), x, x)
	best := 1e9
	for seed := range uint64(20) {
		c := must.Have(kmeans.Cluster(t.Context(), phi.Transform(dense.Matrix[float64]{}, x), k, kmeans.Options[float64]{MaxIterations: 100}, rand.NewPCG(seed, 1)))
		assert.InDelta(t, objective(gram, c.Labels, k), c.Inertia, 1e-12*c.Inertia)
		best = min(best, c.Inertia)
	}
	least := 1e9
	labels := make([]int, n)
	for code := range 1 << n {
		for i := range labels {
			labels[i] = code >> i & 1
		}
		least = min(least, objective(gram, labels, k))
	}
	assert.InDelta(t, least, best, 1e-12*least)
}
