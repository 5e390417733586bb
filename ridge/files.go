package ridge

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/npy"
)

// NPY reads rows from files in NumPy's format (.npy), a block at a time. NPY reads the arrays that
// package npy reads, in C or Fortran order, and converts numbers to T. NPY files have no checksum.
type NPY[T dense.Float] struct {
	X       string // path of the points, n×d
	Y       string // path of the targets, n×p or n; "" for none
	Weights string // path of the weights, n; "" for none
}

// Blocks reads the files with the paths X, Y and Weights. An error of Blocks names a file that is
// missing or damaged, has no array of the right kind, or has another number of rows than X.
func (f NPY[T]) Blocks() iter.Seq2[Block[T], error] {
	return func(yield func(Block[T], error) bool) {
		if err := f.read(yield); err != nil {
			yield(Block[T]{}, fmt.Errorf("ridge: %w", err))
		}
	}
}

func (f NPY[T]) read(yield func(Block[T], error) bool) error {
	paths := [...]string{f.X, f.Y, f.Weights}
	var readers [len(paths)]*npy.Reader
	var buffers [len(paths)]dense.Matrix[T]
	columns := 0
	for i, path := range paths {
		if path == "" && i > 0 {
			continue
		}
		r, err := npy.Open(path)
		if err != nil {
			return err
		}
		defer r.Close()
		if len(r.Shape) < 1 || len(r.Shape) > 2 {
			return fmt.Errorf("%s has shape %v, want one or two sides", path, r.Shape)
		}
		if i > 0 && r.Rows != readers[0].Rows {
			return fmt.Errorf("%s has %d rows, want the %d of %s", path, r.Rows, readers[0].Rows, f.X)
		}
		if i == 2 && r.Cols != 1 {
			return fmt.Errorf("%s has %d columns, want 1", path, r.Cols)
		}
		readers[i] = r
		columns += r.Cols
	}
	for i, r := range readers {
		if r != nil {
			buffers[i] = dense.New[T](min(r.Rows, rowsOfBlock(columns)), r.Cols)
		}
	}
	for {
		n := 0
		for i, r := range readers {
			if r == nil {
				continue
			}
			var err error
			if n, err = npy.Read(r, buffers[i]); err != nil {
				return fmt.Errorf("%s: %w", paths[i], err)
			}
		}
		if n == 0 {
			return nil
		}
		b := Block[T]{X: buffers[0].RowRange(0, n)}
		if readers[1] != nil {
			b.Y = buffers[1].RowRange(0, n)
		}
		if readers[2] != nil {
			b.Weights = buffers[2].Data[:n]
		}
		if !yield(b, nil) {
			return nil
		}
	}
}

// A block has at most 2²⁰ numbers, so that many columns take about as long to read as 128.
func rowsOfBlock(columns int) int { return max(1, min(blockSize, 1<<20/max(1, columns))) }

// byteOrderMark begins UTF-8 files of some programs.
const byteOrderMark = "\ufeff"

// CSV reads rows from a file of comma-separated numbers, a block at a time.
type CSV[T dense.Float] struct {
	Path   string
	Header bool // whether the first line has names
	Comma  rune // the separator; 0 for a comma

	// Targets are indices of columns; nil stands for the last column, and []int{} for none.
	Targets []int

	// Labels are the texts that name classes in the target columns, whose indices in Labels become
	// the targets; nil stands for numbers.
	Labels []string

	found map[string]int // the texts that ReadLabels has found, or nil
}

// ReadLabels reads the file once and returns the different texts of the target columns in ascending
// order, without blanks before and after texts.
func (f CSV[T]) ReadLabels() ([]string, error) {
	f.found = map[string]int{}
	for _, err := range f.Blocks() {
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(f.found)), nil
}

// Blocks reads the file. All columns of the file except the target columns are coordinates of
// points. Blocks reads decimal numbers without underscores, and nan and inf, with or without
// quotes, and rounds a number to the type T once. Blocks skips blanks around numbers, blank lines
// and a byte order mark. If Comma is a blank, Blocks takes several blanks as one separator. An
// error of Blocks names the file, and the line and the column, counted from 1, of a text that is no
// label, no number or beyond the range of T. CSV files have no checksum.
func (f CSV[T]) Blocks() iter.Seq2[Block[T], error] {
	return func(yield func(Block[T], error) bool) {
		if err := f.read(yield); err != nil {
			yield(Block[T]{}, fmt.Errorf("ridge: %s: %w", f.Path, err))
		}
	}
}

func (f CSV[T]) read(yield func(Block[T], error) bool) error {
	file, err := os.Open(f.Path)
	if err != nil {
		return errors.Unwrap(err) // without the path, which Blocks adds
	}
	defer file.Close()
	data := bufio.NewReader(file)
	if first, _ := data.Peek(len(byteOrderMark)); string(first) == byteOrderMark {
		_, _ = data.Discard(len(byteOrderMark))
	}
	r := csv.NewReader(data)
	r.ReuseRecord = true
	r.FieldsPerRecord = -1
	if f.Comma != 0 {
		r.Comma = f.Comma
	}
	// With tabs as separators, two tabs in sequence enclose an empty column.
	r.TrimLeadingSpace = r.Comma != '\t'
	columns := 0
	if f.Header {
		if _, err := nextLine(r, &columns); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	labels := f.found
	if labels == nil && f.Labels != nil {
		labels = map[string]int{}
		for i, l := range f.Labels {
			labels[l] = i
		}
	}
	var targets []int
	var x, y, values []T
	rows := 0
	flush := func() bool {
		b := Block[T]{X: dense.Of(rows, len(x)/rows, x), Y: dense.Of(rows, len(y)/rows, y)}
		ok := yield(b, nil)
		x, y, rows = x[:0], y[:0], 0
		return ok
	}
	for {
		record, err := nextLine(r, &columns)
		if errors.Is(err, io.EOF) {
			if rows > 0 {
				flush()
			}
			return nil
		}
		if err != nil {
			return err
		}
		if targets == nil {
			if targets, err = f.targets(len(record)); err != nil {
				return err
			}
		}
		for j, text := range record {
			if labels != nil && slices.Contains(targets, j) {
				_, ok := labels[text]
				line, _ := r.FieldPos(j)
				switch {
				case text == "":
					return fmt.Errorf("line %d, column %d: the label is blank", line, j+1)
				case !ok && f.found != nil:
					labels[text] = len(labels)
				case !ok:
					return fmt.Errorf("line %d, column %d: %.40q is none of the %d labels", line, j+1, text, len(labels))
				}
				values = append(values[:j], T(labels[text]))
				continue
			}
			v, err := strconv.ParseFloat(text, 8*simd.Size[T]())
			if err != nil || strings.ContainsAny(text, "_xX") {
				line, _ := r.FieldPos(j)
				fault := notANumber(text)
				if errors.Is(err, strconv.ErrRange) {
					fault = fmt.Sprintf("beyond %T", T(v))
				}
				return fmt.Errorf("line %d, column %d: %.40q is %s", line, j+1, text, fault)
			}
			if values = append(values[:j], T(v)); !slices.Contains(targets, j) {
				x = append(x, T(v))
			}
		}
		for _, j := range targets {
			y = append(y, values[j])
		}
		if rows++; rows == rowsOfBlock(columns) && !flush() {
			return nil
		}
	}
}

func notANumber(text string) string {
	switch strings.ToLower(text) {
	case "", "na", "n/a", "null", "none", "?":
		return "not a number: leave out the row or the column of a missing value, or fill it in and add a column of 0 and 1 that marks it"
	}
	return "not a number"
}

// nextLine returns the next line that is not blank. The first line sets columns for all others.
func nextLine(r *csv.Reader, columns *int) ([]string, error) {
	for {
		record, err := r.Read()
		if err != nil {
			return nil, err
		}
		for j, text := range record {
			record[j] = strings.TrimSpace(text)
		}
		if len(record) == 1 && record[0] == "" && *columns != 1 {
			continue
		}
		if *columns == 0 {
			*columns = len(record)
		}
		if len(record) != *columns {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("line %d: %d columns, want %d", line, len(record), *columns)
		}
		return record, nil
	}
}

func (f CSV[T]) targets(columns int) ([]int, error) {
	targets := f.Targets
	if targets == nil {
		targets = []int{columns - 1}
	}
	for i, j := range targets {
		if j < 0 || j >= columns || slices.Contains(targets[:i], j) {
			return nil, fmt.Errorf("targets %v, want different columns of the %d", targets, columns)
		}
	}
	if len(targets) == columns {
		return nil, fmt.Errorf("%d columns and %d targets, want at least one column of points", columns, len(targets))
	}
	return targets, nil
}
