package semiseparable

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// cuts are shapes, and chunks that do not fit them.
var cuts = []struct{ n, d, p, chunk, window int }{
	{1, 1, 1, 48, 8}, {1, 0, 3, 48, 8}, {2, 5, 1, 1, 1}, {15, 3, 2, 16, 2}, {17, 3, 33, 64, 2}, {33, 40, 5, 7, 3},
	{50, 100, 31, 48, 8}, {129, 17, 65, 64, 1}, {200, 9, 100, 1, 16}, {300, 30, 3, 300, 1}, {433, 20, 70, 48, 4}, {120, 9, 300, 48, 2}, {90, 0, 4, 7, 2},
}

func testSweep[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range cuts {
		m := deltaRule[T](rng, c.n, c.d)
		for _, unit := range []bool{true, false} {
			if !unit {
				m.Diag = diagonal[T](rng, c.n)
			}
			x := densetest.Normal[T](rng, c.n, c.p, 0, 1)
			for _, transposed := range []bool{false, true} {
				y, err := m.solve(dense.Matrix[T]{}, x, transposed, sizes{c.chunk, c.window})
				require.NoError(t, err)
				a, size := truth(m, transposed)
				require.LessOrEqual(t, backwardError(a, size, y, x), tolerance[T](c.n, c.d, c.chunk), "%+v, transposed: %v", c, transposed)
			}
		}
	}
}

func TestSolve(t *testing.T) { densetest.Both(t, testSweep[float32], testSweep[float64]) }

func testViews[T dense.Float](t *testing.T) {
	const n, d, p = 133, 21, 70
	rng := rand.New(rand.NewPCG(7, 8))
	packed := deltaRule[T](rng, n, d)
	packed.Diag = diagonal[T](rng, n)
	x := densetest.Normal[T](rng, n, p, 0, 1)
	q, checkQ := embed(t, packed.Q)
	k, checkK := embed(t, packed.K)
	v, checkV := embed(t, x)
	m := Matrix[T]{Diag: packed.Diag, Q: q, K: k}
	for _, transposed := range []bool{false, true} {
		want, err := packed.solve(dense.Matrix[T]{}, x, transposed, packed.tuned())
		require.NoError(t, err)
		got, checkGot := embed(t, dense.New[T](n, p))
		_, err = m.solve(got, v, transposed, m.tuned())
		require.NoError(t, err)
		assert.Equal(t, want.Data, got.Clone().Data)
		checkGot()
		assert.Equal(t, x.Data, v.Clone().Data, "the operand is left alone")

		got, checkGot = embed(t, x)
		_, err = m.solve(got, got, transposed, m.tuned())
		require.NoError(t, err)
		assert.Equal(t, want.Data, got.Clone().Data, "in place")
		checkGot()
	}
	want, err := packed.Inverse(dense.Matrix[T]{})
	require.NoError(t, err)
	got, checkGot := embed(t, densetest.Normal[T](rng, n, n, 0, 1))
	_, err = m.Inverse(got)
	require.NoError(t, err)
	assert.Equal(t, want.Data, got.Clone().Data)
	checkGot()
	checkQ()
	checkK()
	checkV()
}

func TestViews(t *testing.T) { densetest.Both(t, testViews[float32], testViews[float64]) }

func testColumns[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	m, x := deltaRule[T](rng, 500, 30), densetest.Normal[T](rng, 500, 150, 0, 1)
	inverse, err := m.inverse(dense.Matrix[T]{}, 40)
	require.NoError(t, err)
	// Triangles of independent q and k are not inverted.
	ill := Matrix[T]{Q: densetest.Normal[T](rng, 100, 6, 0, 1), K: densetest.Normal[T](rng, 100, 6, 0, 1)}
	moderate := densetest.Normal[T](rng, 100, 150, 0, 1)
	for _, transposed := range []bool{false, true} {
		a, _ := truth(ill, transposed)
		for _, c := range []struct {
			m Matrix[T]
			v dense.Matrix[T]
		}{{m, x}, {ill, times(a, moderate)}} {
			all, err := c.m.solve(dense.Matrix[T]{}, c.v, transposed, c.m.tuned())
			require.NoError(t, err)
			for _, j := range []int{0, 31, 63, 64, 149} {
				one, err := c.m.solve(dense.Matrix[T]{}, c.v.ColRange(j, j+1), transposed, c.m.tuned())
				require.NoError(t, err)
				assert.Equal(t, all.ColRange(j, j+1).Clone().Data, one.Data, "column %d", j)
			}
			for _, procs := range []int{1, 2, 5} {
				before, v := runtime.GOMAXPROCS(procs), c.v.Clone()
				got, err := c.m.solve(v, v, transposed, c.m.tuned())
				require.NoError(t, err)
				assert.Equal(t, all.Data, got.Data, "GOMAXPROCS=%d", procs)
				got, err = m.inverse(dense.Matrix[T]{}, 40)
				runtime.GOMAXPROCS(before)
				require.NoError(t, err)
				assert.Equal(t, inverse.Data, got.Data, "GOMAXPROCS=%d", procs)
			}
		}
	}
}

func TestColumnsAndProcessorsDoNotMatter(t *testing.T) {
	densetest.Both(t, testColumns[float32], testColumns[float64])
}

// TestEmpty solves for nothing, and a system without rows.
func TestEmpty(t *testing.T) {
	for _, s := range [][3]int{{0, 3, 2}, {5, 3, 0}, {0, 0, 0}} {
		m := Matrix[float32]{Q: dense.New[float32](s[0], s[1]), K: dense.New[float32](s[0], s[1])}
		for _, transposed := range []bool{false, true} {
			got, err := m.solve(dense.Matrix[float32]{}, dense.New[float32](s[0], s[2]), transposed, m.tuned())
			require.NoError(t, err)
			assert.Equal(t, []int{s[0], s[2]}, []int{got.Rows, got.Cols})
		}
		_, err := m.Inverse(dense.Matrix[float32]{})
		require.NoError(t, err)
	}
}

func FuzzSolve(f *testing.F) {
	f.Add(uint64(1), uint8(100), uint8(20), uint8(40), uint8(48), uint8(8))
	f.Add(uint64(2), uint8(1), uint8(0), uint8(1), uint8(0), uint8(0))
	f.Add(uint64(3), uint8(255), uint8(3), uint8(65), uint8(16), uint8(1))
	f.Fuzz(func(t *testing.T, seed uint64, n, d, p, chunk, window uint8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		size := sizes{int(chunk) + 1, int(window) + 1}
		m, x := deltaRule[float64](rng, int(n), int(d)), densetest.Normal[float64](rng, int(n), int(p), 0, 1)
		for _, transposed := range []bool{false, true} {
			y, err := m.solve(dense.Matrix[float64]{}, x, transposed, size)
			require.NoError(t, err)
			a, magnitudes := truth(m, transposed)
			require.LessOrEqual(t, backwardError(a, magnitudes, y, x), 2*tolerance[float64](max(1, int(n)), int(d), size.chunk))
		}
	})
}
