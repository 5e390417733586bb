package planerot

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testArrange[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{2, 3, 10, 65} {
		for _, n := range []int{0, 1, 7, 500} {
			gs := turns[T](rng, d, n)
			arranged := slices.Clone(gs)
			Arrange(d, arranged)
			require.ElementsMatch(t, gs, arranged)
			for _, apply := range []func([]T, []Turn[T]){Apply[T], ApplyInverse[T]} {
				x := make([]T, d)
				for i := range x {
					x[i] = T(rng.NormFloat64())
				}
				want := slices.Clone(x)
				apply(want, gs)
				apply(x, arranged)
				require.Equal(t, want, x, "d = %d, n = %d", d, n)
			}
		}
	}
}

func TestArrangedTurnsGiveTheSameBits(t *testing.T) {
	bothTypes(t, testArrange[float32], testArrange[float64])
}

// TestNeighboursShareNoAxis counts turns with an axis in common with one of the
// four before them: drawn at random, about 4·4/d of all.
func TestNeighboursShareNoAxis(t *testing.T) {
	const d, n = 64, 4000
	waiting := func(gs []Turn[float32]) (count int) {
		for k, g := range gs {
			if slices.ContainsFunc(gs[max(0, k-4):k], func(b Turn[float32]) bool {
				return g.I == b.I || g.I == b.J || g.J == b.I || g.J == b.J
			}) {
				count++
			}
		}
		return count
	}
	gs := turns[float32](rand.New(rand.NewPCG(3, 4)), d, n)
	before := waiting(gs)
	require.Greater(t, before, n/6)
	Arrange(d, gs)
	assert.Less(t, waiting(gs), before/3)
}

func TestFewTurnsStay(t *testing.T) {
	gs := []Turn[float32]{{I: 0, J: 1}, {I: 1, J: 2}, {I: 3, J: 4}}
	want := slices.Clone(gs)
	Arrange(1<<30, gs)
	assert.Equal(t, want, gs)
}

func TestArrangeKnownLevels(t *testing.T) {
	gs := []Turn[float64]{{I: 0, J: 1}, {I: 1, J: 2}, {I: 3, J: 4}, {I: 2, J: 3}, {I: 5, J: 0}}
	Arrange(6, gs)
	assert.Equal(t, []Turn[float64]{{I: 0, J: 1}, {I: 3, J: 4}, {I: 1, J: 2}, {I: 5, J: 0}, {I: 2, J: 3}}, gs)
}
