package dense

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Float is the set of element types of a Matrix, without ~: a type switch over both is exhaustive.
type Float interface{ float32 | float64 }

// Matrix is a row-major Rows×Cols view of Data: element (i, j) is Data[i*Stride+j]. The zero Matrix
// is the empty matrix, and as an argument dst asks a function to allocate the result. A Matrix is a
// value: assignment copies the fields and not the elements. Several goroutines may read a Matrix,
// or write disjoint parts of it.
type Matrix[T Float] struct {
	Rows, Cols int
	Data       []T
	Stride     int
}

// New returns an r×c matrix of zeros with stride c, and panics if the matrix takes more than 2⁴⁰
// bytes, or if r or c is negative.
func New[T Float](r, c int) Matrix[T] {
	if r < 0 || c < 0 {
		panic(fmt.Sprintf("dense: New(%d, %d): negative dimension", r, c))
	}
	if err := limit.Memory[T](r, c); err != nil {
		panic(fmt.Sprintf("dense: New(%d, %d): %v", r, c, err))
	}
	return Matrix[T]{Rows: r, Cols: c, Data: make([]T, r*c), Stride: c}
}

// Of returns the r×c matrix in the memory of data, row by row, and panics if len(data) is not r·c.
func Of[T Float](r, c int, data []T) Matrix[T] {
	if r < 0 || c < 0 || c > 0 && r > math.MaxInt/c || len(data) != r*c {
		panic(fmt.Sprintf("dense: Of(%d, %d): %d elements given, want %d·%d", r, c, len(data), r, c))
	}
	m := Matrix[T]{Rows: r, Cols: c, Data: data, Stride: c}
	m.Check()
	return m
}

// Ensure returns dst if dst is r×c, and a new r×c matrix if dst is the zero Matrix. Ensure does not
// change the elements of dst. Ensure panics, with a message of both shapes, for a dst that is
// neither zero nor r×c, and if dst.Check panics.
func Ensure[T Float](dst Matrix[T], r, c int) Matrix[T] {
	if dst.Rows == r && dst.Cols == c {
		dst.Check()
		return dst
	}
	if dst.Rows == 0 && dst.Cols == 0 && dst.Data == nil {
		return New[T](r, c)
	}
	panic(fmt.Sprintf("dense: destination is %d×%d, want %d×%d", dst.Rows, dst.Cols, r, c))
}

// Check panics unless the fields of m describe a view inside m.Data: Rows and Cols are not
// negative, Stride is at least Cols if m has several rows, and Data holds the last element of m.
// Functions of this module call Check for every argument of type Matrix. The methods At, Set and
// Row check only indices, because callers use At, Set and Row for every element or row.
func (m Matrix[T]) Check() {
	if !m.isView() {
		panic(m.fault())
	}
}

// Validate returns an error with the text of the panic of Check, or nil.
func (m Matrix[T]) Validate() error {
	if !m.isView() {
		return errors.New(m.fault())
	}
	return nil
}

// isView does not divide, so that it costs little for a view of one row.
func (m Matrix[T]) isView() bool {
	if m.Rows < 1 || m.Cols < 1 {
		return m.Rows >= 0 && m.Cols >= 0 && limit.Memory[T](m.Rows, m.Cols) == nil
	}
	high, last := bits.Mul64(uint64(m.Rows-1), uint64(m.Stride))
	return (m.Rows == 1 || m.Stride >= m.Cols) && len(m.Data) >= m.Cols &&
		high == 0 && last <= uint64(len(m.Data)-m.Cols)
}

func (m Matrix[T]) fault() string {
	switch {
	case m.Rows < 0 || m.Cols < 0:
		return fmt.Sprintf("dense: matrix is %d×%d: negative dimension", m.Rows, m.Cols)
	case m.Rows == 0 || m.Cols == 0:
		return fmt.Sprintf("dense: matrix is %d×%d, with a side of %v", m.Rows, m.Cols, limit.Memory[T](m.Rows, m.Cols))
	case m.Rows > 1 && m.Stride < m.Cols:
		return fmt.Sprintf("dense: stride %d of a %d×%d matrix is less than its %d columns", m.Stride, m.Rows, m.Cols, m.Cols)
	}
	return fmt.Sprintf("dense: %d elements cannot hold a %d×%d matrix of stride %d", len(m.Data), m.Rows, m.Cols, m.Stride)
}

// At returns element (i, j) of m, and panics if the index is outside the matrix.
func (m Matrix[T]) At(i, j int) T {
	m.checkIndex(i, j)
	return m.Data[i*m.Stride+j]
}

// Set sets element (i, j) of m to v, and panics if the index is outside the matrix.
func (m Matrix[T]) Set(i, j int, v T) {
	m.checkIndex(i, j)
	m.Data[i*m.Stride+j] = v
}

func (m Matrix[T]) checkIndex(i, j int) {
	if i < 0 || i >= m.Rows || j < 0 || j >= m.Cols {
		panic(fmt.Sprintf("dense: index (%d, %d) outside a %d×%d matrix", i, j, m.Rows, m.Cols))
	}
}

// Row returns row i of m, a slice of length and capacity Cols that shares the memory of m. Row
// panics if i is outside [0, m.Rows).
func (m Matrix[T]) Row(i int) []T {
	if i < 0 || i >= m.Rows {
		panic(fmt.Sprintf("dense: row %d outside a %d×%d matrix", i, m.Rows, m.Cols))
	}
	if m.Cols == 0 {
		// A view without columns has a stride but no data.
		return m.Data[:0:0]
	}
	start := i * m.Stride
	return m.Data[start : start+m.Cols : start+m.Cols]
}

// RowRange returns a view of the rows from ≤ i < to of m, and panics unless 0 ≤ from ≤ to ≤ m.Rows.
func (m Matrix[T]) RowRange(from, to int) Matrix[T] {
	m.Check()
	if from < 0 || to < from || to > m.Rows {
		panic(fmt.Sprintf("dense: rows [%d, %d) outside a %d×%d matrix", from, to, m.Rows, m.Cols))
	}
	return m.view(from, to, 0, m.Cols)
}

// ColRange returns a view of columns from ≤ j < to of m, and panics unless 0 ≤ from ≤ to ≤ m.Cols.
func (m Matrix[T]) ColRange(from, to int) Matrix[T] {
	m.Check()
	if from < 0 || to < from || to > m.Cols {
		panic(fmt.Sprintf("dense: columns [%d, %d) outside a %d×%d matrix", from, to, m.Rows, m.Cols))
	}
	return m.view(0, m.Rows, from, to)
}

// The Data of an empty view is not nil, so that the view never means "allocate".
func (m Matrix[T]) view(r0, r1, c0, c1 int) Matrix[T] {
	v := Matrix[T]{Rows: r1 - r0, Cols: c1 - c0, Stride: m.Stride, Data: []T{}}
	if v.Rows > 0 && v.Cols > 0 {
		start := r0*m.Stride + c0
		end := start + (v.Rows-1)*m.Stride + v.Cols
		v.Data = m.Data[start:end:end]
	}
	return v
}

// Clone returns a copy of m in new memory, with stride m.Cols.
func (m Matrix[T]) Clone() Matrix[T] {
	m.Check()
	return Copy(New[T](m.Rows, m.Cols), m)
}

// Copy copies the elements of src into dst, whose element type may differ, and returns dst; a zero
// dst is allocated. Copy rounds float64 to the nearest float32, ties to even, and to ±Inf beyond
// the range of float32; NaN stays NaN. Copy panics for a dst of another shape than src.
func Copy[To, From Float](dst Matrix[To], src Matrix[From]) Matrix[To] {
	src.Check()
	dst = Ensure(dst, src.Rows, src.Cols)
	if same, ok := any(src).(Matrix[To]); ok {
		for i := 0; i < same.Rows && same.Cols > 0; i++ {
			copy(dst.Data[i*dst.Stride:][:same.Cols], same.Data[i*same.Stride:])
		}
		return dst
	}
	for i := range src.Rows {
		to := dst.Row(i)
		for j, v := range src.Row(i) {
			to[j] = To(v)
		}
	}
	return dst
}

// Transpose writes the transpose of src into dst and returns dst; a zero dst is allocated. The
// argument dst must not overlap src, and Transpose panics for a dst of another shape.
func Transpose[T Float](dst, src Matrix[T]) Matrix[T] {
	src.Check()
	dst = Ensure(dst, src.Cols, src.Rows)
	for i := range src.Rows {
		for j, v := range src.Row(i) {
			dst.Data[j*dst.Stride+i] = v
		}
	}
	return dst
}
