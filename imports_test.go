package randfeat_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// imports returns the imports of each test file below root, or of each other file, by path.
func imports(t *testing.T, root string, tests bool) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || path != "." && isModule(path)):
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

// TestImports: packages that draw nothing do not import packages that draw, and only examples and
// tests import packages that are for examples and tests.
func TestImports(t *testing.T) {
	all := imports(t, ".", false)
	for imported, folders := range map[string]string{
		"gonum.org/v1/plot":             "examples validate/charts",
		"golang.org/x/exp/rand":         "examples internal/testing/densetest",
		"github.com/stretchr/testify":   "internal/testing/densetest",
		module + "orf":                  "internal/law/mse rff performer ridge/automl validate examples",
		module + "rff":                  "components hypothesis performer ridge validate examples",
		module + "performer/recurrence": "",
		module + "performer/audit":      "examples",
		module + "performer/estimate":   "",
		module + "performer/layer":      "examples",
		module + "performer/blocks":     "performer/audit examples",
		module + "performer":            "performer examples",
		module + "ridge":                "components ridge table examples",
		module + "table":                "examples",
		module + "semiseparable":        "",
		module + "blas":                 "",
		module + "quantise":             "quantise/index examples",
		module + "validate":             "validate examples",
		module + "examples":             "examples",
		module + "internal/testing":     "internal/testing performer/internal/maptest",
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

// TestFilesOfPackages: a package has at most 40 files without tests. A package with more files
// holds more than one idea.
func TestFilesOfPackages(t *testing.T) {
	files := make(map[string]int)
	for path := range imports(t, ".", false) {
		files[filepath.ToSlash(filepath.Dir(path))]++
	}
	for folder, n := range files {
		assert.LessOrEqual(t, n, 40, "files in %s", folder)
	}
}

// TestExamplesImportThePublicAPI: examples import only packages that other modules can import.
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

// TestLayers: a package imports its own layer of CONTRIBUTING.md and the layers before it, and
// every package has a layer.
func TestLayers(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	layers := layersOf(string(text))
	require.NotEmpty(t, layers)
	used := make(map[string]bool)
	for path, list := range imports(t, ".", false) {
		folder := filepath.ToSlash(filepath.Dir(path))
		if folder == "." {
			continue
		}
		of := layers.find(folder)
		assert.NotEmpty(t, of, "%s has a layer", folder)
		used[of] = true
		for _, name := range list {
			if below, ok := strings.CutPrefix(name, module); ok {
				assert.LessOrEqual(t, layers[layers.find(below)], layers[of], "%s imports %s", path, name)
			}
		}
	}
	for place := range layers {
		assert.True(t, used[place], "%s has a package", place)
	}
}

// layering maps the folders of the list in CONTRIBUTING.md to the numbers of their layers.
type layering map[string]int

func layersOf(text string) layering {
	layers := make(layering)
	for _, m := range regexp.MustCompile("(?m)^([0-9]+)\\. (`.*`)$").FindAllStringSubmatch(text, -1) {
		number, _ := strconv.Atoi(m[1])
		for _, place := range strings.Split(m[2], ", ") {
			layers[strings.Trim(place, "`")] = number
		}
	}
	return layers
}

// find returns the longest folder of the list that is the package or contains it.
func (l layering) find(folder string) string {
	for ; folder != "."; folder = path.Dir(folder) {
		if _, ok := l[folder]; ok {
			return folder
		}
	}
	return ""
}

func TestLayerOfAPackage(t *testing.T) {
	layers := layersOf("1. `a/b`, `c`\n2. `a`\nNot `d`.\n")
	assert.Equal(t, layering{"a/b": 1, "c": 1, "a": 2}, layers)
	assert.Equal(t, "a/b", layers.find("a/b/x"))
	assert.Equal(t, "a", layers.find("a/x/y"))
	assert.Empty(t, layers.find("d"))
}

// isModule reports whether a folder is the root of a module.
func isModule(path string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// within reports whether a file is in or below one of the folders.
func within(path string, folders []string) bool {
	for _, f := range folders {
		if strings.HasPrefix(path, f+"/") {
			return true
		}
	}
	return false
}
