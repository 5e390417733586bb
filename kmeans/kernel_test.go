package kmeans_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/kmeans"
	"github.com/seed-feabd252/randfeat/orf"
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
		c := must.Have(kmeans.Cluster(t.Context(), phi.Transform(dense.Matrix[float64]{}, x), k, 100, kmeans.Options[float64]{}, rand.NewPCG(seed, 1)))
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

// With random features of a Gaussian kernel the clusters are nearly as good for the kernel itself.
// An inner product of 2,048 orthogonal features has a standard error of 1/√2048 = 0.02 at most,
// which a mean over pairs of rows does not exceed; the bound is 4 of them for each row.
func TestRandomFeaturesObjective(t *testing.T) {
	const n, d, k = 200, 4, 3
	rng := rand.New(rand.NewPCG(3, 4))
	x := dense.New[float64](n, d)
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64() + float64(3*(i/d%k))
	}
	w := must.Have(orf.Draw[float64](orf.GramSchmidt{}, 1024, d, rand.NewPCG(5, 6)))
	phi := must.Have(rff.Draw(rff.Gaussian{LengthScale: 3}, w))
	gram := kernels.Gram(dense.Matrix[float64]{}, phi.Kernel(), x, x)
	c := must.Have(kmeans.Cluster(t.Context(), phi.Transform(dense.Matrix[float64]{}, x), k, 100, kmeans.Options[float64]{}, rand.NewPCG(1, 1)))
	assert.InDelta(t, objective(gram, c.Labels, k), c.Inertia, 4*0.02*n)
	other := kernels.Gram(dense.Matrix[float64]{}, kernels.Gaussian{LengthScale: 2}, x, x)
	assert.Greater(t, objective(other, c.Labels, k)-c.Inertia, 4*0.02*n, "another kernel is caught")
	truth := make([]int, n)
	for i := range truth {
		truth[i] = i % k
	}
	assert.LessOrEqual(t, objective(gram, c.Labels, k), objective(gram, truth, k)+2*4*0.02*n)
}
