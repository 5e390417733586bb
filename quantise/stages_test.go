package quantise_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// mixture returns n rows of normal noise about one of several centres of the same length, which are
// the first rows of x.
func mixture(n, d, centres int, rng *rand.Rand) dense.Matrix[float32] {
	x := random[float32](n, d, rng.Uint64())
	for i := centres; i < n; i++ {
		centre := x.Row(rng.IntN(centres))
		for j := range x.Row(i) {
			x.Row(i)[j] += centre[j]
		}
	}
	return x
}

// staged encodes rows with signs.
func staged(t testing.TB, x dense.Matrix[float32], bits int) quantise.Codes[float32] {
	return encode(t, x, quantise.Options{Bits: float64(bits), TwoStage: true})
}

// oneStage reads all codes, because it has an option.
func oneStage(t testing.TB, c quantise.Codes[float32], dst []quantise.Hit, query *quantise.Query) []quantise.Hit {
	hits := [][]quantise.Hit{dst}
	require.NoError(t, c.SearchAll(t.Context(), hits, []*quantise.Query{query}, quantise.SearchOptions[float32]{Accept: func(int) bool { return true }}))
	return hits[0]
}

// A search in two stages finds the rows of the full search with equal bits, but for misses.
//
//ci:slow
func TestStages(t *testing.T) {
	const n, d, queries = 17_000, 768, 10
	rng := rand.New(rand.NewPCG(5, 6))
	x := mixture(n, d, 100, rng)
	row, got, want := make([]float32, d), make([]quantise.Hit, 100), make([]quantise.Hit, 100)
	for _, bits := range []int{4, 8} {
		with := staged(t, x, bits)
		missed := 0
		for by := quantise.InnerProduct; by <= quantise.SquaredDistance; by++ {
			stages := 0
			for range queries {
				for j, v := range x.Row(100 + rng.IntN(n-100)) {
					row[j] = v + float32(rng.NormFloat64())
				}
				query := with.Quantiser().Prepare(nil, row, by, 0)
				full := oneStage(t, with, want, query)
				for _, k := range []int{1, 10, 100} {
					hits := with.Search(got[:k], query)
					require.Len(t, hits, k)
					found := make(map[int]quantise.Hit, k)
					for _, h := range hits {
						found[h.ID] = h
					}
					for _, h := range full[:k] {
						if v, ok := found[h.ID]; !ok {
							missed++
						} else {
							require.Equal(t, h, v)
						}
					}
					if quantise.Staged(with, query, k) {
						stages++
					}
				}
			}
			assert.Greater(t, stages, queries, "bits = %d, %v", bits, by)
		}
		// P < 0.003
		assert.LessOrEqual(t, missed, 4, "of 90 searches, each with a probability of 0.01 at most")
		// Files and moved rows keep the signs.
		again, err := quantise.View[float32](fileOf(t, with))
		require.NoError(t, err)
		moved := codesOf(t, with.Quantiser(), x.RowRange(0, 0))
		require.NoError(t, moved.AppendRows(with, nil))
		query, k := with.Quantiser().Prepare(nil, x.Row(n-1), quantise.Cosine, 0), 10
		require.True(t, quantise.Staged(with, query, k))
		for _, c := range []quantise.Codes[float32]{again, moved} {
			assert.Equal(t, fileOf(t, with), fileOf(t, c))
			assert.True(t, quantise.Staged(c, query, k))
			assert.Equal(t, with.Search(make([]quantise.Hit, k), query), c.Search(make([]quantise.Hit, k), query))
		}
		assert.Zero(t, testing.AllocsPerRun(10, func() { with.Search(hits[:k], query) }))
	}
}

// Zero rows, rows that are equal, norms from e⁻¹² to e¹² and rows of two coordinates, for queries
// that are rows and rows times −1: the lists are those of the full search.
func TestStagesOfUnusualRows(t *testing.T) {
	const n, d, k = 17_000, 768, 10
	vectors := mixture(50, d, 10, rand.New(rand.NewPCG(5, 6)))
	for name, change := range map[string]func(i int, row []float32, rng *rand.Rand){
		"zeros": func(i int, row []float32, _ *rand.Rand) {
			if i%1000 == 0 {
				clear(row)
			}
		},
		"equal and zeros": func(i int, row []float32, rng *rand.Rand) {
			if copy(row, vectors.Row(rng.IntN(vectors.Rows))); i%3 > 0 {
				clear(row)
			}
		},
		"norms": func(_ int, row []float32, rng *rand.Rand) {
			f := float32(math.Exp(24*rng.Float64() - 12))
			for j := range row {
				row[j] *= f
			}
		},
		"sparse": func(i int, row []float32, _ *rand.Rand) {
			for j := range row {
				if j != i%7 && j != 7+i%11 {
					row[j] = 0
				}
			}
		},
	} {
		// one for each case, because the order of a map is random
		rng := rand.New(rand.NewPCG(5, 6))
		x := mixture(n, d, 100, rng)
		for i := range n {
			change(i, x.Row(i), rng)
		}
		with := staged(t, x, 4)
		for by := quantise.InnerProduct; by <= quantise.SquaredDistance; by++ {
			stages := 0
			for i := range 4 {
				row := append([]float32(nil), x.Row(1+rng.IntN(n-1))...)
				for j := range row {
					row[j] *= float32(1 - 2*(i%2))
				}
				query := with.Quantiser().Prepare(nil, row, by, 0)
				if quantise.Staged(with, query, k) {
					stages++
				}
				want := oneStage(t, with, make([]quantise.Hit, k), query)
				assert.Equal(t, want, with.Search(make([]quantise.Hit, k), query), "%s, %v", name, by)
			}
			if name != "equal and zeros" || by != quantise.Cosine { // signs promise no gain there
				assert.Positive(t, stages, "%s, %v", name, by)
			}
		}
	}
}

var hits = make([]quantise.Hit, 10)

// Rows without clusters need so many codes that a sample of the signs refuses the first stage.
func TestStagesRefused(t *testing.T) {
	with := staged(t, random[float32](20_000, 768, 1), 4)
	row := random[float32](1, 768, 2).Row(0)
	query := with.Quantiser().Prepare(nil, row, quantise.InnerProduct, 0)
	assert.False(t, quantise.Staged(with, query, 10))
	want := oneStage(t, with, make([]quantise.Hit, 10), query)
	assert.Equal(t, want, with.Search(make([]quantise.Hit, 10), query))
}

// Rows of a quantiser with centres have no signs, and rows without signs move to no codes with
// them.
func TestStagesWithoutSigns(t *testing.T) {
	x := random[float32](10, 768, 1)
	with := staged(t, x, 4)
	centred, err := with.Quantiser().WithCentres(x.RowRange(0, 1))
	require.NoError(t, err)
	c := codesOf(t, centred, x)
	assert.ErrorContains(t, with.AppendRows(c, nil), "no signs")
	assert.Error(t, encode(t, x, quantise.Options{Bits: 4}).AppendRows(with, nil))
	require.NoError(t, c.AppendRows(with, nil))
	again, err := quantise.View[float32](fileOf(t, c))
	require.NoError(t, err)
	assert.Equal(t, fileOf(t, c), fileOf(t, again))
}
