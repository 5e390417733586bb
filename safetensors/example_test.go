package safetensors_test

import (
	"bytes"
	"fmt"

	"github.com/seed-feabd252/randfeat/safetensors"
)

func Example() {
	weights, err := safetensors.FromFloats([]int{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	if err != nil {
		panic(err)
	}
	var buffer bytes.Buffer
	err = safetensors.Write(&buffer, &safetensors.File{
		Metadata: map[string]string{"format": "1"},
		Tensors:  map[string]safetensors.Tensor{"weights": weights},
	})
	if err != nil {
		panic(err)
	}

	f, err := safetensors.Read(&buffer)
	if err != nil {
		panic(err)
	}
	x, err := safetensors.Floats[float64](f.Tensors["weights"])
	if err != nil {
		panic(err)
	}
	fmt.Println(f.Metadata["format"], f.Tensors["weights"].Shape, x)
	// Output: 1 [2 3] [1 2 3 4 5 6]
}
