package text

import (
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/seed-feabd252/randfeat"
	"github.com/seed-feabd252/randfeat/examples/internal/goroot"
)

// Source is a text, what to call it, and where it comes from.
type Source struct{ Title, Name, Text string }

// Default returns Newton's Opticks (1730) as the Go distribution ships it. Where the distribution
// leaves it out, or there is none, the README of this module is returned, which is compiled into the
// program.
func Default() Source {
	if data, ok := goroot.Read("src", "testdata", "Isaac.Newton-Opticks.txt"); ok && utf8.Valid(data) {
		return Source{Title: "Newton's Opticks", Name: "Newton's Opticks, from the Go distribution", Text: string(data)}
	}
	return Source{Title: "the README", Name: "README.md of this module", Text: randfeat.README}
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
