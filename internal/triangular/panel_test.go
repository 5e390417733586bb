package triangular

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/product"
)

// Panels solve what matrices do, up to the order of subtractions. What is above the triangles on
// the diagonal is NaN: it must not be read.
func TestPanels(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testPanels[float32](t, 2e-5) })
	t.Run("type=float64", func(t *testing.T) { testPanels[float64](t, 4e-14) })
}

func testPanels[T dense.Float](t *testing.T, tolerance float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 15, 16, 17, 32, 47, 64} {
		prepared := dense.New[T](n, n)
		for i := range n {
			for j := range n {
				prepared.Set(i, j, T(math.NaN()))
				if j < i {
					prepared.Set(i, j, T(rng.NormFloat64()/math.Sqrt(float64(n))))
				}
			}
		}
		Invert(prepared, nil)
		for _, p := range []int{1, 5, product.PanelWidth[T](1 << 20)} {
			width := product.PanelWidth[T](p)
			want, w, y := dense.New[T](n, p), dense.New[T](n, width), dense.New[T](n, width)
			for i := range want.Data {
				want.Data[i] = T(rng.NormFloat64())
			}
			for i := range y.Data {
				y.Data[i] = T(math.NaN())
			}
			for _, transposed := range []bool{false, true} {
				solve, solvePanel := Solve[T], SolvePanel[T]
				if transposed {
					solve, solvePanel = SolveTransposed[T], SolvePanelTransposed[T]
				}
				product.PackPanel(w, want)
				solvePanel(prepared, y, w)
				var scratch product.Packed[T]
				solve(prepared, want, &scratch)
				for i := range n {
					for j := range p {
						require.InDelta(t, float64(want.At(i, j)), float64(y.At(i, j)), tolerance, "n = %d, p = %d, transposed = %v", n, p, transposed)
					}
				}
			}
		}
	}
}
