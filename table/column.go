package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
)

// Kind is the kind of a column of a table, and says which columns of numbers (x) the model sees in
// place of the column:
//
//	Constant  the values do not vary                none
//	Number    nine of ten values are numbers,       x, or log x with Options.Log
//	          and then all must be
//	Date      nine of ten values are dates,         days since 1970-01-01 UTC; cosine and sine
//	          and then all must be                  of the month and of the day of the week
//	YesNo     two values, half of all rows have     0, or 1 for the second value in the order
//	          a value that 10 rows have             of texts
//	Category  half of all rows have a value that    0 or 1 for each value of 10 rows or more,
//	          10 rows have                          and for all other values if there are some
//	Text      all other columns                     none
//	RowNames  the first column without a name,      none
//	          as R and pandas write it
//	Skipped   a name in Options.Skip                none
type Kind string

const (
	Number   Kind = "number"
	Date     Kind = "date"
	YesNo    Kind = "yes/no"
	Category Kind = "category"
	Text     Kind = "text"
	Constant Kind = "constant"
	Skipped  Kind = "skipped"
	RowNames Kind = "names of rows"
)

const common = 10

// Column describes how a column of texts becomes columns of numbers, the input of a model.
type Column struct {
	Name       string
	Kind       Kind
	Log        bool     // whether points have logarithms of the numbers
	Mean       float64  // of the numbers, logarithms, days, or 0 and 1, for missing ones
	Categories []string // in order: those with a column each, or the two of yes/no
	Other      bool     // whether there is a column for rare and unknown categories
	Missing    int      // the number of rows of Fit without a value: a column if above 0
}

// Columns returns, without a fit, how Fit encodes each column of the table except the columns with
// the names in targets. Columns returns an error only if Fit returns one for targets and o.
func (t *Table) Columns(targets []string, o Options) ([]Column, error) {
	told, err := t.told(targets)
	if err != nil {
		return nil, err
	}
	return told.columns(targets, o)
}

// told returns the rows that have all targets.
func (t *Table) told(targets []string) (*Table, error) {
	if t == nil {
		return nil, errors.New("table: the table is nil")
	}
	if len(targets) == 0 {
		return nil, errors.New("table: no targets, want names of columns to predict")
	}
	told := t
	for k, target := range targets {
		at := slices.Index(t.names, target)
		if at < 0 {
			return nil, fmt.Errorf("table: no column %q to predict among %q", target, t.names)
		}
		if slices.Contains(targets[:k], target) {
			return nil, fmt.Errorf("table: the target %q is there twice", target)
		}
		told = told.filter(func(i int) bool { return !missing(told.rows[i][at]) })
	}
	return told, nil
}

func (t *Table) columns(targets []string, o Options) ([]Column, error) {
	for _, name := range slices.Concat(o.Category, o.Skip, o.Log, []string{o.Group, o.Time, o.Weight}) {
		if name != "" && (slices.Contains(targets, name) || !slices.Contains(t.names, name)) {
			return nil, fmt.Errorf("table: an option has %q, want columns other than targets among %q", name, t.names)
		}
	}
	if o.Group != "" && o.Time != "" {
		return nil, fmt.Errorf("table: Group %q and Time %q, want one of them", o.Group, o.Time)
	}
	var all []Column
	for j, name := range t.names {
		if slices.Contains(targets, name) {
			continue
		}
		c := Column{Name: name, Log: slices.Contains(o.Log, name)}
		if err := c.learn(t, j, o); err != nil {
			return nil, err
		}
		if c.Log && c.Kind != Number {
			return nil, fmt.Errorf("table: Log: column %q is %s, want numbers", name, c.Kind)
		}
		all = append(all, c)
	}
	if width(all) == 0 {
		return nil, fmt.Errorf("table: no column of numbers, dates or categories beside %q", targets)
	}
	return all, nil
}

func (c *Column) learn(t *Table, j int, o Options) error {
	counts := make(map[string]int)
	for _, row := range t.rows {
		if missing(row[j]) {
			c.Missing++
		} else {
			counts[row[j]]++
		}
	}
	all, often, numbers, dates := len(t.rows)-c.Missing, 0, 0, 0
	for text, n := range counts {
		if _, ok := number(text); ok {
			numbers += n
		}
		if _, ok := date(text); ok {
			dates += n
		}
		if n >= common {
			often += n
		}
	}
	category := slices.Contains(o.Category, c.Name)
	switch {
	case c.Name == "":
		c.Kind = RowNames
	case slices.Contains(o.Skip, c.Name), c.Name == o.Weight, c.Name == o.Group && !category:
		c.Kind = Skipped
	case len(counts) == 0 || len(counts) == 1 && c.Missing == 0:
		c.Kind = Constant
	case !category && 10*numbers >= 9*all:
		c.Kind = Number
		return c.learnNumbers(t, j)
	case !category && 10*dates >= 9*all:
		c.Kind = Date
		return c.learnNumbers(t, j)
	case !category && 2*often < all:
		c.Kind = Text
	case len(counts) == 2:
		c.Kind, c.Categories = YesNo, slices.Sorted(maps.Keys(counts))
		c.Mean = float64(counts[c.Categories[1]]) / float64(all)
	default:
		c.Kind = Category
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if counts[name] >= common {
				c.Categories = append(c.Categories, name)
			} else {
				c.Other = true
			}
		}
		if c.width() < 2 {
			c.Kind, c.Categories, c.Other = Constant, nil, false
		}
	}
	return nil
}

func (c *Column) learnNumbers(t *Table, j int) error {
	var values []float64
	for i, row := range t.rows {
		if missing(row[j]) {
			continue
		}
		v, err := c.number(row[j], t.lines[i])
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	if c.Mean = stat.Mean(values, nil); math.IsInf(c.Mean, 0) {
		return fmt.Errorf("table: column %q: the mean of the numbers is %v", c.Name, c.Mean)
	}
	if c.Missing == 0 && slices.Min(values) == slices.Max(values) {
		c.Kind = Constant
	}
	return nil
}

func (c *Column) number(text string, line int) (float64, error) {
	if c.Kind == Date {
		at, ok := date(text)
		if !ok {
			return 0, wrong(line, c.Name, text, "a date like 2006-01-02, as most are there (Category or Skip?)")
		}
		return days(at), nil
	}
	v, ok := number(text)
	if !ok {
		return 0, wrong(line, c.Name, text, "a finite number, as most are there (Category or Skip?)")
	}
	if !c.Log {
		return v, nil
	}
	if v <= 0 {
		return 0, wrong(line, c.Name, text, "a positive number, whose logarithm Log asks for")
	}
	return math.Log(v), nil
}

func (c *Column) width() int {
	n := 1
	switch c.Kind {
	case Number, YesNo:
	case Date:
		n = 5
	case Category:
		n = len(c.Categories)
	default:
		return 0
	}
	if c.Other {
		n++
	}
	if c.Missing > 0 {
		n++
	}
	return n
}

func width(all []Column) int {
	n := 0
	for _, c := range all {
		n += c.width()
	}
	return n
}

// Becomes describes in words the columns of numbers that a model sees in place of the column c.
func (c *Column) Becomes() string {
	var text string
	switch c.Kind {
	case Number:
		if text = "x"; c.Log {
			text = "log x"
		}
	case Date:
		text = "days, month, weekday"
	case YesNo:
		text = strings.Join(c.Categories, "/") + " as 0/1"
	case Category:
		text = fmt.Sprintf("%d × 0/1", len(c.Categories))
	default:
		return "left out"
	}
	if c.Other {
		text += ", other"
	}
	if c.Missing > 0 {
		text += ", missing"
	}
	return text
}

func encode(all []Column, t *Table) (dense.Matrix[float64], error) {
	x := dense.New[float64](len(t.rows), width(all))
	from := 0
	for _, c := range all {
		n := c.width()
		if n == 0 {
			continue
		}
		j := slices.Index(t.names, c.Name)
		if j < 0 {
			return x, fmt.Errorf("table: no column %q among %q", c.Name, t.names)
		}
		for i, row := range t.rows {
			if err := c.encode(x.Row(i)[from:from+n], row[j], t.lines[i]); err != nil {
				return x, err
			}
		}
		from += n
	}
	return x, nil
}

func (c *Column) encode(dst []float64, text string, line int) (err error) {
	k, found := slices.BinarySearch(c.Categories, text)
	switch gone := missing(text); {
	case gone || c.Kind == YesNo && !found:
		if c.Kind != Category {
			dst[0] = c.Mean
		}
		if gone && c.Missing > 0 {
			dst[len(dst)-1] = 1
		}
	case c.Kind == YesNo:
		dst[0] = float64(k)
	case c.Kind == Category && found:
		dst[k] = 1
	case c.Kind == Category && c.Other:
		dst[len(c.Categories)] = 1
	case c.Kind == Category:
	default:
		if dst[0], err = c.number(text, line); err == nil && c.Kind == Date {
			at, _ := date(text)
			dst[2], dst[1] = math.Sincos(2 * math.Pi * float64(at.Month()-1) / 12)
			dst[4], dst[3] = math.Sincos(2 * math.Pi * float64(at.Weekday()) / 7)
		}
	}
	return err
}

func checkColumns(all []Column) error {
	for _, c := range all {
		known := slices.Contains([]Kind{Number, Date, YesNo, Category, Text, Constant, Skipped, RowNames}, c.Kind)
		if !known || c.Mean-c.Mean != 0 || c.Missing < 0 || c.Kind == YesNo && len(c.Categories) != 2 || c.Other && c.Kind != Category ||
			!slices.IsSorted(c.Categories) {
			return fmt.Errorf("table: the column %.40q of the file is no column of kind %.40q", c.Name, cmp.Or(c.Kind, "unknown"))
		}
	}
	return nil
}
