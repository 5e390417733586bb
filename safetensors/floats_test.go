package safetensors

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense/half"
)

// patterns is a tensor of all 65536 values of a type of two bytes.
func patterns(dtype DType) Tensor {
	data := make([]byte, 0, 2<<16)
	for i := range 1 << 16 {
		data = binary.LittleEndian.AppendUint16(data, uint16(i))
	}
	return Tensor{DType: dtype, Shape: []int{1 << 8, 1 << 8}, Data: data}
}

// number returns what IEEE 754 assigns to a pattern with the given bits of mantissa
// and greatest exponent: the formula in float64, which holds all values of both
// types, with neither shifts into another format nor float32.
func number(pattern uint16, mantissaBits, greatest int) float64 {
	mantissa := float64(pattern & (1<<mantissaBits - 1))
	exponent := int(pattern&0x7fff) >> mantissaBits
	bias := greatest / 2
	var v float64
	switch {
	case exponent == greatest && mantissa == 0:
		v = math.Inf(1)
	case exponent == greatest:
		v = math.NaN()
	case exponent == 0:
		v = math.Ldexp(mantissa, 1-bias-mantissaBits)
	default:
		v = math.Ldexp(1+math.Ldexp(mantissa, -mantissaBits), exponent-bias)
	}
	if pattern >= 0x8000 {
		v = -v
	}
	return v
}

// All values of F16 and BF16 are exact, in sign and, as float32, in payload too.
func TestShortFloats(t *testing.T) {
	for _, test := range []struct {
		dtype              DType
		mantissa, greatest int
	}{{F16, 10, 31}, {BF16, 7, 255}} {
		t.Run(string(test.dtype), func(t *testing.T) {
			single, err := Floats[float32](patterns(test.dtype))
			require.NoError(t, err)
			double, err := Floats[float64](patterns(test.dtype))
			require.NoError(t, err)
			require.Len(t, single, 1<<16)
			require.Len(t, double, 1<<16)
			for i := range 1 << 16 {
				want := number(uint16(i), test.mantissa, test.greatest)
				if math.IsNaN(want) {
					payload := uint32(i) & (1<<test.mantissa - 1) << (23 - test.mantissa)
					require.Equal(t, uint32(i>>15)<<31|0xff<<23|payload, math.Float32bits(single[i]), "%#04x", i)
					require.True(t, math.IsNaN(double[i]), "%#04x", i)
					continue
				}
				require.Equal(t, math.Float64bits(want), math.Float64bits(double[i]), "%#04x: want %g, got %g", i, want, double[i])
				require.Equal(t, math.Float32bits(float32(want)), math.Float32bits(single[i]), "%#04x: want %g, got %g", i, want, single[i])
			}
		})
	}
}

// All values of the types of 8 bits are those of the tables of [OFP8], with the sign of zero and
// NaN.
func TestFloatsOf8Bits(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, test := range []struct {
		dtype                DType
		mantissa, bias       int
		infinity, firstOfNaN byte // patterns without a sign
	}{{F8E4M3, 3, 7, 0xff, 0x7f}, {F8E5M2, 2, 15, 0x7c, 0x7d}} {
		tensor := Tensor{test.dtype, []int{4, 64}, all}
		single, err := Floats[float32](tensor)
		require.NoError(t, err)
		double, err := Floats[float64](tensor)
		require.NoError(t, err)
		for i, b := range all {
			pattern, one := int(b&0x7f), 1<<test.mantissa
			exponent, fraction := pattern/one, float64(pattern%one)/float64(one)
			want := math.Ldexp(1+fraction, exponent-test.bias)
			if exponent == 0 {
				want = math.Ldexp(fraction, 1-test.bias)
			}
			if b&0x7f == test.infinity {
				want = math.Inf(1)
			}
			if b >= 0x80 {
				want = -want
			}
			for _, got := range []float64{float64(single[i]), double[i]} {
				if b&0x7f >= test.firstOfNaN {
					require.True(t, math.IsNaN(got), "%s %#02x: %v", test.dtype, b, got)
				} else {
					require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s %#02x: want %v, got %v", test.dtype, b, want, got)
				}
			}
		}
	}
	for _, test := range []struct {
		dtype DType
		bits  byte
		want  float64
	}{
		{F8E4M3, 0x7e, 448}, {F8E4M3, 0x78, 256}, {F8E4M3, 0x08, 0x1p-6}, {F8E4M3, 0x07, 0.875 * 0x1p-6}, {F8E4M3, 0x01, 0x1p-9}, {F8E4M3, 0xb8, -1},
		{F8E5M2, 0x7b, 57344}, {F8E5M2, 0x04, 0x1p-14}, {F8E5M2, 0x03, 0.75 * 0x1p-14}, {F8E5M2, 0x01, 0x1p-16}, {F8E5M2, 0xfc, math.Inf(-1)}, {F8E5M2, 0xbc, -1},
	} {
		x, err := Floats[float64](Tensor{test.dtype, nil, []byte{test.bits}})
		require.NoError(t, err)
		assert.Equal(t, []float64{test.want}, x, "%s %#02x", test.dtype, test.bits)
	}
}

// Integers are exact or errors, and truth values 0 and 1.
func TestIntegers(t *testing.T) {
	data := func(x any) []byte {
		b, err := binary.Append(nil, binary.LittleEndian, x)
		require.NoError(t, err)
		return b
	}
	for _, test := range []struct {
		dtype  DType
		x      any
		want   []float64
		single string // the error of float32
		double string
	}{
		{Bool, []bool{true, false, true}, []float64{1, 0, 1}, "", ""},
		{I8, []int8{-128, -1, 0, 127}, []float64{-128, -1, 0, 127}, "", ""},
		{U8, []uint8{0, 128, 255}, []float64{0, 128, 255}, "", ""},
		{I16, []int16{-32768, -1, 32767}, []float64{-32768, -1, 32767}, "", ""},
		{U16, []uint16{0, 32768, 65535}, []float64{0, 32768, 65535}, "", ""},
		{I32, []int32{math.MinInt32, -1, 1 << 24}, []float64{math.MinInt32, -1, 1 << 24}, "", ""},
		{I32, []int32{0, -1<<24 - 1}, []float64{0, -1<<24 - 1}, "element 1: I32 -16777217 is not exact in float32", ""},
		{U32, []uint32{1 << 31, math.MaxUint32}, []float64{1 << 31, math.MaxUint32}, "element 1: U32 4294967295 is not exact in float32", ""},
		{I64, []int64{math.MinInt64, -1 << 53, 1 << 62}, []float64{math.MinInt64, -1 << 53, 1 << 62}, "", ""},
		{I64, []int64{7, 1<<53 + 1}, nil, "element 1: I64 9007199254740993 is not exact in float32", "element 1: I64 9007199254740993 is not exact in float64"},
		{I64, []int64{math.MinInt64 + 1}, nil, "element 0: I64 -9223372036854775807 is not exact in float32", "element 0: I64 -9223372036854775807 is not exact in float64"},
		{U64, []uint64{1 << 63, 1<<53 - 1}, []float64{1 << 63, 1<<53 - 1}, "element 1: U64 9007199254740991 is not exact in float32", ""},
		{U64, []uint64{math.MaxUint64}, nil, "element 0: U64 18446744073709551615 is not exact in float32", "element 0: U64 18446744073709551615 is not exact in float64"},
		{I64, []int64{}, []float64{}, "", ""},
	} {
		tensor := Tensor{test.dtype, []int{reflect.ValueOf(test.x).Len()}, data(test.x)}
		double, err := Floats[float64](tensor)
		if test.double != "" {
			assert.EqualError(t, err, "safetensors: "+test.double)
		} else {
			require.NoError(t, err)
			assert.Equal(t, test.want, double)
		}
		single, err := Floats[float32](tensor)
		if test.single != "" {
			assert.EqualError(t, err, "safetensors: "+test.single)
			continue
		}
		require.NoError(t, err)
		require.Len(t, single, len(test.want))
		for i, want := range test.want {
			assert.Equal(t, want, float64(single[i]))
		}
	}
}

// special are float64 patterns at the edges of both precisions.
var special = []float64{
	0, math.Copysign(0, -1), 1, -1, math.Pi, math.Inf(1), math.Inf(-1), math.NaN(),
	math.MaxFloat32, math.MaxFloat64, -math.MaxFloat64, 0x1p-126, 0x1p-149, 0x1p-150, 0x1.8p-149, math.SmallestNonzeroFloat64,
	1 + 0x1p-24, 1 + 0x1.8p-23,
}

// FromFloats and Floats are inverse to each other, bit for bit, NaN payloads included.
func TestFloatsRoundTrip(t *testing.T) {
	t.Run("float64", func(t *testing.T) {
		x := append([]float64{math.Float64frombits(0x7ff8000000000123), math.Float64frombits(0xfff8000000000001)}, special...)
		tensor, err := FromFloats([]int{2, 1, len(x) / 2}, x)
		require.NoError(t, err)
		assert.Equal(t, F64, tensor.DType)
		got, err := Floats[float64](tensor)
		require.NoError(t, err)
		require.Len(t, got, len(x))
		for i := range x {
			assert.Equal(t, math.Float64bits(x[i]), math.Float64bits(got[i]))
			assert.Equal(t, math.Float64bits(x[i]), binary.LittleEndian.Uint64(tensor.Data[8*i:]))
		}
	})
	t.Run("float32", func(t *testing.T) {
		x := []float32{math.Float32frombits(0x7fc00123), math.Float32frombits(0xffc00001)}
		for _, v := range special {
			x = append(x, float32(v))
		}
		tensor, err := FromFloats([]int{2, 1, len(x) / 2}, x)
		require.NoError(t, err)
		assert.Equal(t, F32, tensor.DType)
		got, err := Floats[float32](tensor)
		require.NoError(t, err)
		require.Len(t, got, len(x))
		for i := range x {
			assert.Equal(t, math.Float32bits(x[i]), math.Float32bits(got[i]))
			assert.Equal(t, math.Float32bits(x[i]), binary.LittleEndian.Uint32(tensor.Data[4*i:]))
		}
	})
}

// F64 rounds to float32 to nearest even, F32 widens exactly.
func TestFloatsConvert(t *testing.T) {
	tensor, err := FromFloats([]int{len(special)}, special)
	require.NoError(t, err)
	single, err := Floats[float32](tensor)
	require.NoError(t, err)
	inf := float32(math.Inf(1))
	assert.Equal(t, []float32{math.MaxFloat32, inf, -inf, 0x1p-126, 0x1p-149, 0, 0x1p-148, 0, 1, 1 + 0x1p-22}, single[8:])
	assert.Equal(t, uint32(1<<31), math.Float32bits(single[1]))
	assert.True(t, math.IsNaN(float64(single[7])))

	tensor, err = FromFloats([]int{len(single)}, single)
	require.NoError(t, err)
	double, err := Floats[float64](tensor)
	require.NoError(t, err)
	require.Len(t, double, len(single))
	for i, v := range single {
		if v == v {
			assert.Equal(t, math.Float64bits(float64(v)), math.Float64bits(double[i]))
		} else {
			assert.True(t, math.IsNaN(double[i]))
		}
	}
}

// Empty tensors, scalars and memory of their own.
func TestFloatsShapes(t *testing.T) {
	scalar, err := FromFloats(nil, []float64{2})
	require.NoError(t, err)
	assert.Equal(t, Tensor{F64, []int{}, []byte{0, 0, 0, 0, 0, 0, 0, 0x40}}, scalar)

	empty, err := FromFloats[float32]([]int{3, 0}, nil)
	require.NoError(t, err)
	assert.Equal(t, Tensor{F32, []int{3, 0}, []byte{}}, empty)
	none, err := Floats[float64](empty)
	require.NoError(t, err)
	assert.Equal(t, []float64{}, none)

	shape, x := []int{1}, []float32{1}
	tensor, err := FromFloats(shape, x)
	require.NoError(t, err)
	shape[0], x[0] = 9, 9
	assert.Equal(t, Tensor{F32, []int{1}, []byte{0, 0, 0x80, 0x3f}}, tensor)
}

// What is no tensor of floats is an error.
func TestFloatsRefuse(t *testing.T) {
	for _, d := range dtypes {
		tensor := Tensor{DType: d.name, Shape: []int{8}, Data: make([]byte, d.bits)}
		_, single := Floats[float32](tensor)
		_, double := Floats[float64](tensor)
		switch d.name {
		case F4, F6E2M3, F6E3M2, F8E8M0, F8E4M3FNUZ, F8E5M2FNUZ, C64:
			want := "safetensors: dtype " + string(d.name) + ", want F64, F32, F16, BF16, F8_E4M3, F8_E5M2, BOOL or integers"
			assert.EqualError(t, single, want)
			assert.EqualError(t, double, want)
		default:
			assert.NoError(t, single)
			assert.NoError(t, double)
		}
	}
	_, err := Floats[float32](Tensor{F32, []int{2}, make([]byte, 9)})
	assert.EqualError(t, err, "safetensors: 9 bytes of data, want 8 for dtype F32 and shape [2]")
	_, err = Floats[float32](Tensor{})
	assert.EqualError(t, err, `safetensors: dtype "" is unknown`)
	_, err = FromFloats([]int{2, 2}, []float32{1, 2, 3})
	assert.EqualError(t, err, "safetensors: shape [2 2] has 4 elements, got 3")
	_, err = FromFloats([]int{-1, -3}, []float64{1, 2, 3})
	assert.EqualError(t, err, "safetensors: shape [-1 -3] has the negative dimension -1")
	_, err = FromFloats[float64]([]int{math.MaxInt, 2}, nil)
	assert.ErrorContains(t, err, "has more elements than an int counts")
}

// Numbers of 16 bits are written bit for bit.
func TestFromHalves(t *testing.T) {
	for _, dtype := range []DType{F16, BF16} {
		want := patterns(dtype)
		var got Tensor
		var err error
		if dtype == F16 {
			got, err = FromFloats(want.Shape, shorts[half.Float16]())
		} else {
			got, err = FromFloats(want.Shape, shorts[half.BFloat16]())
		}
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// shorts returns all numbers of a format.
func shorts[H half.Number]() []H {
	all := make([]H, 1<<16)
	for i := range all {
		all[i] = H(i)
	}
	return all
}
