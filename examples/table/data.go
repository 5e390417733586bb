package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/ridge"
)

// data is a table with its points.
type data struct {
	table         *frame
	encoder       *encoder
	train, test   ridge.Block[float64]
	seen, heldOut []int    // indices of the rows of train and of test
	untold        int      // number of rows without a target
	labels        []string // the classes, or nil for numbers
	note          string   // about numbers that may be classes
}

// least is the least number of rows to learn from.
const least = 20

// prepare divides the rows of a table into rows to learn from and held-out rows. prepare learns the
// encoding from the first and computes the points of both.
func (s settings) prepare(t *frame, src rand.Source) (*data, error) {
	at := slices.Index(t.names, s.target)
	if at < 0 {
		return nil, fmt.Errorf("no column %q to predict among %q", s.target, t.names)
	}
	var told []int
	var fault error // of the first text that is not a number
	numbers := 0
	for i, row := range t.rows {
		if missing(row[at]) {
			continue
		}
		told = append(told, i)
		if _, ok := number(row[at]); ok {
			numbers++
		} else if fault == nil {
			fault = wrong(t.lines[i], s.target, row[at], "a finite number, which most targets are")
		}
	}
	classes := s.classes || 2*numbers < len(told)
	if fault != nil && !classes {
		return nil, fault
	}
	shuffle := func(rows []int) {
		rand.New(src).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	if !s.last {
		shuffle(told)
	}
	cut := len(told) - len(told)/5
	if cut < least || cut == len(told) {
		return nil, fmt.Errorf("%d rows with a target, want at least %d beside a fifth that is held out", len(told), least)
	}
	d := &data{table: t, seen: told[:cut], heldOut: told[cut:], untold: len(t.rows) - len(told)}
	for _, i := range d.seen {
		if label := t.rows[i][at]; classes && !slices.Contains(d.labels, label) {
			d.labels = append(d.labels, label)
		}
	}
	slices.SortFunc(d.labels, func(a, b string) int {
		x, _ := number(a)
		y, _ := number(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	var err error
	if d.encoder, err = s.encoding(t, at, d.seen); err != nil {
		return nil, err
	}
	if d.train, err = d.block(d.seen, at); err != nil {
		return nil, err
	}
	if y := d.train.Y.Data; slices.Min(y) == slices.Max(y) {
		return nil, fmt.Errorf("column %q is %s in all rows to learn from, want a target that varies", s.target, t.rows[d.seen[0]][at])
	}
	if d.test, err = d.block(d.heldOut, at); err == nil && !classes {
		d.note = maybeClasses(s.target, append(slices.Clone(d.train.Y.Data), d.test.Y.Data...))
	}
	return d, err
}

// maybeClasses returns a note if the targets are whole numbers from 0 or 1 on, without gaps, as
// classes are.
func maybeClasses(name string, y []float64) string {
	slices.Sort(y)
	y = slices.Compact(y)
	for i, v := range y {
		if v != y[0]+float64(i) {
			return ""
		}
	}
	if first := y[0]; first != 0 && first != 1 || len(y) > 20 {
		return ""
	}
	return fmt.Sprintf("%s is whole numbers from %v to %v, learnt as numbers. For classes, use -classes.\n", name, y[0], y[len(y)-1])
}

// block returns the points and the targets of rows. The target of a class that no row to learn from
// has is -1.
func (d *data) block(rows []int, target int) (ridge.Block[float64], error) {
	b := ridge.Block[float64]{X: dense.New[float64](len(rows), d.encoder.width()), Y: dense.New[float64](len(rows), 1)}
	for i, r := range rows {
		if err := d.encoder.encode(b.X.Row(i), d.table.names, d.table.rows[r], d.table.lines[r]); err != nil {
			return b, err
		}
		text := d.table.rows[r][target]
		v, _ := number(text) // prepare has checked
		if d.labels != nil {
			v = float64(slices.Index(d.labels, text))
		}
		b.Y.Set(i, 0, v)
	}
	return b, nil
}

// columnsTable returns the table of the columns and their encoding.
func (d *data) columnsTable() *table.Table {
	t := table.New(3, "column", "kind", "becomes", "missing")
	for _, c := range d.encoder.Columns {
		j, gone := slices.Index(d.table.names, c.Name), 0
		for _, i := range d.seen {
			if missing(d.table.rows[i][j]) {
				gone++
			}
		}
		t.Row(cmp.Or(c.Name, `""`), c.Kind, c.becomes(), fmt.Sprint(gone))
	}
	return t
}
