package ridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// singleRows is the least number of rows whose products Fit sums in float32.
const singleRows = 16 * 4080

// Fit of float32 takes products in float32 only if means are those of products in float64 to 0.001
// standard deviations.
func TestProductsInSinglePrecision(t *testing.T) {
	if testing.Short() {
		t.Skip("many rows")
	}
	smooth := func(lengthScale float64, by float32) rff.Map[float32] {
		return raised[float32]{gaussian[float32](t, 64, 3, lengthScale, 1), by}
	}
	identity := must.Have(rff.Draw[float32](rff.Identity{D: 40}, nil))
	for _, c := range []struct {
		name    string
		phi     rff.Map[float32]
		rows    ridge.Block[float32]
		options ridge.Options
		single  bool
	}{
		{"noise", smooth(0.3, 0), sloping(0.3), ridge.Options{}, true},
		{"large means", smooth(0.3, 2000), sloping(0.3), ridge.Options{}, true},
		{"larger means", smooth(0.3, 1e6), sloping(0.3), ridge.Options{}, true},
		{"a bias that falls", smooth(1.3, 0), sloping(0.3), ridge.Options{}, false},
		{"no noise", smooth(0.3, 0), sloping(1e-6), ridge.Options{}, false},
		{"a ratio near the bound", smooth(1.3, 0), sloping(0.3), ridge.Options{Noise: 0.1, Prior: 50}, true},
		{"a ratio below the bound", smooth(1.3, 0), sloping(0.3), ridge.Options{Ratio: 0.0002}, false},
		{"equal blocks", smooth(0.3, 0), repeated(sloping(0.3), 255), ridge.Options{}, false},
		{"binary columns", identity, switches(1), ridge.Options{}, true},
		{"binary columns in equal blocks", identity, repeated(switches(1), 255), ridge.Options{}, true},
		{"columns that nearly depend", identity, switches(2), ridge.Options{}, true},
		{"sorted rows", smooth(0.3, 0), ridge.Block[float32]{X: climbing(), Y: sloping(0.3).Y}, ridge.Options{}, true},
		{"no intercept", smooth(0.3, 0), sloping(0.3), ridge.Options{NoIntercept: true}, true},
		{"products beyond float32", identity, huge(switches(1)), ridge.Options{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := must.Have(ridge.Fit(t.Context(), c.phi, ridge.Block[float32]{X: c.rows.X, Y: c.rows.Y}, c.options))
			want := must.Have(sumOf(t, c.phi, c.rows.X, c.rows.Y, nil).Fit(t.Context(), c.options))
			assert.False(t, want.Accuracy().SinglePrecision)
			worst := 0.0
			mean, sd := want.Predict(c.rows.X.RowRange(0, 5000))
			got, near := m.Predict(c.rows.X.RowRange(0, 5000))
			for i, v := range mean.Data {
				worst = max(worst, math.Abs(float64(got.Data[i]-v)/float64(sd.Data[i])), math.Abs(float64(near.Data[i]/sd.Data[i])-1))
			}
			assert.Equal(t, c.single, m.Accuracy().SinglePrecision)
			assert.Less(t, worst, 0.001)
			assert.InDelta(t, want.LogEvidence(), m.LogEvidence(), 0.5)
			assert.InEpsilon(t, want.Noise()[0], m.Noise()[0], 1e-4)
			if !c.single {
				assert.Equal(t, mean, got)
			}
		})
	}
}

// sloping returns rows of slope.
func sloping(noise float64) ridge.Block[float32] {
	x, y, _ := slope[float32](singleRows, noise, 1)
	return ridge.Block[float32]{X: x, Y: y}
}

// repeated returns the first rows of b again and again.
func repeated(b ridge.Block[float32], rows int) ridge.Block[float32] {
	for i := rows; i < b.X.Rows; i++ {
		copy(b.X.Row(i), b.X.Row(i-rows))
		b.Y.Set(i, 0, b.Y.At(i-rows, 0)+b.Y.At(i, 0)/8)
	}
	return b
}

// climbing returns points whose first column ascends.
func climbing() dense.Matrix[float32] {
	x := sloping(0.3).X
	for i := range x.Rows {
		x.Set(i, 0, float32(i)/float32(x.Rows))
	}
	return x
}

// switches returns rows of 40 columns of 0 and 1. The last half of the columns are the first half,
// except for a row in a hundred, if the number of kinds is 2.
func switches(kinds int) ridge.Block[float32] {
	rng := rand.New(rand.NewPCG(1, 7))
	b := ridge.Block[float32]{X: dense.New[float32](singleRows, 40), Y: dense.New[float32](singleRows, 1)}
	for i := range singleRows {
		row, sum := b.X.Row(i), rng.NormFloat64()
		for j := range row {
			if rng.IntN(2+j) == 0 {
				row[j] = 1
				sum += float64(j%5) / 4
			}
			if kinds == 2 && j >= 20 && rng.IntN(100) > 0 {
				row[j] = row[j-20]
			}
		}
		b.Y.Set(i, 0, float32(sum))
	}
	return b
}

// huge returns b with points whose squares are infinite in float32.
func huge(b ridge.Block[float32]) ridge.Block[float32] {
	for i := range b.X.Data {
		b.X.Data[i] *= 1e25
	}
	return b
}
