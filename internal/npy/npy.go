// Package npy reads matrices from files in NumPy's format, some rows at a time: float32 or float64
// of either byte order, of one or two dimensions, in C order.
//
// A file is not trusted: its header is compared with its size before memory is allocated, and
// memory does not depend on the number of rows.
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
	"strconv"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
)

// Reader reads the rows of a file in order.
type Reader struct {
	Rows, Cols int // a vector has one column

	file  io.Closer
	data  *bufio.Reader
	width int
	order binary.ByteOrder
	bytes []byte
	done  int
}

// Open returns a reader of the file at its first row. An error names the file and what is wrong
// with it: it is none of NumPy's, of another type, rank or order, or shorter or longer than its
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
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.file = f
	return r, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Read fills dst with the next rows, converted to T, and returns their number: less than dst.Rows
// at the end of the file, where it is 0. dst has Cols columns.
func Read[T dense.Float](r *Reader, dst dense.Matrix[T]) (int, error) {
	n := min(dst.Rows, r.Rows-r.done)
	if len(r.bytes) < r.width*r.Cols {
		r.bytes = make([]byte, r.width*r.Cols)
	}
	for i := range n {
		if _, err := io.ReadFull(r.data, r.bytes); err != nil {
			return i, err
		}
		row := dst.Row(i)
		for j := range row {
			if r.width == 4 {
				row[j] = T(math.Float32frombits(r.order.Uint32(r.bytes[4*j:])))
			} else {
				row[j] = T(math.Float64frombits(r.order.Uint64(r.bytes[8*j:])))
			}
		}
		r.done++
	}
	return n, nil
}

// maxHeader is far above the size of a header of a matrix.
const maxHeader = 1 << 16

// dictionary matches the headers that NumPy writes, with the same order of keys and blanks.
var dictionary = regexp.MustCompile(`^\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \} *\n$`)

var errNotNumPy = errors.New("not a NumPy file (.npy)")

// newReader reads the header of a file of the given size.
func newReader(file io.Reader, size int64) (*Reader, error) {
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
	switch descr := string(match[1]); descr {
	case "<f4", ">f4":
		r.width = 4
	case "<f8", ">f8":
		r.width = 8
	default:
		return nil, fmt.Errorf("dtype %.20q, want float32 ('<f4') or float64 ('<f8')", descr)
	}
	if match[1][0] == '>' {
		r.order = binary.BigEndian
	}
	if string(match[2]) == "True" {
		return nil, errors.New("in Fortran order, want C order (numpy.ascontiguousarray)")
	}
	return r, r.shape(string(match[3]), rest)
}

// shape sets the dimensions of a file with the given number of bytes after its header.
func (r *Reader) shape(text string, bytes int64) error {
	var sides []int64
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(text, " ", ""), ","), ",") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return fmt.Errorf("shape (%.40s), want one or two sizes", text)
		}
		sides = append(sides, n)
	}
	if len(sides) == 1 {
		sides = append(sides, 1)
	}
	if len(sides) != 2 {
		return fmt.Errorf("shape (%.40s) has rank %d, want 1 or 2", text, len(sides))
	}
	rows, cols := sides[0], sides[1]
	if rows < 1 || cols < 1 {
		return fmt.Errorf("shape (%s) has no element", text)
	}
	// Both sides are at most the number of elements, which is compared without a product.
	elements := bytes / int64(r.width)
	if bytes%int64(r.width) != 0 || elements%cols != 0 || elements/cols != rows {
		return fmt.Errorf("shape (%.40s) of %d-byte elements does not fit the %d bytes after the header", text, r.width, bytes)
	}
	if elements > math.MaxInt/8 {
		return fmt.Errorf("shape (%.40s) is more than this machine can hold", text)
	}
	r.Rows, r.Cols = int(rows), int(cols)
	return nil
}
