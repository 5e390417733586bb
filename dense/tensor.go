package dense

import (
	"fmt"
	"math/bits"

	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Element is the set of element types of a [Tensor]: float32, float64, and bool for masks.
type Element interface{ Float | bool }

// Tensor is a view of Batch×Heads matrices of Rows×Cols elements, such as the queries of attention
// for B sequences, H heads, L tokens and dimension d. Element (b, h, i, j) of a Tensor is
// Data[b*BatchStride+h*HeadStride+i*Stride+j]. [TensorOf] makes a Tensor with memory in the order
// (sequence, head, token, column), and [SplitHeads] one in the order (sequence, token, head,
// column).
//
// The zero Tensor stands for no tensor as an optional argument, and as dst asks a function to
// allocate the result. Several goroutines may read a Tensor, or write disjoint parts of it.
type Tensor[E Element] struct {
	Batch, Heads, Rows, Cols        int
	Data                            []E
	BatchStride, HeadStride, Stride int
}

// NewTensor returns a tensor of b×h matrices of r×c zeros, and panics if a side is negative, or if
// the tensor takes more than 2⁴⁰ bytes.
func NewTensor[E Element](b, h, r, c int) Tensor[E] {
	if err := limit.Memory[E](b, h, r, c); err != nil {
		panic(fmt.Sprintf("dense: NewTensor(%d, %d, %d, %d): %v", b, h, r, c, err))
	}
	return TensorOf(b, h, r, c, make([]E, b*h*r*c))
}

// TensorOf returns the tensor of b×h matrices of size r×c, one after another and row by row in the
// memory of data. TensorOf panics if a side is negative or len(data) is not b·h·r·c.
func TensorOf[E Element](b, h, r, c int, data []E) Tensor[E] {
	if err := limit.Memory[E](b, h, r, c); err != nil || len(data) != b*h*r*c {
		panic(fmt.Sprintf("dense: TensorOf(%d, %d, %d, %d): %d elements given, want %d·%d·%d·%d", b, h, r, c, len(data), b, h, r, c))
	}
	return Tensor[E]{Batch: b, Heads: h, Rows: r, Cols: c, Data: data, BatchStride: h * r * c, HeadStride: r * c, Stride: c}
}

// SplitHeads returns the matrix m as a Tensor of batch sequences, each with m.Rows/batch tokens,
// and of heads heads, each with m.Cols/heads columns, in the memory of m. The rows of m are one
// sequence after another, and the columns of m one head beside another. SplitHeads panics unless
// batch ≥ 1 divides m.Rows and heads ≥ 1 divides m.Cols.
func SplitHeads[T Float](m Matrix[T], batch, heads int) Tensor[T] {
	m.Check()
	if batch < 1 || heads < 1 || m.Rows%batch != 0 || m.Cols%heads != 0 {
		panic(fmt.Sprintf("dense: SplitHeads of %d×%d: batch = %d, heads = %d, want divisors of rows and columns", m.Rows, m.Cols, batch, heads))
	}
	rows, cols := m.Rows/batch, m.Cols/heads
	return Tensor[T]{
		Batch: batch, Heads: heads, Rows: rows, Cols: cols,
		Data: m.Data, BatchStride: rows * m.Stride, HeadStride: cols, Stride: m.Stride,
	}
}

// JoinHeads copies a tensor t of B×H matrices of L×d elements, in any order in memory, into the
// (B·L)×(H·d) matrix dst and returns dst, which is the inverse of [SplitHeads]; a zero dst is
// allocated. The argument dst must not overlap t, and JoinHeads panics for a dst of another shape.
func JoinHeads[T Float](dst Matrix[T], t Tensor[T]) Matrix[T] {
	t.Check()
	dst = Ensure(dst, t.Batch*t.Rows, t.Heads*t.Cols)
	if t.Batch > 0 && t.Heads > 0 {
		CopyTensor(SplitHeads(dst, t.Batch, t.Heads), t)
	}
	return dst
}

// CopyTensor copies src into dst, of equal or other strides, and returns dst; a zero dst is
// allocated, one matrix after another. The argument dst must not overlap src, and CopyTensor panics
// for a dst of another shape.
func CopyTensor[E Element](dst, src Tensor[E]) Tensor[E] {
	src.Check()
	if dst.IsZero() {
		dst = NewTensor[E](src.Batch, src.Heads, src.Rows, src.Cols)
	}
	dst.Check()
	if dst.Shape() != src.Shape() {
		panic(fmt.Sprintf("dense: CopyTensor of %v to %v", src.Shape(), dst.Shape()))
	}
	if min(src.Batch, src.Heads, src.Rows, src.Cols) == 0 {
		return dst
	}
	for b := range src.Batch {
		for h := range src.Heads {
			for i := range src.Rows {
				copy(dst.Row(b, h, i), src.Row(b, h, i))
			}
		}
	}
	return dst
}

// Head returns the matrix of head h of sequence b, which shares the memory of the tensor t. Head
// panics if b or h is outside the tensor, or if t.Check panics.
func Head[T Float](t Tensor[T], b, h int) Matrix[T] {
	t.Check()
	start := t.index(b, h)
	if t.Rows == 0 || t.Cols == 0 {
		return Matrix[T]{Rows: t.Rows, Cols: t.Cols, Stride: t.Cols, Data: []T{}}
	}
	end := start + (t.Rows-1)*t.Stride + t.Cols
	return Matrix[T]{Rows: t.Rows, Cols: t.Cols, Stride: t.Stride, Data: t.Data[start:end:end]}
}

// Row returns row i of head h of sequence b, a slice of length t.Cols that shares the memory of t.
// Row panics if b, h or i is outside the tensor, or if t.Check panics.
func (t Tensor[E]) Row(b, h, i int) []E {
	t.Check()
	start := t.index(b, h)
	if i < 0 || i >= t.Rows {
		panic(fmt.Sprintf("dense: row %d outside a tensor of %v", i, t.Shape()))
	}
	if t.Cols == 0 {
		return t.Data[:0:0]
	}
	start += i * t.Stride
	return t.Data[start : start+t.Cols : start+t.Cols]
}

func (t Tensor[E]) index(b, h int) int {
	if b < 0 || b >= t.Batch || h < 0 || h >= t.Heads {
		panic(fmt.Sprintf("dense: head (%d, %d) outside a tensor of %v", b, h, t.Shape()))
	}
	return b*t.BatchStride + h*t.HeadStride
}

// Shape returns the sides Batch, Heads, Rows and Cols of t.
func (t Tensor[E]) Shape() [4]int { return [4]int{t.Batch, t.Heads, t.Rows, t.Cols} }

// IsZero reports whether t is the zero Tensor: nil Data and sides of 0.
func (t Tensor[E]) IsZero() bool { return t.Data == nil && t.Shape() == [4]int{} }

// Check panics unless the fields of t describe a view inside t.Data. Sides and strides of t must
// not be negative, Stride must be at least Cols if Rows > 1, and Data must hold the last element of
// t. Heads and sequences may share elements: HeadStride and BatchStride may be 0.
func (t Tensor[E]) Check() {
	if fault := t.fault(); fault != "" {
		panic("dense: " + fault)
	}
}

func (t Tensor[E]) fault() string {
	sides, strides := t.Shape(), [4]int{t.BatchStride, t.HeadStride, t.Stride, 1}
	last := uint64(0)
	for i, n := range sides {
		if n < 0 || strides[i] < 0 {
			return fmt.Sprintf("tensor of %v with strides %v: negative side or stride", sides, strides)
		}
	}
	if t.Batch == 0 || t.Heads == 0 || t.Rows == 0 || t.Cols == 0 {
		if err := limit.Memory[E](sides[:]...); err != nil {
			return fmt.Sprintf("tensor of %v, with sides of %v", sides, err)
		}
		return ""
	}
	if t.Rows > 1 && t.Stride < t.Cols {
		return fmt.Sprintf("stride %d of a tensor of %v is less than its %d columns", t.Stride, sides, t.Cols)
	}
	for i, n := range sides {
		high, step := bits.Mul64(uint64(n-1), uint64(strides[i]))
		if last += step; high != 0 || step >= uint64(len(t.Data)) || last >= uint64(len(t.Data)) {
			return fmt.Sprintf("%d elements cannot hold a tensor of %v with strides %v", len(t.Data), sides, strides)
		}
	}
	return ""
}
