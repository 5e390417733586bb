package mse

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
)

// wide returns v with a precision in which terms as large as e^growth leave 400 bits.
func wide(v, growth float64) *big.Float {
	return new(big.Float).SetPrec(400 + uint(growth*math.Log2E)).SetFloat64(v)
}

// confluentBig sums ₁F₁(d; d/2; t), plainly, to 100 digits and more.
func confluentBig(d int, t float64) *big.Float {
	// For t < 0 terms reach e^(−2t).
	number := func(v float64) *big.Float { return wide(v, 2*math.Max(-t, 0)) }
	term, sum, arg := number(1), number(1), number(2*t)
	for k := 0.0; k < 4*math.Abs(t) || term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-400; k++ {
		term.Mul(term, arg)
		term.Mul(term, number(float64(d)+k))
		term.Quo(term, number((float64(d)+2*k)*(k+1)))
		sum.Add(sum, term)
	}
	return sum
}

// expBig returns e^t to 100 digits and more.
func expBig(t float64) *big.Float {
	if t < 0 {
		return new(big.Float).Quo(wide(1, 0), expBig(-t))
	}
	term, sum := wide(1, 0), wide(1, 0)
	for k := 1.0; k < t || term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-400; k++ {
		term.Mul(term, wide(t, 0))
		term.Quo(term, wide(k, 0))
		sum.Add(sum, term)
	}
	return sum
}

// excessBig returns (₁F₁(d; d/2; t) − e^(2t))·e^(−2·max(t, 0)).
func excessBig(d int, t float64) float64 {
	diff := confluentBig(d, t)
	diff.Sub(diff, expBig(2*t))
	if t > 0 {
		diff.Quo(diff, expBig(2*t))
	}
	v, _ := diff.Float64()
	return v
}

var (
	dimensions = []int{1, 2, 3, 4, 7, 8, 13, 16, 64, 255}
	arguments  = []float64{
		-600, -300, -120, -80, -33.3, -8, -2.5, -1.0001, -1, -0.3, -1e-3, -1e-9, 0,
		1e-9, 1e-3, 0.3, 1, 2.5, 8, 33.3, 80, 120, 300, 1500,
	}
)

func TestConfluent(t *testing.T) {
	for _, d := range dimensions {
		for _, arg := range arguments {
			want, _ := confluentBig(d, arg).Float64()
			got := Confluent(d, arg)
			switch {
			case math.IsInf(want, 1):
				assert.Equal(t, want, got, "d=%d t=%v", d, arg)
			case arg >= 0:
				// Each of about 4t + 20 products has 4 roundings.
				assert.InEpsilon(t, want, got, (16*arg+80)*0x1p-53, "d=%d t=%v", d, arg)
			case arg >= -far(d):
				assert.InDelta(t, want, got, (8*-arg+80)*0x1p-53, "d=%d t=%v", d, arg)
			case d%2 == 1 && float64(d*(d+2)) < -2*arg && d < 10:
				// The exponent of the factor is below d·log(600) < 60.
				assert.InEpsilon(t, want, got, 200*0x1p-53, "d=%d t=%v", d, arg)
			default:
				assert.InDelta(t, want, got, 1e-18, "d=%d t=%v", d, arg)
			}
		}
	}
}

// What far says of the values beyond it, in all dimensions up to 40 and some above.
func TestFar(t *testing.T) {
	above := []int{63, 64, 65, 127, 128, 500, 501, 2000, 2001}
	for d := 1; d <= 40; d++ {
		above = append(above, d)
	}
	for _, d := range above {
		assert.Less(t, 1+excessBig(d, far(d)), 1e-18, "d=%d", d)
		for _, beyond := range []float64{1, 1.01, 1.1, 1.3} {
			at := -beyond*far(d) - 1e-6
			want, _ := confluentBig(d, at).Float64()
			// The value is a product of a power, a constant and a sum: four roundings, which
			// math.Exp on 386 and fused multiply-adds on arm64 make other ones.
			assert.InDelta(t, want, Confluent(d, at), 1e-18+4*0x1p-52*math.Abs(want), "d=%d t=%v", d, at)
			if d%2 == 0 || d >= 13 {
				assert.Less(t, math.Abs(want), 1e-18, "d=%d t=%v", d, at)
			}
		}
	}
}

// Far below 0 the function falls as Γ(d/2)/Γ(−d/2)·|t|^(−d)·(1 + d(d/2+1)/|t|) for odd d
// [DLMF §13.7] and is a polynomial times e^t for even d.
func TestConfluentFar(t *testing.T) {
	for _, arg := range []float64{1e9, 1e20, 1e77} {
		assert.InEpsilon(t, -0.5/arg*(1+1.5/arg), Confluent(1, -arg), 1e-13, "t=%v", -arg)
		// Γ(3/2)/Γ(−3/2) = 3/8
		assert.InEpsilon(t, 0.375/arg/arg/arg*(1+7.5/arg), Confluent(3, -arg), 1e-13, "t=%v", -arg)
	}
	for _, d := range []int{2, 8, 14, 1 << 20} {
		for _, arg := range []float64{1e9, 1e300, math.Inf(1)} {
			assert.Zero(t, Confluent(d, -arg), "d=%d t=%v", d, -arg)
			assert.Equal(t, math.Inf(1), Confluent(d, arg), "d=%d t=%v", d, arg)
			assert.Zero(t, ConfluentExcess(d, -arg), "d=%d t=%v", d, -arg)
			assert.Equal(t, -1.0, ConfluentExcess(d, arg), "d=%d t=%v", d, arg)
		}
	}
	assert.Equal(t, math.Inf(1), Confluent(4, 700))
}

func TestConfluentExcess(t *testing.T) {
	t.Parallel()
	compare := func(d int, arg float64) {
		want, got := excessBig(d, arg), ConfluentExcess(d, arg)
		switch {
		case arg == 0:
			assert.Zero(t, got, "d=%d", d)
		case arg > far(d):
			assert.Equal(t, -1.0, got, "d=%d t=%v", d, arg)
		case arg >= -1:
			assert.InEpsilon(t, want, got, (16*math.Abs(arg)+80)*50*0x1p-53, "d=%d t=%v", d, arg)
		default:
			assert.InDelta(t, want, got, (8*-arg+80)*0x1p-53, "d=%d t=%v", d, arg)
		}
	}
	for _, d := range dimensions {
		for _, arg := range arguments {
			compare(d, arg)
		}
	}
	// Here e^(2t) and e^(−2t) are beyond the range of float64.
	for _, arg := range []float64{-600, 359, 700, 1000} {
		compare(30000, arg)
	}
}

func TestSeriesOfNoNumber(t *testing.T) {
	for _, f := range []func(int, float64) float64{Confluent, ConfluentExcess, SimplexExcess, SimplexEvenExcess} {
		assert.True(t, math.IsNaN(f(4, math.NaN())))
		assert.PanicsWithValue(t, "mse: d = 0, want at least 1", func() { f(0, 1) })
	}
}

func ExampleConfluent() {
	fmt.Printf("%.12f\n", Confluent(2, -1.5)) // (1+t)·e^t
	fmt.Printf("%.12f\n", -0.5*math.Exp(-1.5))
	// Output:
	// -0.111565080074
	// -0.111565080074
}
