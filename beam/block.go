package beamfeat

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/ridge"
)

// The coders are not generic, for the reason that registerAccumulator gives.
func init() {
	beam.RegisterType(reflect.TypeFor[ridge.Block[float32]]())
	beam.RegisterType(reflect.TypeFor[ridge.Block[float64]]())
	beam.RegisterCoder(reflect.TypeFor[ridge.Block[float32]](), encodeBlock32, decodeBlock32)
	beam.RegisterCoder(reflect.TypeFor[ridge.Block[float64]](), encodeBlock64, decodeBlock64)
}

func encodeBlock32(b ridge.Block[float32]) ([]byte, error)    { return encodeBlock(b) }
func encodeBlock64(b ridge.Block[float64]) ([]byte, error)    { return encodeBlock(b) }
func decodeBlock32(data []byte) (ridge.Block[float32], error) { return decodeBlock[float32](data) }
func decodeBlock64(data []byte) (ridge.Block[float64], error) { return decodeBlock[float64](data) }

const blockHeader = 4 * 8

// A block is, little endian, four uint64, the number of rows, the columns of X, the columns of Y,
// and 1 if the block has weights or 0; then X and Y, row by row, and the weights.
func encodeBlock[T dense.Float](b ridge.Block[T]) ([]byte, error) {
	if b.Y.Rows != b.X.Rows || b.Weights != nil && len(b.Weights) != b.X.Rows {
		return nil, fmt.Errorf("beamfeat: block with X of %d×%d, Y of %d×%d and %d weights",
			b.X.Rows, b.X.Cols, b.Y.Rows, b.Y.Cols, len(b.Weights))
	}
	weights := 0
	if b.Weights != nil {
		weights = 1
	}
	size := simd.Size[T]()
	data := make([]byte, 0, blockHeader+b.X.Rows*(b.X.Cols+b.Y.Cols+weights)*size)
	for _, n := range [...]int{b.X.Rows, b.X.Cols, b.Y.Cols, weights} {
		data = binary.LittleEndian.AppendUint64(data, uint64(n))
	}
	for _, m := range [...]dense.Matrix[T]{b.X, b.Y} {
		for i := range m.Rows {
			data, _ = binary.Append(data, binary.LittleEndian, m.Row(i)) // numbers have a size
		}
	}
	return binary.Append(data, binary.LittleEndian, b.Weights)
}

// The memory of decodeBlock is proportional to the length of data.
func decodeBlock[T dense.Float](data []byte) (ridge.Block[T], error) {
	if len(data) < blockHeader {
		return ridge.Block[T]{}, fmt.Errorf("beamfeat: block of %d bytes, want at least %d", len(data), blockHeader)
	}
	var head [4]uint64
	for i := range head {
		head[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	n, d, p, weights := head[0], head[1], head[2], head[3]
	const most = 1 << 31 // columns, so that their sum does not overflow
	high, elements := bits.Mul64(n, min(d, most)+min(p, most)+min(weights, most))
	body := data[blockHeader:]
	size := uint64(simd.Size[T]())
	if d >= most || p >= most || weights > 1 || n >= most || high != 0 ||
		uint64(len(body))%size != 0 || elements != uint64(len(body))/size {
		return ridge.Block[T]{}, fmt.Errorf("beamfeat: %d bytes for a block of %d rows with %d, %d and %d columns of %T",
			len(body), n, d, p, weights, T(0))
	}
	all := make([]T, elements)
	if _, err := binary.Decode(body, binary.LittleEndian, all); err != nil {
		return ridge.Block[T]{}, err
	}
	x, y := all[:n*d:n*d], all[n*d:n*(d+p):n*(d+p)]
	b := ridge.Block[T]{X: dense.Of(int(n), int(d), x), Y: dense.Of(int(n), int(p), y)}
	if weights == 1 {
		b.Weights = all[n*(d+p):]
	}
	return b, nil
}
