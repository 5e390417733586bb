// Command gallery draws the pictures of docs/gallery.md with the examples, and writes the page.
//
//	go run ./tools/gallery
//
// Run it in the root of the module. It takes about half a minute and wants the machine for itself,
// because some pictures show times. With -text it writes the page alone.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-feabd252/randfeat/internal/file/whole"
)

func main() {
	text := flag.Bool("text", false, "write the page, and leave the pictures as they are")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "gallery: unexpected argument %q\n", flag.Arg(0))
		os.Exit(1)
	}
	if err := run(*text); err != nil {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

func run(text bool) error {
	if !text {
		if err := draw(); err != nil {
			return err
		}
	}
	page, err := page(".")
	if err != nil {
		return err
	}
	return whole.Text(filepath.Join("docs", "gallery.md"), page)
}

// draw has the tests of the examples write their pictures, one after another.
func draw() error {
	args := []string{"test", "-count=1", "-p=1", "-run=^TestGallery$"}
	for _, e := range entries {
		args = append(args, "./examples/"+e.name)
	}
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "RANDFEAT_DOCS=draw")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}

// entry is an example on the page.
type entry struct {
	name, title string
	shows       string // what the picture shows
	command     string
	code        passage
}

// passage is some lines of an example: those of a function of a file from the first line that
// contains one text to the next that contains another.
type passage struct{ file, function, from, to string }

// page returns the text of the page. The examples are below root.
func page(root string) (string, error) {
	var b strings.Builder
	b.WriteString("# Gallery\n\nWhat each example draws, and the lines that make it. `go run ./tools/gallery` writes this page.\n")
	for _, e := range entries {
		code, err := e.code.read(filepath.Join(root, "examples", e.name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n![%s](gallery/%s.png)\n\nFrom [examples/%s/%s](../examples/%[5]s/%[6]s):\n\n```go example\n%s```\n\n```sh\n%s\n```\n",
			e.title, e.shows, e.title, e.name, e.name, e.code.file, code, e.command)
	}
	return b.String(), nil
}

// read returns the lines without the indentation of the first.
func (p passage) read(folder string) (string, error) {
	path := filepath.Join(folder, p.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, 0)
	if err != nil {
		return "", err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != p.function {
			continue
		}
		body := string(source[files.Position(f.Pos()).Offset:files.Position(f.End()).Offset])
		return cut(body, p.from, p.to)
	}
	return "", fmt.Errorf("%s has no function %s", path, p.function)
}

// cut returns the lines of a text from the one with the first pattern to the next with the second.
func cut(text, from, to string) (string, error) {
	var b strings.Builder
	indent, in := "", false
	for line := range strings.Lines(text) {
		if !in && strings.Contains(line, from) {
			in = true
			indent = line[:len(line)-len(strings.TrimLeft(line, "\t"))]
		}
		if !in {
			continue
		}
		b.WriteString(strings.TrimPrefix(line, indent))
		if strings.Contains(line, to) {
			return b.String(), nil
		}
	}
	return "", fmt.Errorf("no lines from %q to %q", from, to)
}
