// Command gallery draws the pictures of docs/gallery.md with the examples, and writes the page.
//
//	go run ./tools/gallery
//
// Run it in the root of the module, on an idle machine, because some pictures show times. It takes
// about half a minute. With -text it writes only the page.
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

// draw runs the tests of the examples one after another, which write the pictures.
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
	shows       string // description of the picture
	command     string
	code        passage
}

// passage selects lines of an example: in a function of a file, the lines from the first line that
// contains from to the next line that contains to.
type passage struct{ file, function, from, to string }

// page returns the text of the page. root is the root of the module.
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

// read returns the lines of the passage without the indentation of the first line.
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

// cut returns the lines of a text from the first line that contains from to the next line that
// contains to.
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
