package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Kinds of columns.
const (
	isNumber   = "number"
	isCategory = "category"
	isText     = "text"
	isConstant = "constant"
	isSkipped  = "skipped"
	isIndex    = "names of rows" // as R and pandas write them, without a name of the column
)

// common is the least number of rows of a category with a column of its own.
const common = 10

// column describes how a column of the table becomes columns of points.
type column struct {
	Name       string
	Kind       string
	Log        bool     `json:",omitempty"` // whether points have logarithms of the numbers
	Mean       float64  `json:",omitempty"` // of the numbers or their logarithms, for missing ones
	Categories []string `json:",omitempty"` // with a column each
	Other      bool     `json:",omitempty"` // whether there is a column for rare and unknown categories
	Missing    bool     `json:",omitempty"` // whether there is a column for missing values
}

// encoder turns rows of a table into points.
type encoder struct {
	Target  string
	Classes bool     // whether the model is a classifier
	Columns []column // all but the target
}

// width returns the number of columns of points for c.
func (c column) width() int {
	n := 1
	switch c.Kind {
	case isNumber:
	case isCategory:
		n = len(c.Categories)
	default:
		return 0
	}
	if c.Other {
		n++
	}
	if c.Missing {
		n++
	}
	return n
}

func (e *encoder) width() int {
	n := 0
	for _, c := range e.Columns {
		n += c.width()
	}
	return n
}

// encode writes the point of a row into dst, which has e.width() elements. names are the names of
// the columns of the row. If no column of dst stands for a missing or unknown value, a missing
// number becomes the mean, and a missing or unknown category becomes zeros. An error names the
// line, the column and the value.
func (e *encoder) encode(dst []float64, names, row []string, line int) error {
	clear(dst)
	for _, c := range e.Columns {
		n := c.width()
		if n == 0 {
			continue
		}
		at := slices.Index(names, c.Name)
		if at < 0 {
			return fmt.Errorf("no column %q among %q", c.Name, names)
		}
		text, part := row[at], dst[:n]
		dst = dst[n:]
		switch {
		case missing(text):
			if c.Kind == isNumber {
				part[0] = c.Mean
			}
			if c.Missing {
				part[n-1] = 1
			}
		case c.Kind == isNumber:
			v, err := c.number(text, line)
			if err != nil {
				return err
			}
			part[0] = v
		default:
			if k := slices.Index(c.Categories, text); k >= 0 {
				part[k] = 1
			} else if c.Other {
				part[len(c.Categories)] = 1
			}
		}
	}
	return nil
}

// becomes describes the columns of points for c.
func (c column) becomes() string {
	var text string
	switch c.Kind {
	case isNumber:
		if text = "x"; c.Log {
			text = "log x"
		}
	case isCategory:
		text = fmt.Sprintf("%d × 0/1", len(c.Categories))
	default:
		return "left out"
	}
	if c.Other {
		text += ", other"
	}
	if c.Missing {
		text += ", missing"
	}
	return text
}

// number returns the number in a text, or its logarithm.
func (c column) number(text string, line int) (float64, error) {
	v, ok := number(text)
	if !ok {
		return 0, wrong(line, c.Name, text, "a finite number, as most are there (-category or -skip?)")
	}
	if !c.Log {
		return v, nil
	}
	if v <= 0 {
		return 0, wrong(line, c.Name, text, "a positive number, whose logarithm -log asks for")
	}
	return math.Log(v), nil
}

// encoding learns the encoding of a table from the rows of train.
func (s settings) encoding(t *frame, target int, train []int) (*encoder, error) {
	for _, name := range slices.Concat(s.category, s.skip, s.log) {
		if name == s.target || !slices.Contains(t.names, name) {
			return nil, fmt.Errorf("-category, -skip or -log %q, want columns other than the target among %q", name, t.names)
		}
	}
	e := &encoder{Target: s.target}
	for j, name := range t.names {
		if j == target {
			continue
		}
		c := column{Name: name, Log: slices.Contains(s.log, name)}
		if name == "" {
			c.Kind = isIndex
		} else if slices.Contains(s.skip, name) {
			c.Kind = isSkipped
		} else if err := c.learn(t, j, train, slices.Contains(s.category, name)); err != nil {
			return nil, err
		}
		if c.Log && c.Kind != isNumber {
			return nil, fmt.Errorf("-log: column %q is %s, want numbers", name, c.Kind)
		}
		e.Columns = append(e.Columns, c)
	}
	if e.width() == 0 {
		return nil, fmt.Errorf("no column of numbers or categories beside %q", e.Target)
	}
	return e, nil
}

// learn determines the kind and the other fields of column j of a table. If category is true,
// numbers are categories.
func (c *column) learn(t *frame, j int, train []int, category bool) error {
	counts, all, numbers := make(map[string]int), 0, 0
	var values []float64
	var fault error // of the first text that is not a number
	for _, i := range slices.Sorted(slices.Values(train)) {
		text := t.rows[i][j]
		if missing(text) {
			continue
		}
		counts[text]++
		all++
		if _, ok := number(text); ok {
			numbers++
		}
		if v, err := c.number(text, t.lines[i]); err == nil {
			values = append(values, v)
		} else if fault == nil {
			fault = err
		}
	}
	often := 0
	for _, n := range counts {
		if n >= common {
			often += n
		}
	}
	c.Missing = all < len(train)
	switch {
	case len(counts) == 0 || len(counts) == 1 && !c.Missing:
		c.Kind = isConstant
	case !category && 10*numbers >= 9*all:
		if c.Kind = isNumber; fault != nil {
			return fault
		}
		c.Mean = stat.Mean(values, nil)
		if math.IsInf(c.Mean, 0) {
			return fmt.Errorf("column %q: the mean of the numbers is %v", c.Name, c.Mean)
		}
		if !c.Missing && slices.Min(values) == slices.Max(values) {
			c.Kind = isConstant
		}
	case category || 2*often >= all:
		c.Kind = isCategory
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if counts[name] >= common {
				c.Categories = append(c.Categories, name)
			} else {
				c.Other = true
			}
		}
		if c.width() < 2 {
			c.Kind = isConstant
		}
	default:
		c.Kind = isText
	}
	return nil
}
