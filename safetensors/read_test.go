package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// file returns a file with the header, as it is, and the buffer.
func file(header, buffer string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+buffer...)
}

// What the format forbids is an error that names it.
func TestReadRefuses(t *testing.T) {
	tensor := func(fields string) string { return `{"w":{` + fields + `}}` }
	const eight = "12345678"
	for _, test := range []struct {
		name, header, buffer, want string
	}{
		{"empty header", "", "", `header "", want it to start with '{'`},
		{"array", "[]", "", `header "[]", want it to start with '{'`},
		{"white space first", " {}", "", `header " {}", want it to start with '{'`},
		{"byte order mark", "\ufeff{}", "", `want it to start with '{'`},
		{"no end", "{", "", `header: unexpected end`},
		{"two objects", "{}{}", "", `want the end of the header, got {`},
		{"NUL padding", "{}\x00", "", `want the end of the header: invalid character '\x00' looking for beginning of value`},
		{"no colon", `{"w" 1}`, "", `tensor "w": header: invalid character '1' after object key`},

		{"tensor null", `{"w":null}`, "", `tensor "w": want {, got null`},
		{"tensor array", `{"w":[]}`, "", `tensor "w": want {, got [`},
		{"no fields", tensor(``), "", `tensor "w": dtype is missing or empty`},
		{"no dtype", tensor(`"shape":[],"data_offsets":[0,8]`), eight, `tensor "w": dtype is missing or empty`},
		{"no shape", tensor(`"dtype":"F64","data_offsets":[0,8]`), eight, `tensor "w": shape is missing`},
		{"no offsets", tensor(`"dtype":"F64","shape":[]`), eight, `tensor "w": data_offsets are missing`},
		{"unknown field", tensor(`"dtype":"F64","shape":[],"data_offsets":[0,8],"strides":[8]`), eight, `tensor "w": field "strides" is unknown`},
		{"older field", tensor(`"dtype":"F64","shape":[],"offsets":[0,8]`), eight, `field "offsets" is unknown`},
		{"case of a field", tensor(`"DType":"F64"`), eight, `field "DType" is unknown`},

		{"equal names", `{"w":{"dtype":"F64","shape":[],"data_offsets":[0,8]},"w":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}`, eight, `key "w" occurs twice`},
		{"equal by escapes", `{"w":{"dtype":"F64","shape":[],"data_offsets":[0,8]},"\u0077":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}`, eight, `key "w" occurs twice`},
		{"equal fields", tensor(`"dtype":"F64","dtype":"F64"`), eight, `tensor "w": key "dtype" occurs twice`},
		{"equal metadata", `{"__metadata__":{"k":"1","k":"2"}}`, "", `__metadata__: key "k" occurs twice`},
		{"metadata twice", `{"__metadata__":{},"__metadata__":{}}`, "", `key "__metadata__" occurs twice`},

		{"metadata null and again", `{"__metadata__":null,"__metadata__":{}}`, "", `key "__metadata__" occurs twice`},
		{"metadata of an array", `{"__metadata__":[]}`, "", `__metadata__: want {, got [`},
		{"null in metadata", `{"__metadata__":{"k":null}}`, "", `__metadata__: key "k": want a string, got null`},
		{"metadata of a number", `{"__metadata__":{"k":1}}`, "", `__metadata__: key "k": want a string, got 1`},
		{"metadata of an object", `{"__metadata__":{"k":{}}}`, "", `__metadata__: key "k": want a string, got {`},

		{"unknown dtype", tensor(`"dtype":"F33","shape":[],"data_offsets":[0,8]`), eight, `tensor "w": dtype "F33" is unknown`},
		{"dtype in lower case", tensor(`"dtype":"f64","shape":[],"data_offsets":[0,8]`), eight, `tensor "w": dtype "f64" is unknown`},
		{"dtype of a number", tensor(`"dtype":64`), eight, `tensor "w": dtype: want a string, got 64`},

		{"negative dimension", tensor(`"dtype":"F64","shape":[-1],"data_offsets":[0,8]`), eight, `tensor "w": shape: want a non-negative integer, got -1`},
		{"negative zero", tensor(`"dtype":"F64","shape":[-0],"data_offsets":[0,0]`), "", `tensor "w": shape: want a non-negative integer, got -0`},
		{"fraction", tensor(`"dtype":"F64","shape":[1.0],"data_offsets":[0,8]`), eight, `tensor "w": shape: want a non-negative integer, got 1.0`},
		{"null dimension", tensor(`"dtype":"F64","shape":[null],"data_offsets":[0,8]`), eight, `tensor "w": shape: want a non-negative integer, got null`},
		{"text dimension", tensor(`"dtype":"F64","shape":["1"],"data_offsets":[0,8]`), eight, `tensor "w": shape: want a non-negative integer, got "1"`},
		{"dimension of 2^63", tensor(`"dtype":"F64","shape":[9223372036854775808],"data_offsets":[0,8]`), eight, `9223372036854775808 is beyond an int`},
		{"dimension of 100 digits", tensor(`"dtype":"F64","shape":[` + strings.Repeat("9", 100) + `],"data_offsets":[0,8]`), eight, `tensor "w": shape: 9999999999999999999999999999999999999999 is beyond an int`},
		{"shape of a number", tensor(`"shape":1`), "", `tensor "w": shape: want [, got 1`},
		{"deep shape", tensor(`"shape":` + strings.Repeat("[", 1e6)), "", `tensor "w": shape: want a non-negative integer, got [`},
		{"deep objects", strings.Repeat(`{"a":`, 1e5), "", `field "a" is unknown`},
		{"elements beyond an int", tensor(`"dtype":"U8","shape":[2147483647,2147483647,2147483647],"data_offsets":[0,8]`), eight, `tensor "w": shape [2147483647 2147483647 2147483647] has more elements than an int counts`},
		// 2^64 elements, so that a product modulo 2^64 is 0.
		{"elements modulo a word", tensor(`"dtype":"U8","shape":[65536,65536,65536,65536],"data_offsets":[0,0]`), "", `tensor "w": shape [65536 65536 65536 65536] has more elements than an int counts`},
		{"elements beyond an int before 0", tensor(`"dtype":"U8","shape":[65536,65536,65536,65536,0],"data_offsets":[0,0]`), "", `has more elements than an int counts`},
		{"elements beyond an int after 0", tensor(`"dtype":"U8","shape":[0,65536,65536,65536,65536],"data_offsets":[0,0]`), "", `has more elements than an int counts`},
		{"long shape", tensor(`"dtype":"U8","shape":[` + strings.Repeat("9,", 999) + `9],"data_offsets":[0,0]`), "", `tensor "w": shape [9 9 9 9 9 9 9 9 … 1000 dimensions] has more elements than an int counts`},
		{"part of a byte", tensor(`"dtype":"F4","shape":[3],"data_offsets":[0,2]`), "12", `tensor "w": shape [3] of dtype F4 takes 12 bits, want a multiple of 8`},

		{"one offset", tensor(`"dtype":"F64","shape":[],"data_offsets":[8]`), eight, `tensor "w": 1 data_offsets, want 2`},
		{"no offset", tensor(`"dtype":"F64","shape":[],"data_offsets":[]`), eight, `0 data_offsets, want 2`},
		{"three offsets", tensor(`"dtype":"F64","shape":[],"data_offsets":[0,8,8]`), eight, `3 data_offsets, want 2`},
		{"negative offset", tensor(`"dtype":"F64","shape":[],"data_offsets":[-8,0]`), eight, `tensor "w": data_offsets: want a non-negative integer, got -8`},
		{"offset with a fraction", tensor(`"dtype":"F64","shape":[],"data_offsets":[0,8.5]`), eight, `tensor "w": data_offsets: want a non-negative integer, got 8.5`},
		{"offset with an exponent", tensor(`"dtype":"F64","shape":[],"data_offsets":[0,8e0]`), eight, `tensor "w": data_offsets: want a non-negative integer, got 8e0`},
		{"offset of 2^64", tensor(`"dtype":"F64","shape":[],"data_offsets":[0,18446744073709551616]`), eight, `18446744073709551616 is beyond an int`},
		{"offsets reversed", tensor(`"dtype":"F64","shape":[],"data_offsets":[8,0]`), eight, `tensor "w": data_offsets [8, 0] end before they begin`},
		{"fewer bytes than the shape", tensor(`"dtype":"F32","shape":[3],"data_offsets":[0,8]`), eight, `tensor "w": data_offsets [0, 8] hold 8 bytes, want 12 for dtype F32 and shape [3]`},
		{"more bytes than the shape", tensor(`"dtype":"F32","shape":[1],"data_offsets":[0,8]`), eight, `tensor "w": data_offsets [0, 8] hold 8 bytes, want 4 for dtype F32 and shape [1]`},
		{"bytes of an empty tensor", tensor(`"dtype":"F32","shape":[2,0],"data_offsets":[0,8]`), eight, `want 0 for dtype F32 and shape [2 0]`},
		{"hole at the start", tensor(`"dtype":"F32","shape":[],"data_offsets":[4,8]`), eight, `tensor "w": data_offsets [4, 8] leave a hole from 0`},
		{"hole", `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[5],"data_offsets":[3,8]}}`, eight, `tensor "b": data_offsets [3, 8] leave a hole from 2`},
		{"empty tensor beyond the end", `{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[0],"data_offsets":[9,9]}}`, eight, `tensor "b": data_offsets [9, 9] leave a hole from 8`},
		{"overlap", `{"b":{"dtype":"U8","shape":[5],"data_offsets":[3,8]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, eight, `tensor "b": data_offsets [3, 8] overlap another tensor, which ends at 4`},
		{"same bytes", `{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}`, eight, `tensor "b": data_offsets [0, 8] overlap another tensor, which ends at 8`},
		{"empty tensor inside another", `{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}}`, eight, `tensor "b": data_offsets [4, 4] overlap another tensor, which ends at 8`},
		{"beyond the buffer", tensor(`"dtype":"F64","shape":[2],"data_offsets":[0,16]`), eight, `tensor "w": data_offsets [0, 16], but the buffer gives 8 bytes: unexpected EOF`},
		{"more than memory holds", tensor(fmt.Sprintf(`"dtype":"U8","shape":[%d],"data_offsets":[0,%[1]d]`, math.MaxInt)), eight, fmt.Sprintf(`tensor "w": data_offsets [0, %d]: `, math.MaxInt)},
		{"bytes at the end", tensor(`"dtype":"U8","shape":[7],"data_offsets":[0,7]`), eight, `bytes follow the last tensor`},
		{"bytes without tensors", `{}`, "\x00", `bytes follow the last tensor`},

		{"invalid UTF-8", "{\"\xff\":{}}", "", `the header is not valid UTF-8 at "{\"\xff\":{}}"`},
		{"surrogate in UTF-8", "{\"\xed\xa0\x80\":{}}", "", `is not valid UTF-8`},
		{"overlong UTF-8", "{\"\xc0\x80\":{}}", "", `is not valid UTF-8`},
		{"invalid UTF-8 in metadata", "{\"__metadata__\":{\"k\":\"\xc3\"}}", "", `the header is not valid UTF-8 at "{\"__metadata__\":{\"k\":\"\xc3\"}}"`},
		{"invalid UTF-8 outside a string", "{\xff}", "", `the header is not valid UTF-8`},
		{"lone high surrogate", `{"\ud800":{}}`, "", `surrogate without its other half`},
		{"lone low surrogate", `{"\udc00\ud800":{}}`, "", `surrogate without its other half`},
		{"high surrogate and a letter", `{"\ud800\u0041":{}}`, "", `surrogate without its other half`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Read(bytes.NewReader(file(test.header, test.buffer)))
			require.Error(t, err)
			assert.Nil(t, f)
			assert.True(t, strings.HasPrefix(err.Error(), "safetensors: "), "%v", err)
			assert.Contains(t, err.Error(), test.want)
			assert.Less(t, len(err.Error()), 500)
		})
	}
}

// Every proper prefix of a file is refused as cut, every extension as too long.
func TestReadCut(t *testing.T) {
	for _, golden := range goldens {
		for n := range len(golden.text) {
			_, err := Read(strings.NewReader(golden.text[:n]))
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s: %d bytes", golden.name, n)
		}
		_, err := Read(strings.NewReader(golden.text + " "))
		assert.EqualError(t, err, "safetensors: bytes follow the last tensor")
	}
}

// Readers that deliver little at a time, or an error with the last bytes, make no
// difference, and their errors come through.
func TestReadReaders(t *testing.T) {
	golden := goldens[len(goldens)-1]
	for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		f, err := Read(wrap(strings.NewReader(golden.text)))
		require.NoError(t, err)
		assert.Equal(t, &golden.file, f)
	}
	broken := errors.New("broken")
	for n := range len(golden.text) + 1 {
		_, err := Read(io.MultiReader(strings.NewReader(golden.text[:n]), iotest.ErrReader(broken)))
		assert.ErrorIs(t, err, broken, "%d bytes", n)
	}
}

// A tensor longer than the first block is complete, at every remainder of a block.
func TestReadBlocks(t *testing.T) {
	for _, n := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 128 << 10, 128<<10 + 1, 1e6} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i * 0x9e3779 >> 16)
		}
		want := &File{Tensors: map[string]Tensor{"w": {U8, []int{n}, data}, "v": {U8, []int{1}, []byte{7}}}}
		var buffer bytes.Buffer
		require.NoError(t, Write(&buffer, want))
		got, err := Read(&buffer)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, n, cap(got.Tensors["w"].Data))
	}
}

// A stream that never ends is refused by what its header says of it.
func TestReadEndless(t *testing.T) {
	const half = math.MaxInt/2 + 1
	header := fmt.Sprintf(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[%d],"data_offsets":[1,%d]}}`, half, half+1)
	_, err := Read(io.MultiReader(bytes.NewReader(file(header, "")), zeros{}))
	assert.ErrorContains(t, err, fmt.Sprintf(`safetensors: tensor "b": data_offsets [1, %d]: `, half+1))
}

// zeros is a reader without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// What a length claims costs nothing until its bytes arrive.
func TestReadAllocations(t *testing.T) {
	length := func(n uint64) []byte { return append(binary.LittleEndian.AppendUint64(nil, n), '{') }
	for _, test := range []struct {
		name, want string
		input      []byte
	}{
		{"header of 2^60 bytes", "header of 1152921504606846976 bytes, want at most 100000000: not a safetensors file", length(1 << 60)},
		{"header of 2^64 - 1 bytes", "header of 18446744073709551615 bytes, want at most 100000000", length(1<<64 - 1)},
		{"header at its limit plus 1", "header of 100000001 bytes, want at most 100000000", length(maxHeader + 1)},
		{"header at its limit", "header of 100000000 bytes, but the input gives 1: unexpected EOF", length(maxHeader)},
		{"tensor of 1 GiB", "but the buffer gives 0 bytes: unexpected EOF", file(`{"w":{"dtype":"U8","shape":[1073741823],"data_offsets":[0,1073741823]}}`, "")},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(bytes.NewReader(test.input))
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, test.want)
			// One block for what comes and room for the error; the race detector and
			// the test framework allocate too.
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<10))
		})
	}
}

// A view shares its bytes, and an append to a tensor leaves those that follow alone.
func TestView(t *testing.T) {
	data := file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, "xyz")
	f, err := View(data)
	require.NoError(t, err)
	data[len(data)-3] = 'w'
	require.Equal(t, "wy", string(f.Tensors["a"].Data))
	_ = append(f.Tensors["a"].Data, '!')
	require.Equal(t, "z", string(f.Tensors["b"].Data))
	_, err = View(nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
