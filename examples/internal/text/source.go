package text

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/seed-feabd252/randfeat/examples/internal/goroot"
)

// Source is a text with its title and the name of its origin.
type Source struct{ Title, Name, Text string }

// Read returns the text of a file, or an error if the file is not UTF-8. For an empty path Read
// returns Newton's Opticks (1730), which the Go distribution ships. Without a distribution that has
// the text, Read returns the README and the pages of docs of the module around the working
// directory.
func Read(path string) (Source, error) {
	if path == "" {
		if data, ok := goroot.Read("src", "testdata", "Isaac.Newton-Opticks.txt"); ok && utf8.Valid(data) {
			return Source{Title: "Newton's Opticks", Name: "Newton's Opticks, from the Go distribution", Text: string(data)}, nil
		}
		return pages()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Source{}, err
	}
	if !utf8.Valid(data) {
		return Source{}, fmt.Errorf("%s: not UTF-8 text", path)
	}
	return Source{Title: filepath.Base(path), Name: path, Text: string(data)}, nil
}

// pages returns the README and the pages of docs of the module around the working directory.
func pages() (Source, error) {
	folder, err := os.Getwd()
	if err != nil {
		return Source{}, err
	}
	for filepath.Dir(folder) != folder {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		folder = filepath.Dir(folder)
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "docs", "*.md")) // the pattern is right
	var all strings.Builder
	for _, path := range append([]string{filepath.Join(folder, "README.md")}, paths...) {
		page, err := os.ReadFile(path)
		if err != nil {
			return Source{}, fmt.Errorf("neither Newton's Opticks in the Go distribution nor a module's pages: %w", err)
		}
		all.Write(page)
	}
	return Source{Title: "the README", Name: "README.md and docs of this module", Text: all.String()}, nil
}
