package randfeat_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flat returns lines without spaces at their beginnings and ends.
func flat(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// TestBlocksOfExamples: a block of kind "go example" is part of an example. A block of kind "text
// example" is part of the output of an example, which a test of the example compares.
func TestBlocksOfExamples(t *testing.T) {
	var programs, outputs string
	files, err := filepath.Glob("examples/*/*.go")
	require.NoError(t, err)
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		if !strings.HasSuffix(f, "_test.go") {
			programs += flat(string(data))
		} else if _, output, found := strings.Cut(string(data), "// Output:\n"); found {
			outputs += flat(strings.ReplaceAll(output, "\t// ", ""))
		}
	}
	n := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.is("go", "example") {
				assert.Contains(t, programs, flat(b.text()), p.path)
				n++
			} else if b.is("text", "example") {
				assert.Contains(t, outputs, flat(b.text()), p.path)
				n++
			}
		}
	}
	assert.Greater(t, n, 10)
}

// given returns the names, with types, that blocks of Go on a page may use without a declaration.
func given(page string) string {
	if page == "docs/names.md" || page == "docs/engine.md" {
		return `B, H, Hk, Lq, L, d, dv int, s float64, queries, keys, values []float32, seen []bool`
	}
	return `x, y, z, q, k, v, m, queries, keys, rows, more dense.Matrix[float32], query, signs, u, dst []float32, d int, scale float64,
ctx context.Context, src rand.Source, file *os.File, w orf.Projection[float32], phi rff.Map[float32]`
}

var (
	selector = regexp.MustCompile(`\b([a-z]+)\.[A-Z]`)
	standard = map[string]string{"context": "context", "fmt": "fmt", "os": "os", "rand": "math/rand/v2"}
)

// fragment returns a file of Go with the statements of a block of a page in a function. The file
// accepts unused variables.
func fragment(page, statements string) (string, error) {
	body := "package p\nfunc f() {\n" + statements + "\n}"
	file, err := parser.ParseFile(token.NewFileSet(), "", body, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var used []string
	for _, s := range file.Decls[0].(*ast.FuncDecl).Body.List {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, e := range a.Lhs {
				if name := e.(*ast.Ident).Name; name != "_" && !slices.Contains(used, name) {
					used = append(used, name)
				}
			}
		}
	}
	paths := maps.Clone(standard)
	for _, name := range strings.Fields("dense dense/gonum dense/half hadamard givens orf kernels rff performer performer/audit performer/estimate performer/layer performer/blocks performer/recurrence ridge ridge/automl ridge/kernelridge components hypothesis kmeans quantise quantise/index safetensors semiseparable table blas validate") {
		paths[path.Base(name)] = module + name
	}
	imports := make(map[string]bool)
	for _, m := range selector.FindAllStringSubmatch(given(page)+statements, -1) {
		if p, ok := paths[m[1]]; ok {
			imports[p] = true
		}
	}
	var b strings.Builder
	b.WriteString("package p\n")
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&b, "import %q\n", p)
	}
	fmt.Fprintf(&b, "func _(%s) error {\n{\n%s\n", given(page), statements)
	for _, name := range used {
		fmt.Fprintf(&b, "_ = %s\n", name)
	}
	b.WriteString("}\nreturn nil\n}\n")
	return b.String(), nil
}

// compile compiles files as a package of this module and returns the output of the compiler.
func compile(t *testing.T, files []string) string {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for i, text := range files {
		name := fmt.Sprintf("f%d.go", i)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		overlay.Replace[filepath.Join(here, "docs", "fragments", name)] = filepath.Join(dir, name)
	}
	data, err := json.Marshal(overlay)
	require.NoError(t, err)
	config := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(config, data, 0o600))
	out, err := exec.Command("go", "build", "-gcflags=-e", "-overlay", config, "./docs/fragments").CombinedOutput()
	assert.Equal(t, err == nil, len(out) == 0)
	return string(out)
}

// TestBlocksOfGo: blocks of Go compile, except on pages of nested modules, which need other
// dependencies.
func TestBlocksOfGo(t *testing.T) {
	var files []string
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.is("go") && root(p.path) == "." {
				file, err := fragment(p.path, b.text())
				require.NoError(t, err, "%s\n%s", p.path, b.text())
				files = append(files, file)
			}
		}
	}
	require.Greater(t, len(files), 10)
	assert.Empty(t, compile(t, files))
}

// TestWrongBlocksOfGo: compile finds names that a package does not have.
func TestWrongBlocksOfGo(t *testing.T) {
	var files []string
	for _, statements := range []string{"a := rff.None(x)", "b := x + y"} {
		file, err := fragment("README.md", statements)
		require.NoError(t, err)
		files = append(files, file)
	}
	out := compile(t, files)
	assert.Contains(t, out, "rff.None")
	assert.Contains(t, out, "operator + not defined")
	_, err := fragment("README.md", "a :=")
	assert.Error(t, err)
}

// listed holds the output of go list for the packages.
var listed = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Name}}", "./...").Output()
})

// publicPackages returns the folders of the packages that other modules can import; "" is the root.
func publicPackages(t *testing.T) []string {
	t.Helper()
	out, err := listed()
	require.NoError(t, err)
	var all []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		folder := strings.TrimPrefix(f[0]+"/", module)
		if f[1] != "main" && !strings.Contains("/"+folder, "/internal/") && !strings.HasPrefix(folder, "tests/") {
			all = append(all, strings.TrimSuffix(folder, "/"))
		}
	}
	require.Greater(t, len(all), 15)
	return all
}

// examplesOf returns the names of the example functions of a folder that have an output comment.
func examplesOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := sources(filepath.Join(".", folder), true)
	require.NoError(t, err)
	var all []string
	for _, file := range files {
		for _, e := range doc.Examples(file) {
			if e.Output != "" {
				all = append(all, e.Name)
			}
		}
	}
	return all
}

// TestExamples: every public package has an example function with an output comment, and so has the
// module beam.
func TestExamples(t *testing.T) {
	for _, folder := range append(publicPackages(t), "beam") {
		if folder == "" {
			continue // the root says where to look
		}
		assert.NotEmpty(t, examplesOf(t, folder), "package %q", folder)
	}
	assert.Empty(t, examplesOf(t, "internal/memory/limit"), "a package without examples is noticed")
}

// TestIndexOfTasks: the documentation of the largest packages begins with an index of tasks.
func TestIndexOfTasks(t *testing.T) {
	for _, folder := range []string{"rff", "performer"} {
		text, err := os.ReadFile(filepath.Join(folder, "doc.go"))
		require.NoError(t, err)
		before, _, found := strings.Cut(string(text), "\n// # Where to begin\n//\n//   - ")
		assert.True(t, found, folder)
		assert.LessOrEqual(t, len(strings.Fields(before)), 60, folder)
	}
}
