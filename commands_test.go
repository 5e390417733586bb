package randfeat_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// command is a line of a block of commands. It may begin with cd and with variables.
type command struct {
	folder string   // to run it in, from the root
	env    []string // name=value
	words  []string
}

func (c command) String() string {
	return strings.Join(slices.Concat(c.env, c.words), " ")
}

// parseCommand reads a line of a shell: a command, which may follow cd X &&, and a comment.
func parseCommand(t *testing.T, folder, line string) command {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	require.NoError(t, err, line)
	c := command{folder: folder}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		words, err := expand.Fields(nil, call.Args...)
		require.NoError(t, err, line)
		if len(words) == 2 && words[0] == "cd" {
			c.folder = filepath.Join(folder, words[1])
			return false
		}
		for _, a := range call.Assigns {
			value, err := expand.Literal(nil, a.Value)
			require.NoError(t, err, line)
			c.env = append(c.env, a.Name.Value+"="+value)
		}
		c.words = words
		return false
	})
	return c
}

// forReaders reports whether TestCommands may run the commands of a page. It checks but does not
// run the commands of pages for developers, and of blocks marked "peer", which need other software:
// their programs, flags, packages and benchmarks must exist.
func (p page) forReaders() bool { return p.path == "README.md" || strings.HasPrefix(p.path, "docs/") }

// small holds flags that make the examples fast. runCommand adds them to commands that lack them.
var small = map[string]string{
	"attention":  "-length 300 -draws 2 -size 8",
	"variance":   "-draws 2 -pairs 1 -d 4",
	"search":     "-rows 1000 -dim 16 -queries 20",
	"regression": "-pixels 100 -frequencies 8",
	"table":      "-rows 60",
}

// TestCommands checks the commands of all pages. With RANDFEAT_DOCS=check in the environment, as in
// .ci/run, it also runs the commands of README.md and docs, which takes a minute.
func TestCommands(t *testing.T) {
	built := make(map[string]string)
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if !b.is("sh") && !b.is("sh", "peer") {
				continue
			}
			if slices.Contains(b.lines, "go mod init mine") {
				continue // TestOwnModule
			}
			for _, line := range b.lines {
				c := parseCommand(t, root(p.path), line)
				at := p.path + ": " + line
				require.NoError(t, c.check(), at)
				if p.forReaders() && b.is("sh") && os.Getenv("RANDFEAT_DOCS") != "" {
					runCommand(t, c, at, built)
				}
			}
		}
	}
}

// root returns the working folder for the commands of a page: the root of its module.
func root(path string) string {
	for dir := filepath.Dir(filepath.FromSlash(path)); dir != "."; dir = filepath.Dir(dir) {
		if isModule(dir) {
			return dir
		}
	}
	return "."
}

// check returns an error if the program, a flag, a package or a benchmark of the command does not
// exist.
func (c command) check() error {
	if len(c.words) == 0 {
		return fmt.Errorf("no command")
	}
	switch name := c.words[0]; {
	case name == "go" && len(c.words) > 1 && c.words[1] == "run":
		return c.checkRun(c.words[2:])
	case name == "go" && len(c.words) > 1 && c.words[1] == "test":
		return c.checkTest(c.words[2:])
	case name == "go" && len(c.words) == 3 && c.words[1] == "doc":
		_, err := os.Stat(filepath.Join(c.folder, c.words[2]))
		return err
	case name == "python3":
		return nil
	case strings.HasPrefix(name, "."):
		info, err := os.Stat(filepath.Join(c.folder, name))
		if err == nil && info.Mode()&0o100 == 0 {
			return fmt.Errorf("%s is no program", name)
		}
		return err
	}
	return fmt.Errorf("unknown command %v", c)
}

// checkRun checks the arguments of go run.
func (c command) checkRun(args []string) error {
	if len(args) > 1 && args[0] == "-tags" {
		args = args[2:]
	}
	if len(args) == 0 {
		return fmt.Errorf("go run what?")
	}
	if strings.Contains(args[0], "@") {
		return nil // a program of another module
	}
	flags, main, err := flagsOf(filepath.Join(c.folder, args[0]), false)
	switch {
	case err != nil:
		return err
	case !main:
		return fmt.Errorf("%s is no program", args[0])
	}
	for _, a := range args[1:] {
		if name, ok := strings.CutPrefix(a, "-"); ok && !slices.Contains(flags, name) {
			return fmt.Errorf("%s has no flag %s, but %v", args[0], a, flags)
		}
	}
	return nil
}

// checkTest checks the arguments of go test: its flags, the flags of the tests, and the names of
// benchmarks.
func (c command) checkTest(args []string) error {
	valued := []string{"-run", "-bench", "-benchtime", "-count", "-cpu", "-exec", "-p", "-tags"}
	var folders, given []string
	bench := ""
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-short" || a == "-update-api":
		case slices.Contains(valued, a) && i+1 < len(args):
			if i++; a == "-bench" {
				bench, _, _ = strings.Cut(args[i], "/")
			}
		case strings.HasPrefix(a, "-") && i+1 < len(args):
			given = append(given, a[1:])
			i++
		case strings.HasPrefix(a, "./") && strings.HasSuffix(a, "/..."):
			return nil
		case a == "." || strings.HasPrefix(a, "./"):
			folders = append(folders, filepath.Join(c.folder, a))
		default:
			return fmt.Errorf("argument %q of go test", a)
		}
	}
	if len(folders) == 0 {
		return fmt.Errorf("go test of no package")
	}
	for _, f := range folders {
		flags, _, err := flagsOf(f, true)
		if err != nil {
			return err
		}
		for _, g := range given {
			if !slices.Contains(flags, g) {
				return fmt.Errorf("the tests of %s have no flag -%s", f, g)
			}
		}
		if bench == "" {
			continue
		}
		pattern, err := regexp.Compile(bench)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(functions(f, "Benchmark"), pattern.MatchString) {
			return fmt.Errorf("%s has no benchmark %s", f, bench)
		}
	}
	return nil
}

// sources parses the test files of a folder, or all other files.
func sources(folder string, tests bool) ([]*ast.File, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no Go files in %s", folder)
	}
	var all []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		all = append(all, file)
	}
	return all, nil
}

var flagFunction = regexp.MustCompile(`^(Bool|Duration|Float64|Func|Input|Int|Output|String|Uint64)(Var)?$`)

// flagsOf returns the names of the flags of a package, and whether the package is a program.
func flagsOf(folder string, tests bool) (flags []string, main bool, err error) {
	files, err := sources(folder, tests)
	for _, file := range files {
		main = main || file.Name.Name == "main"
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !flagFunction.MatchString(f.Sel.Name) {
				return true
			}
			at := 0
			if strings.HasSuffix(f.Sel.Name, "Var") {
				at = 1
			}
			if len(call.Args) > at+1 {
				if name, ok := call.Args[at].(*ast.BasicLit); ok && name.Kind == token.STRING {
					text, _ := strconv.Unquote(name.Value) // the parser has read it
					flags = append(flags, text)
				}
			}
			return true
		})
	}
	return flags, main, err
}

// functions returns the functions in the tests of a folder whose names begin with a word.
func functions(folder, word string) []string {
	files, _ := sources(folder, true) // flagsOf has reported an error
	var all []string
	for _, file := range files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, word) {
				all = append(all, f.Name.Name)
			}
		}
	}
	return all
}

// runCommand runs a command of a page. It builds each example once, and runs it in an empty folder
// with small sizes. It skips commands that compile everything again, go test ./... and examples
// with a build tag, because .ci/run has the same commands.
func runCommand(t *testing.T, c command, at string, built map[string]string) {
	t.Helper()
	switch line := strings.Join(c.words, " "); {
	case line == "go test ./...", strings.HasPrefix(line, "go run -tags "):
		ci, err := os.ReadFile(".ci/run")
		require.NoError(t, err)
		assert.Contains(t, string(ci), "\n"+line+"\n")
		return
	case strings.HasPrefix(line, "go doc "):
		out, err := exec.Command("go", c.words[1:]...).CombinedOutput()
		assert.NoError(t, err, "%s\n%s", at, out)
		return
	}
	args := c.words[2:]
	name := filepath.Base(args[0])
	require.Equal(t, "./examples/"+name, args[0], at)
	program, ok := built[name]
	if !ok {
		program = filepath.Join(t.TempDir(), name+".exe")
		out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, args[0]).CombinedOutput()
		require.NoError(t, err, "%s\n%s", at, out)
		built[name] = program
		helps(t, name, program)
	}
	args = args[1:]
	sizes := strings.Fields(small[name])
	for i := 0; i < len(sizes); i += 2 {
		if !slices.Contains(args, sizes[i]) {
			args = append(args, sizes[i], sizes[i+1])
		}
	}
	run := exec.Command(program, args...)
	run.Dir = t.TempDir()
	run.Env = append(os.Environ(), c.env...)
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(run.Dir, "README.md"), text, 0o600)) // for -text
	// The default of -heads is a folder of the root.
	if name == "attention" {
		const heads = "examples/attention/smollm2"
		require.NoError(t, os.CopyFS(filepath.Join(run.Dir, heads), os.DirFS(heads)))
	}
	out, err := run.CombinedOutput()
	assert.NoError(t, err, "%s\n%s", at, out)
	assert.NotEmpty(t, out, at)
}

// helps checks that -h describes a program at once, without running it.
func helps(t *testing.T, name, program string) {
	t.Helper()
	help := exec.Command(program, "-h")
	help.Dir = t.TempDir()
	out, err := help.Output()
	assert.NoError(t, err, name)
	about, flags, found := strings.Cut(string(out), "\n\nFlags:\n")
	assert.True(t, found && flags != "" || strings.HasSuffix(about, "\nIt has no flags.\n"), "%s -h prints\n%s", name, out)
	written, err := os.ReadDir(help.Dir)
	require.NoError(t, err)
	assert.Empty(t, written, name)
}

// TestCommandsInProse: commands in sentences name existing programs, flags, packages and
// benchmarks.
func TestCommandsInProse(t *testing.T) {
	inline := regexp.MustCompile("`((?:[A-Z_]+=\\S+ )*go (?:run|test|doc) [^`]*)`")
	n := 0
	for _, p := range pages(t) {
		for _, m := range inline.FindAllStringSubmatch(strings.Join(p.prose, " "), -1) {
			assert.NoError(t, parseCommand(t, root(p.path), m[1]).check(), "%s: %s", p.path, m[1])
			n++
		}
	}
	assert.Greater(t, n, 5)
}

// TestNoCommandHides: all commands are in blocks that TestCommands reads.
func TestNoCommandHides(t *testing.T) {
	indented := regexp.MustCompile(`^    ([A-Z_]+=\S+ )*(go|git|cd|python3) `)
	hidden := regexp.MustCompile(`(?m)^([A-Z_]+=\S+ )*(go|git|cd|python3) `)
	for _, p := range pages(t) {
		for _, line := range p.prose {
			assert.NotRegexp(t, indented, line, p.path)
		}
		for _, b := range p.blocks {
			known := slices.Contains([]string{"go", "go example", "sh", "sh peer", "text", "text example"}, strings.Join(b.kind, " "))
			assert.True(t, known, "%s: block of kind %q", p.path, b.kind)
			if b.is("text") {
				assert.NotRegexp(t, hidden, b.text(), p.path)
			}
		}
	}
}

// TestCommandsAreChecked: check finds names that do not exist.
func TestCommandsAreChecked(t *testing.T) {
	for line, ok := range map[string]bool{
		"go run ./examples/attention -causal":  true,
		"go run ./examples/attention -acausal": false,
		"go run ./examples/none":               false,
		"go run ./rff":                         false,
		"go doc ./none":                        false,
		"go test ./...":                        true,
		"go test -run '^$' -bench 'Solve|Inverse' ./semiseparable # time": true,
		"go test -run '^$' -bench None ./semiseparable":                   false,
		"go test -bench Scan ./quantise -rows 10":                         true,
		"go test -bench Scan ./quantise -lines 10":                        false,
		"cd internal/_asm && go run -tags purego .":                       true,
		"A=b C=d go test -short ./rff":                                    true,
		".ci/run":                                                         true,
		"./README.md":                                                     false,
		"make":                                                            false,
	} {
		assert.Equal(t, ok, parseCommand(t, ".", line).check() == nil, "%s: %v", line, parseCommand(t, ".", line).check())
	}
}

// TestOwnModule follows the README in an empty folder. This module takes the place of the clone,
// under its own path, because its packages are compiled already.
func TestOwnModule(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	var script []string
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if p.path == "README.md" && slices.Contains(b.lines, "go mod init mine") {
				script = slices.Clone(b.lines)
			}
		}
	}
	require.NotEmpty(t, script)
	require.Equal(t, "git clone https://github.com/seed-feabd252/randfeat", script[0])
	text := strings.ReplaceAll(strings.Join(script[1:], "\n"), "../randfeat", filepath.ToSlash(here))
	require.Equal(t, 2, strings.Count(text, here), "the script names the clone")
	run := exec.Command("sh", "-e", "-c", text)
	run.Dir = dir
	out, err := run.CombinedOutput()
	require.NoError(t, err, string(out))
	want, err := os.ReadFile("examples/rows/main_test.go")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(want), "// Output:\n")
	require.True(t, found)
	for line := range strings.Lines(strings.TrimSuffix(after, "}\n")) {
		assert.Contains(t, string(out), strings.TrimPrefix(line, "\t// "))
	}
}
