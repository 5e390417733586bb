package gramian

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
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
	densetest.Both(t, func(t *testing.T) { testFarRows[float32](t, 1e-3, 10, 1e3, 1e10, 4e18, 1e30) },
		func(t *testing.T) { testFarRows[float64](t, 1e-8, 10, 1e4, 1e10, 4e153, 1e200, 1e300) })
}

// BenchmarkTile has the least times of a tile with its products KV and KᵀV, and of the products
// XYᵀ, KV and KᵀV alone. A tile is so short that other processes seldom interrupt it.
func BenchmarkTile(b *testing.B) {
	b.Run("type=float32", benchmarkTile[float32])
	b.Run("type=float64", benchmarkTile[float64])
}

func benchmarkTile[T dense.Float](b *testing.B) {
	const rows, block, few = 64, 256, 8
	for c := range 6 {
		k := kernels.Matern{Nu: 2.5, LengthScale: 3}
		d, width := []int{8, 20, 64}[c/2], []int{2, 27}[c%2] // a column for the constant
		rng := rand.New(rand.NewPCG(1, 2))
		p := NewPoints[T](k, densetest.Normal[float64](rng, rows+block, d, 0, 1), make([]float64, d))
		x, y := p.Rows(0, rows), p.Rows(rows, rows+block)
		v, u := densetest.Normal[T](rng, block, width, 0, 1), densetest.Normal[T](rng, rows, width, 0, 1)
		across, acrossU := dense.Transpose(dense.Matrix[T]{}, v), dense.Transpose(dense.Matrix[T]{}, u)
		var tile Tile[T]
		tile.Begin(y)
		g, sums, below := dense.New[T](rows, block), dense.New[T](rows, width), dense.New[T](block, width)
		sumsAcross, belowAcross := dense.New[T](width, rows), dense.New[T](width, block)
		both := func(g dense.Matrix[T]) {
			matmul.MulInPlace(1, g, v, 0, sums)
			matmul.TMulInPlace(1, g, u, 0, below)
		}
		for name, f := range map[string]func(){
			"tile": func() {
				if g := tile.Fill(k, x, y); width > few {
					both(g)
				} else {
					matmul.MulT(1, across, g, 0, sumsAcross)
					matmul.MulInPlace(1, acrossU, g, 0, belowAcross)
				}
			},
			"products": func() {
				matmul.MulPacked(1, x.moved, &tile.packed, 0, g, nil)
				both(g)
			},
		} {
			b.Run(fmt.Sprintf("d=%d/outputs=%d/%s", d, width-1, name), func(b *testing.B) {
				least := time.Hour
				for b.Loop() {
					start := time.Now()
					f()
					least = min(least, time.Since(start))
				}
				b.ReportMetric(float64(least.Nanoseconds()), "least-ns/op")
			})
		}
	}
}
