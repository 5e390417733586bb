package planerot

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// bothTypes runs f32 and f64 as subtests.
func bothTypes(t *testing.T, f32, f64 func(t *testing.T)) {
	t.Run("type=float32", f32)
	t.Run("type=float64", f64)
}

// turns returns n random turns of d ≥ 2 coordinates.
func turns[T Float](rng *rand.Rand, d, n int) []Turn[T] {
	gs := make([]Turn[T], n)
	for k := range gs {
		i, j := rng.IntN(d), rng.IntN(d-1)
		if j >= i {
			j++
		}
		sin, cos := math.Sincos(2 * math.Pi * rng.Float64())
		gs[k] = Turn[T]{int32(i), int32(j), T(cos), T(sin)}
	}
	return gs
}

// testPair rounds every product and sum on its own, in arithmetic of the
// precision of T.
func testPair[T Float](t *testing.T) {
	precision := uint(53)
	if simd.Size[T]() == 4 {
		precision = 24
	}
	round := func(v T) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(float64(v)) }
	times := func(a, b T) *big.Float { return new(big.Float).SetPrec(precision).Mul(round(a), round(b)) }
	rng := rand.New(rand.NewPCG(1, 2))
	fused := 0
	for range 1000 {
		c, s, u, v := T(rng.NormFloat64()), T(rng.NormFloat64()), T(rng.NormFloat64()), T(rng.NormFloat64())
		y, z := Pair(c, s, u, v)
		wantY, _ := new(big.Float).SetPrec(precision).Sub(times(c, u), times(s, v)).Float64()
		wantZ, _ := new(big.Float).SetPrec(precision).Add(times(s, u), times(c, v)).Float64()
		require.Equal(t, wantY, float64(y))
		require.Equal(t, wantZ, float64(z))
		exact := new(big.Float).SetPrec(200).Mul(round(c), round(u))
		once, _ := new(big.Float).SetPrec(precision).Sub(exact, times(s, v)).Float64()
		if once != wantY {
			fused++
		}
	}
	assert.Greater(t, fused, 100, "fused products would be noticed")
}

func TestPairRoundsEveryOperation(t *testing.T) { bothTypes(t, testPair[float32], testPair[float64]) }

func testQuarterTurns[T Float](t *testing.T) {
	gs := []Turn[T]{{0, 1, 0, 1}, {1, 2, 0, 1}}
	x := []T{3, 5, 7}
	Apply(x, gs)
	assert.Equal(t, []T{-5, -7, 3}, x, "axis 0 goes to 1 and then to 2")
	ApplyInverse(x, gs)
	assert.Equal(t, []T{3, 5, 7}, x)
}

func TestQuarterTurns(t *testing.T) {
	bothTypes(t, testQuarterTurns[float32], testQuarterTurns[float64])
}

// testInverse turns back by the angles −θ in reverse order.
func testInverse[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	gs := turns[T](rng, 9, 40)
	x := make([]T, 9)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	want := append([]T(nil), x...)
	for k := len(gs) - 1; k >= 0; k-- {
		g := gs[k]
		want[g.I], want[g.J] = Pair(g.Cos, -g.Sin, want[g.I], want[g.J])
	}
	ApplyInverse(x, gs)
	assert.Equal(t, want, x)
}

func TestInverse(t *testing.T) { bothTypes(t, testInverse[float32], testInverse[float64]) }
