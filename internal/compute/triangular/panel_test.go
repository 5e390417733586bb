package triangular

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Panels solve what matrices do, up to rounding. What is above the triangles on the diagonal is
// NaN: it must not be read.
func TestPanels(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testPanels[float32](t, 2e-5) })
	t.Run("type=float64", func(t *testing.T) { testPanels[float64](t, 4e-14) })
}

func testPanels[T dense.Float](t *testing.T, tolerance float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	var s Scratch[T]
	for _, n := range []int{0, 1, 11, 15, 16, 17, 32, 47, 64} {
		for _, unit := range []bool{true, false} {
			lower := dense.New[T](n, n)
			var diag []T
			for i := range n {
				for j := range n {
					lower.Set(i, j, T(math.NaN()))
					if j < i {
						lower.Set(i, j, T(rng.NormFloat64()/math.Sqrt(float64(n))))
					}
				}
				if !unit {
					diag = append(diag, T(1+rng.Float64()))
				}
			}
			var f Factor[T]
			f.Set(lower.Clone(), diag)
			for _, p := range []int{1, 3, matmul.PanelWidth[T](1 << 20)} {
				width := matmul.PanelWidth[T](p)
				want, w := dense.New[T](n, p), dense.New[T](n, width)
				for _, transposed := range []bool{false, true} {
					solve := f.Solve
					if transposed {
						solve = f.SolveTransposed
					}
					for i := range want.Data {
						want.Data[i] = T(rng.NormFloat64())
					}
					// With gaps between rows.
					prepared := dense.Copy(dense.New[T](n, n+3).ColRange(1, n+1), lower)
					panels := s.PanelFactor(prepared, diag, transposed)
					dense.Copy(w.ColRange(0, p), want)
					panels.Solve(w)
					solve(want)
					for i := range n {
						for j := range p {
							require.InDelta(t, float64(want.At(i, j)), float64(w.At(i, j)), tolerance, "n = %d, p = %d, unit = %v, transposed = %v", n, p, unit, transposed)
						}
					}
				}
			}
		}
	}
}

func TestPanelsDoNotAllocate(t *testing.T) {
	var s Scratch[float64]
	lower, w := dense.New[float64](48, 48), dense.New[float64](48, matmul.PanelWidth[float64](1))
	assert.Zero(t, int(testing.AllocsPerRun(100, func() {
		s.PanelFactor(lower, nil, false).Solve(w)
		s.PanelFactor(lower, nil, true).Solve(w)
	})))
}
