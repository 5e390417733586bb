package table_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/table"
)

// lines returns n lines of a small table under a head, and a text after them.
func lines(n int, last string) string {
	var b strings.Builder
	b.WriteString("id,size,kind,price\n")
	for i := range n {
		fmt.Fprintf(&b, "n%d,%d,%c,%d\n", i, 1+i*i%17, 'a'+i%2, 3*i%11)
	}
	return b.String() + last
}

func read(t testing.TB, text string) *table.Table {
	t.Helper()
	all, err := table.Read(strings.NewReader(text), table.ReadOptions{})
	require.NoError(t, err)
	return all
}

// A file with another character between values has an error that names the character, and is read
// with it. Beside semicolons numbers may have decimal commas.
func TestSeparators(t *testing.T) {
	want := read(t, "x,y\n0.5,1.25\n-.5e3,a\n")
	for _, c := range []struct {
		comma rune
		point string
	}{{';', ","}, {'\t', "."}, {'|', "."}} {
		text := strings.NewReplacer(",", string(c.comma), ".", c.point).Replace("\ufeffx,y\r\n 0.5 ,1.25\r\n\r\n-.5e3,\"a\"")
		_, err := table.Read(strings.NewReader(text), table.ReadOptions{})
		assert.ErrorContains(t, err, fmt.Sprintf("has no ',' between names, want Comma %q", c.comma))
		got, err := table.Read(strings.NewReader(text), table.ReadOptions{Comma: c.comma})
		require.NoError(t, err)
		same(t, want, got)
	}
	_, err := table.Read(strings.NewReader("x,y\n1,2\n"), table.ReadOptions{Comma: ';'})
	assert.EqualError(t, err, `table: line 1, column 1: "x,y" has no ';' between names, want Comma ','`)
	for _, comma := range []rune{'"', '\n', '\r', -1, 0xfffd, 0xfeff, 0xd800} {
		_, err := table.Read(strings.NewReader("x,y\n1,2\n"), table.ReadOptions{Comma: comma})
		assert.ErrorContains(t, err, "want a character that can separate values")
	}
}

// same compares tables without the numbers of lines.
func same(t testing.TB, want, got *table.Table) {
	t.Helper()
	require.Equal(t, want.Len(), got.Len())
	require.Equal(t, want.Names(), got.Names())
	for i := range want.Len() {
		require.Equal(t, want.Row(i), got.Row(i))
	}
}

func TestErrorsOfRead(t *testing.T) {
	for text, want := range map[string]string{
		lines(40, "x,1,a\n"):       "table: line 42, column 4: the row has 3 values, want 4",
		lines(40, "x,1,a,1,2,3\n"): "table: line 42, column 5: the row has 6 values, want 4",
		lines(40, "x,1,\"a,1\n"):   `table: parse error on line 42, column 10: extraneous or missing " in quoted-field`,
		lines(40, "x,1,a\"b,1\n"):  `table: parse error on line 42, column 6: bare " in non-quoted-field`,
		lines(40, "x,1,\xfc,1\n"):  `table: line 42, column 3: "\xfc" is not UTF-8`,
		"":                         "table: no line with names",
		"\n\n":                     "table: no line with names",
		"a,b\r1,2\r3,4\r":          `table: line 1, column 2: the name "b\r1" has a carriage return, want lines that end with \n or \r\n`,
		"a,,price\n":               `table: line 1, column 2: the name is "", want a name that no other column has`,
		"a,price, a\n":             `table: line 1, column 3: the name is "a", want a name that no other column has`,
	} {
		_, err := table.Read(strings.NewReader(text), table.ReadOptions{})
		assert.EqualError(t, err, want)
	}
	_, err := table.Read(io.MultiReader(strings.NewReader("a,b\n"), iotest.ErrReader(errors.New("broken"))), table.ReadOptions{})
	assert.ErrorContains(t, err, "broken")
	_, err = table.Read(nil, table.ReadOptions{})
	assert.EqualError(t, err, "table: r is nil, want a file")
}

func TestNew(t *testing.T) {
	names, rows := []string{"a", "b"}, [][]string{{"1", " 2 "}, {"3", ""}}
	got, err := table.New(names, rows)
	require.NoError(t, err)
	same(t, read(t, "a,b\n1,2\n3,\n"), got)
	assert.Equal(t, " 2 ", rows[0][1])
	_, err = table.New(names, [][]string{{"1", "2"}, {"3"}})
	assert.EqualError(t, err, "table: line 3, column 2: the row has 1 values, want 2")
	_, err = table.New(nil, nil)
	assert.EqualError(t, err, "table: no names")
}

// Split deals out every row once, and the last rows without a source.
func TestSplit(t *testing.T) {
	all := read(t, lines(43, ""))
	first := func(t *table.Table) (ids []string) {
		for i := range t.Len() {
			ids = append(ids, t.Row(i)[0])
		}
		return ids
	}
	rest, held := all.Split(0.2, nil)
	assert.Equal(t, []int{35, 8}, []int{rest.Len(), held.Len()})
	assert.Equal(t, first(all), slices.Concat(first(rest), first(held)))
	rest, held = all.Split(0.2, rand.NewPCG(1, 2))
	assert.Equal(t, []int{35, 8}, []int{rest.Len(), held.Len()})
	assert.ElementsMatch(t, first(all), slices.Concat(first(rest), first(held)))
	assert.NotEqual(t, first(all)[35:], first(held))
	assert.Panics(t, func() { all.Split(1.1, nil) })
}
