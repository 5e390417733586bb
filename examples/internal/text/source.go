package text

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/seed-feabd252/randfeat"
	"github.com/seed-feabd252/randfeat/examples/internal/goroot"
)

// Source is a text, what to call it, and where it comes from.
type Source struct{ Title, Name, Text string }

// Default returns Newton's Opticks (1730) as the Go distribution ships it. Where the distribution
// leaves it out, or there is none, the README and the pages of docs of this module are returned, which
// are compiled into the program.
func Default() Source {
	if data, ok := goroot.Read("src", "testdata", "Isaac.Newton-Opticks.txt"); ok && utf8.Valid(data) {
		return Source{Title: "Newton's Opticks", Name: "Newton's Opticks, from the Go distribution", Text: string(data)}
	}
	var pages strings.Builder
	for _, pattern := range []string{"README.md", "docs/*.md"} {
		paths, _ := fs.Glob(randfeat.Pages, pattern) // the pattern is right
		for _, path := range paths {
			page, _ := randfeat.Pages.ReadFile(path) // it is compiled in
			pages.Write(page)
		}
	}
	return Source{Title: "the README", Name: "README.md and docs of this module", Text: pages.String()}
}

// Read returns the text of a file. It is an error if it is not UTF-8.
func Read(path string) (Source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Source{}, err
	}
	if !utf8.Valid(data) {
		return Source{}, fmt.Errorf("%s: not UTF-8 text", path)
	}
	return Source{Title: filepath.Base(path), Name: path, Text: string(data)}, nil
}
