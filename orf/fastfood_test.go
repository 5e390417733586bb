package orf_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/orf"
)

// TestFastfoodRowsAreGaussian looks at a sparse and a dense direction of R⁵, padded
// to R⁸, by a Kolmogorov–Smirnov test at 2.5: false-alarm rate 7e-6 in each of four
// cases. One factor of Hadamard, of which the entries of a row have one size, is
// caught.
func TestFastfoodRowsAreGaussian(t *testing.T) {
	const draws = 4000
	for _, z := range [][]float64{{0, 1, 0, 0, 0}, {0.5, 0.5, 0, -0.5, 0.5}} {
		x := dense.Of(1, 5, z)
		for _, k := range []int{0, 6} {
			var sample []float64
			src := exprand.NewSource(uint64(k))
			for range draws {
				p, err := orf.Draw[float64](orf.Fastfood{}, 7, 5, src)
				require.NoError(t, err)
				sample = append(sample, p.Project(dense.Matrix[float64]{}, x).At(0, k))
			}
			assert.Less(t, kolmogorov(sample, distuv.UnitNormal.CDF), 2.5, "z = %v, row %d", z, k)
		}
	}
	var sample []float64
	src := exprand.NewSource(3)
	for range draws {
		p, err := orf.Draw[float64](orf.Hadamard{Factors: 1}, 1, 5, src)
		require.NoError(t, err)
		sample = append(sample, p.Project(dense.Matrix[float64]{}, dense.Of(1, 5, []float64{0, 1, 0, 0, 0})).At(0, 0))
	}
	assert.Greater(t, kolmogorov(sample, distuv.UnitNormal.CDF), 5.0)
}

// TestFastfoodIsUnbiased along an axis, where Hadamard is not. Margin: four
// standard errors, false-alarm rate 6e-5 a case.
func TestFastfoodIsUnbiased(t *testing.T) {
	for _, d := range []int{4, 8} {
		src := exprand.NewSource(4)
		bias, se := axisBias(t, d, 20000, func() (orf.Projection[float64], error) { return orf.Draw[float64](orf.Fastfood{}, d, d, src) })
		assert.InDelta(t, 0, bias, 4*se, "d = %d", d)
	}
}

// TestFastfoodIsItsProduct forms (1/√d')·S·H·G·Π·H·B of what has been drawn.
func TestFastfoodIsItsProduct(t *testing.T) {
	for _, d := range []int{3, 8, 11, 20} {
		order := hadamard.FastOrder(d)
		p, err := orf.Draw[float64](orf.Fastfood{}, 2*order, d, exprand.NewSource(1))
		require.NoError(t, err)
		w := p.Frequencies()
		h := hadamard.Matrix[float64](order)
		for at, b := range orf.Blocks(p) {
			rotated := b.Rotation.Apply(dense.Matrix[float64]{}, eye(d))
			assert.InDelta(t, 1, norm(b.Scale), 1e-15)
			for k, row := range b.Rows {
				for j := range d {
					want := 0.0
					for i, from := range b.From {
						want += h.At(int(row), i) * b.Scale[i] * rotated.At(j, int(from))
					}
					assert.InDelta(t, b.Lengths[k]*want, w.At(at*order+k, j), 1e-14*math.Sqrt(float64(order)), "d = %d, row %d", d, k)
				}
			}
		}
	}
}

// eye returns the rows of the unit matrix.
func eye(d int) dense.Matrix[float64] {
	m := dense.New[float64](d, d)
	for i := range d {
		m.Set(i, i, 1)
	}
	return m
}
