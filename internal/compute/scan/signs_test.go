package scan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// signGroups returns groups of signs of random rows of n elements, with the rows and their factors.
func signGroups(r *rand.Rand, count, n int) (groups []uint64, rows [][]float64, factors []float32) {
	words := SignWords(n)
	groups = make([]uint64, count*words)
	for i := range count * GroupRows {
		row := make([]float64, n)
		for l := range row {
			row[l] = r.NormFloat64()
		}
		group := groups[i/GroupRows*words:][:words]
		PutSigns(group, i%GroupRows, row, float32(r.ExpFloat64()))
		rows, factors = append(rows, row), append(factors, signFactor(group, i%GroupRows, n))
	}
	return groups, rows, factors
}

// Scores are products of a query with signs, within the rounding of the tables: half a step for
// each four elements. All tiers have the same bits, for every number of planes and of groups.
func TestSignScores(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	for _, n := range []int{1, 3, 4, 7, 8, 9, 16, 48, 64, 80, 128, 2048, 2064} {
		for count := range 4 {
			groups, rows, factors := signGroups(r, count, n)
			query, means := make([]float32, n), randomWeights(r, count)
			for l := range query {
				query[l] = float32(r.NormFloat64())
			}
			tables := make([]uint64, SignTableWords(n))
			step, offset := SignTables(tables, query)
			want := make([]float32, count*GroupRows+1)
			want[count*GroupRows] = 7
			if count > 0 {
				signScoresReference(want, groups, tables, means, planes(n), count, float32(step), float32(offset))
			}
			for i, row := range rows {
				sum, size := 0.0, 0.0
				for l, v := range row {
					sum += math.Copysign(float64(query[l]), v*float64(query[l]))
					size += math.Abs(float64(query[l]))
				}
				f, mean := float64(factors[i]), float64(means[i/GroupRows])
				tolerance := f*step*float64(n+3)/8 + 4e-7*(math.Abs(mean)+f*size)
				require.InDelta(t, mean+f*sum, float64(want[i]), tolerance, "row %d, n = %d", i, n)
			}
			everyTier(t, func(t *testing.T) {
				got := make([]float32, len(want))
				got[len(got)-1] = 7
				SignScores(got[:count*GroupRows], groups, tables, means, n, float32(step), float32(offset))
				require.Equal(t, want, got, "n = %d, %d groups", n, count)
			})
		}
	}
}

// A factor is rounded to the nearest bfloat16. NaN and +Inf remain.
func TestSignFactors(t *testing.T) {
	for _, c := range [][2]float32{
		{1, 1}, {1 + 0x1p-8, 1}, {1 + 0x1.01p-8, 1 + 0x1p-7}, {1 + 0x3p-8, 1 + 0x1p-6}, {math.MaxFloat32, float32(math.Inf(1))},
		{float32(math.Inf(1)), float32(math.Inf(1))}, {0, 0},
	} {
		group := make([]uint64, SignWords(4))
		PutSigns(group, 37, []float64{1, -1, 0, 2}, c[0])
		assert.Equal(t, c[1], signFactor(group, 37, 4), "%v", c[0])
		assert.Equal(t, uint64(0b1001)<<(11%8*8), group[11/8])
	}
	group := make([]uint64, SignWords(4))
	PutSigns(group, 0, make([]float64, 4), float32(math.NaN()))
	assert.True(t, math.IsNaN(float64(signFactor(group, 0, 4))))
}

// A query of zeros has scores of means, and NaN and infinity in a query make all scores NaN.
func TestSignTablesOfOddQueries(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 1))
	groups, _, _ := signGroups(r, 1, 12)
	for _, x := range []float64{0, math.NaN(), math.Inf(1), math.Inf(-1)} {
		query, tables, dst := make([]float64, 12), make([]uint64, SignTableWords(12)), make([]float32, GroupRows)
		query[5] = x
		step, offset := SignTables(tables, query)
		SignScores(dst, groups, tables, []float32{3}, 12, float32(step), float32(offset))
		for _, v := range dst {
			assert.True(t, x == 0 && v == 3 || x != 0 && v != v, "%v: %v", x, v)
		}
	}
}

// signFactor returns the factor of row i of a group of signs of n elements.
func signFactor(group []uint64, i, n int) float32 {
	return math.Float32frombits(uint32(group[planes(n)*planeWords+i/4]>>(i%4*16)) << 16)
}
