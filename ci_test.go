package randfeat_test

import (
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPatternsOfRun: each alternative of the patterns by which .ci/run chooses tests and leaves tests
// out names a test or an example, so that a renamed test is noticed.
func TestPatternsOfRun(t *testing.T) {
	text, err := os.ReadFile(".ci/run")
	require.NoError(t, err)
	names, seen := make(map[string]bool), make(map[string]bool)
	for path := range imports(t, ".", true) {
		folder := filepath.Dir(path)
		if seen[folder] {
			continue
		}
		seen[folder] = true
		for _, name := range append(functions(folder, "Test"), functions(folder, "Example")...) {
			names[name] = true
		}
	}
	patterns := regexp.MustCompile(`(?:-run |-skip |codecs=|long=)'([^']+)'`).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(patterns), 10)
	for _, m := range patterns {
		if m[1] == "^$" {
			continue // no test, to compile alone or for benchmarks
		}
		for _, one := range alternatives(t, m[1]) {
			assert.True(t, oneMatches(t, names, one), "%s of %s names a test", one, m[1])
		}
	}
	assert.False(t, oneMatches(t, names, "^TestNone$"))
	assert.Equal(t, []string{"abx", "acdy", "acez"}, slices.Sorted(slices.Values(alternatives(t, "a(bx|c(dy|ez))"))))
}

// oneMatches reports whether a name matches a pattern.
func oneMatches(t *testing.T, names map[string]bool, pattern string) bool {
	t.Helper()
	re, err := regexp.Compile(pattern)
	require.NoError(t, err)
	for name := range names {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}

// alternatives returns the patterns without | that a pattern stands for. Patterns of parts of a test,
// which follow a slash, are left out.
func alternatives(t *testing.T, pattern string) []string {
	t.Helper()
	whole := regexp.MustCompile(`/[^|)]*`).ReplaceAllString(pattern, "")
	re, err := syntax.Parse(whole, syntax.Perl)
	require.NoError(t, err)
	return expand(re)
}

// expand returns the alternatives of re.
func expand(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, expand(sub)...)
		}
		return all
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			var longer []string
			for _, before := range all {
				for _, after := range expand(sub) {
					longer = append(longer, before+after)
				}
			}
			all = longer
		}
		return all
	case syntax.OpCapture:
		return expand(re.Sub[0])
	}
	return []string{re.String()}
}
