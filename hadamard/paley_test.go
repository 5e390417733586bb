package hadamard_test

import (
	"math/bits"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func TestPrimePower(t *testing.T) {
	for q := -1; q <= 2048; q++ {
		found := [2]int{}
		for p := 2; p <= q; p++ {
			prime := true
			for d := 2; d < p; d++ {
				prime = prime && p%d != 0
			}
			value, e := p, 1
			for ; value < q; e++ {
				value *= p
			}
			if prime && value == q {
				found = [2]int{p, e}
				break
			}
		}
		if p, e, ok := hadamard.PrimePower(q); ok {
			require.Equal(t, found, [2]int{p, e}, "q = %d", q)
		} else {
			require.Equal(t, [2]int{}, found, "q = %d", q)
		}
		q += q / 200 // every q up to 200, fewer beyond
	}
}

// TestCharacter checks the properties that the constructions rest on: half of the elements are
// squares, χ(−1) tells q modulo 4, and Σ_a χ(a)χ(a + c) = −1 for every c ≠ 0, which holds for the
// quadratic character of a field and fails if the ring is none.
func TestCharacter(t *testing.T) {
	for _, f := range [][2]int{{3, 1}, {5, 1}, {3, 2}, {11, 1}, {5, 2}, {3, 3}, {7, 2}, {3, 4}, {5, 3}, {3, 5}, {7, 3}, {31, 2}, {1019, 1}} {
		p, e := f[0], f[1]
		q := hadamard.Power(p, e)
		chi := hadamard.Character(p, e)
		require.Len(t, chi, q)
		sum := 0
		for a, v := range chi {
			sum += int(v)
			require.Equal(t, a == 0, v == 0)
		}
		assert.Zero(t, sum, "q = %d", q)
		assert.Equal(t, 2-q%4, int(chi[hadamard.Minus(0, 1, p, q)]), "q = %d: χ(−1)", q)
		for c := 1; c < q; c += 1 + q/50 {
			sum := 0
			for a := range chi {
				sum += int(chi[a]) * int(chi[hadamard.Minus(a, c, p, q)])
			}
			require.Equal(t, -1, sum, "q = %d, c = %d", q, c)
		}
	}
	for p, squares := range map[int][]int{7: {1, 2, 4}, 13: {1, 3, 4, 9, 10, 12}} {
		for _, a := range squares {
			assert.EqualValues(t, 1, hadamard.Character(p, 1)[a], "%d is a square modulo %d", a, p)
		}
	}
}

func testMatrix[T dense.Float](t *testing.T) {
	for n := 1; n <= 256; n++ {
		if isOrder(n) {
			orthogonal(t, hadamard.Matrix[T](n))
		}
	}
	// 343 = 7³, 499 prime, 1331 = 11³; 2(625 + 1) with 625 = 5⁴; 2028 = 2(1013 + 1).
	for _, n := range []int{344, 500, 688, 768, 1252, 1332, 2028} {
		orthogonal(t, hadamard.Matrix[T](n))
	}
}

// orthogonal checks that entries are ±1 and that any two rows differ in half of them.
func orthogonal[T dense.Float](t *testing.T, h dense.Matrix[T]) {
	n := h.Rows
	require.Equal(t, n, h.Cols)
	packed := make([][]uint64, n)
	for i := range packed {
		packed[i] = make([]uint64, (n+63)/64)
		for j, v := range h.Row(i) {
			if v == -1 {
				packed[i][j/64] |= 1 << (j % 64)
			} else if v != 1 {
				t.Fatalf("order %d: entry (%d, %d) is %v", n, i, j, v)
			}
		}
	}
	for i := range n {
		for j := range i {
			differ := 0
			for w, bitsOfRow := range packed[i] {
				differ += bits.OnesCount64(bitsOfRow ^ packed[j][w])
			}
			if 2*differ != n {
				t.Fatalf("order %d: rows %d and %d differ in %d places", n, i, j, differ)
			}
		}
	}
}

func TestMatrix(t *testing.T) {
	densetest.Both(t, testMatrix[float32], testMatrix[float64])
}

func TestMatrixOfPaley(t *testing.T) {
	h := hadamard.Matrix[float64](12) // second construction, q = 5
	assert.Equal(t, []float64{1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, h.Row(0))
	assert.Equal(t, h, dense.Transpose(dense.Matrix[float64]{}, h), "symmetric")
	h = hadamard.Matrix[float64](44) // first, q = 43: I plus an antisymmetric matrix
	for i := range 44 {
		for j := range i {
			assert.Equal(t, -h.At(i, j), h.At(j, i))
		}
	}
	// A ⊗ B with B of order 2.
	big, small := hadamard.Matrix[float64](24), hadamard.Matrix[float64](12)
	for i := range 24 {
		for j := range 24 {
			want := small.At(i/2, j/2)
			if i%2 == 1 && j%2 == 1 {
				want = -want
			}
			assert.Equal(t, want, big.At(i, j))
		}
	}
}

func TestCoreIsSharedByGoroutines(t *testing.T) {
	var wait sync.WaitGroup
	results := make([][]float64, 8)
	for i := range results {
		wait.Go(func() {
			x := make([]float64, 140)
			x[3] = 1
			hadamard.Transform(x)
			results[i] = x
		})
	}
	wait.Wait()
	for _, r := range results[1:] {
		assert.Equal(t, results[0], r)
	}
}
