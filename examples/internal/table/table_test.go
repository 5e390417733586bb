package table

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

func TestFprint(t *testing.T) {
	tab := New(1, "map", "error")
	tab.Row("trig", "0.5 ± 0.1")
	tab.Row()
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

func TestFprintReportsErrors(t *testing.T) {
	assert.EqualError(t, New(1, "a").Fprint(clitest.Full{}), "disk full")
}
