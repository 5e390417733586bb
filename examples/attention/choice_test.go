package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// On pairs of word vectors each change from FAVOR+ over independent frequencies to SDERF lowers the
// exact mean squared relative error of the kernel: orthogonal frequencies, the optimal features,
// the fit to the spread of the words.
func TestMapsOfWords(t *testing.T) {
	s := settings{seed: 1, length: 512, norm: 5, draws: 2}
	in, err := fromText(s)
	require.NoError(t, err)
	h, scale := in.heads[0], 1.0/8
	q, k := dense.Copy(dense.Matrix[float64]{}, h.q), dense.Copy(dense.Matrix[float64]{}, h.k)
	a, err := rff.OptimalA(q, k, scale)
	require.NoError(t, err)
	for _, m := range []int{64, 256, 1024} {
		frequencies := func(e orf.Ensemble) orf.Projection[float64] {
			w, err := orf.Draw[float64](e, m, dim, rand.NewPCG(1, 2))
			require.NoError(t, err)
			return w
		}
		relative := func(phi rff.Map[float64], err error) float64 {
			require.NoError(t, err)
			rng := rand.New(rand.NewPCG(3, 4))
			const pairs = 256
			var sum float64
			for range pairs {
				x, y := q.Row(rng.IntN(q.Rows)), k.Row(rng.IntN(k.Rows))
				exact := phi.Kernel().Eval(x, y)
				sum += validate.Theory(phi, nil, x, y).MSE / exact / exact
			}
			return sum / pairs
		}
		iid, orthogonal, simplex := frequencies(orf.IID{}), frequencies(orf.GramSchmidt{}), frequencies(orf.Simplex{})
		positive := relative(rff.Draw(rff.SoftmaxPositive{Scale: scale}, iid))
		positiveOrthogonal := relative(rff.Draw(rff.SoftmaxPositive{Scale: scale}, orthogonal))
		optimal := relative(rff.Draw(rff.SoftmaxOptimal{Scale: scale, A: a}, orthogonal))
		damped, err := rff.FitSDERF(q, k, scale)
		require.NoError(t, err)
		balanced, err := rff.FitSADERF(q, k, scale)
		require.NoError(t, err)
		sderf := relative(rff.Draw(damped, iid))
		assert.Less(t, positiveOrthogonal, positive)
		assert.Less(t, relative(rff.Draw(rff.SoftmaxPositive{Scale: scale}, simplex)), positiveOrthogonal)
		assert.Less(t, 5*optimal, positiveOrthogonal)
		assert.Less(t, 2*sderf, optimal)
		// Queries are keys, so the balance of SADERF has no effect.
		assert.InEpsilon(t, optimal, relative(rff.Draw(balanced, orthogonal)), 1e-4)
		assert.InDelta(t, 19, positive/sderf, 1, "docs/maps.md")
	}
}
