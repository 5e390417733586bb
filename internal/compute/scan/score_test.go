package scan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// zeroOf returns Zero by the definition of a zero point.
func zeroOf(scale float32) float32 {
	bits := math.Float32bits(scale)
	return scale - math.Float32frombits(bits-uint32(int32(int16(bits))))
}

// Scores and sums of weights are those of their definitions, on all tiers.
func TestScore(t *testing.T) {
	everyProductTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(12, 1))
		for n := range 3*GroupRows + 2 {
			parts := (n + PartRows - 1) / PartRows
			x, scales, means := randomWeights(r, n), randomWeights(r, n), randomWeights(r, parts)
			if n > 5 {
				scales[5], scales[3] = float32(math.NaN()), math.Float32frombits(math.Float32bits(scales[3])&^0xffff|0x8000)
			}
			weights, factor, offset := make([]uint64, WeightWords(n)), float32(r.NormFloat64()), float32(1e5*r.NormFloat64())
			Weigh(weights, x, scales, 8)
			want := make([]float32, n+1)
			want[n] = 7
			for part := range parts {
				var sums, zeros [GroupRows]float32
				for i := range min(PartRows, n-part*PartRows) {
					sums[i] = x[part*PartRows+i]
				}
				require.Equal(t, fold(sums[:PartRows]), PartSum(weights, part), "part %d of %d", part, n)
				group := part * PartRows / GroupRows
				for i := range min(GroupRows, n-group*GroupRows) {
					zeros[i] = x[group*GroupRows+i] * zeroOf(scales[group*GroupRows+i])
				}
				want, got := fold(zeros[:]), ZeroSum(weights, group)
				require.True(t, got == want || want != want && got != got, "group %d of %d", group, n)
			}
			for i, scale := range scales {
				product := float32(x[i] * scale)
				sum := product + float32(offset*zeroOf(scale))
				want[i] = float32(factor*sum) + means[i/PartRows]
			}
			got := append(x, 7)
			Score(got[:n], scales, means, factor, offset)
			for i, v := range want {
				require.True(t, got[i] == v || v != v && got[i] != got[i], "element %d of %d", i, n)
			}
		}
		assert.Panics(t, func() { Score(make([]float32, 65), make([]float32, 65), make([]float32, 4), 1, 1) })
	})
}
