package safetensors

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Read takes is what encoding/json sees in the header, it is written back and
// reads equal, and no input makes it panic. View gives the same file or the same error.
func FuzzRead(f *testing.F) {
	for _, golden := range goldens {
		f.Add([]byte(golden.text))
	}
	f.Add(file(`{"w":{"dtype":"F16","shape":[2,1],"data_offsets":[1,5]},"\u0061":{"shape":[ ],"data_offsets":[0,1],"dtype":"BOOL"}}`, "12345"))
	f.Add(file(`{"__metadata__":{"\ud83d\ude00":"\\\/"},"w":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}} `, "123"))
	f.Add(file(`{"__metadata__":null,"w":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},"v":{"dtype":"I64","shape":[],"data_offsets":[3,11]}}`, "12312345678"))
	f.Fuzz(checkRead)
}

// Every bit of a file is inverted once: a file that Read accepts is still consistent.
func TestReadBitFlips(t *testing.T) {
	for _, golden := range goldens {
		for i := range 8 * len(golden.text) {
			text := []byte(golden.text)
			text[i/8] ^= 1 << (i % 8)
			checkRead(t, text)
		}
	}
}

// checkRead checks what FuzzRead says of one input.
func checkRead(t *testing.T, text []byte) {
	first, err := Read(bytes.NewReader(text))
	view, viewErr := View(text)
	if err != nil {
		require.Nil(t, first)
		require.EqualError(t, viewErr, err.Error())
		require.Nil(t, view)
		return
	}
	require.NoError(t, viewErr)
	require.Equal(t, first, view)
	requireHeader(t, text, first)
	var buffer bytes.Buffer
	require.NoError(t, Write(&buffer, first))
	second, err := Read(&buffer)
	require.NoError(t, err)
	require.Equal(t, first, second)
	for _, tensor := range first.Tensors {
		x, err := Floats[float32](tensor)
		switch tensor.DType {
		case F64, F32, F16, BF16, F8E4M3, F8E5M2, Bool, I8, U8, I16, U16:
			require.NoError(t, err)
		case I32, U32, I64, U64:
			if err != nil {
				require.ErrorContains(t, err, " is not exact in float32")
			}
		default:
			require.ErrorContains(t, err, "dtype "+string(tensor.DType))
		}
		if err == nil {
			elements, _ := tensor.extent()
			require.Len(t, x, elements)
		}
	}
}
