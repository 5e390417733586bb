package semiseparable

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
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

func TestAgainstConditionNumber(t *testing.T) {
	const n, d, p = 450, 60, 4
	rng := rand.New(rand.NewPCG(3, 4))
	m := deltaRule[float64](rng, n, d)
	m.Diag = diagonal[float64](rng, n)
	a, _ := truth(m, false)
	v := densetest.Normal[float64](rng, n, p, 0, 1)
	for _, chunk := range []int{1, 7, 64, 200, n} {
		inverse, err := m.inverse(dense.Matrix[float64]{}, chunk)
		require.NoError(t, err)
		tolerance := tolerance[float64](n, d, chunk) * mat.Norm(gonum.ToMat(a), math.Inf(1)) * mat.Norm(gonum.ToMat(inverse), math.Inf(1))
		y, err := m.solve(dense.Matrix[float64]{}, v, false, sizes{chunk, 3})
		require.NoError(t, err)
		var product, again mat.Dense
		product.Mul(gonum.ToMat(a), gonum.ToMat(inverse))
		again.Mul(gonum.ToMat(a), gonum.ToMat(y))
		for i := range n {
			product.Set(i, i, product.At(i, i)-1)
		}
		again.Sub(&again, gonum.ToMat(v))
		assert.LessOrEqual(t, mat.Max(&product), tolerance, "T·T⁻¹, chunk %d", chunk)
		assert.GreaterOrEqual(t, mat.Min(&product), -tolerance, "T·T⁻¹, chunk %d", chunk)
		assert.LessOrEqual(t, mat.Max(&again), tolerance, "T·(T⁻¹V), chunk %d", chunk)
		assert.GreaterOrEqual(t, mat.Min(&again), -tolerance, "T·(T⁻¹V), chunk %d", chunk)
	}
}

// TestIntegers has solutions that are small integers, which must come out to the last bit.
func TestIntegers(t *testing.T) { densetest.Both(t, testIntegers[float32], testIntegers[float64]) }

func testIntegers[T dense.Float](t *testing.T) {
	const n, d, p = 150, 6, 3
	rng := rand.New(rand.NewPCG(5, 6))
	m := Matrix[T]{Q: dense.New[T](n, d), K: dense.New[T](n, d)}
	for i := range n {
		// Queries and keys hardly meet, so that numbers stay small.
		m.Q.Set(i, i%d, T(rng.IntN(3)-1))
		m.K.Set(i, (i+1)%d, T(rng.IntN(2)))
	}
	for i := 40; i < n; i++ {
		clear(m.Q.Row(i)[1:])
	}
	m.Diag = make([]T, n)
	for i := range m.Diag {
		m.Diag[i] = T(2*rng.IntN(2) - 1)
	}
	want := dense.New[T](n, p)
	for i := range want.Data {
		want.Data[i] = T(rng.IntN(9) - 4)
	}
	for _, transposed := range []bool{false, true} {
		a, size := truth(m, transposed)
		v := dense.New[T](n, p)
		for i := range n {
			for j := range p {
				sum, bits := 0.0, 0.0
				for l := range n {
					sum += a.At(i, l) * float64(want.At(l, j))
					bits += size.At(i, l) * math.Abs(float64(want.At(l, j)))
				}
				require.Less(t, bits, 0x1p20, "integers stay exact")
				v.Set(i, j, T(sum))
			}
		}
		for _, chunk := range []int{1, 5, 16, 48, n} {
			got, err := m.solve(dense.Matrix[T]{}, v, transposed, sizes{chunk, 3})
			require.NoError(t, err)
			require.Equal(t, want.Data, got.Data, "T⁻¹·(T·Y), chunk %d", chunk)
		}
	}
}

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
	const n, d, p = 500, 30, 150
	rng := rand.New(rand.NewPCG(9, 10))
	m, x := deltaRule[T](rng, n, d), densetest.Normal[T](rng, n, p, 0, 1)
	for _, transposed := range []bool{false, true} {
		all, err := m.solve(dense.Matrix[T]{}, x, transposed, m.tuned())
		require.NoError(t, err)
		for _, j := range []int{0, 63, 64, 149} {
			one, err := m.solve(dense.Matrix[T]{}, x.ColRange(j, j+1), transposed, m.tuned())
			require.NoError(t, err)
			assert.Equal(t, all.ColRange(j, j+1).Clone().Data, one.Data, "column %d", j)
		}
		inverse, err := m.inverse(dense.Matrix[T]{}, 40)
		require.NoError(t, err)
		for _, procs := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				got, err := m.solve(dense.Matrix[T]{}, x, transposed, m.tuned())
				require.NoError(t, err)
				assert.Equal(t, all.Data, got.Data)
				got, err = m.inverse(dense.Matrix[T]{}, 40)
				require.NoError(t, err)
				assert.Equal(t, inverse.Data, got.Data)
			})
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
