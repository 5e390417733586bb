package quantise_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

// severalBits are the options with codes of several bits.
func severalBits() []quantise.Options {
	var all []quantise.Options
	for _, o := range lawOptions(2, 4, 8) {
		if o.Scheme != quantise.QJL {
			all = append(all, o)
		}
	}
	return all
}

// atCosine returns pairs of rows in random directions with the given cosine and different lengths.
func atCosine[T dense.Float](pairs, d int, cosine float64, rng *rand.Rand) dense.Matrix[T] {
	x := dense.New[T](2*pairs, d)
	u, v := make([]float64, d), make([]float64, d)
	for i := range pairs {
		for j := range d {
			u[j], v[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		floats.Scale(1/floats.Norm(u, 2), u)
		floats.AddScaled(v, -floats.Dot(u, v), u)
		floats.Scale(math.Sqrt(1-cosine*cosine)/floats.Norm(v, 2), v)
		floats.AddScaled(v, cosine, u)
		for j := range d {
			x.Set(2*i, j, T(3*u[j]))
			x.Set(2*i+1, j, T(0.7*v[j]))
		}
	}
	return x
}

// The mean square of errors is that of StdErr to 15 %, and the bias is below 20 % of StdErr, each
// within 4 standard errors of the sample: 504 comparisons, a false alarm in more than 30 of such
// tests. Errors of both codes that are taken as independent fail, at 2 bits and a cosine of 0.99 by
// a factor of 9.
func testBetweenLaw[T dense.Float](t *testing.T) {
	pairs := 400
	if testing.Short() {
		pairs = 100
	}
	for _, d := range []int{256, 1024} {
		rng := rand.New(rand.NewPCG(21, uint64(d)))
		for _, o := range severalBits() {
			q, err := quantise.New[T](d, o, rand.NewPCG(1, 2))
			require.NoError(t, err)
			for _, cosine := range []float64{-0.9, 0, 0.3, 0.7, 0.9, 0.95, 0.99} {
				c, err := q.Encode(t.Context(), atCosine[T](pairs, d, cosine, rng))
				require.NoError(t, err)
				var bias, squares, expected, spread float64
				n := float64(pairs)
				for i := range pairs {
					e := c.Between(2*i, 2*i+1, quantise.Cosine)
					miss := (e.Value - cosine) * (e.Value - cosine)
					bias += (e.Value - cosine) / n
					squares += miss / n
					expected += e.StdErr * e.StdErr / n
					spread += (miss - e.StdErr*e.StdErr) * (miss - e.StdErr*e.StdErr) / n
				}
				what := fmt.Sprintf("d = %d, %v, cosine %v: error/StdErr %.3f", d, o, cosine, math.Sqrt(squares/expected))
				assert.LessOrEqual(t, math.Abs(squares-expected), 0.15*expected+4*math.Sqrt(spread/n), what)
				assert.LessOrEqual(t, math.Abs(bias), math.Sqrt(expected)*(0.2+4/math.Sqrt(n)), what)
			}
		}
	}
}

func TestBetweenLaw(t *testing.T) {
	densetest.Both(t, testBetweenLaw[float32], testBetweenLaw[float64])
}

// Equal rows are known to be equal, with several bits, and opposite ones have the cosine −1. One
// bit knows them to half a sign. A row and its double have other norms, and so they are not known
// to be parallel.
func testBetweenEqual[T dense.Float](t *testing.T) {
	for _, d := range []int{4, 8, 96, 256} {
		x := dense.New[T](5, d)
		copy(x.Row(0), random[T](1, d, 12).Row(0))
		copy(x.Row(1), x.Row(0))
		for j, v := range x.Row(0) {
			x.Set(2, j, -v)
			x.Set(3, j, 2*v)
		}
		for _, o := range lawOptions(1, 2, 4, 8) {
			c := encode(t, x, o)
			several := o.Bits > 1 && o.Scheme != quantise.QJL
			square := c.Between(0, 1, quantise.InnerProduct).Value
			assert.InEpsilon(t, floats.Dot(doubles(x.Row(0)), doubles(x.Row(0))), square, 1e-6, "d = %d, %v", d, o)
			for by, want := range map[quantise.Measure]float64{quantise.InnerProduct: square, quantise.Cosine: 1, quantise.SquaredDistance: 0} {
				e := c.Between(0, 1, by)
				assert.Equal(t, want, e.Value, "d = %d, %v, measure %d", d, o, by)
				assert.Equal(t, several, e.StdErr == 0, "d = %d, %v, measure %d", d, o, by)
				assert.Equal(t, e, c.Between(0, 0, by), "d = %d, %v, measure %d", d, o, by)
				assert.Equal(t, float32(-want), float32(c.Between(0, 2, by).Value)*map[bool]float32{true: 0, false: 1}[by == quantise.SquaredDistance])
				assert.Zero(t, c.Between(4, 4, by), "d = %d, %v, zero rows", d, o)
			}
			for _, k := range []int{2, 3} {
				e := c.Between(0, k, quantise.Cosine)
				assert.Equal(t, map[int]float64{2: -1, 3: 1}[k], e.Value, "d = %d, %v", d, o)
				assert.True(t, e.StdErr > 0 && e.StdErr < 0.6, "d = %d, %v: %v", d, o, e.StdErr)
			}
			product, distance := c.Between(0, 3, quantise.InnerProduct), c.Between(0, 3, quantise.SquaredDistance)
			assert.InEpsilon(t, 2*square, product.Value, 1e-12, "d = %d, %v", d, o)
			assert.InEpsilon(t, square, distance.Value, 1e-12, "d = %d, %v", d, o)
			assert.InEpsilon(t, 2*product.StdErr, distance.StdErr, 1e-12, "d = %d, %v", d, o)
		}
	}
}

func TestBetweenEqual(t *testing.T) {
	densetest.Both(t, testBetweenEqual[float32], testBetweenEqual[float64])
}

// Rows of one centre that are equal are known to be equal as well, and those that are nearly equal
// have small errors: x − c and y − c follow the law.
func TestCentredBetweenEqual(t *testing.T) {
	const d, pairs = 128, 300
	rng := rand.New(rand.NewPCG(2, 5))
	centres := random[float64](1, d, 3)
	floats.Scale(20/floats.Norm(centres.Data, 2), centres.Data)
	for _, o := range severalBits() {
		x := atCosine[float64](pairs, d, 0.95, rng)
		for i := range x.Rows {
			floats.Add(x.Row(i), centres.Row(0))
		}
		copy(x.Row(1), x.Row(0))
		c, err := around(t, o, centres).Encode(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, quantise.Estimate{Value: 1}, c.Between(0, 1, quantise.Cosine), "%v", o)
		assert.Zero(t, c.Between(0, 1, quantise.SquaredDistance), "%v", o)
		e := c.Between(0, 1, quantise.InnerProduct)
		assert.InEpsilon(t, floats.Dot(x.Row(0), x.Row(0)), e.Value, 1e-6, "%v", o)
		assert.Zero(t, e.StdErr, "%v", o)
		for _, by := range measures {
			var squares, expected float64
			for i := 1; i < pairs; i++ {
				e := c.Between(2*i, 2*i+1, by)
				squares += math.Pow(e.Value-truth(by, x.Row(2*i), x.Row(2*i+1)), 2)
				expected += e.StdErr * e.StdErr
			}
			// The mean of 300 squares has a standard error of about 0.1.
			assert.InDelta(t, 1, squares/expected, 0.5, "%v, measure %d", o, by)
		}
	}
}

// Goroutines that need a law first compute it once, and get the same estimates.
//
//ci:race
func TestBetweenShared(t *testing.T) {
	x := random[float32](20, 48, 8)
	for _, o := range []quantise.Options{{}, {Scheme: quantise.Uniform}} {
		shared, alone := encode(t, x, o), encode(t, x, o)
		results := make(chan []quantise.Estimate, 8)
		for range cap(results) {
			go func() {
				var all []quantise.Estimate
				for i := range x.Rows {
					all = append(all, shared.Between(i, 0, quantise.Cosine))
				}
				results <- all
			}()
		}
		for range cap(results) {
			for i, e := range <-results {
				assert.Equal(t, alone.Between(i, 0, quantise.Cosine), e, "%v", o)
			}
		}
	}
}
