package matmul

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// panelOf returns B as a panel.
func panelOf[T Float](b matrix[T]) matrix[T] {
	width := PanelWidth[T](b.Cols)
	p := matrix[T]{Rows: b.Rows, Cols: width, Data: cache.Aligned[T](nil, b.Rows*width), Stride: width}
	clear(p.Data)
	for i := range b.Rows {
		copy(p.Data[i*width:], b.Data[i*b.Stride:][:b.Cols])
	}
	return p
}

// TestInPlace has the bits of other products.
func TestInPlace(t *testing.T) { bothOnEveryTier(t, testInPlace[float32], testInPlace[float64]) }

func testInPlace[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	k := best[T]()
	for _, m := range []int{0, 1, k.mostRows() + 1, 5 * k.mostRows()} {
		for _, n := range []int{0, 1, k.lanes, k.lanes + 1, 2 * k.lanes, 5*k.lanes - 1} {
			for _, inner := range []int{0, 1, 5, depth, 2*depth + 3} {
				a, b, c := random[T](rng, m, inner), random[T](rng, inner, n), random[T](rng, m, n)
				for _, beta := range []T{0, 1, -2} {
					want, got, again := c, c, c
					want.Data, got.Data, again.Data = slices.Clone(c.Data), slices.Clone(c.Data), slices.Clone(c.Data)
					var p Packed[T]
					Pack(&p, b)
					MulPacked(3, a, &p, beta, want, nil)
					MulInPlace(3, a, b, beta, got)
					TMulInPlace(3, a.transpose(), b, beta, again)
					require.Equal(t, want.Data, got.Data, "%d×%d×%d, β = %v", m, n, inner, beta)
					require.Equal(t, want.Data, again.Data, "%d×%d×%d, β = %v, transposed", m, n, inner, beta)
				}
			}
		}
	}
}

// TestSubstitution has strips with the bits of products. What is not to be read of A is NaN.
func TestSubstitution(t *testing.T) {
	bothOnEveryTier(t, testSubstitution[float32], testSubstitution[float64])
}

func testSubstitution[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	k := best[T]()
	for _, n := range []int{0, 1, k.mostRows(), k.mostRows() + 1, 3*k.mostRows() - 1, 48, 101} {
		for _, p := range []int{1, k.lanes, k.lanes + 1, 2 * k.lanes} {
			for _, backwards := range []bool{false, true} {
				a, b := random[T](rng, n, n), random[T](rng, n, p)
				panel := panelOf(b)
				strips := Strips[T](n)
				// Rows and columns of a matrix, as slices say it.
				block := func(m matrix[T], r0, r1, c0, c1 int) matrix[T] {
					return matrix[T]{Rows: r1 - r0, Cols: c1 - c0, Data: m.Data[r0*m.Stride+c0:], Stride: m.Stride}
				}
				for i := range strips {
					if backwards {
						i = strips - 1 - i
					}
					lo, hi := parallel.Share(n, strips, i), parallel.Share(n, strips, i+1)
					require.LessOrEqual(t, hi-lo, k.mostRows())
					result := random[T](rng, hi-lo, p)
					if backwards {
						TMul(1, block(a, lo, n, lo, hi), block(b, lo, n, 0, p), 0, result)
					} else {
						Mul(1, block(a, lo, hi, 0, hi), block(b, 0, hi, 0, p), 0, result)
					}
					for r := range hi - lo {
						copy(b.Data[(lo+r)*b.Stride:][:p], result.Data[r*result.Stride:][:p])
						for c := hi; c < n; c++ {
							a.Data[(lo+r)*a.Stride+c] = T(math.NaN())
						}
					}
				}
				SubstitutePanel(a, panel, backwards)
				require.Equal(t, panelOf(b).Data, panel.Data, "n = %d, p = %d, backwards = %v", n, p, backwards)
			}
		}
	}
}

func TestPanelShapes(t *testing.T) {
	width := PanelWidth[float64](1 << 20)
	matrixOf := func(r, c, stride int) matrix[float64] {
		return matrix[float64]{Rows: r, Cols: c, Data: make([]float64, (r+1)*stride), Stride: stride}
	}
	square := matrixOf(3, 3, 3)
	for name, wrong := range map[string]func(){
		"no panel":        func() { SubstitutePanel(square, matrixOf(3, width-1, width-1), false) },
		"gaps":            func() { SubstitutePanel(square, matrixOf(3, width, width+1), true) },
		"no square":       func() { SubstitutePanel(matrixOf(3, 4, 4), matrixOf(3, width, width), false) },
		"inner dimension": func() { MulInPlace(1, square, matrixOf(2, 5, 5), 0, matrixOf(3, 5, 5)) },
	} {
		assert.Panics(t, wrong, name)
	}
}

// TestPrefetch has matrices at the end of their memory and without elements.
func TestPrefetch(t *testing.T) {
	for _, s := range [][3]int{{0, 5, 5}, {3, 0, 4}, {1, 1, 1}, {7, 33, 40}, {100, 1, 1000}} {
		m := matrix[float64]{Rows: s[0], Cols: s[1], Stride: s[2]}
		if s[0] > 0 {
			m.Data = make([]float64, (s[0]-1)*s[2]+s[1])
		}
		assert.NotPanics(t, func() { Prefetch(m) })
	}
}

func TestPanelsDoNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	a, b, c := random[float32](rng, 30, 90), random[float32](rng, 90, 5), random[float32](rng, 30, 5)
	p, square := panelOf(b), random[float32](rng, 90, 90)
	assert.Zero(t, int(testing.AllocsPerRun(100, func() {
		Prefetch(b)
		MulInPlace(1, a, b, 0, c)
		SubstitutePanel(square, p, false)
	})))
}
