package safetensors

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1 << 10, 1 << 24} {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			var buffer bytes.Buffer
			require.NoError(b, Write(&buffer, &File{Tensors: map[string]Tensor{"w": {U8, []int{n}, make([]byte, n)}}}))
			b.SetBytes(int64(buffer.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(bytes.NewReader(buffer.Bytes())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFloats(b *testing.B) {
	b.Run("type=f32", benchmarkFloats[float32])
	b.Run("type=f64", benchmarkFloats[float64])
}

func benchmarkFloats[T float32 | float64](b *testing.B) {
	const n = 1 << 16
	for _, d := range []DType{F64, F32, F16, BF16} {
		b.Run(fmt.Sprintf("from=%s/n=%d", d, n), func(b *testing.B) {
			size := n * int(dtypes[d.rank()].bits) / 8
			tensor := Tensor{d, []int{n}, make([]byte, size)}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Floats[T](tensor); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
