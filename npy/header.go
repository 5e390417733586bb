package npy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

// the length of the longest header that NumPy reads
const maxHeader = 10000

const maxRank = 64

var errNotNumPy = errors.New("not a NumPy file (.npy)")

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
	switch major, minor := prefix[6], prefix[7]; {
	case major < 1 || major > 3 || minor != 0:
		return nil, fmt.Errorf("NumPy format version %d.%d, want 1.0, 2.0 or 3.0", major, minor)
	case major > 1:
		if _, err := io.ReadFull(data, prefix[10:]); err != nil {
			return nil, errNotNumPy
		}
		length, start = int64(binary.LittleEndian.Uint32(prefix[8:])), 12
	}
	rest := size - start - length
	if length > maxHeader || rest < 0 {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d, want at most %d", length, size, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(data, text); err != nil {
		return nil, err
	}
	descr, shape, fortran, err := parse(string(text))
	if err != nil {
		return nil, err
	}
	r := &Reader{data: data}
	if err := r.setType(descr); err != nil {
		return nil, err
	}
	if err := r.setShape(shape, rest, prefix[6] < 3); err != nil {
		return nil, err
	}
	if fortran {
		err = r.setColumns(file)
	}
	return r, err
}

const quoted = `u?('[^'\\]*'|"[^"\\]*")`

// entry matches a key, a string, a truth value, a tuple or the rest of the header, and a comma.
var entry = regexp.MustCompile(`(?s)^\s*` + quoted + `\s*:\s*(?:` + quoted + `|(True|False)|(\([0-9L,\s]*\))|([\[(].*))\s*(,?)`)

var ending = regexp.MustCompile(`^\s*\}\s*$`)

// The last of equal keys wins, as in Python.
func parse(text string) (descr, shape string, fortran bool, err error) {
	wrong := fmt.Errorf("header %.80q, want a dictionary of descr, fortran_order and shape", text)
	order := ""
	rest, more := strings.CutPrefix(strings.TrimLeft(text, " \t\n\r\f"), "{")
	for more {
		m := entry.FindStringSubmatch(rest)
		if m == nil {
			return "", "", false, wrong
		}
		switch key := m[1][1 : len(m[1])-1]; {
		case key == "descr" && m[2] != "":
			descr = m[2][1 : len(m[2])-1]
		case key == "descr" && m[5] != "":
			return "", "", false, unsupported(m[5])
		case key == "fortran_order" && m[3] != "":
			order = m[3]
		case key == "shape" && m[4] != "":
			shape = m[4]
		default:
			return "", "", false, wrong
		}
		rest, more = rest[len(m[0]):], m[6] == "," && !ending.MatchString(rest[len(m[0]):])
	}
	if !ending.MatchString(rest) || descr == "" || shape == "" || order == "" {
		return "", "", false, wrong
	}
	return descr, shape, order == "True", nil
}

var types = [...]struct {
	name, code, letter string
	width              int
}{
	{"float64", "f8", "d", 8}, {"float32", "f4", "f", 4}, {"float16", "f2", "e", 2}, {"bool", "b1", "?", 1},
	{"int8", "i1", "b", 1}, {"int16", "i2", "h", 2}, {"int32", "i4", "i", 4}, {"int64", "i8", "q", 8},
	{"uint8", "u1", "B", 1}, {"uint16", "u2", "H", 2}, {"uint32", "u4", "I", 4}, {"uint64", "u8", "Q", 8},
}

// A descr without a byte order is little-endian.
func (r *Reader) setType(descr string) error {
	if descr == "<V2" || descr == "|V2" {
		r.Type, r.width = "bfloat16", 2
		return nil
	}
	code := descr
	if strings.Contains("<>=|", descr[:1]) {
		code = descr[1:]
	}
	for _, t := range types {
		if code == t.code || code == t.letter || descr == t.name {
			r.Type, r.width, r.big = t.name, t.width, descr[0] == '>'
			return nil
		}
	}
	return unsupported(strconv.Quote(descr))
}

func unsupported(descr string) error {
	return fmt.Errorf("dtype %.40s, want floats ('<f2', '<f4', '<f8'), bfloat16 ('|V2'), integers or booleans; numpy.ndarray.astype converts most others", descr)
}

// setShape sets the sides of an array whose elements have the given number of bytes. long permits
// the long integers of Python 2, such as 3L.
func (r *Reader) setShape(text string, bytes int64, long bool) error {
	inside := strings.TrimSpace(text[1 : len(text)-1])
	sides := strings.Split(inside, ",")
	if last := len(sides) - 1; strings.TrimSpace(sides[last]) == "" && (last > 0 || inside == "") {
		sides = sides[:last]
	} else if last == 0 {
		sides[0] = "" // a number in parentheses is not a tuple, and is invalid
	}
	product, wide, empty := uint64(1), false, false
	for _, side := range sides {
		side = strings.TrimSpace(side)
		if long {
			side = strings.TrimSpace(strings.TrimSuffix(side, "L"))
		}
		n, err := strconv.ParseUint(side, 10, 64)
		if errors.Is(err, strconv.ErrSyntax) || n > 0 && side[0] == '0' || len(r.Shape) == maxRank {
			return fmt.Errorf("shape %.40s, want sizes, at most %d", text, maxRank)
		}
		r.Shape = append(r.Shape, int(n))
		if n == 0 {
			empty = true
			continue
		}
		var high uint64
		high, product = bits.Mul64(product, n)
		wide = wide || high > 0 || product > math.MaxInt64/8
	}
	if empty && bytes != 0 || !empty && (wide || int64(product)*int64(r.width) != bytes) {
		return fmt.Errorf("shape %.40s of %d-byte elements does not fit the %d bytes after the header", text, r.width, bytes)
	}
	if wide || product > math.MaxInt/8 {
		return fmt.Errorf("shape %.40s is more than this machine can hold", text)
	}
	r.Rows, r.Cols = 1, 1
	for i, n := range r.Shape {
		if i == 0 {
			r.Rows = n
		} else {
			r.Cols *= n
		}
	}
	return nil
}

func (r *Reader) setColumns(file io.Reader) error {
	if r.Cols == 1 || r.Rows == 1 && len(r.Shape) == 2 {
		return nil // as in C order
	}
	at, err := int64(0), errors.ErrUnsupported
	if columns, ok := file.(io.ReadSeeker); ok {
		r.columns = columns
		at, err = columns.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		return fmt.Errorf("in Fortran order, want a file that can seek or C order (numpy.ascontiguousarray): %w", err)
	}
	r.start = at - int64(r.data.Buffered())
	return nil
}
