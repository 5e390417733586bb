package npy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/internal/file/whole"
)

// Element is the set of the element types that Write and WriteFile accept. Function half.Encode
// converts float32 or float64 to half.Float16 or half.BFloat16.
type Element interface{ dense.Element | half.Number }

// WriteFile writes an array of the given shape, whose elements are in C order, to the .npy file at
// path, which WriteFile creates or replaces. WriteFile writes to a temporary folder beside path and
// moves the complete file to path, so that after an error, which names the file, a file at path is
// unchanged.
func WriteFile[E Element](path string, elements []E, shape ...int) error {
	if err := fits(len(elements), shape); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	return whole.Write(path, func(w io.Writer) error { return Write(w, elements, shape...) })
}

// Write writes an array of the given shape, whose elements are in C order, to w in version 1.0 of
// the format .npy, little-endian. Equal arrays give equal bytes. Write returns an error for a shape
// that does not fit the number of elements, and the error of w.Write.
func Write[E Element](w io.Writer, elements []E, shape ...int) error {
	if err := fits(len(elements), shape); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	if w == nil {
		return errors.New("npy: w is nil, want a writer")
	}
	sides := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
	if len(shape) == 1 {
		sides += ","
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descrOf[E](), sides)
	// NumPy can map a file whose elements start at a multiple of 64.
	const prefix, align = 10, 64
	head += strings.Repeat(" ", align-1-(prefix+len(head))%align) + "\n"
	b := bufio.NewWriterSize(w, 1<<16)
	b.WriteString("\x93NUMPY\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(head))))
	b.WriteString(head)
	for part := range slices.Chunk(elements, 1<<13) {
		_ = binary.Write(b, binary.LittleEndian, part) // b keeps its first error
	}
	return b.Flush()
}

func fits(n int, shape []int) error {
	if len(shape) > maxRank {
		return fmt.Errorf("shape has %d sides, want at most %d", len(shape), maxRank)
	}
	// Division cannot overflow, unlike the product of the sides.
	left, fits, empty := n, true, false
	for _, side := range shape {
		if side < 0 {
			return fmt.Errorf("shape %v has a negative side", shape)
		}
		if side == 0 {
			empty = true
			continue
		}
		fits = fits && left%side == 0
		left /= side
	}
	if empty {
		left, fits = 1, n == 0
	}
	if !fits || left != 1 {
		return fmt.Errorf("shape %v does not fit %d elements", shape, n)
	}
	return nil
}

func descrOf[E Element]() string {
	var zero E
	switch any(zero).(type) {
	case float32:
		return "<f4"
	case half.Float16:
		return "<f2"
	case half.BFloat16:
		return "|V2"
	case bool:
		return "|b1"
	}
	return "<f8"
}
