package gramian

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Rows far from the others have the kernel of their differences, to themselves, to each other and
// to the others, up to the largest coordinates.
func testFarRows[T dense.Float](t *testing.T, tolerance float64, sizes ...float64) {
	const n, d = 40, 3
	for _, size := range sizes {
		rng := rand.New(rand.NewPCG(1, 2))
		x := dense.New[float64](n, d)
		for i := range n {
			for j := range d {
				x.Set(i, j, rng.NormFloat64())
			}
			if i%8 == 3 {
				x.Row(i)[1] = float64(T(size * float64(1+i%3)))
			}
		}
		x = dense.Copy(x, dense.Copy(dense.Matrix[T]{}, x))
		for _, k := range []kernels.Kernel{kernels.Gaussian{LengthScale: 2}, kernels.Matern{Nu: 0.5}, kernels.Matern{Nu: 1.5}, kernels.Matern{Nu: 2.5}} {
			p := NewPoints[T](k, x, Medians(x))
			var tile Tile[T]
			tile.Begin(p)
			g := tile.Fill(k, p, p)
			for i := range n {
				for j := range n {
					if i != j || i%8 == 3 && size > 1e3 {
						assert.InDelta(t, k.Eval(x.Row(i), x.Row(j)), float64(g.At(i, j)), tolerance, "%v of rows %d and %d, %v", k, i, j, size)
					}
				}
			}
		}
	}
}

func TestFarRows(t *testing.T) {
	densetest.Both(t, func(t *testing.T) { testFarRows[float32](t, 1e-3, 10, 1e3, 1e10, 1e30) },
		func(t *testing.T) { testFarRows[float64](t, 1e-8, 10, 1e4, 1e10, 1e200, 1e300) })
}
