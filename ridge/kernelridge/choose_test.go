package kernelridge_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

// The score is the squared error of fits without each row, and the choice has the least of them.
func TestChoose(t *testing.T) {
	b := waves[float64](80, 0, 1)
	candidates := []kernels.Kernel{kernels.Gaussian{LengthScale: 0.05}, kernels.Gaussian{LengthScale: 1.5}, kernels.Gaussian{LengthScale: 50}}
	c := must.Have(kernelridge.Choose(t.Context(), candidates, b, rand.NewPCG(1, 2)))
	assert.Equal(t, 1, c.Kernel)
	score := func(ratio float64) float64 {
		sum, null := 0.0, 0.0
		var mean, weight [2]float64
		for i := range 80 {
			for j := range 2 {
				mean[j] += b.Weights[i] * b.Y.At(i, j)
				weight[j] += b.Weights[i]
			}
		}
		for i := range 80 {
			for j, e := range leftOut(t, candidates[1], b, ratio, i) {
				own := b.Y.At(i, j) - mean[j]/weight[j]
				sum += b.Weights[i] * e * e
				null += b.Weights[i] * own * own
			}
		}
		return sum / null
	}
	assert.InEpsilon(t, score(c.Ratio), c.Score, 1e-8)
	assert.Less(t, c.Score, score(4*c.Ratio))
	assert.Less(t, c.Score, score(c.Ratio/4))

	// Weights and kernels in other units have the same choice in these units.
	heavy := b
	heavy.Weights = make([]float64, 80)
	for i, w := range b.Weights {
		heavy.Weights[i] = 0x1p20 * w
	}
	again := must.Have(kernelridge.Choose(t.Context(), []kernels.Kernel{kernels.Scaled{K: candidates[1], By: 8}}, heavy, rand.NewPCG(1, 2)))
	assert.InEpsilon(t, 0x1p23*c.Ratio, again.Ratio, 1e-12)
	assert.InEpsilon(t, c.Score, again.Score, 1e-6)
}

func TestChooseErrors(t *testing.T) {
	b := waves[float64](5, 0, 1)
	for want, candidates := range map[string][]kernels.Kernel{
		"kernelridge: candidates has no kernels":        nil,
		"kernelridge: candidates[1]: kernels: k is nil": {kernels.Gaussian{}, nil},
	} {
		_, err := kernelridge.Choose(t.Context(), candidates, b, rand.NewPCG(1, 2))
		assert.EqualError(t, err, want)
	}
	_, err := kernelridge.Choose(t.Context(), []kernels.Kernel{kernels.Gaussian{}}, b.RowRange(0, 1), rand.NewPCG(1, 2))
	assert.EqualError(t, err, "kernelridge: 1 rows of positive weight with 2 targets, want at least 2 and 1")
	same := b
	same.Y = dense.New[float64](5, 2)
	_, _, err = kernelridge.Scales(t.Context(), kernels.Gaussian{}, same, rand.NewPCG(1, 2))
	assert.EqualError(t, err, "kernelridge: the targets are the same in 5 rows, want targets that vary")
	_, err = kernelridge.Choose(t.Context(), []kernels.Kernel{kernels.Gaussian{}}, b, nil)
	assert.EqualError(t, err, "kernelridge: src is nil, want a source of randomness")
}
