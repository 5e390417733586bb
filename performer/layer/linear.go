package layer

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// Linear is the affine map x ↦ x·Wᵀ + b of rows x, PyTorch's nn.Linear. The elements of the matrix
// W are numbers of type T, or numbers of 16 bits, F16 or BF16. A Linear with 16-bit numbers gives,
// bit for bit, the outputs of a Linear with equal numbers of type T. Apply of few rows takes the
// time to read the matrix W, which is half as long for 16 bits as for float32.
//
// The zero Linear has no columns and no outputs. Goroutines may share a Linear.
type Linear[T dense.Float] struct {
	out, in  int
	dtype    safetensors.DType
	elements []T      // of W, without gaps between rows
	bits     []uint16 // the elements if dtype is F16 or BF16, and otherwise nil
	bias     []T      // nil for none
}

// NewLinear returns the map x ↦ x·wᵀ + bias of rows x, with copies of the matrix w and the vector
// bias; a nil bias stands for zeros. NewLinear rounds the elements of the matrix w to the type that
// the argument weights names: F16, BF16, or the type of T, the default.
//
// NewLinear returns an error if the argument weights is neither empty nor F16, BF16 or the type of
// T, if the matrix w is empty or w.Check panics, if a bias other than nil does not have an element
// for each row of w, or if rounding makes an element of w infinite.
func NewLinear[T dense.Float](w dense.Matrix[T], bias []T, weights safetensors.DType) (*Linear[T], error) {
	if err := checkWeights[T]("weights", weights); err != nil {
		return nil, err
	}
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("layer: w: %w", err)
	}
	if w.Rows == 0 || w.Cols == 0 || bias != nil && len(bias) != w.Rows {
		return nil, fmt.Errorf("layer: w is %d×%d, bias has length %d, want at least 1×1 and an element for each row", w.Rows, w.Cols, len(bias))
	}
	if err := checkRange("w", w, weights); err != nil {
		return nil, err
	}
	l := newLinear(w, bias, weights)
	return &l, nil
}

func newLinear[T dense.Float](w dense.Matrix[T], bias []T, weights safetensors.DType) Linear[T] {
	l := Linear[T]{out: w.Rows, in: w.Cols, dtype: weights, bias: slices.Clone(bias)}
	switch x := w.Clone().Data; {
	case w.Rows == 0 || !isShort(weights):
		l.dtype, l.elements = typeOf[T](), x
	case weights == safetensors.F16:
		l.bits = encoded[half.Float16](x)
	default:
		l.bits = encoded[half.BFloat16](x)
	}
	return l
}

func encoded[H half.Number, T dense.Float](x []T) []uint16 {
	bits := make([]uint16, len(x))
	for i, h := range half.Encode[H](nil, x) {
		bits[i] = uint16(h)
	}
	return bits
}

func isShort(t safetensors.DType) bool { return t == safetensors.F16 || t == safetensors.BF16 }

func typeOf[T dense.Float]() safetensors.DType {
	t, _ := safetensors.FromFloats([]int{0}, []T{})
	return t.DType
}

func checkWeights[T dense.Float](name string, t safetensors.DType) error {
	if own := typeOf[T](); t != "" && t != own && !isShort(t) {
		return fmt.Errorf("layer: %s = %.40q, want F16, BF16 or %s", name, string(t), own)
	}
	return nil
}

func checkRange[T dense.Float](name string, w dense.Matrix[T], t safetensors.DType) error {
	least := map[safetensors.DType]float64{safetensors.F16: 65520, safetensors.BF16: 0x1.ffp127}[t]
	for i := range w.Rows {
		for j, v := range w.Row(i) {
			if a := math.Abs(float64(v)); least > 0 && a >= least && a <= math.MaxFloat64 {
				return fmt.Errorf("layer: %s[%d][%d] = %v is beyond the range of %s", name, i, j, v, t)
			}
		}
	}
	return nil
}

// For each row x of the argument x, Apply writes x·Wᵀ + b, with the weights W and the bias b of the
// Linear, to a row of dst, and returns dst; a zero dst is allocated. The matrix dst of Apply must
// not overlap x. Apply allocates nothing if dst is given and an earlier call had as many rows.
// Apply panics if x or dst does not fit the Linear, or if x.Check panics.
func (l *Linear[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	x.Check()
	if x.Cols != l.in {
		panic(fmt.Sprintf("layer: x is %d×%d, want %d columns", x.Rows, x.Cols, l.in))
	}
	return l.apply(dense.Ensure(dst, x.Rows, l.out), x)
}

// Row writes row i of the matrix W of the map x ↦ x·Wᵀ + b to the slice dst and returns dst; a nil
// dst is allocated. If the rows of the matrix W of a Linear are embeddings of tokens, Row returns
// the embedding of token i. Row panics if W has no row i, or if a dst other than nil has another
// length.
func (l *Linear[T]) Row(dst []T, i int) []T {
	if i < 0 || i >= l.out || dst != nil && len(dst) != l.in {
		panic(fmt.Sprintf("layer: Row(%d) into %d elements of a Linear of %d×%d", i, len(dst), l.out, l.in))
	}
	if dst == nil {
		dst = make([]T, l.in)
	}
	if l.bits == nil {
		copy(dst, l.elements[i*l.in:])
	} else {
		matmul.Widen(dst, l.bits[i*l.in:][:l.in], l.dtype == safetensors.BF16)
	}
	return dst
}

func (l *Linear[T]) none() bool { return l.out == 0 }

func (l *Linear[T]) matrix() dense.Matrix[T] {
	if l.bits == nil {
		return dense.Matrix[T]{Rows: l.out, Cols: l.in, Data: l.elements, Stride: l.in}
	}
	m := dense.New[T](l.out, l.in)
	matmul.Widen(m.Data, l.bits, l.dtype == safetensors.BF16)
	return m
}

func (l *Linear[T]) applyTo(b *scratch.Buffer[T], x dense.Matrix[T]) dense.Matrix[T] {
	b.Shape(x.Rows, l.out)
	return l.apply(b.Rows(x.Rows), x)
}

func (l *Linear[T]) apply(y, x dense.Matrix[T]) dense.Matrix[T] {
	var beta T
	if l.bias != nil {
		beta = 1
		for i := range y.Rows {
			copy(y.Row(i), l.bias)
		}
	}
	if l.bits == nil {
		matmul.MulT(1, x, l.matrix(), beta, y)
	} else {
		matmul.MulTHalf(1, x, matmul.Half{Rows: l.out, Cols: l.in, Data: l.bits, BFloat: l.dtype == safetensors.BF16}, beta, y)
	}
	return y
}

// tensor returns matrices of one type and one number of columns, below one another.
func tensor[T dense.Float](all ...*Linear[T]) (safetensors.Tensor, error) {
	var x []T
	t := safetensors.Tensor{DType: all[0].dtype, Shape: []int{0, all[0].in}}
	for _, l := range all {
		t.Shape[0] += l.out
		x = append(x, l.elements...)
		for _, b := range l.bits {
			t.Data = binary.LittleEndian.AppendUint16(t.Data, b)
		}
	}
	if t.Data != nil {
		return t, nil
	}
	return safetensors.FromFloats(t.Shape, x)
}
