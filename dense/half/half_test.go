package half_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
)

// format is what the tests know of a format, from its definition.
type format struct {
	fraction, exponent int
}

// value returns the value of the bits by the definition of IEEE 754.
func (f format) value(bits uint16) float64 {
	fraction := float64(bits & (1<<f.fraction - 1))
	e := int(bits>>f.fraction) & (1<<f.exponent - 1)
	bias := 1<<(f.exponent-1) - 1
	var x float64
	switch {
	case e == 0:
		x = math.Ldexp(fraction, 1-bias-f.fraction)
	case e < 1<<f.exponent-1:
		x = math.Ldexp(1+math.Ldexp(fraction, -f.fraction), e-bias)
	case fraction == 0:
		x = math.Inf(1)
	default:
		x = math.NaN()
	}
	if bits>>15 == 1 {
		x = -x
	}
	return x
}

func same(t *testing.T, want, got float64, text string, args ...any) {
	t.Helper()
	if math.Float64bits(want) != math.Float64bits(got) && !(want != want && got != got) {
		t.Fatalf("want %v, got %v: "+text, append([]any{want, got}, args...)...)
	}
}

// equal ends the test if bits differ. It is for loops over many numbers.
func equal[H half.Number](t *testing.T, want, got H, text string, args ...any) {
	t.Helper()
	if want != got {
		t.Fatalf("want %#x, got %#x: "+text, append([]any{want, got}, args...)...)
	}
}

// testFormat checks all numbers of a format, and the rounding of every number between two of them.
func testFormat[H half.Number, T dense.Float](t *testing.T, f format) {
	all := make([]H, 1<<16)
	for i := range all {
		all[i] = H(i)
	}
	values := half.Decode[T](nil, all)
	back := half.Encode[H](nil, values)
	for i, x := range values {
		same(t, f.value(uint16(i)), float64(x), "bits %#x", i)
		if x == x {
			equal(t, H(i), back[i], "bits %#x", i)
		} else {
			require.True(t, math.IsNaN(f.value(uint16(back[i]))), "bits %#x", i)
			equal(t, all[i]>>15, back[i]>>15, "sign of NaN %#x", i)
		}
	}
	encode := func(x T) H { return half.Encode[H](nil, []T{x})[0] }
	for i := range uint16(1<<15 - 1) {
		low, high := f.value(i), f.value(i+1)
		switch {
		case math.IsInf(high, 1):
			high = 2*low - f.value(i-1) // where the next number would be
		case !(low < high):
			continue
		}
		middle := T(low/2 + high/2)
		even := i + i&1
		for sign := range H(2) {
			x, top := middle, sign<<15
			if sign == 1 {
				x = -x
			}
			equal(t, top|H(even), encode(x), "%v between %v and %v", x, low, high)
			if math.IsInf(float64(x), 0) {
				continue // of a float32 beyond whose largest number the middle is
			}
			equal(t, top|H(i), encode(toward(x, 0)), "just below %v", x)
			equal(t, top|H(i+1), encode(toward(x, 2*x)), "just above %v", x)
		}
	}
}

// toward returns the number next to x in the direction of y.
func toward[T dense.Float](x, y T) T {
	if v, ok := any(x).(float32); ok {
		return T(math.Nextafter32(v, float32(y)))
	}
	return T(math.Nextafter(float64(x), float64(y)))
}

func TestFloat16(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testFormat[half.Float16, float32](t, format{10, 5}) })
	t.Run("float64", func(t *testing.T) { testFormat[half.Float16, float64](t, format{10, 5}) })
}

func TestBFloat16(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testFormat[half.BFloat16, float32](t, format{7, 8}) })
	t.Run("float64", func(t *testing.T) { testFormat[half.BFloat16, float64](t, format{7, 8}) })
}

// Numbers with known bits, and what has no neighbour in the format.
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		x      float64
		f16    half.Float16
		bf16   half.BFloat16
		reason string
	}{
		{0, 0, 0, "zero"},
		{math.Copysign(0, -1), 0x8000, 0x8000, "negative zero"},
		{1, 0x3c00, 0x3f80, "one"},
		{-2, 0xc000, 0xc000, "minus two"},
		{65504, 0x7bff, 0x4780, "the largest Float16"},
		{65519.99, 0x7bff, 0x4780, "less than half a unit above"},
		{65520, 0x7c00, 0x4780, "half a unit above"},
		{0x1p-24, 1, 0x3380, "the smallest Float16"},
		{0x1p-25, 0, 0x3300, "half of the smallest Float16, a tie with zero"},
		{0x1.8p-25, 1, 0x3340, "more than half"},
		{0x1p-133, 0, 1, "the smallest BFloat16"},
		{0x1p-134, 0, 0, "half of the smallest BFloat16"},
		{math.SmallestNonzeroFloat64, 0, 0, "far below"},
		{math.MaxFloat64, 0x7c00, 0x7f80, "far above"},
		{math.Inf(-1), 0xfc00, 0xff80, "minus infinity"},
		// 1 + 2⁻¹¹ + 2⁻⁴⁰ is 1 + 2⁻¹¹ in float32, a tie, which would go to 1.
		{1 + 0x1p-11 + 0x1p-40, 0x3c01, 0x3f80, "one rounding"},
	} {
		assert.Equal(t, c.f16, half.Encode[half.Float16](nil, []float64{c.x})[0], c.reason)
		assert.Equal(t, c.bf16, half.Encode[half.BFloat16](nil, []float64{c.x})[0], c.reason)
	}
}

func TestLengths(t *testing.T) {
	assert.PanicsWithValue(t, "half: dst has length 2, src has length 3", func() { half.Decode(make([]float32, 2), make([]half.Float16, 3)) })
	assert.PanicsWithValue(t, "half: dst has length 2, src has length 3", func() { half.Encode(make([]half.Float16, 2), make([]float32, 3)) })
	x, h := make([]float32, 64), make([]half.BFloat16, 64)
	assert.Zero(t, testing.AllocsPerRun(10, func() { half.Decode(x, half.Encode(h, x)) }))
}

func ExampleEncode() {
	x := []float32{1, 0.1, 1e5, -1e-7}
	fmt.Println(half.Decode[float32](nil, half.Encode[half.Float16](nil, x)))
	fmt.Println(half.Decode[float32](nil, half.Encode[half.BFloat16](nil, x)))
	// Output:
	// [1 0.099975586 +Inf -1.1920929e-07]
	// [1 0.100097656 99840 -1.0011718e-07]
}
