package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// frame has the texts of a table.
type frame struct {
	names []string
	rows  [][]string
	lines []int // line numbers of the rows in the file
}

// readTable reads a CSV file whose first line has names and whose values have commas between them.
// An error names the file and the line.
func readTable(path string, comma rune) (*frame, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data := bufio.NewReader(file)
	err = checkComma(data, comma)
	var t *frame
	if err == nil {
		t, err = parseTable(data, comma)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func parseTable(from io.Reader, comma rune) (*frame, error) {
	data := bufio.NewReader(from)
	const mark = "\ufeff" // byte order mark at the beginning of some UTF-8 files
	if first, _ := data.Peek(len(mark)); string(first) == mark {
		_, _ = data.Discard(len(mark))
	}
	r := csv.NewReader(data)
	r.Comma = comma
	t := new(frame)
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) && t.names != nil {
			return t, nil
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no line with names")
		}
		if err != nil {
			return nil, err
		}
		line, _ := r.FieldPos(0)
		for j, text := range row {
			row[j] = strings.TrimSpace(text)
			if !utf8.ValidString(text) {
				return nil, fmt.Errorf("line %d, column %d: %.40q is not UTF-8", line, j+1, text)
			}
			if comma == ';' && decimalComma.MatchString(row[j]) {
				row[j] = strings.Replace(row[j], ",", ".", 1)
			}
		}
		if t.names != nil {
			t.rows, t.lines = append(t.rows, row), append(t.lines, line)
			continue
		}
		t.names = row
		for j, name := range row {
			if name == "" && j > 0 || slices.Contains(row[:j], name) {
				return nil, fmt.Errorf("line %d, column %d: the name is %q, want a name that no other column has", line, j+1, name)
			}
		}
	}
}

// decimalComma matches numbers that programs write beside semicolons in much of Europe.
var decimalComma = regexp.MustCompile(`^[+-]?\d*,\d+([eE][+-]?\d+)?$`)

// checkComma returns an error if the first line has no comma, but another character that separates
// values in many files.
func checkComma(data *bufio.Reader, comma rune) error {
	first, _ := data.Peek(data.Size())
	line, _, _ := strings.Cut(string(first), "\n")
	if at := strings.IndexAny(line, ",;|\t"); at >= 0 && !strings.ContainsRune(line, comma) {
		return fmt.Errorf("line 1: %.40q has no %q between names, want -comma %q", line, comma, line[at])
	}
	return nil
}

// separator returns a function that writes the character of a text to dst.
func separator(dst *rune) func(text string) error {
	return func(text string) error {
		if *dst, _ = utf8.DecodeRuneInString(text); text == `\t` {
			*dst = '\t'
		} else if string(*dst) != text || strings.ContainsAny(text, "\"\r\n") {
			return errors.New(`want one character, or \t for a tab`)
		}
		return nil
	}
}

// missing reports whether a text stands for a missing value.
func missing(text string) bool {
	return slices.Contains([]string{"", "na", "n/a", "nan", "null", "?"}, strings.ToLower(text))
}

// number converts a text to a finite number, and reports whether it is a decimal number.
func number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) && !strings.ContainsAny(text, "_xX")
}

// wrong returns the error of an invalid value.
func wrong(line int, name, text, want string) error {
	return fmt.Errorf("line %d, column %q: %.40q is not %s", line, name, text, want)
}
