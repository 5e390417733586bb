package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// Values that repeat have no larger errors in 8 bits, relative to the spread of the outputs, than
// normal values, and queries with keys of few coordinates have smaller ones. Bounds are 15 % above
// errors whose law says them to 11 %. Before means of values took up what rounding left over, and
// before queries were dithered, errors were up to 15 times as large.
func TestBitsOfUnusualInputs(t *testing.T) {
	const n, d, draws = 1024, 64, 2
	type matrix = dense.Matrix[float32]
	made := func(f func(i, j int) float64) matrix {
		x := dense.New[float32](n, d)
		for i := range n {
			for j := range d {
				x.Row(i)[j] = float32(f(i, j))
			}
		}
		return x
	}
	alike := func(value func(rng *rand.Rand) float64) func(*rand.Rand) matrix {
		return func(rng *rand.Rand) matrix { return made(func(int, int) float64 { return value(rng) }) }
	}
	rarely := func(rng *rand.Rand, x float64) float64 {
		if rng.Float64() < 0.05 {
			return x
		}
		return 0
	}
	few := func(coordinates int, size float64) func(*rand.Rand) matrix {
		return func(rng *rand.Rand) matrix {
			return made(func(_, j int) float64 {
				if j%13 == 1 && j/13 < coordinates {
					return size * rng.NormFloat64()
				}
				return 0
			})
		}
	}
	normal := alike((*rand.Rand).NormFloat64)
	for _, c := range []struct {
		name        string
		points      func(rng *rand.Rand) matrix
		values      func(rng *rand.Rand) matrix // nil for the keys
		least, most float64
	}{
		{"normal", normal, normal, 0.015, 0.02},
		{"ReLU", normal, alike(func(rng *rand.Rand) float64 { return max(0, rng.NormFloat64()) }), 0.015, 0.0205},
		{"one-hot", normal, func(rng *rand.Rand) matrix {
			hot := 0
			return made(func(_, j int) float64 {
				if j == 0 {
					hot = rng.IntN(d)
				}
				return float64(1 - min(1, max(j-hot, hot-j)))
			})
		}, 0.013, 0.0185},
		{"±1", normal, alike(func(rng *rand.Rand) float64 { return float64(2*rng.IntN(2) - 1) }), 0.013, 0.0178},
		{"0, 1, 2", normal, alike(func(rng *rand.Rand) float64 { return float64(rng.IntN(3)) }), 0.013, 0.018},
		{"few of the entries", normal, alike(func(rng *rand.Rand) float64 { return rarely(rng, rng.NormFloat64()) }), 0.014, 0.019},
		{"few ones", normal, alike(func(rng *rand.Rand) float64 { return rarely(rng, 1) }), 0.013, 0.0185},
		{"large means", normal, alike(func(rng *rand.Rand) float64 { return 100 + rng.NormFloat64() }), 0.015, 0.02},
		{"two coordinates", few(2, 3), nil, 0.0015, 0.0034},
		{"three coordinates", few(3, 2.6), nil, 0.0015, 0.0036},
		{"five coordinates", few(5, 2.3), nil, 0.002, 0.0042},
	} {
		var off, spread float64
		for draw := range draws {
			rng := rand.New(rand.NewPCG(29, uint64(draw)))
			q, k := c.points(rng), c.points(rng)
			v := k
			if c.values != nil {
				v = c.values(rng)
			}
			e := must.Have(performer.NewExact[float32](performer.ExactOptions{}))
			want, got := inDouble(e, q, k, v), inBits(e).Forward(matrix{}, q, k, v)
			for l := range d {
				mean := 0.0
				for i := range n {
					mean += want.At(i, l) / n
				}
				for i := range n {
					off += math.Pow(float64(got.At(i, l))-want.At(i, l), 2)
					spread += math.Pow(want.At(i, l)-mean, 2)
				}
			}
		}
		part := math.Sqrt(off / spread)
		t.Logf("%s: error %.3f %% of the spread", c.name, 100*part)
		assert.True(t, c.least < part && part < c.most, "%s: error %v of the spread", c.name, part)
	}
}
