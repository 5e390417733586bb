package cli

import (
	"bytes"
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func flags() (*flag.FlagSet, *int) {
	fs := flag.NewFlagSet("program", flag.ContinueOnError)
	return fs, fs.Int("n", 3, "number of things")
}

func TestParse(t *testing.T) {
	var out bytes.Buffer
	fs, n := flags()
	done, err := Parse(fs, "about", []string{"-n", "7"}, &out)
	require.NoError(t, err)
	assert.False(t, done)
	assert.Equal(t, 7, *n)
	assert.Empty(t, out.String())
}

func TestParseHelp(t *testing.T) {
	var out bytes.Buffer
	fs, _ := flags()
	done, err := Parse(fs, "Counts things.", []string{"-h"}, &out)
	require.NoError(t, err)
	assert.True(t, done)
	assert.Contains(t, out.String(), "Counts things.")
	assert.Contains(t, out.String(), "number of things (default 3)")
}

func TestParseErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-x":  "flag provided but not defined: -x",
		"-n=": "invalid value",
		"abc": `unexpected argument "abc"`,
	} {
		var out bytes.Buffer
		fs, _ := flags()
		_, err := Parse(fs, "about", []string{args}, &out)
		assert.ErrorContains(t, err, want)
		assert.Empty(t, out.String(), "an error prints nothing by itself")
	}
}
