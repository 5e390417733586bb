package logscale

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// newSum returns zero, with so many bits that no sum of numbers of float64 is rounded.
func newSum() *big.Float { return new(big.Float).SetPrec(2200) }

// anySize returns a number of T of any sign and size.
func anySize[T float32 | float64](rng *rand.Rand) float64 {
	for {
		x := math.Ldexp(rng.NormFloat64(), rng.IntN(2100)-1060)
		if y := float64(T(x)); y-y == 0 {
			return y
		}
	}
}

// Exponents grow with the numbers that they are of, an ordinary one by less than one power of
// two, and far ones lead back.
func TestExponents(t *testing.T) {
	densetest.Both(t, testExponents[float32], testExponents[float64])
}

func testExponents[T float32 | float64](t *testing.T) {
	rng := rand.New(rand.NewPCG(0, 320))
	most, limit := densetest.Largest[T](), maxLog
	numbers := []float64{0, 1, -1, math.Ln2, limit, -limit, math.Nextafter(limit, 2*limit), -math.Nextafter(limit, 2*limit), most, -most}
	for range 2000 {
		numbers = append(numbers, anySize[T](rng), rng.NormFloat64()*limit)
	}
	for _, x := range numbers {
		n := ExponentOf(x)
		require.NotEqual(t, int64(None), n)
		require.Equal(t, math.Abs(x) > limit, IsExtreme(n), "%v", x)
		if IsExtreme(n) {
			require.Equal(t, x, LogOf(n))
			require.Equal(t, float64(T(x)) == x, IsExponent[T](n), "%v", x)
		} else {
			require.True(t, IsExponent[T](n))
			require.InDelta(t, x, LogOf(n)-math.Ln2/2, math.Ln2/2+1e-15*math.Abs(x), "%v", x)
		}
		for _, y := range numbers[:20] {
			if x <= y {
				require.LessOrEqual(t, n, ExponentOf(y), "%v, %v", x, y)
			}
			if IsExtreme(n) && x < y {
				require.Less(t, n, ExponentOf(y), "%v, %v", x, y)
			}
		}
	}
	assert.True(t, IsExponent[T](None))
	assert.False(t, IsExtreme(None))
	for _, n := range []int64{ExponentOf(most) + 1, ExponentOf(-most) - 1, math.MaxInt64, None + 1} {
		assert.False(t, IsExponent[T](n), "%d", n)
	}
}

// Sums are lowered by powers of two, and by the exponential of what lies between far
// references.
func TestLowering(t *testing.T) {
	assert.Equal(t, 0x1p-7, Lowering[float64](-3, 4))
	assert.Equal(t, float32(0x1p-149), Lowering[float32](0, 149))
	assert.Zero(t, Lowering[float32](0, 160), "below the range of float32")
	assert.Zero(t, Lowering[float64](-maxExponent, maxExponent))
	assert.Equal(t, 1.0, Lowering[float64](ExponentOf(1e300), ExponentOf(1e300)))
	assert.Equal(t, math.Exp(-8), Lowering[float64](ExponentOf(1e9-8), ExponentOf(1e9)))
	assert.Equal(t, float32(math.Exp(-8)), Lowering[float32](ExponentOf(-1e8), ExponentOf(8-1e8)))
	assert.InEpsilon(t, math.Exp(-10), Lowering[float64](maxExponent-3, ExponentOf(maxLog+10-3*math.Ln2)), 1e-7)
	assert.InEpsilon(t, math.Exp(-10), Lowering[float64](ExponentOf(-maxLog-10), -maxExponent), 1e-7)
	assert.Zero(t, Lowering[float64](ExponentOf(-math.MaxFloat64), ExponentOf(math.MaxFloat64)))
}

// One weight over another is the exact sum of its parts, rounded, and never overflows
// on the way.
func TestWeightOver(t *testing.T) {
	rng := rand.New(rand.NewPCG(0, 321))
	wide := func(x float64) *big.Float { return newSum().SetFloat64(x) }
	for range 20000 {
		a := weight{anySize[float64](rng), anySize[float64](rng), rng.NormFloat64()}
		b := weight{anySize[float64](rng), anySize[float64](rng), rng.NormFloat64()}
		switch rng.IntN(4) {
		case 0: // parts that cancel
			a.high, b.high = -a.log, -b.log
		case 1:
			b.log = a.log
		case 2:
			b.log, b.high = math.Nextafter(a.log, 0), math.Nextafter(a.high, 0)
		}
		sum := newSum()
		for _, x := range []float64{a.log, a.high, a.low} {
			sum.Add(sum, wide(x))
		}
		for _, x := range []float64{b.log, b.high, b.low} {
			sum.Sub(sum, wide(x))
		}
		want, _ := sum.Float64()
		got := a.over(b)
		if math.IsInf(want, 0) {
			require.Equal(t, want, got, "%v %v", a, b)
		} else {
			// The low parts and the result are rounded, and what roundings took away from
			// the others: 2⁻¹⁰⁶ of these.
			parts := math.Abs(a.log)/8 + math.Abs(b.log)/8 + math.Abs(a.high)/8 + math.Abs(b.high)/8
			tol := 0x1p-52*(math.Abs(want)+math.Abs(a.low)+math.Abs(b.low)) + 0x1p-101*parts + 0x1p-1070
			require.LessOrEqual(t, math.Abs(got-want), tol, "%v %v: %v, want %v", a, b, got, want)
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		a, b weight
		want float64
	}{
		{weight{-inf, 1, 0}, weight{1, 1, 0}, -inf}, {weight{1, -inf, 0}, weight{1, 1, 0}, -inf}, {weight{inf, 1, 0}, weight{1, 1, 0}, inf},
		{weight{inf, -inf, 0}, weight{1, 1, 0}, nan}, {weight{nan, 1, 0}, weight{1, 1, 0}, nan}, {weight{-inf, -inf, 0}, weight{1, 1, 0}, -inf},
	} {
		got := c.a.over(c.b)
		assert.True(t, got == c.want || got != got && c.want != c.want, "%v over %v is %v", c.a, c.b, got)
	}
}

// Of the weights of a query the largest is 1, and none is more, whatever the sizes are.
func TestScaleFar(t *testing.T) {
	densetest.Both(t, testScaleFar[float32], testScaleFar[float64])
}

func testScaleFar[T float32 | float64](t *testing.T) {
	const m = 6
	rng := rand.New(rand.NewPCG(0, 322))
	for range 5000 {
		r, row, log := NewReference[T](m), make([]T, m), make([]T, m)
		for f := range m {
			log[f], row[f] = T(anySize[T](rng)), T(anySize[T](rng))
			if rng.IntN(2) == 0 && f > 0 {
				log[f], row[f] = log[f-1], row[f-1]
			}
			if rng.IntN(3) == 0 {
				row[f] = -log[f]
			}
		}
		r.Raise(log, nil)
		r.scaleExtreme(row)
		most := T(0)
		for _, x := range row {
			require.True(t, 0 <= x && x <= 1, "%v under %v", row, log)
			most = max(most, x)
		}
		require.Equal(t, T(1), most)
	}
}

// Three weights within 2⁻⁵⁴ of what roundings take away: the second seems to equal the first,
// the third is above the first, and the second above the third.
func TestScaleFarTies(t *testing.T) {
	const a, u = 0x1p1000, 0x1p948
	r, row := NewReference[float64](3), []float64{a, -u / 2, -u}
	r.Raise([]float64{-a - u, -(u / 2) * (1 - 0x1p-53), 0x1p-55 * u}, nil)
	of := func(f int) weight { return weight{row[f], r.high[f], r.low[f]} }
	require.Zero(t, of(1).over(of(0)))
	require.Positive(t, of(2).over(of(0)))
	require.Positive(t, of(1).over(of(2)))
	r.scaleExtreme(row)
	assert.Equal(t, []float64{0, 1, 1}, row)
}
