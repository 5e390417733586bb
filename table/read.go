package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table has rows of texts, and a name for each column. A Table never changes, so that goroutines
// may share a Table.
type Table struct {
	names []string
	rows  [][]string
	lines []int // line numbers of the rows in the file
}

// ReadOptions says which character separates the values that Read reads.
type ReadOptions struct {
	// Comma is the character between values, such as ';' or a tab. A Comma of 0 stands for ','. If
	// Comma is ';', Read accepts numbers with decimal commas, such as 1,5.
	Comma rune
}

// Read reads a CSV file [RFC 4180] in UTF-8, to the end of r. The first line of the file has the
// names of the columns. Read leaves out a byte order mark, empty lines, and spaces around values.
//
// Read returns an error that names the line and the column if a value is not UTF-8, if a row has
// not as many values as there are names, if a name is repeated or has a carriage return, or if a
// name except the first is empty. For a wrong quotation mark, the error names the line and the
// byte. Read returns an error if the file is empty, if Comma cannot separate values, if the first
// line has another separator in place of Comma, and if r is nil or returns an error.
//
// [RFC 4180]: https://www.rfc-editor.org/rfc/rfc4180
func Read(r io.Reader, o ReadOptions) (*Table, error) {
	if o.Comma == 0 {
		o.Comma = ','
	}
	if r == nil {
		return nil, errors.New("table: r is nil, want a file")
	}
	if !utf8.ValidRune(o.Comma) || strings.ContainsRune("\"\r\n\ufffd\ufeff", o.Comma) {
		return nil, fmt.Errorf("table: Comma = %q, want a character that can separate values", o.Comma)
	}
	data := bufio.NewReader(r)
	const mark = "\ufeff" // byte order mark at the beginning of some UTF-8 files
	if first, _ := data.Peek(len(mark)); string(first) == mark {
		_, _ = data.Discard(len(mark))
	}
	if err := checkComma(data, o.Comma); err != nil {
		return nil, err
	}
	c := csv.NewReader(data)
	c.Comma, c.FieldsPerRecord = o.Comma, -1 // add counts the values
	t := new(Table)
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
		for j, text := range row {
			if o.Comma == ';' && decimalComma.MatchString(strings.TrimSpace(text)) {
				row[j] = strings.Replace(text, ",", ".", 1)
			}
		}
		line, _ := c.FieldPos(0)
		if err := t.add(row, line); err != nil {
			return nil, err
		}
	}
	if t.names == nil {
		return nil, errors.New("table: no line with names")
	}
	return t, nil
}

// New returns a table of the texts in rows, with names as the names of the columns. In error texts
// about a table of New, the names are line 1, and rows[i] is line i + 2. New returns an error for a
// text that is not UTF-8, for a row with more or fewer texts than names, and for no names, a
// repeated name, a name with a carriage return, or an empty name that is not the first.
func New(names []string, rows [][]string) (*Table, error) {
	t := new(Table)
	for i, row := range slices.Concat([][]string{names}, rows) {
		if err := t.add(slices.Clone(row), i+1); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Table) add(row []string, line int) error {
	for j, text := range row {
		if row[j] = strings.TrimSpace(text); !utf8.ValidString(text) {
			return fmt.Errorf("table: line %d, column %d: %.40q is not UTF-8", line, j+1, text)
		}
	}
	if t.names != nil {
		if n := len(t.names); len(row) != n {
			return fmt.Errorf("table: line %d, column %d: the row has %d values, want %d", line, min(len(row), n)+1, len(row), n)
		}
		t.rows, t.lines = append(t.rows, row), append(t.lines, line)
		return nil
	}
	if len(row) == 0 {
		return errors.New("table: no names")
	}
	for j, name := range row {
		if strings.Contains(name, "\r") {
			return fmt.Errorf("table: line %d, column %d: the name %.40q has a carriage return, want lines that end with \\n or \\r\\n", line, j+1, name)
		}
		if name == "" && j > 0 || slices.Contains(row[:j], name) {
			return fmt.Errorf("table: line %d, column %d: the name is %q, want a name that no other column has", line, j+1, name)
		}
	}
	t.names = row
	return nil
}

// Names returns the names of the columns.
func (t *Table) Names() []string { return slices.Clone(t.names) }

// Len returns the number of rows of the table.
func (t *Table) Len() int { return len(t.rows) }

// Row returns the texts of row i, in the order of the columns, and panics without a row i.
func (t *Table) Row(i int) []string {
	if i < 0 || i >= len(t.rows) {
		panic(fmt.Sprintf("table: row %d of %d", i, len(t.rows)))
	}
	return slices.Clone(t.rows[i])
}

// Split divides the rows of a table into two tables. For the argument share, the result held has
// share·n of the n rows, rounded down, and the result rest has the remaining rows, both in the
// order of the table. Split draws the rows of held at random from src, or, for a nil src, uses the
// last rows. Split panics unless share is from 0 to 1.
func (t *Table) Split(share float64, src rand.Source) (rest, held *Table) {
	if !(share >= 0 && share <= 1) {
		panic(fmt.Sprintf("table: share = %v, want a number from 0 to 1", share))
	}
	n := len(t.rows)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if src != nil {
		order = rand.New(src).Perm(n)
	}
	isHeld := make([]bool, n)
	for _, i := range order[n-int(share*float64(n)):] {
		isHeld[i] = true
	}
	return t.filter(func(i int) bool { return !isHeld[i] }), t.filter(func(i int) bool { return isHeld[i] })
}

// SplitBy divides the rows of a table as Split does, but never separates rows with equal values in
// the named column. With a source src, SplitBy puts all rows of random values of the column into
// the result held, until held has at least the fraction share of the rows. With a nil src, the
// column must have numbers or dates, and SplitBy puts the rows of the largest values into held,
// until held has the fraction share of the rows. SplitBy returns an error if t lacks the column, or
// if src is nil and a value is neither a number nor a date.
func (t *Table) SplitBy(column string, share float64, src rand.Source) (rest, held *Table, err error) {
	if !slices.Contains(t.names, column) {
		return nil, nil, fmt.Errorf("table: no column %q among %q", column, t.names)
	}
	o := Options{Time: column}
	if src != nil {
		o = Options{Group: column}
	}
	group, err := t.groups(o)
	if err != nil {
		return nil, nil, err
	}
	all := slices.Compact(slices.Sorted(slices.Values(group)))
	if src != nil {
		rand.New(src).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	counts, isHeld, n := make(map[int]int), make(map[int]bool), 0
	for _, g := range group {
		counts[g]++
	}
	for i := len(all) - 1; i >= 0 && float64(n) < share*float64(len(t.rows)); i-- {
		isHeld[all[i]] = true
		n += counts[all[i]]
	}
	return t.filter(func(i int) bool { return !isHeld[group[i]] }), t.filter(func(i int) bool { return isHeld[group[i]] }), nil
}

func (t *Table) filter(keep func(i int) bool) *Table {
	some := &Table{names: t.names}
	for i, row := range t.rows {
		if keep(i) {
			some.rows, some.lines = append(some.rows, row), append(some.lines, t.lines[i])
		}
	}
	return some
}

var decimalComma = regexp.MustCompile(`^[+-]?\d*,\d+([eE][+-]?\d+)?$`)

// checkComma returns an error if the first line has no comma, but another character that separates
// values in many files.
func checkComma(data *bufio.Reader, comma rune) error {
	first, _ := data.Peek(data.Size())
	line, _, _ := strings.Cut(string(first), "\n")
	if at := strings.IndexAny(line, ",;|\t"); at >= 0 && !strings.ContainsRune(line, comma) {
		return fmt.Errorf("table: line 1, column 1: %.40q has no %q between names, want Comma %q", line, comma, line[at])
	}
	return nil
}
