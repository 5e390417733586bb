package caches

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// The squares of errors have the sum that the law of the package says, on normal data and with a
// loud coordinate of keys and of values: sums over 8 draws are within 20 % of it, which is four of
// their standard deviations, and the law without one of its two parts is not.
func TestLaw(t *testing.T) {
	densetest.Both(t, testLaw[float32], testLaw[float64])
}

func testLaw[T dense.Float](t *testing.T) {
	const draws = 8
	for _, c := range []struct {
		loud float64 // what multiplies the coordinate
		bits int
	}{{1, 8}, {1, 4}, {6, 8}, {6, 4}} {
		var got, fromKeys, fromValues float64
		rng := rand.New(rand.NewPCG(1, 2))
		for range draws {
			x, y, z := squares[T](rng, c.loud, c.bits)
			got, fromKeys, fromValues = got+x, fromKeys+y, fromValues+z
		}
		assert.InDelta(t, 1, got/(fromKeys+fromValues), 0.2, "%+v", c)
		assert.Greater(t, got, 1.25*fromKeys, "%+v", c)
		assert.Greater(t, got, 1.25*fromValues, "%+v", c)
	}
}

// squares returns the sum of the squares of errors, and what the law says of errors of keys and of
// values.
func squares[T dense.Float](rng *rand.Rand, loud float64, bits int) (got, fromKeys, fromValues float64) {
	const n, d, queries = 1024, 64, 64
	scores := tiles.Scores{Scale: 1 / math.Sqrt(d)}
	q, k, v := densetest.Normal[T](rng, queries, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1)
	for j := range n {
		k.Row(j)[3] *= T(loud)
		v.Row(j)[5] *= T(loud)
	}
	for i := range queries {
		q.Row(i)[3] /= T(loud)
	}
	s := must.Have(New[T](bits, scores, streams.Places{}, 1, 1, d, d))
	s.Append(k, v)
	out := dense.New[T](queries, d)
	s.Attend(out, q)
	wide := func(x dense.Matrix[T]) dense.Matrix[float64] { return dense.Copy(dense.Matrix[float64]{}, x) }
	points, keys, values := wide(q), wide(k), wide(v)
	weights, exact := make([]float64, n), make([]float64, d)
	for i := range queries {
		norm := floats.Dot(points.Row(i), points.Row(i))
		for j := range n {
			weights[j] = math.Exp(scores.Scale * floats.Dot(points.Row(i), keys.Row(j)))
		}
		floats.Scale(1/floats.Sum(weights), weights)
		clear(exact)
		for j, w := range weights {
			floats.AddScaled(exact, w, values.Row(j))
		}
		for e, x := range out.Row(i) {
			got += math.Pow(float64(x)-exact[e], 2)
		}
		for j := range s.coded {
			key, value, square := float64(s.keys.scales[j]), float64(s.values.scales[j]), weights[j]*weights[j]
			u := scores.Scale * key * scores.Scale * key * norm * (1 + 2./d) / 3
			far := floats.Distance(values.Row(j), exact, 2)
			fromKeys += square * u * far * far
			fromValues += d * square * value * value * (1 + 2./d) / 3
		}
	}
	return got, fromKeys, fromValues
}

// Rows of 64 normal coordinates have scales of about 2.6·2^−b, and are off by as much as the
// package says.
func TestNormalRows(t *testing.T) {
	const n, d = 1024, 64
	for bits, want := range map[int]float64{8: 0.006, 4: 0.095} {
		x := densetest.Normal[float32](rand.New(rand.NewPCG(5, 6)), n, d, 0, 1)
		s := must.Have(New[float32](bits, tiles.Scores{Scale: 1}, streams.Places{}, 1, 1, d, d)).keys
		var b rows[float32]
		row, back := make([]uint64, s.words), make([]float32, d)
		var scales, off, norm float64
		for i := range n {
			scale := b.encode(&s, row, x.Row(i), bits)
			b.decode(&s, back, row, scale, bits)
			scales += float64(scale) / n
			for j, v := range x.Row(i) {
				off += math.Pow(float64(back[j]-v), 2)
				norm += float64(v) * float64(v)
			}
		}
		assert.InDelta(t, 2.6, scales*math.Exp2(float64(bits)), 0.05)
		assert.InEpsilon(t, want, math.Sqrt(off/norm), 0.03)
	}
}

// Rows of codes stand for what they were made of: within half a cell a coordinate after the
// rotation, and what is not finite exactly.
func TestDecode(t *testing.T) {
	densetest.Both(t, testDecode[float32], testDecode[float64])
}

func testDecode[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	nan, inf := math.NaN(), math.Inf(1)
	for _, bits := range []int{8, 4} {
		for _, d := range []int{1, 2, 7, 64, 80, 100} {
			s := must.Have(New[T](bits, tiles.Scores{Scale: 1}, streams.Places{}, 1, 1, d, d)).keys
			row, back := make([]uint64, s.words), make([]T, d)
			var b rows[T]
			for _, size := range []float64{0, 1e-20, 1, 1e20} {
				x := densetest.Normal[T](rng, 1, d, 0, size).Row(0)
				scale := b.encode(&s, row, x, bits)
				b.decode(&s, back, row, scale, bits)
				var off float64
				for i := range x {
					off += math.Pow(float64(back[i]-x[i]), 2)
				}
				assert.LessOrEqual(t, math.Sqrt(off), 1.0001*float64(scale)*math.Sqrt(float64(s.order)), "%d bits, d = %d, size %v", bits, d, size)
			}
			for _, odd := range []float64{nan, inf, -inf} {
				for _, size := range []float64{0, 1e-20, 1, 1e20} {
					x := densetest.Normal[T](rng, 1, d, 0, size).Row(0)
					x[d/2] = T(odd)
					scale := b.encode(&s, row, x, bits)
					assert.True(t, scale != scale)
					b.decode(&s, back, row, scale, bits)
					var peak float64
					for i, v := range x {
						if i != d/2 {
							peak = max(peak, math.Abs(float64(v)))
						}
					}
					for i, v := range x {
						if i == d/2 {
							assert.True(t, back[i] == v || v != v && back[i] != back[i], "%v became %v", v, back[i])
						} else {
							assert.InDelta(t, float64(v), float64(back[i]), 2*peak/(math.Exp2(float64(bits))-4), "%d bits, d = %d, size %v", bits, d, size)
						}
					}
				}
			}
		}
	}
}
