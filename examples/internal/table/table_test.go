package table

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFprint(t *testing.T) {
	tab := New(Column{Name: "map"}, Column{Name: "error", Right: true})
	tab.Gap()
	tab.Row("trig", "0.5 ± 0.1")
	tab.Gap()
	tab.Gap()
	tab.Row("positive", "2")
	var b bytes.Buffer
	require.NoError(t, tab.Fprint(&b))
	assert.Equal(t, ""+
		"map           error\n"+
		"--------  ---------\n"+
		"trig      0.5 ± 0.1\n"+
		"\n"+
		"positive          2\n", b.String())
}

func TestRowPanics(t *testing.T) {
	assert.PanicsWithValue(t, "table: 1 cells in a table of 2 columns", func() {
		New(Column{}, Column{}).Row("a")
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestFprintReportsErrors(t *testing.T) {
	assert.EqualError(t, New(Column{Name: "a"}).Fprint(full{}), "disk full")
}
