package table

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// made returns a table of n rows under a head.
func made(t testing.TB, head string, n int, row func(i int) string) *Table {
	t.Helper()
	var b strings.Builder
	b.WriteString(head + "\n")
	for i := range n {
		b.WriteString(row(i) + "\n")
	}
	all, err := Read(strings.NewReader(b.String()), ReadOptions{})
	require.NoError(t, err)
	return all
}

// encoded returns the points of rows of texts.
func encoded(t testing.TB, columns []Column, names []string, rows ...[]string) [][]float64 {
	t.Helper()
	few, err := New(names, rows)
	require.NoError(t, err)
	x, err := encode(columns, few)
	require.NoError(t, err)
	var all [][]float64
	for i := range x.Rows {
		all = append(all, x.Row(i))
	}
	return all
}

func TestPoints(t *testing.T) {
	last := []string{"x,NA,rare,1", "x,3,,2", "x,4,a,n/a", "\"n\n7\",5,b,1", "y,5,b,1"}
	all := made(t, "id,size,kind,price", 40+len(last), func(i int) string {
		if i >= 40 {
			return last[i-40]
		}
		return fmt.Sprintf("n%d,%d,%c,%d", i, 1+i*i%17, 'a'+i%2, 3*i%11)
	})
	assert.Equal(t, []int{2, 45, 47}, []int{all.lines[0], all.lines[43], all.lines[44]}, "a value of two lines counts as two")
	columns, err := all.Columns([]string{"price"}, Options{Log: []string{"size"}})
	require.NoError(t, err)
	mean := columns[1].Mean
	assert.InDelta(t, 2, mean, 1)
	assert.Equal(t, []Column{
		{Name: "id", Kind: Text}, {Name: "size", Kind: Number, Log: true, Mean: mean, Missing: 1},
		{Name: "kind", Kind: Category, Categories: []string{"a", "b"}, Other: true, Missing: 1},
	}, columns)
	var becomes []string
	for _, c := range columns {
		becomes = append(becomes, c.Becomes())
	}
	assert.Equal(t, []string{"left out", "log x, missing", "2 × 0/1, other, missing"}, becomes)
	names := []string{"kind", "size"} // without the text and the target
	for row, want := range map[[2]string][]float64{
		{"a", ""}:     {mean, 1, 1, 0, 0, 0},
		{"b", "NaN"}:  {mean, 1, 0, 1, 0, 0},
		{"rare", "?"}: {mean, 1, 0, 0, 1, 0},
		{"new", "NA"}: {mean, 1, 0, 0, 1, 0},
		{"", "null"}:  {mean, 1, 0, 0, 0, 1},
		{"a", "9"}:    {math.Log(9), 0, 1, 0, 0, 0},
	} {
		assert.Equal(t, [][]float64{want}, encoded(t, columns, names, row[:]), row)
	}
	wrong, err := New(names, [][]string{{"a", "1"}, {"a", "many"}})
	require.NoError(t, err)
	_, err = encode(columns, wrong)
	assert.EqualError(t, err, `table: line 3, column "size": "many" is not a finite number, as most are there (Category or Skip?)`)
	wrong.names[1] = "length"
	_, err = encode(columns, wrong)
	assert.EqualError(t, err, `table: no column "size" among ["kind" "length"]`)
}

// Two values take one column. Values that Fit has not seen and missing ones are the mean.
func TestYesNo(t *testing.T) {
	all := made(t, "full,some,digits,y", 40, func(i int) string {
		return fmt.Sprintf("%s,%s,%d,%d", []string{"no", "no", "no", "yes"}[i%4], []string{"f", "", "m", "m"}[i%4], i%2, i)
	})
	columns, err := all.Columns([]string{"y"}, Options{Category: []string{"digits"}})
	require.NoError(t, err)
	assert.Equal(t, []Column{
		{Name: "full", Kind: YesNo, Categories: []string{"no", "yes"}, Mean: 0.25},
		{Name: "some", Kind: YesNo, Categories: []string{"f", "m"}, Mean: 2.0 / 3, Missing: 10},
		{Name: "digits", Kind: YesNo, Categories: []string{"0", "1"}, Mean: 0.5},
	}, columns)
	assert.Equal(t, "f/m as 0/1, missing", columns[1].Becomes())
	assert.Equal(t, [][]float64{{1, 1, 0, 0}, {0.25, 2.0 / 3, 1, 1}, {0.25, 2.0 / 3, 0, 0.5}},
		encoded(t, columns, []string{"full", "some", "digits"}, []string{"yes", "m", "0"}, []string{"perhaps", "", "1"}, []string{"", "x", "NA"}))
}

func TestDates(t *testing.T) {
	all := made(t, "day,at,y", 40, func(i int) string {
		return fmt.Sprintf("2024-01-%02d,2024-03-01T%02d:30,%d", 1+i%20, i%24, i)
	})
	columns, err := all.Columns([]string{"y"}, Options{})
	require.NoError(t, err)
	assert.Equal(t, []Kind{Date, Date}, []Kind{columns[0].Kind, columns[1].Kind})
	const first = 19723 // days from 1970-01-01 to 2024-01-01, a Monday: 54·365 + 13 leap days
	assert.InDelta(t, first+9.5, columns[0].Mean, 1e-9)
	x := encoded(t, columns, []string{"day", "at"},
		[]string{"2024-01-01", "2024-04-07 06:00"}, []string{"2024-10-01", "2024-01-01T01:00:00.5+01:00"}, []string{"", "2024-01-01 00:00Z"})
	u, v := math.Cos(2*math.Pi/7), math.Sin(2*math.Pi/7)
	for i, want := range [][]float64{
		{first, 1, 0, u, v, first + 31 + 29 + 31 + 6.25, 0, 1, 1, 0},
		{first + 274, 0, -1, math.Cos(4 * math.Pi / 7), math.Sin(4 * math.Pi / 7), first + 0.5/86400, 1, 0, u, v},
		{columns[0].Mean, 0, 0, 0, 0, first, 1, 0, u, v},
	} {
		assert.InDeltaSlice(t, want, x[i], 1e-9, i)
	}
	for _, text := range []string{"2024-02-30", "2024-1-1", "24-01-01", "2024-01-01x", "2024-01-01 25:00", "01.02.2024", ""} {
		_, ok := date(text)
		assert.False(t, ok, text)
	}
	few, err := New([]string{"day", "at"}, [][]string{{"soon", "2024-01-01"}})
	require.NoError(t, err)
	_, err = encode(columns, few)
	assert.EqualError(t, err, `table: line 2, column "day": "soon" is not a date like 2006-01-02, as most are there (Category or Skip?)`)
	columns, err = all.Columns([]string{"y"}, Options{Category: []string{"day"}})
	require.NoError(t, err)
	assert.Equal(t, Constant, columns[0].Kind, "of 20 values in two rows each")
	assert.False(t, columns[0].Other, "ReadModel refuses a constant column with others")
}

// Columns that say nothing are left out; a column that is only there or not says that.
func TestColumnsThatDoNotVary(t *testing.T) {
	all := made(t, ",one,same,none,equal,there,id,huge,y", 30, func(i int) string {
		return fmt.Sprintf("%d,7,a,,%s,%s,n%d,%de306,%d", i, []string{"5", "5.0"}[i%2], []string{"5", ""}[i%2], i, i, i)
	})
	columns, err := all.Columns([]string{"y"}, Options{Skip: []string{"huge"}, Category: []string{"id"}})
	require.NoError(t, err)
	var kinds []Kind
	for _, c := range columns {
		kinds = append(kinds, c.Kind)
	}
	assert.Equal(t, []Kind{RowNames, Constant, Constant, Constant, Constant, Number, Constant, Skipped}, kinds)
	assert.Equal(t, [][]float64{{5, 0}, {5, 1}}, encoded(t, columns, []string{"there"}, []string{"5"}, []string{""}))
	_, err = all.Columns([]string{"y"}, Options{})
	assert.ErrorContains(t, err, `column "huge": the mean of the numbers is +Inf`)
}

// What columns of the file of a model cannot be.
func TestCheckColumns(t *testing.T) {
	assert.NoError(t, checkColumns([]Column{{Kind: Number}, {Kind: YesNo, Categories: []string{"a", "b"}}, {Kind: Category, Other: true}}))
	for _, c := range []Column{
		{}, {Kind: "ordered"}, {Kind: Number, Mean: math.NaN()}, {Kind: Number, Missing: -1}, {Kind: Date, Other: true},
		{Kind: YesNo, Categories: []string{"a"}}, {Kind: Category, Categories: []string{"b", "a"}},
	} {
		assert.ErrorContains(t, checkColumns([]Column{c}), "is no column of kind", c)
	}
}
