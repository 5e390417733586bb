package scan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Above lists what the reference lists, with few, many, all and no scores above, and NaN and
// infinity among them, on all tiers.
func TestAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 1))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for groups := range 5 {
		for _, least := range []float32{-inf, -3, 0, 2.5, 9, inf, nan} {
			x := randomWeights(r, groups*GroupRows+1)
			for _, v := range []float32{nan, inf, -inf, least} {
				if n := groups * GroupRows; n > 0 {
					x[r.IntN(n)] = v
				}
			}
			x[groups*GroupRows] = inf
			want := make([]int32, len(x)-1)
			n := aboveReference(want, x, least, groups)
			everyTier(t, func(t *testing.T) {
				got := make([]int32, len(x)-1)
				require.Equal(t, n, Above(got, x[:len(x)-1], least))
				require.Equal(t, want[:n], got[:n])
			})
		}
	}
	assert.Panics(t, func() { Above(make([]int32, 63), make([]float32, 64), 0) })
}
