package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomFile returns a file of up to eight tensors of all types and ranks up to 4,
// a third of the names and texts with characters that need escapes.
func randomFile(rnd *rand.Rand) *File {
	text := func() string {
		runes := []rune("ab.\"\\/\x00\x1f\n\x7fé\u2028\ufffd😀")
		s := make([]rune, rnd.IntN(6))
		for i := range s {
			s[i] = runes[rnd.IntN(len(runes))]
		}
		return string(s)
	}
	f := &File{Tensors: map[string]Tensor{}}
	if rnd.IntN(2) == 0 {
		f.Metadata = map[string]string{}
		for range rnd.IntN(4) {
			f.Metadata[text()] = text()
		}
	}
	for range rnd.IntN(9) {
		d := dtypes[rnd.IntN(len(dtypes))]
		shape := make([]int, rnd.IntN(5))
		elements := 1
		for i := range shape {
			shape[i] = rnd.IntN(5)
			elements *= shape[i]
		}
		if bits := elements * int(d.bits); bits%8 == 0 {
			data := make([]byte, bits/8)
			for i := range data {
				data[i] = byte(rnd.Uint32())
			}
			f.Tensors[text()] = Tensor{DType: d.name, Shape: shape, Data: data}
		}
	}
	return f
}

// What is written reads equal, and the same file gives the same bytes.
func TestRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		want := randomFile(rnd)
		var first, second bytes.Buffer
		require.NoError(t, Write(&first, want))
		requireHeader(t, first.Bytes(), want)
		got, err := Read(bytes.NewReader(first.Bytes()))
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, Write(&second, got))
		require.Equal(t, first.Bytes(), second.Bytes())
	}
}

// requireHeader requires that encoding/json sees f in the header and, at its offsets,
// in the buffer, and if the bytes are those of Write, that all is aligned.
func requireHeader(t *testing.T, text []byte, f *File) {
	t.Helper()
	n := int(binary.LittleEndian.Uint64(text))
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text[8:8+n], &members))
	if metadata, ok := members[metadataKey]; ok {
		var got map[string]string
		require.NoError(t, json.Unmarshal(metadata, &got))
		require.Equal(t, f.Metadata, got)
		delete(members, metadataKey)
	} else {
		require.Nil(t, f.Metadata)
	}
	require.Len(t, members, len(f.Tensors))
	for name, member := range members {
		var got struct {
			DType   DType  `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}
		require.NoError(t, json.Unmarshal(member, &got))
		data := text[8+n+got.Offsets[0] : 8+n+got.Offsets[1]]
		require.Contains(t, f.Tensors, name)
		require.Equal(t, f.Tensors[name], Tensor{DType: got.DType, Shape: got.Shape, Data: append([]byte{}, data...)})
	}
}

// Write places each tensor of elements of one byte or more at a multiple of the size of its
// elements.
func TestWriteAligns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		f := randomFile(rnd)
		text, err := header(f, order(f.Tensors))
		require.NoError(t, err)
		require.Zero(t, len(text)%8)
		_, entries, err := parseHeader(text[8:])
		require.NoError(t, err)
		for _, e := range entries {
			if width := int(dtypes[e.dtype.rank()].bits) / 8; width > 0 {
				require.Zero(t, e.begin%width, "%s at %d", e.dtype, e.begin)
			}
		}
	}
}

// A file that is not valid is an error, and nothing is written.
func TestWriteRefuses(t *testing.T) {
	tensor := func(name string, t Tensor) *File { return &File{Tensors: map[string]Tensor{name: t}} }
	for _, test := range []struct {
		name string
		file *File
		want string
	}{
		{"zero tensor", tensor("w", Tensor{}), `safetensors: tensor "w": dtype "" is unknown`},
		{"unknown dtype", tensor("w", Tensor{DType: "F33"}), `safetensors: tensor "w": dtype "F33" is unknown`},
		{"negative dimension", tensor("w", Tensor{F64, []int{2, -1}, nil}), `safetensors: tensor "w": shape [2 -1] has the negative dimension -1`},
		{"two negative dimensions", tensor("w", Tensor{U8, []int{-2, -1}, []byte{1, 2}}), `safetensors: tensor "w": shape [-2 -1] has the negative dimension -2`},
		{"fewer bytes", tensor("w", Tensor{F32, []int{2}, make([]byte, 7)}), `safetensors: tensor "w": 7 bytes of data, want 8 for dtype F32 and shape [2]`},
		{"no bytes of a scalar", tensor("w", Tensor{F32, nil, nil}), `safetensors: tensor "w": 0 bytes of data, want 4 for dtype F32 and shape []`},
		{"elements beyond an int", tensor("w", Tensor{U8, []int{math.MaxInt, 2}, nil}), `has more elements than an int counts`},
		{"bytes beyond an int", tensor("w", Tensor{F64, []int{math.MaxInt}, nil}), `of dtype F64 has more bytes than an int counts`},
		{"bytes just beyond an int", tensor("w", Tensor{F64, []int{math.MaxInt/8 + 1}, nil}), `of dtype F64 has more bytes than an int counts`},
		// On a machine of 64 bits 2^67 bits, so that a quotient of 64 bits is 0.
		{"bytes modulo a word", tensor("w", Tensor{F64, []int{math.MaxInt/4 + 1}, nil}), `of dtype F64 has more bytes than an int counts`},
		{"bytes just within an int", tensor("w", Tensor{F64, []int{math.MaxInt / 8}, nil}), `0 bytes of data, want`},
		{"name of the metadata", tensor("__metadata__", Tensor{U8, nil, []byte{1}}), `safetensors: tensor "__metadata__": want valid UTF-8 but __metadata__ as its name`},
		{"name of invalid UTF-8", tensor("\xff", Tensor{U8, nil, []byte{1}}), `safetensors: tensor "\xff": want valid UTF-8`},
		{"key of invalid UTF-8", &File{Metadata: map[string]string{"\xff": ""}}, `safetensors: __metadata__: key "\xff": "", want valid UTF-8`},
		{"text of invalid UTF-8", &File{Metadata: map[string]string{"k": "\xed\xa0\x80"}}, `safetensors: __metadata__: key "k": "\xed\xa0\x80", want valid UTF-8`},
		{"long header", &File{Metadata: map[string]string{"k": strings.Repeat("x", maxHeader)}}, `safetensors: header of 100000032 bytes, want at most 100000000`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var buffer bytes.Buffer
			require.ErrorContains(t, Write(&buffer, test.file), test.want)
			assert.Zero(t, buffer.Len())
		})
	}
}

// limited is a writer that fails once it has left bytes.
type limited struct{ left int }

var errFull = errors.New("full")

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return l.left, errFull
	}
	l.left -= len(p)
	return len(p), nil
}

// Errors of the writer come through wherever they occur.
func TestWriteErrors(t *testing.T) {
	golden := goldens[len(goldens)-1]
	for n := range len(golden.text) {
		assert.ErrorIs(t, Write(&limited{n}, &golden.file), errFull, "%d bytes", n)
	}
	assert.NoError(t, Write(&limited{len(golden.text)}, &golden.file))
}

// Every character that is valid in a name survives, and encoding/json agrees; those
// that JSON demands to be escaped are refused where they are not.
func TestStrings(t *testing.T) {
	read := func(text []byte) (string, error) {
		c, err := newCursor(text)
		require.NoError(t, err)
		return c.str()
	}
	check := func(s string) {
		quoted := appendString(nil, s)
		var got string
		require.NoError(t, json.Unmarshal(quoted, &got))
		require.Equal(t, s, got)
		got, err := read(quoted)
		require.NoError(t, err)
		require.Equal(t, s, got)
		escaped, err := json.Marshal(s)
		require.NoError(t, err)
		got, err = read(escaped)
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	for b := range byte(' ') {
		_, err := read([]byte{'"', b, '"'})
		require.ErrorContains(t, err, fmt.Sprintf("invalid character %q in string literal", b))
	}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if r > 0x3000 && r%61 != 0 && r&0xffff < 0xfff0 {
			continue
		}
		if utf8.ValidRune(r) {
			check("a" + string(r) + "b")
		}
	}
}
