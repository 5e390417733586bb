package randfeat_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat"
)

// TestReadmeShowsTheFirstProgram: README.md has the text of the program and what it
// prints, which a test beside the program compares with what it does print.
func TestReadmeShowsTheFirstProgram(t *testing.T) {
	program, err := os.ReadFile("examples/first/main.go")
	require.NoError(t, err)
	_, program, found := bytes.Cut(program, []byte("package main\n"))
	require.True(t, found)
	assert.Contains(t, randfeat.README, "```go\npackage main\n"+string(program)+"```\n")

	test, err := os.ReadFile("examples/first/main_test.go")
	require.NoError(t, err)
	_, output, found := strings.Cut(string(test), "\t// Output:\n")
	require.True(t, found)
	output = strings.ReplaceAll(strings.TrimSuffix(output, "}\n"), "\t// ", "    ")
	assert.Contains(t, randfeat.README, "\n"+output+"\n")
}
