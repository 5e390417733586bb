// Package npy reads and writes arrays in NumPy's format (.npy): float64, float32, float16 and
// bfloat16, converted to float32 or float64, and booleans, of any rank, in C order.
//
//	q, shape, err := npy.ReadFile[float32]("q.npy")               // a whole array
//	t := dense.TensorOf(shape[0], shape[1], shape[2], shape[3], q) // (B, H, L, d)
//	err = npy.WriteFile("out.npy", out.Data, b, h, l, d)
//
// A [Reader] reads some rows at a time, in memory that does not depend on their number.
//
// A file is not trusted: its header is compared with its size before memory is allocated. The format
// has no checksum, so elements that were damaged are other numbers. Arrays
// without elements, in Fortran order and of other types are errors, which say how NumPy converts.
//
// NumPy has no type bfloat16, and writes such arrays of package ml_dtypes as '|V2' or '<V2', two
// bytes of no type. This package takes these as bfloat16 and writes '|V2', so that
// numpy.load(path).view(ml_dtypes.bfloat16) has the numbers.
//
// # Source
//
//   - [NEP 1] R. Kern: A Simple File Format for NumPy Arrays. NumPy Enhancement Proposal 1.
package npy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Reader reads the rows of a file in order. It belongs to one goroutine.
type Reader struct {
	Shape []int // of the array, empty for a scalar

	// Type of the elements: float64, float32, float16, bfloat16 or bool.
	Type string

	// Rows is the first side, and Cols the product of the others. A scalar has one row and column.
	Rows, Cols int

	file  io.Closer
	data  *bufio.Reader
	width int
	order binary.ByteOrder
	bytes []byte
	done  int
}

// Open returns a reader of the file at its first row. An error names the file and says what is
// wrong with it: it is none of NumPy's, of another type or order, or shorter or longer than its
// shape.
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

// Close closes the file, if Open has opened one.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Read fills dst with the next rows, converted to T, and returns their number: less than dst.Rows
// at the end of the file, where it is 0. dst has Cols columns. float64 is rounded to float32, and
// all else is exact. It is an error if the array holds booleans, or if the file ends too early.
// Read panics if r is nil, or if dst has another number of columns.
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

// readRows fills up to n rows.
func readRows[E dense.Element](r *Reader, n int, row func(i int) []E) (int, error) {
	n = min(n, r.Rows-r.done)
	if len(r.bytes) < r.width*r.Cols {
		r.bytes = make([]byte, r.width*r.Cols)
	}
	for i := range n {
		if _, err := io.ReadFull(r.data, r.bytes); err != nil {
			return i, fmt.Errorf("npy: row %d: %w", r.done, err)
		}
		if err := convert(r, row(i)); err != nil {
			return i, err
		}
		r.done++
	}
	return n, nil
}

// convert converts the bytes of a row.
func convert[E dense.Element](r *Reader, row []E) error {
	switch row := any(row).(type) {
	case []bool:
		if r.Type != "bool" {
			return fmt.Errorf("npy: elements are %s, want booleans ('|b1')", r.Type)
		}
		for j := range row {
			row[j] = r.bytes[j] != 0
		}
		return nil
	case []float32:
		return convertFloats(r, row)
	case []float64:
		return convertFloats(r, row)
	}
	return nil
}

func convertFloats[T dense.Float](r *Reader, row []T) error {
	switch r.Type {
	case "float64":
		for j := range row {
			row[j] = T(math.Float64frombits(r.order.Uint64(r.bytes[8*j:])))
		}
	case "float32":
		for j := range row {
			row[j] = T(math.Float32frombits(r.order.Uint32(r.bytes[4*j:])))
		}
	case "float16":
		for j := range row {
			row[j] = T(half.Float16(r.order.Uint16(r.bytes[2*j:])).Float32())
		}
	case "bfloat16":
		for j := range row {
			row[j] = T(half.BFloat16(r.order.Uint16(r.bytes[2*j:])).Float32())
		}
	default:
		return errors.New("npy: elements are booleans, want numbers")
	}
	return nil
}

// ReadFile returns the elements of an array, in C order, and its shape. Numbers are converted to
// float32 or float64 as in [Read]; booleans are read as bool. An error names the file.
func ReadFile[E dense.Element](path string) (elements []E, shape []int, err error) {
	r, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	if err := limit.Memory[E](r.Rows, r.Cols); err != nil {
		return nil, nil, fmt.Errorf("npy: %s: shape %v: %w", path, r.Shape, err)
	}
	elements = make([]E, r.Rows*r.Cols)
	if _, err := readRows(r, r.Rows, func(i int) []E { return elements[i*r.Cols : (i+1)*r.Cols] }); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return elements, r.Shape, nil
}

// maxHeader is far above the size of a header of an array of any rank that NumPy has.
const maxHeader = 1 << 16

// maxRank is the largest rank of NumPy.
const maxRank = 64

// dictionary matches the headers that NumPy writes, with the same order of keys and blanks.
var dictionary = regexp.MustCompile(`^\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \} *\n$`)

var errNotNumPy = errors.New("not a NumPy file (.npy)")

// NewReader returns a reader of the array of size bytes, header included, that file gives.
// An error says what is wrong, as that of [Open] does.
func NewReader(file io.Reader, size int64) (*Reader, error) {
	r, err := newReader(file, size)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	return r, nil
}

func newReader(file io.Reader, size int64) (*Reader, error) {
	if file == nil {
		return nil, errors.New("file is nil, want a reader")
	}
	data := bufio.NewReaderSize(file, 1<<16)
	prefix := make([]byte, 12)
	if _, err := io.ReadFull(data, prefix[:10]); err != nil || string(prefix[:6]) != "\x93NUMPY" {
		return nil, errNotNumPy
	}
	length, start := int64(binary.LittleEndian.Uint16(prefix[8:])), int64(10)
	switch prefix[6] {
	case 1:
	case 2:
		if _, err := io.ReadFull(data, prefix[10:]); err != nil {
			return nil, errNotNumPy
		}
		length, start = int64(binary.LittleEndian.Uint32(prefix[8:])), 12
	default:
		return nil, fmt.Errorf("NumPy format version %d, want 1 or 2", prefix[6])
	}
	rest := size - start - length
	if length > maxHeader || rest < 0 {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d", length, size)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(data, text); err != nil {
		return nil, err
	}
	match := dictionary.FindSubmatch(text)
	if match == nil {
		return nil, errors.New("the header is not one that NumPy writes")
	}
	r := &Reader{data: data, order: binary.LittleEndian}
	if err := r.setType(string(match[1])); err != nil {
		return nil, err
	}
	if string(match[2]) == "True" {
		return nil, errors.New("in Fortran order, want C order (numpy.ascontiguousarray)")
	}
	return r, r.setShape(string(match[3]), rest)
}

// setType sets the type of the elements.
func (r *Reader) setType(descr string) error {
	switch descr {
	case "<f8", ">f8":
		r.Type, r.width = "float64", 8
	case "<f4", ">f4":
		r.Type, r.width = "float32", 4
	case "<f2", ">f2":
		r.Type, r.width = "float16", 2
	case "<V2", "|V2":
		r.Type, r.width = "bfloat16", 2
	case "|b1":
		r.Type, r.width = "bool", 1
	default:
		return fmt.Errorf("dtype %.20q, want float32 ('<f4'), float64 ('<f8'), float16 ('<f2'), bfloat16 ('|V2') or booleans ('|b1'); astype(numpy.float32) converts", descr)
	}
	if descr[0] == '>' {
		r.order = binary.BigEndian
	}
	return nil
}

// setShape sets the sides of an array with the given number of bytes after its header.
func (r *Reader) setShape(text string, bytes int64) error {
	elements := bytes / int64(r.width)
	left := elements
	inside := strings.TrimSuffix(strings.ReplaceAll(text, " ", ""), ",")
	for part := range strings.SplitSeq(inside, ",") {
		if inside == "" && text == "" {
			break
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || len(r.Shape) == maxRank {
			return fmt.Errorf("shape (%.40s), want sizes, at most %d", text, maxRank)
		}
		if n < 1 {
			return fmt.Errorf("shape (%.40s) has no element", text)
		}
		// The product of the sides divides the number of elements, which it does not exceed.
		if left%n != 0 || n > math.MaxInt {
			left = 0
			break
		}
		left /= n
		r.Shape = append(r.Shape, int(n))
	}
	if left != 1 || bytes%int64(r.width) != 0 {
		return fmt.Errorf("shape (%.40s) of %d-byte elements does not fit the %d bytes after the header", text, r.width, bytes)
	}
	if elements > math.MaxInt/8 {
		return fmt.Errorf("shape (%.40s) is more than this machine can hold", text)
	}
	r.Rows, r.Cols = 1, int(elements)
	if len(r.Shape) > 0 {
		r.Rows = r.Shape[0]
		r.Cols /= r.Rows
	}
	r.Shape = slices.Clip(r.Shape)
	return nil
}
