package laws

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
)

// confluentBig sums ₁F₁(d; d/2; t) with 2000 bits, plainly.
func confluentBig(d int, t float64) *big.Float {
	const prec = 2000
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(v) }
	term, sum, arg := number(1), number(1), number(t)
	for k := 0; k < 2000; k++ {
		term.Mul(term, arg)
		term.Mul(term, number(2*float64(d+k)))
		term.Quo(term, number(float64(d+2*k)*float64(k+1)))
		sum.Add(sum, term)
	}
	return sum
}

// expBig sums e^t with 2000 bits.
func expBig(t float64) *big.Float {
	const prec = 2000
	term, sum := new(big.Float).SetPrec(prec).SetInt64(1), new(big.Float).SetPrec(prec).SetInt64(1)
	arg := new(big.Float).SetPrec(prec).SetFloat64(t)
	for k := int64(1); k < 2000; k++ {
		term.Mul(term, arg)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(k))
		sum.Add(sum, term)
	}
	return sum
}

var (
	dimensions = []int{1, 2, 3, 4, 7, 8, 16, 64, 255}
	arguments  = []float64{-120, -33.3, -8, -2.5, -1.0001, -1, -0.3, -1e-3, -1e-9, 0, 1e-9, 1e-3, 0.3, 1, 2.5, 8, 33.3, 120}
)

func TestConfluent(t *testing.T) {
	for _, d := range dimensions {
		for _, arg := range arguments {
			want, _ := confluentBig(d, arg).Float64()
			got := Confluent(d, arg)
			if arg >= 0 {
				// Each of about 4t + 20 products has 4 roundings.
				assert.InEpsilon(t, want, got, (16*arg+80)*0x1p-53, "d=%d t=%v", d, arg)
				continue
			}
			assert.InDelta(t, want, got, (8*-arg+80)*0x1p-53, "d=%d t=%v", d, arg)
		}
	}
}

func TestConfluentClosedForms(t *testing.T) {
	for _, arg := range []float64{-20, -1, -0.1, 0, 0.1, 1, 20} {
		tol := 1e-14 * (1 + math.Exp(2*arg))
		assert.InDelta(t, (1+arg)*math.Exp(arg), Confluent(2, arg), tol*(1+math.Abs(arg)), "d=2 t=%v", arg)
		assert.InDelta(t, (1+arg+arg*arg/6)*math.Exp(arg), Confluent(4, arg), tol*(1+arg*arg), "d=4 t=%v", arg)
	}
}

// Far below 0 the function falls as Γ(d/2)/Γ(−d/2)·|t|^(−d) for odd d
// [DLMF §13.7] and is a polynomial times e^t for even d.
func TestConfluentFar(t *testing.T) {
	for _, arg := range []float64{-800, -5000} {
		asymptote := math.Gamma(0.5) / math.Gamma(-0.5) / -arg
		assert.InEpsilon(t, asymptote, Confluent(1, arg), 2/-arg, "t=%v", arg)
		assert.InDelta(t, 0, Confluent(8, arg), 1e-15, "t=%v", arg)
	}
	assert.True(t, math.IsInf(Confluent(4, 700), 1))
}

func TestConfluentExcess(t *testing.T) {
	for _, d := range dimensions {
		for _, arg := range arguments {
			diff := confluentBig(d, arg)
			want, _ := diff.Sub(diff, expBig(2*arg)).Float64()
			got := ConfluentExcess(d, arg)
			switch {
			case arg == 0:
				assert.Zero(t, got, "d=%d", d)
			case arg >= -1:
				assert.InEpsilon(t, want, got, (16*math.Abs(arg)+80)*50*0x1p-53, "d=%d t=%v", d, arg)
			default:
				assert.InDelta(t, want, got, (8*-arg+80)*0x1p-53, "d=%d t=%v", d, arg)
			}
		}
	}
}

func TestConfluentLimit(t *testing.T) {
	for _, s := range []float64{1e-6, 0.01, 0.7, 3, 20, 150, 2500, 1e5} {
		r := 2 * math.Sqrt(s)
		// The closed forms carry the rounding of their own argument r.
		tol := 4 * r * 0x1p-53
		assert.InDelta(t, math.Cos(r), ConfluentLimit(1, -s), tol+4e-16, "s=%v", s)
		assert.InDelta(t, math.J0(r), ConfluentLimit(2, -s), tol+4e-15, "s=%v", s)
		assert.InDelta(t, math.Sin(r)/r, ConfluentLimit(3, -s), tol+4e-16, "s=%v", s)
		assert.InDelta(t, 2*math.J1(r)/r, ConfluentLimit(4, -s), tol+4e-15, "s=%v", s)
		if s < 1000 {
			assert.InEpsilon(t, math.Cosh(r), ConfluentLimit(1, s), tol+4e-16, "s=%v", s)
		}
	}
	assert.Equal(t, 1.0, ConfluentLimit(5, 0))
}

func TestSeriesOfNoNumber(t *testing.T) {
	for _, f := range []func(int, float64) float64{Confluent, ConfluentExcess, ConfluentLimit} {
		for _, arg := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			assert.True(t, math.IsNaN(f(4, arg)), "t=%v", arg)
		}
		assert.PanicsWithValue(t, "laws: d = 0, want at least 1", func() { f(0, 1) })
	}
}

func ExampleConfluent() {
	fmt.Printf("%.12f\n", Confluent(2, -1.5)) // (1+t)·e^t
	fmt.Printf("%.12f\n", -0.5*math.Exp(-1.5))
	// Output:
	// -0.111565080074
	// -0.111565080074
}
