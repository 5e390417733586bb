package randfeat_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat"
)

func TestReadmeShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, body, found := strings.Cut(string(source), "func Example() {\n")
	require.True(t, found)
	body, rest, found := strings.Cut(body, "\t// Output: ")
	require.True(t, found)
	output, _, _ := strings.Cut(rest, "\n")

	code := strings.ReplaceAll("\n"+body, "\n\t", "\n")
	assert.Contains(t, randfeat.README, "```go"+code+"```\n\n    "+output+"\n")
}
