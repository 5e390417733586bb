package hypothesis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
)

// ‖A‖·(1/m + 1/n) is the distance of the means, also with rows outside cells in both samples.
func TestMovesAreTheDistance(t *testing.T) {
	const d = 3
	src := rand.NewPCG(1, 2)
	rng := rand.New(src)
	phi := must.Have(rff.Draw[float64](rff.Identity{D: d}, nil))
	var cells [2]*Cells[float64]
	rows := [2]int{53, 200}
	for i, n := range rows {
		x := dense.New[float64](n, d)
		for j := range x.Data {
			x.Data[j] = 100 + float64(i) + rng.NormFloat64()
		}
		cells[i] = must.Have(NewCells(phi, 5, 20))
		require.NoError(t, cells[i].Add(x, src))
	}
	left, right := cells[0].whole(), cells[1].whole()
	m := newMoves(cells[0], cells[1], left, right)
	sum := append([]float64(nil), m.fixed...)
	for i := range m.first {
		for j, v := range m.sums.Row(i) {
			sum[j] += v
		}
	}
	for j, v := range sum {
		assert.InDelta(t, left.mean[j]-right.mean[j], math.Ldexp(v*(1./53+1./200), m.exponent), 1e-12)
	}
	require.NotNil(t, cells[0].open)
	require.NotNil(t, cells[1].outside)
	assert.Less(t, math.Ldexp(m.tolerance, m.exponent), 1e-9)
}
