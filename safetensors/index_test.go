package safetensors

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A model in two files is the model of one file with all tensors of the index.
func TestReadIndex(t *testing.T) {
	tensor := func(name, data string) string {
		return `"` + name + `":{"dtype":"U8","shape":[2],"data_offsets":` + data + `}`
	}
	folder := fstest.MapFS{
		"m/one.safetensors": {Data: file(`{`+tensor("a", "[0,2]")+`,`+tensor("unused", "[2,4]")+`}`, "aaxx")},
		"m/two.safetensors": {Data: file(`{"__metadata__":{"k":"v"},`+tensor("b", "[0,2]")+`}`, "bb")},
		"m/bad.safetensors": {Data: []byte("short")},
	}
	read := func(index string) (*File, error) {
		folder["m/i.json"] = &fstest.MapFile{Data: []byte(index)}
		return ReadIndex(folder, "m/i.json")
	}
	f, err := read(`{"metadata": {"total_size": 4}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}`)
	require.NoError(t, err)
	assert.Equal(t, &File{Tensors: map[string]Tensor{
		"a": {DType: U8, Shape: []int{2}, Data: []byte("aa")}, "b": {DType: U8, Shape: []int{2}, Data: []byte("bb")},
	}}, f)
	f, err = read(`{"weight_map": {}}`)
	require.NoError(t, err)
	assert.Empty(t, f.Tensors)
	for index, want := range map[string]string{
		`{`:                         "m/i.json: ",
		`{"weights": {}}`:           "m/i.json: weight_map is missing",
		`{"weight_map": {"a": 1}}`:  "m/i.json: ",
		`{"weight_map": {"a": ""}}`: `m/i.json: tensor "a" is in "", want a file`,
		`{"weight_map": {"a": "../m/one.safetensors"}}`: `tensor "a" is in "../m/one.safetensors", want a file below the folder`,
		`{"weight_map": {"a": "/one.safetensors"}}`:     `is in "/one.safetensors"`,
		`{"weight_map": {"b": "one.safetensors"}}`:      `m/i.json: tensor "b" is not in one.safetensors`,
		`{"weight_map": {"b": "bad.safetensors"}}`:      "safetensors: m/bad.safetensors: ",
	} {
		_, err := read(index)
		assert.ErrorContains(t, err, want)
	}
	_, err = read(`{"weight_map": {"a": "none.safetensors"}}`)
	assert.True(t, errors.Is(err, fs.ErrNotExist), err)
	_, err = ReadIndex(folder, "none.json")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadIndex(nil, "m/i.json")
	assert.ErrorContains(t, err, "fsys is nil")
}
