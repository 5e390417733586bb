package text

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-feabd252/randfeat"
)

// Source is a text, what to call it, and where it comes from.
type Source struct{ Title, Name, Text string }

// opticks is where the Go distribution keeps Newton's Opticks (1730), below GOROOT.
var opticks = filepath.Join("src", "testdata", "Isaac.Newton-Opticks.txt")

// Default returns Newton's Opticks as the Go distribution ships it: below the directory that GOROOT
// names, or else the one that `go env GOROOT` prints. Where it is in neither (some Linux packages
// leave it out) the README of this module is returned, which is compiled into the program.
func Default() Source {
	if s, ok := under(os.Getenv("GOROOT")); ok {
		return s
	}
	// runtime.GOROOT is deprecated, and empty in a program built with -trimpath.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output(); err == nil {
		if s, ok := under(strings.TrimSpace(string(out))); ok {
			return s
		}
	}
	return Source{Title: "the README", Name: "README.md of this module", Text: randfeat.README}
}

// under returns the Opticks found in a Go root.
func under(root string) (Source, bool) {
	if root == "" {
		return Source{}, false
	}
	data, err := os.ReadFile(filepath.Join(root, opticks))
	if err != nil || !utf8.Valid(data) {
		return Source{}, false
	}
	return Source{Title: "Newton's Opticks", Name: "Newton's Opticks, from the Go distribution", Text: string(data)}, true
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
