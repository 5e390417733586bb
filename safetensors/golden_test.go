package safetensors

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goldens are files written out by hand from the description of the format.
var goldens = []struct {
	name string
	file File
	text string
}{
	{
		name: "nothing",
		file: File{Tensors: map[string]Tensor{}},
		text: "\x08\x00\x00\x00\x00\x00\x00\x00" +
			"{}      ",
	},
	{
		name: "empty metadata",
		file: File{Metadata: map[string]string{}, Tensors: map[string]Tensor{}},
		text: "\x18\x00\x00\x00\x00\x00\x00\x00" +
			`{"__metadata__":{}}     `,
	},
	{
		name: "scalar",
		file: File{Tensors: map[string]Tensor{"": {F64, []int{}, []byte("\x00\x00\x00\x00\x00\x00\xf0\x3f")}}},
		text: "\x38\x00\x00\x00\x00\x00\x00\x00" +
			`{"":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}    ` +
			"\x00\x00\x00\x00\x00\x00\xf0\x3f",
	},
	{
		// Types by falling rank, equal types by name; an empty tensor between two others.
		name: "order",
		file: File{
			Metadata: map[string]string{"z": "1 2", "a\"": "\n\x01/é\u2028"},
			Tensors: map[string]Tensor{
				"a": {U8, []int{3}, []byte("\x01\x02\x03")},
				"b": {F32, []int{1, 2}, []byte("\x00\x00\x80\x3f\x00\x00\x00\xc0")},
				"d": {F16, []int{0, 7}, []byte{}},
				"c": {F32, []int{1}, []byte("\x00\x00\x00\x3f")},
				"e": {I64, []int{1}, []byte("\xfe\xff\xff\xff\xff\xff\xff\xff")},
				"f": {F64, []int{1}, []byte("\x00\x00\x00\x00\x00\x00\x00\x40")},
			},
		},
		text: "\x80\x01\x00\x00\x00\x00\x00\x00" +
			`{"__metadata__":{"a\"":"\n\u0001/é` + "\u2028" + `","z":"1 2"},` +
			`"e":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},` +
			`"f":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},` +
			`"b":{"dtype":"F32","shape":[1,2],"data_offsets":[16,24]},` +
			`"c":{"dtype":"F32","shape":[1],"data_offsets":[24,28]},` +
			`"d":{"dtype":"F16","shape":[0,7],"data_offsets":[28,28]},` +
			`"a":{"dtype":"U8","shape":[3],"data_offsets":[28,31]}}` +
			"   " +
			"\xfe\xff\xff\xff\xff\xff\xff\xff" +
			"\x00\x00\x00\x00\x00\x00\x00\x40" +
			"\x00\x00\x80\x3f\x00\x00\x00\xc0" +
			"\x00\x00\x00\x3f" +
			"\x01\x02\x03",
	},
}

// Bytes written out by hand are what Write writes and what Read reads.
func TestGolden(t *testing.T) {
	for _, golden := range goldens {
		t.Run(golden.name, func(t *testing.T) {
			var buffer bytes.Buffer
			require.NoError(t, Write(&buffer, &golden.file))
			assert.Equal(t, golden.text, buffer.String())

			got, err := Read(bytes.NewReader([]byte(golden.text)))
			require.NoError(t, err)
			assert.Equal(t, &golden.file, got)
		})
	}
}

// Read takes what the format leaves open and Write does not use: another order,
// white space, escapes, unpadded headers and tensors stored against their order.
func TestReadVariants(t *testing.T) {
	want := &File{
		Metadata: map[string]string{"k": "é😀/\b\f\r\t\\\""},
		Tensors: map[string]Tensor{
			"x":   {U8, []int{2}, []byte{3, 4}},
			"y\n": {U8, []int{}, []byte{5}},
			"z":   {F4, []int{4}, []byte{1, 2}},
			"e":   {F64, []int{3, 0}, []byte{}},
		},
	}
	got, err := Read(bytes.NewReader(file("{\t\"y\\u000A\" : {\"data_offsets\":[ 4 , 5 ],\r\n\"shape\":[ ],\"dtype\":\"U\\u0038\"},"+
		`"x":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},`+
		`"__metadata__":{"k":"\u00e9\uD83d\ude00\/\b\f\r\t\\\""},`+
		`"e":{"dtype":"F64","shape":[3,0],"data_offsets":[2,2]},`+
		`"z":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`+" \n", "\x01\x02\x03\x04\x05")))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// A header may say that there are no metadata.
func TestReadNullMetadata(t *testing.T) {
	for _, header := range []string{
		`{"__metadata__":null,"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`,
		`{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"__metadata__" : null }  `,
	} {
		got, err := Read(bytes.NewReader(file(header, "7")))
		require.NoError(t, err)
		assert.Equal(t, &File{Tensors: map[string]Tensor{"w": {U8, []int{1}, []byte("7")}}}, got)
	}
}
