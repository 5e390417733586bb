package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func flags() (*Flags, *int) {
	f, n := NewFlags("program"), new(int)
	f.IntVar(n, "n", 3, 1, 9, "things")
	return f, n
}

func TestParse(t *testing.T) {
	var out bytes.Buffer
	fs, n := flags()
	done, err := fs.Parse("about", []string{"-n", "7"}, &out)
	require.NoError(t, err)
	assert.False(t, done)
	assert.Equal(t, 7, *n)
	assert.Empty(t, out.String())
}

func TestParseHelp(t *testing.T) {
	var out bytes.Buffer
	fs, _ := flags()
	done, err := fs.Parse("Counts things.", []string{"-h"}, &out)
	require.NoError(t, err)
	assert.True(t, done)
	assert.Contains(t, out.String(), "Counts things.")
	assert.Contains(t, out.String(), "things: a whole number from 1 to 9 (default 3)")
}

func TestParseErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-x":  "flag provided but not defined: -x",
		"-n=": "invalid value",
		"abc": `unexpected argument "abc"`,
	} {
		var out bytes.Buffer
		fs, _ := flags()
		_, err := fs.Parse("about", []string{args}, &out)
		assert.ErrorContains(t, err, want)
		assert.Empty(t, out.String(), "an error prints nothing by itself")
	}
}
