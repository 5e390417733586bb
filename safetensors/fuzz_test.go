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
		switch tensor.DType {
		case F64, F32, F16, BF16:
			_, err := Floats[float32](tensor)
			require.NoError(t, err)
		}
	}
}
