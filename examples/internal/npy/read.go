// Package npy reads and writes tensors in NumPy's file format: float32 or float64, rows×columns or
// heads×rows×columns, C order.
//
// The file is not trusted: its header is checked against its size before anything is allocated.
package npy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"

	"github.com/sbinet/npyio"

	"github.com/seed-feabd252/randfeat/dense"
)

// Header is what a file says about itself.
type Header struct {
	Type  reflect.Kind // reflect.Float32 or reflect.Float64
	Shape []int        // rows×columns or heads×rows×columns, none of them zero
}

// Tensor is a stack of matrices of the same shape.
type Tensor[T dense.Float] struct {
	Shape []int // rows×columns or heads×rows×columns
	Data  []T   // in C order
}

// Heads returns the number of matrices: 1 for a tensor of rank 2.
func (t Tensor[T]) Heads() int {
	if len(t.Shape) == 2 {
		return 1
	}
	return t.Shape[0]
}

// Head returns matrix h, a view.
func (t Tensor[T]) Head(h int) dense.Matrix[T] {
	r, c := t.Shape[len(t.Shape)-2], t.Shape[len(t.Shape)-1]
	return dense.Of(r, c, t.Data[h*r*c:(h+1)*r*c])
}

// Stat returns the header of a file. It is an error, which names the file, if the file is not a
// NumPy file, if its type is neither float32 nor float64, its rank neither 2 nor 3, its order
// Fortran's, a dimension zero, or if the file is longer or shorter than its shape.
func Stat(path string) (Header, error) {
	var h Header
	err := open(path, func(r io.Reader, size int64) (err error) {
		h, _, err = header(r, size)
		return err
	})
	return h, err
}

// Read returns the tensor of a file. It is an error, which names the file, if Stat reports one, if
// the elements are not of type T, or if one of them is NaN or infinite.
func Read[T dense.Float](path string) (Tensor[T], error) {
	var t Tensor[T]
	err := open(path, func(r io.Reader, size int64) (err error) {
		t, err = decode[T](r, size)
		return err
	})
	return t, err
}

// open calls f with the contents and the size of a regular file.
func open(path string, f func(r io.Reader, size int64) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path)
	}
	if err := f(file, info.Size()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// maxHeader is far above the size of a header of a tensor of rank 3, and bounds the bytes that are
// read of any other file.
const maxHeader = 1 << 16

// dictionary matches the headers that NumPy writes, with the same order of keys and blanks. The
// check comes first, because npyio slices a header at the places of the keys in any order.
var dictionary = regexp.MustCompile(`^\{'descr': '[^']*', 'fortran_order': (True|False), 'shape': \([0-9, ]*\), \} *\n$`)

var errNotNumPy = errors.New("not a NumPy file (.npy)")

// header reads and checks the header of a file of the given size. The reader returned stands at the
// first element.
func header(r io.Reader, size int64) (Header, *npyio.Reader, error) {
	prefix := make([]byte, 10, 12)
	if _, err := io.ReadFull(r, prefix); err != nil || !bytes.HasPrefix(prefix, []byte("\x93NUMPY")) {
		return Header{}, nil, errNotNumPy
	}
	length := int64(binary.LittleEndian.Uint16(prefix[8:]))
	switch major := prefix[6]; major {
	case 1:
	case 2:
		prefix = prefix[:12]
		if _, err := io.ReadFull(r, prefix[10:]); err != nil {
			return Header{}, nil, errNotNumPy
		}
		length = int64(binary.LittleEndian.Uint32(prefix[8:]))
	default:
		return Header{}, nil, fmt.Errorf("NumPy format version %d, want 1 or 2", major)
	}
	elements := size - int64(len(prefix)) - length
	if length > maxHeader || elements < 0 {
		return Header{}, nil, fmt.Errorf("a header of %d bytes in a file of %d", length, size)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, nil, err
	}
	if !dictionary.Match(text) {
		return Header{}, nil, errors.New("the header is not one that NumPy writes")
	}
	start := io.MultiReader(bytes.NewReader(prefix), bytes.NewReader(text), fullReader{r})
	reader, err := npyio.NewReader(start)
	if err != nil {
		return Header{}, nil, err
	}
	h, err := check(reader, elements)
	return h, reader, err
}

// check compares a header with the supported types and shapes, and with the number of bytes after
// it.
func check(r *npyio.Reader, bytes int64) (Header, error) {
	descr := r.Header.Descr
	var width int64
	h := Header{Shape: descr.Shape}
	switch descr.Type {
	case "<f4", ">f4":
		h.Type, width = reflect.Float32, 4
	case "<f8", ">f8":
		h.Type, width = reflect.Float64, 8
	default:
		return h, fmt.Errorf("dtype %q, want float32 ('<f4') or float64 ('<f8')", descr.Type)
	}
	if n := len(descr.Shape); n != 2 && n != 3 {
		return h, fmt.Errorf("shape %v has rank %d, want 2 (L×d) or 3 (heads×L×d)", descr.Shape, n)
	}
	if descr.Fortran {
		return h, errors.New("in Fortran order, want C order (numpy.ascontiguousarray)")
	}
	want := width
	for _, n := range descr.Shape {
		if n <= 0 {
			return h, fmt.Errorf("shape %v has no element", descr.Shape)
		}
		if want > math.MaxInt64/int64(n) {
			return h, fmt.Errorf("shape %v is more than a file can hold", descr.Shape)
		}
		want *= int64(n)
	}
	if want != bytes {
		return h, fmt.Errorf("shape %v of %s needs %d bytes, the file has %d after its header", descr.Shape, descr.Type, want, bytes)
	}
	if want/width > math.MaxInt32 && math.MaxInt == math.MaxInt32 {
		return h, fmt.Errorf("shape %v is more than this machine can hold", descr.Shape)
	}
	return h, nil
}

// fullReader never returns less than was asked for without an error: npyio takes short reads for
// whole ones.
type fullReader struct{ r io.Reader }

func (f fullReader) Read(p []byte) (int, error) { return io.ReadFull(f.r, p) }

// decode reads a tensor from a file of the given size.
func decode[T dense.Float](r io.Reader, size int64) (Tensor[T], error) {
	h, reader, err := header(bufio.NewReaderSize(r, 1<<16), size)
	if err != nil {
		return Tensor[T]{}, err
	}
	if want := reflect.TypeFor[T]().Kind(); h.Type != want {
		return Tensor[T]{}, fmt.Errorf("elements are %v, want %v", h.Type, want)
	}
	t := Tensor[T]{Shape: h.Shape}
	if err := reader.Read(&t.Data); err != nil {
		return Tensor[T]{}, err
	}
	for i, v := range t.Data {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return Tensor[T]{}, fmt.Errorf("element %v is %v, want finite numbers", index(h.Shape, i), f)
		}
	}
	return t, nil
}

// index returns the indices of element i, in C order.
func index(shape []int, i int) []int {
	at := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		at[a] = i % shape[a]
		i /= shape[a]
	}
	return at
}
