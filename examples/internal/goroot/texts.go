package goroot

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text is a file of the Go distribution.
type Text struct {
	Path    string // below the root, with slashes
	Text    string
	HeldOut bool
}

// Texts returns the Go files and pages (.go, .md and .html) below src and doc of the Go root that
// are UTF-8 and between 200 bytes and 256 KiB long, without those below directories called
// testdata. Their order depends on their paths alone, and mixes the packages. A file is held out by
// a hash of its name without directories, so that versions of one file in two packages stay
// together; about one file in 40 is.
func Texts() ([]Text, error) {
	root := find()
	if root == "" {
		return nil, fmt.Errorf("there is no Go distribution: neither GOROOT nor `go env GOROOT` names one")
	}
	var texts []Text
	for _, folder := range []string{"src", "doc"} {
		// WalkDir does not follow a root that is a link.
		start, err := filepath.EvalSymlinks(filepath.Join(root, folder))
		if err != nil {
			continue
		}
		err = filepath.WalkDir(start, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			if !entry.Type().IsRegular() || !slices.Contains([]string{".go", ".md", ".html"}, filepath.Ext(name)) {
				return nil
			}
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			below, err := filepath.Rel(start, name)
			const least, most = 200, 256 << 10
			if err != nil || len(data) < least || len(data) > most || !utf8.Valid(data) {
				return err
			}
			p := path.Join(folder, filepath.ToSlash(below))
			texts = append(texts, Text{Path: p, Text: string(data), HeldOut: hash(path.Base(p))%40 == 0})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(texts, func(a, b Text) int {
		return cmp.Or(cmp.Compare(hash(a.Path), hash(b.Path)), strings.Compare(a.Path, b.Path))
	})
	return texts, nil
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // it never fails
	x := h.Sum64()
	x ^= x >> 32 // the upper bits of FNV mix better
	return x * 0x9e3779b97f4a7c15 >> 16
}
