package randfeat_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// imports maps the path of each file below root, tests or all others, to the imports of the file.
func imports(t *testing.T, root string, tests bool) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git", path != "." && isModule(path):
			return filepath.SkipDir // what another module needs does not come with this one
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") != tests:
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		all[path] = nil
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			all[path] = append(all[path], name)
		}
		return nil
	}))
	return all
}

const module = "github.com/seed-feabd252/randfeat/"

// TestImports: imports go one way, who draws nothing does not link what draws, and what
// only examples or tests need stays there.
func TestImports(t *testing.T) {
	all := imports(t, ".", false)
	for imported, folders := range map[string]string{
		"gonum.org/v1/plot":              "examples validate/charts",
		"github.com/schollz/progressbar": "examples",
		"golang.org/x/term":              "examples",
		"golang.org/x/exp/rand":          "examples internal/densetest",
		"github.com/stretchr/testify":    "internal/densetest",
		module + "orf":                   "internal/mse internal/mappages rff performer validate examples internal/bench",
		module + "rff":                   "internal/mappages performer ridge validate examples internal/bench",
		module + "performer/recurrence":  "examples internal/bench",
		module + "performer/layer":       "",
		module + "performer":             "performer/layer examples internal/bench",
		module + "ridge":                 "examples internal/bench",
		module + "semiseparable":         "internal/bench",
		module + "blas":                  "examples",
		module + "quantise":              "examples",
		module + "validate":              "internal/mappages validate examples",
		module + "examples":              "examples",
		module + "internal/densetest":    "",
		module + "internal/allocs":       "",
		module + "internal/race":         "",

		module + "internal/limit/limittest": "",
	} {
		used := false
		for path, list := range all {
			for _, name := range list {
				if name != imported && !strings.HasPrefix(name, imported+"/") {
					continue
				}
				used = true
				assert.True(t, within(path, strings.Fields(folders)), "%s imports %s", path, name)
			}
		}
		assert.Equal(t, folders != "", used, "%s is imported", imported)
	}
}

// TestExamplesImportThePublicAPI: whatever a program among the examples does, a program elsewhere
// can do as well.
func TestExamplesImportThePublicAPI(t *testing.T) {
	for _, tests := range []bool{false, true} {
		all := imports(t, "examples", tests)
		require.NotEmpty(t, all)
		for path, list := range all {
			for _, name := range list {
				inner := strings.HasPrefix(name, module) && strings.Contains(name+"/", "/internal/")
				assert.False(t, inner && !strings.HasPrefix(name, module+"examples/internal/"), "%s imports %s", path, name)
			}
		}
	}
}

// isModule reports whether a folder is the root of a module.
func isModule(path string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// within reports whether a file is in one of the folders, or below.
func within(path string, folders []string) bool {
	for _, f := range folders {
		if strings.HasPrefix(path, f+"/") {
			return true
		}
	}
	return false
}
