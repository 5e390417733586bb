package npy

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/scalar"
)

func readRows[E dense.Element](r *Reader, n int, row func(i int) []E) (int, error) {
	n = min(n, r.Rows-r.done)
	if n == 0 || r.Cols == 0 {
		r.done += n
		return n, nil
	}
	if r.columns != nil {
		return readColumns(r, n, row)
	}
	for i := range n {
		if err := r.fill(r.data, r.Cols); err != nil {
			return i, fmt.Errorf("npy: row %d: %w", r.done, err)
		}
		if j, err := convert(r, row(i)); err != nil {
			return i, fmt.Errorf("npy: row %d, column %d: %w", r.done, j, err)
		}
		r.done++
	}
	return n, nil
}

func readColumns[E dense.Element](r *Reader, n int, row func(i int) []E) (int, error) {
	const most = 1 << 13
	part := make([]E, min(n, most))
	from := io.Reader(r.columns)
	if n == r.Rows {
		r.data.Reset(r.columns)
		from = r.data
	}
	for column := range r.Cols {
		j := r.place(column)
		// A read of all rows has no gaps between columns and needs no other seek.
		if n < r.Rows || column == 0 {
			at := r.start + (int64(column)*int64(r.Rows)+int64(r.done))*int64(r.width)
			if _, err := r.columns.Seek(at, io.SeekStart); err != nil {
				return 0, fmt.Errorf("npy: column %d: %w", j, err)
			}
		}
		for lo := 0; lo < n; lo += most {
			part := part[:min(n-lo, most)]
			if err := r.fill(from, len(part)); err != nil {
				return 0, fmt.Errorf("npy: row %d, column %d: %w", r.done+lo, j, err)
			}
			if i, err := convert(r, part); err != nil {
				return 0, fmt.Errorf("npy: row %d, column %d: %w", r.done+lo+i, j, err)
			}
			for i, e := range part {
				row(lo + i)[j] = e
			}
		}
	}
	r.done += n
	return n, nil
}

// place returns the index in C order of the column with the given index in Fortran order.
func (r *Reader) place(column int) int {
	at := 0
	for _, n := range r.Shape[1:] {
		at = at*n + column%n
		column /= n
	}
	return at
}

// fill fills r.bytes with n elements, little-endian.
func (r *Reader) fill(from io.Reader, n int) error {
	if cap(r.bytes) < n*r.width {
		r.bytes = make([]byte, n*r.width)
	}
	r.bytes = r.bytes[:n*r.width]
	_, err := io.ReadFull(from, r.bytes)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if r.big {
		for lo := 0; lo < len(r.bytes); lo += r.width {
			slices.Reverse(r.bytes[lo:][:r.width])
		}
	}
	return err
}

// convert converts r.bytes to dst. at is the index of the element that an error reports.
func convert[E dense.Element](r *Reader, dst []E) (at int, err error) {
	switch dst := any(dst).(type) {
	case []bool: // ReadFile has checked that the file has booleans
		for i := range dst {
			dst[i] = r.bytes[i] != 0
		}
	case []float32:
		at, err = scalar.Floats(dst, r.Type[0], r.bytes)
	case []float64:
		at, err = scalar.Floats(dst, r.Type[0], r.bytes)
	}
	if err != nil {
		err = fmt.Errorf("%s %w", r.Type, err)
	}
	return at, err
}
