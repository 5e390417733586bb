package performer_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// What is written is read again, sums, references, NaN and Inf: another state goes on
// as the first would have, bit for bit.
//
//ci:portable
func TestStateRoundTrip(t *testing.T) {
	densetest.Both(t, testRoundTrip[float32], testRoundTrip[float64])
}

func testRoundTrip[T dense.Float](t *testing.T) {
	const n, heads, d, dv = 20, 2, 4, 3
	rng := rand.New(densetest.Source(220))
	for _, m := range maps[T](d) {
		for _, opts := range forms[:2] {
			h := must.Have(performer.NewBatch[T](heads, heads, attention(m.Map, opts)))
			for _, tokens := range []int{0, n} {
				s, again := must.Have(h.NewState(d, dv)), must.Have(h.NewState(d, dv))
				k, v, q := rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, heads*dv), rowsOf[T](rng, n, heads*d)
				v.Set(7, 1, T(math.Inf(1)))
				s.Append(k.RowRange(0, tokens), v.RowRange(0, tokens))
				data := must.Have(s.MarshalBinary())
				require.Len(t, data, s.Size(s.Len()))
				again.Append(k, v) // which is to be forgotten
				require.NoError(t, again.UnmarshalBinary(data), m.name)
				require.Equal(t, tokens, again.Len())
				require.Equal(t, data, must.Have(again.MarshalBinary()), m.name)
				k.Data[0] *= 30 // a reference that has to grow
				require.True(t, densetest.Identical(s.Step(dense.Matrix[T]{}, q, k, v), again.Step(dense.Matrix[T]{}, q, k, v)), m.name)
			}
		}
	}
}

// The bytes of a small state, all of them, worked out by hand from the format: one
// feature, φ(x) = x, one key 2 with value 3, so that the sums are 6 and 2.
//
//ci:portable
func TestStateGolden(t *testing.T) {
	s := must.Have(attention[float64](must.Have(rff.Draw[float64](rff.Identity{D: 1}, nil)), performer.LinearOptions{}).NewState(1, 1))
	s.Append(densetest.Filled[float64](1, 1, 2), densetest.Filled[float64](1, 1, 3))
	// The point i is 2·frac(i·golden ratio) − 1, and a mark Σ 2^(i−4)·x_i.
	mark := 0.0
	for i := 1; i <= 4; i++ {
		at := float64(i) * 1.6180339887498948482
		mark = mark/2 + 2*(at-math.Floor(at)) - 1
	}
	word := binary.LittleEndian.AppendUint64(nil, math.Float64bits(mark))
	want := []byte{
		'r', 'f', 's', 't', 'a', 't', 'e', 0,
		5, 0, 8, 0, // version 5, float64
		1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
		1, 0, 0, 0, 0, 0, 0, 0,
	}
	want = append(want, words(1, 1, 1, 0, 0)...) // linear, a head, a feature, neither logarithms nor unnormalised
	want = append(append(want, word...), word...)
	want = append(want, 0, 0, 0, 0, 0, 0, 0x18, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x40)
	got := must.Have(s.MarshalBinary())
	require.Equal(t, want, got[:len(got)-4])
	assert.Equal(t, crc32.Checksum(want, crc32.MakeTable(crc32.Castagnoli)), binary.LittleEndian.Uint32(got[len(want):]))

	// A log-feature of 2²⁸ lies two octaves less the fraction of ln 2 above that of 2²⁷·ln 2.
	logs := must.Have(attention(newExponential[float64](), performer.LinearOptions{}).NewState(1, 1))
	logs.Append(densetest.Filled[float64](1, 1, 0x1p28), densetest.Filled[float64](1, 1, 3))
	got = must.Have(logs.MarshalBinary())
	want = binary.LittleEndian.AppendUint64(nil, 1<<27+2<<52-0x62e42fefa39ef)
	assert.Equal(t, append(want, 0, 0, 0, 0, 0, 0, 0x08, 0x40, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f), got[frame.HeaderSize+linearHeader+16:len(got)-4])

	single := must.Have(must.Have(performer.NewBatch[float32](3, 3, attention(maptest.Positive[float32](8, 4), performer.LinearOptions{Unnormalised: true}))).NewState(4, 5))
	single.Append(densetest.Filled[float32](2, 12, 1), densetest.Filled[float32](2, 15, 1))
	assert.Equal(t, append([]byte{
		'r', 'f', 's', 't', 'a', 't', 'e', 0, 5, 0, 4, 0,
		3, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
	}, words(1, 3, 8, 1, 1)...), must.Have(single.MarshalBinary())[:80])

	// Keys and values as they are: two queries over one head with sink weights of 3 and 1, a softcap
	// of 8, a window of 9 and a sink, key 2 and 3 with values 4, 5 and 6, 7.
	var sinks []performer.Attention[float32]
	for _, weight := range []float64{3, 1} {
		sinks = append(sinks, must.Have(performer.NewExact[float32](performer.ExactOptions{Scale: 0.5, Softcap: 8, Slope: 1, Window: 9, Sinks: 1, SinkWeight: weight})))
	}
	kept := must.Have(must.Have(performer.NewBatch(2, 1, sinks...)).NewState(1, 2))
	kept.Append(dense.Of(2, 1, []float32{2, 3}), dense.Of(2, 2, []float32{4, 5, 6, 7}))
	got = must.Have(kept.MarshalBinary())
	want = append([]byte{
		'r', 'f', 's', 't', 'a', 't', 'e', 0, 5, 0, 4, 0,
		2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
	}, words(0, 2, 0, 0, math.Float64bits(0.5), math.Float64bits(8), 0, 9, 1, 0, math.Float64bits(1), math.Float64bits(3), math.Float64bits(1))...)
	assert.Equal(t, append(want,
		0, 0, 0, 0x40, 0, 0, 0x40, 0x40,
		0, 0, 0x80, 0x40, 0, 0, 0xa0, 0x40, 0, 0, 0xc0, 0x40, 0, 0, 0xe0, 0x40,
	), got[:len(got)-4])
}

// linearHeader is the number of bytes of the parameters of linear attention.
const linearHeader = 5 * 8

// words returns numbers as bytes.
func words(numbers ...uint64) (b []byte) {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// sealed returns data with the checksum that belongs to it.
func sealed(data []byte) []byte {
	return densetest.Sealed(data[:len(data)-frame.TrailerSize])
}

// Damage is found wherever it is, and what is refused changes nothing.
//
//ci:portable
func TestStateDamage(t *testing.T) {
	t.Run("linear", func(t *testing.T) {
		testStateDamage(t, attention(maptest.Positive[float32](4, 3), performer.LinearOptions{}))
	})
	t.Run("exact", func(t *testing.T) {
		testStateDamage(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})))
	})
}

func testStateDamage(t *testing.T, a streaming[float32]) {
	const d, dv = 3, 2
	rng := rand.New(densetest.Source(221))
	s, target := must.Have(a.NewState(d, dv)), must.Have(a.NewState(d, dv))
	s.Append(rowsOf[float32](rng, 5, d), rowsOf[float32](rng, 5, dv))
	target.Append(rowsOf[float32](rng, 3, d), rowsOf[float32](rng, 3, dv))
	data, before := must.Have(s.MarshalBinary()), must.Have(target.MarshalBinary())
	for i := range data {
		for _, bits := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(data)
			bad[i] ^= bits
			require.Error(t, target.UnmarshalBinary(bad), "byte %d ^ %#x", i, bits)
		}
	}
	for n := range data {
		require.Error(t, target.UnmarshalBinary(data[:n]), "%d bytes", n)
		if n >= frame.HeaderSize+frame.TrailerSize {
			require.Error(t, target.UnmarshalBinary(sealed(data[:n])), "%d bytes and a checksum", n)
		}
	}
	require.Error(t, target.UnmarshalBinary(append(bytes.Clone(data), 0)))
	require.Error(t, target.UnmarshalBinary(sealed(append(bytes.Clone(data), 0))))
	require.Equal(t, before, must.Have(target.MarshalBinary()))
	require.NoError(t, target.UnmarshalBinary(data))
}

// Hostile bytes with a right checksum get an error that names what is wrong.
//
//ci:portable
func TestStateHostile(t *testing.T) {
	const d, dv, m = 3, 2, 4
	a := attention(maptest.Positive[float32](m, d), performer.LinearOptions{})
	s := must.Have(a.NewState(d, dv))
	data := must.Have(s.MarshalBinary())
	word := func(at int, v uint32) []byte {
		bad := bytes.Clone(data)
		binary.LittleEndian.PutUint32(bad[at:], v)
		return sealed(bad)
	}
	const body = frame.HeaderSize + linearHeader
	exponents := body + 16*m
	exponent := func(n int64) []byte {
		bad := bytes.Clone(data)
		binary.LittleEndian.PutUint64(bad[exponents:], uint64(n))
		return sealed(bad)
	}
	for want, bad := range map[string][]byte{
		"performer: state of 0 bytes, want at least 44":                                                 nil,
		"performer: state begins with \"rfstbte\\x00\", want \"rfstate\\x00\"":                          word(4, 'b'|'t'<<8|'e'<<16),
		"performer: state of version 4, want 5":                                                         word(8, 4|4<<16),
		"performer: state of 8-byte elements, want 4":                                                   word(8, 5|8<<16),
		"performer: state with flags 0x1, want 0x0 (none)":                                              word(8, 5|4<<16|1<<24),
		"performer: state with heads = 4294967295, want 1":                                              word(12, math.MaxUint32),
		"performer: state with keyHeads = 0, want 1":                                                    word(16, 0),
		"performer: state with d = 4, want 3":                                                           word(20, 4),
		"performer: state with dv = 0, want 2":                                                          word(24, 0),
		"performer: state with runs of heads = 9, want 1":                                               word(28, 9),
		fmt.Sprintf("performer: state of 9223372036854775808 tokens, want at most %d", frame.MaxTokens): word(36, 1<<31),
		"performer: state with linear attention = false, want true":                                     word(40, 0),
		"performer: state with heads of an attention = 2, want 1":                                       word(48, 2),
		"performer: state with m = 2147483648, want 4":                                                  word(56, 1<<31),
		"performer: state with logarithms = false, want true":                                           word(64, 0),
		"performer: state with Unnormalised = true, want false":                                         word(72, 1),
		"performer: the features differ from those that the state belongs to":                           word(body+4, 0x7ff80000),
		"performer: state with exponent -4294967296, want that of a finite float32":                     word(exponents+4, math.MaxUint32),
		"performer: state with exponent 9223372032559808512, want that of a finite float32":             word(exponents+4, math.MaxInt32),
		"performer: state with exponent 134217729, want that of a finite float32":                       exponent(1<<27 + 1),
		"performer: state with sums of a feature that no key has had":                                   word(exponents+8*m, 0x3f800000),
		"performer: state of 227 bytes, want 228":                                                       sealed(data[:len(data)-1]),
		fmt.Sprintf("performer: state has checksum %08x, but says 04030201: it is damaged or cut off", crc32.Checksum(data[:len(data)-4], crc32.MakeTable(crc32.Castagnoli))): append(bytes.Clone(data[:len(data)-4]), 1, 2, 3, 4),
	} {
		assert.EqualError(t, s.UnmarshalBinary(bad), want)
	}
	for _, n := range []int64{logscale.None, 0, 1 << 27, -1 << 27, logscale.ExponentOf(math.MaxFloat32), logscale.ExponentOf(-0x1p60)} {
		assert.NoError(t, s.UnmarshalBinary(exponent(n)), "%d", n)
	}
	double := must.Have(attention(maptest.Positive[float64](m, d), performer.LinearOptions{}).NewState(d, dv))
	assert.EqualError(t, double.UnmarshalBinary(data), "performer: state of 4-byte elements, want 8")

	// Keys and values: the number of tokens has to be that of the bytes, whatever it says.
	kept := must.Have(must.Have(performer.NewExact[float32](performer.ExactOptions{Scale: 0.5})).NewState(d, dv))
	kept.Append(densetest.Filled[float32](3, d, 1), densetest.Filled[float32](3, dv, 1))
	data = must.Have(kept.MarshalBinary())
	for want, bad := range map[string][]byte{
		"performer: state of 200 bytes, want 220":                    word(32, 4),
		"performer: state of 199 bytes, want 200":                    sealed(data[:199]),
		"performer: state of 67 bytes, want 200":                     sealed(data[:67]),
		"performer: state with KeyBits = 8, want 0":                  word(56, 8),
		"performer: state with Softcap = 2, want 0":                  word(84, 0x40000000),
		"performer: state with Window = 7, want 0":                   word(96, 7),
		"performer: state with SinkWeight = 2, want 0":               word(132, 0x40000000),
		"performer: state with Scale = 0.5000000000000002, want 0.5": word(72, 2),
	} {
		assert.EqualError(t, kept.UnmarshalBinary(bad), want)
	}
	// So many that their bytes are no number of 64 bits.
	many := bytes.Clone(data)
	binary.LittleEndian.PutUint64(many[32:], frame.MaxTokens)
	assert.EqualError(t, kept.UnmarshalBinary(sealed(many)), fmt.Sprintf("performer: state of 200 bytes, want %d", frame.MaxTokens))
	assert.Equal(t, data, must.Have(kept.MarshalBinary()), "what is refused changes nothing")
	assert.Error(t, s.UnmarshalBinary(data), "keys and values are no sums")
}

// Whatever the bytes are there is no panic, and what is accepted is written as it was
// read, but for the marks.
func FuzzStateUnmarshal(f *testing.F) {
	const m = 4
	batch := must.Have(performer.NewBatch[float32](2, 2, attention(maptest.Positive[float32](m, 3), performer.LinearOptions{}), must.Have(performer.NewExact[float32](performer.ExactOptions{}))))
	s := must.Have(batch.NewState(3, 2))
	f.Add(must.Have(s.MarshalBinary()))
	s.Append(densetest.Filled[float32](2, 6, 1), densetest.Filled[float32](2, 4, 1))
	f.Add(must.Have(s.MarshalBinary()))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= frame.HeaderSize+frame.TrailerSize {
			data = sealed(data) // or no input would get far
		}
		target := must.Have(batch.NewState(3, 2))
		if target.UnmarshalBinary(data) != nil {
			return
		}
		again := must.Have(target.MarshalBinary())
		const marks, body = 16 * m, frame.HeaderSize + linearHeader
		require.Equal(t, data[:body], again[:body])
		require.Equal(t, data[body+marks:len(data)-4], again[body+marks:len(again)-4])
		target.Step(dense.Matrix[float32]{}, densetest.Filled[float32](1, 6, 1), densetest.Filled[float32](1, 6, 1), densetest.Filled[float32](1, 4, 1))
	})
}

// The same with codes, of which all are valid.
func FuzzStateInCodes(f *testing.F) {
	form := func(o performer.ExactOptions) performer.Exact[float32] {
		return must.Have(performer.NewExact[float32](o))
	}
	batch := must.Have(performer.NewBatch[float32](2, 2, form(performer.ExactOptions{Bits: 4}), form(performer.ExactOptions{KeyBits: 8, ValueBits: 16, Window: 9, Sinks: 2})))
	s := must.Have(batch.NewState(3, 2))
	f.Add(must.Have(s.MarshalBinary()))
	for _, n := range []int{63, 70, 300} {
		s.Append(densetest.Filled[float32](n, 6, 1), densetest.Filled[float32](n, 4, 1))
		f.Add(must.Have(s.MarshalBinary()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= frame.HeaderSize+frame.TrailerSize {
			data = sealed(data) // or no input would get far
		}
		target := must.Have(batch.NewState(3, 2))
		if target.UnmarshalBinary(data) != nil {
			return
		}
		require.Equal(t, data, must.Have(target.MarshalBinary()))
		target.Step(dense.Matrix[float32]{}, densetest.Filled[float32](1, 6, 1), densetest.Filled[float32](1, 6, 1), densetest.Filled[float32](1, 4, 1))
	})
}
