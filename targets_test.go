package randfeat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTypes checks the types of all packages and their tests for the targets GOOS/GOARCH in the
// environment variable RANDFEAT_TARGETS, which .ci/run sets. The compiler would take longer,
// because it would compile everything for each target.
func TestTypes(t *testing.T) {
	targets := strings.Fields(os.Getenv("RANDFEAT_TARGETS"))
	if len(targets) == 0 {
		t.Skip("RANDFEAT_TARGETS names no targets")
	}
	for _, target := range targets {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			for _, err := range checkTypes(t, ".", target) {
				assert.NoError(t, err)
			}
		})
	}
}

// TestWrongTypes: TestTypes finds an error that only one target has, for that target alone.
func TestWrongTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the types of the standard library")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module m\n\ngo 1.24\n",
		"all.go":         "package m\n\nimport \"os\"\n\nfunc F() *os.File { return file() }\n",
		"size_386.go":    "package m\n\nvar size int = 1 << 40\n",
		"half_s390x.go":  "package m\n\nfunc half(x int) int\n",
		"x_arm_test.go":  "package m_test\n\nimport \"m\"\n\nvar _ int = m.F()\n",
		"file_linux.go":  "package m\n\nimport \"os\"\n\nfunc file() *os.File { return os.Stdin }\n",
		"file_darwin.go": "package m\n\nfunc file() int { return 1 }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	assert.Empty(t, checkTypes(t, dir, "linux/amd64"))
	for target, want := range map[string]string{
		"windows/amd64": "undefined: file", "darwin/arm64": "cannot use file()",
		"linux/386": "(overflows)", "linux/arm": "cannot use m.F()", "linux/s390x": "missing body of half",
	} {
		assert.ErrorContains(t, errors.Join(checkTypes(t, dir, target)...), want)
	}
}

// listedPackage is the output of go list for a package and a target.
type listedPackage struct {
	ImportPath, Dir string
	GoFiles, SFiles []string
	ImportMap       map[string]string
	DepOnly         bool
}

// checkTypes returns the type errors for a target in the packages of the module in a folder. It
// does not check the bodies of functions of other modules.
func checkTypes(t *testing.T, folder, target string) (mistakes []error) {
	t.Helper()
	system, processor, _ := strings.Cut(target, "/")
	list := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,SFiles,ImportMap,DepOnly", "./...")
	list.Dir = folder
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	out, err := list.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, list.Start())
	set, done := token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}
	for all := json.NewDecoder(out); ; {
		var p listedPackage
		if err := all.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		// the main packages of tests
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, file)
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body == nil && len(p.SFiles) == 0 && !p.DepOnly {
					mistakes = append(mistakes, fmt.Errorf("%s: missing body of %s", set.Position(f.Pos()), f.Name.Name))
				}
			}
		}
		config := types.Config{
			Importer:         importer{p.ImportMap, done},
			IgnoreFuncBodies: p.DepOnly,
			Error:            func(err error) { mistakes = append(mistakes, err) },
			Sizes:            types.SizesFor("gc", processor),
		}
		done[p.ImportPath], _ = config.Check(p.ImportPath, set, files, nil)
	}
	assert.NoError(t, list.Wait())
	require.Greater(t, len(done), 1)
	return mistakes
}

// importer returns checked packages by the import paths of a package.
type importer struct {
	paths map[string]string
	done  map[string]*types.Package
}

func (i importer) Import(path string) (*types.Package, error) {
	if mapped, ok := i.paths[path]; ok {
		path = mapped
	}
	if p, ok := i.done[path]; ok {
		return p, nil
	}
	return nil, errors.New("no package " + path)
}
