package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

// With x̂ of 3 bits, x̂ᵀx = ‖x‖² for keys and x̂ᵀx = ‖x̂‖² for values, but for the 8 digits of a
// scale.
func TestScalesOfThreeBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	x := make([]float64, 64)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for _, keys := range []bool{false, true} {
		r := newRows(&slab[float64]{room: Segment}, 3, len(x), 1, Segment)
		r.keys = keys
		var c coder
		require.True(t, c.round(&r, 5, x))
		y := c.decoded
		want := floats.Dot(y, y)
		if keys {
			want = floats.Dot(x, x)
		}
		require.InEpsilon(t, want, floats.Dot(x, y), 0x1p-8)
		require.Less(t, floats.Distance(x, y, 2), 0.25*floats.Norm(x, 2))
	}
}
