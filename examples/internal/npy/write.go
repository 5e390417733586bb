package npy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
)

// Write writes a tensor to a file, which it creates or replaces, in T's precision, little-endian.
// The file is complete when the error is nil.
func Write[T dense.Float](path string, t Tensor[T]) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	err = encode(w, t)
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// encode writes version 1.0 of the format [NEP 1]. npyio writes slices as vectors and matrices as
// float64 only.
func encode[T dense.Float](w io.Writer, t Tensor[T]) error {
	sides := strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ", "), "[]")
	head := fmt.Sprintf("{'descr': '<f%d', 'fortran_order': False, 'shape': (%s), }", reflect.TypeFor[T]().Size(), sides)
	// Elements start at a multiple of 64, which lets NumPy map the file.
	const prefix, align = 10, 64
	head += strings.Repeat(" ", align-1-(prefix+len(head))%align) + "\n"
	length := binary.LittleEndian.AppendUint16(nil, uint16(len(head)))
	if _, err := fmt.Fprintf(w, "\x93NUMPY\x01\x00%s%s", length, head); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, t.Data)
}
