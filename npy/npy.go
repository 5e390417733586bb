// Package npy reads and writes arrays in NumPy's format (.npy), and reads zip files of them (.npz).
//
//	q, shape, err := npy.ReadFile[float32]("q.npy")               // a whole array
//	t := dense.TensorOf(shape[0], shape[1], shape[2], shape[3], q) // (B, H, L, d)
//	err = npy.WriteFile("out.npy", out.Data, b, h, l, d)
//	q, shape, err = npy.ReadZip[float32]("heads.npz", "q")         // an array of numpy.savez
//
// A [Reader] reads some rows at a time, in memory that does not depend on the number of rows. The
// package reads floats of 16, 32 and 64 bits, bfloat16, integers and booleans, of any rank, in C or
// Fortran order, from headers that numpy.load reads without pickle, and writes floats and booleans
// in C order. NumPy has no type bfloat16: the package reads '|V2' and '<V2' as bfloat16 and writes
// '|V2', so that numpy.load(path).view(ml_dtypes.bfloat16) has the numbers.
//
// An integer that the type of the result does not represent exactly is an error. The package does
// not trust a file: it compares the header with the size of the file before it allocates memory.
// Bytes after the elements, which NumPy ignores, are an error. The format has no checksum, so that
// damaged elements are read as other numbers.
package npy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Reader reads the rows of the array of a .npy file in order, for one goroutine at a time.
type Reader struct {
	Shape []int // the shape of the array, empty for a scalar

	// Type is the element type of the array: float64, float32, float16, bfloat16, bool, int8,
	// int16, int32, int64, uint8, uint16, uint32 or uint64.
	Type string

	// Rows is the first side of the array, and Cols is the product of all sides but the first. For
	// a scalar, Rows and Cols are 1. For an empty array, Rows or Cols is 0.
	Rows, Cols int

	file  io.Closer
	data  *bufio.Reader
	width int  // bytes of an element
	big   bool // the elements are big-endian
	bytes []byte
	done  int

	columns io.ReadSeeker // the file of an array in Fortran order, nil in C order
	start   int64         // the offset of the elements in columns
}

// Open opens the .npy file at path and returns a Reader at the first row of the array. Open returns
// an error for a file that is not in the .npy format, elements of a type that package npy does not
// read, and a file shorter or longer than the shape implies. The error of Open names the file.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var r *Reader
	if err == nil {
		r, err = newReader(f, info.Size())
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("npy: %s: %w", path, err)
	}
	r.file = f
	return r, nil
}

// NewReader returns a reader of the array in file, which has size bytes including the header, and
// the errors of [Open]. For an array in Fortran order, file must be an [io.ReadSeeker].
func NewReader(file io.Reader, size int64) (*Reader, error) {
	r, err := newReader(file, size)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	return r, nil
}

// Close closes the file that Open has opened, and does nothing to a Reader of NewReader.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Read fills dst, of r.Cols columns, with the next rows of the array and returns the number of rows
// read. If fewer than dst.Rows rows are left, Read reads those, and then returns 0. Read rounds
// float64 to float32 if T is float32, converts other numbers exactly, and booleans to 0 and 1.
//
// Read returns an error for an integer that T does not represent exactly, and for a file that ends
// too early. Read panics if r is nil, or if dst.Cols is not r.Cols. For an array in Fortran order,
// Read seeks once for each column: Read of a thousand rows or more is almost as fast as in C order.
func Read[T dense.Float](r *Reader, dst dense.Matrix[T]) (int, error) {
	dst.Check()
	if r == nil {
		panic("npy: r is nil, want a Reader")
	}
	if dst.Cols != r.Cols {
		panic(fmt.Sprintf("npy: dst is %d×%d, want %d columns for shape %v", dst.Rows, dst.Cols, r.Cols, r.Shape))
	}
	return readRows(r, dst.Rows, func(i int) []T { return dst.Row(i) })
}

// ReadFile returns the elements of the array in the .npy file at path, in C order, and the shape of
// the array. ReadFile converts numbers to float32 or float64 as [Read] does, and reads booleans as
// bool if E is bool. The error of ReadFile names the file.
func ReadFile[E dense.Element](path string) (elements []E, shape []int, err error) {
	r, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	return readAll[E](r, path)
}

func readAll[E dense.Element](r *Reader, path string) (elements []E, shape []int, err error) {
	if _, bools := any(elements).([]bool); bools && r.Type != "bool" {
		return nil, nil, fmt.Errorf("npy: %s: elements are %s, want booleans ('|b1')", path, r.Type)
	}
	if err := limit.Memory[E](r.Rows, r.Cols); err != nil {
		return nil, nil, fmt.Errorf("npy: %s: shape %v: %w", path, r.Shape, err)
	}
	elements = make([]E, r.Rows*r.Cols)
	if _, err := readRows(r, r.Rows, func(i int) []E { return elements[i*r.Cols : (i+1)*r.Cols] }); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return elements, r.Shape, nil
}
