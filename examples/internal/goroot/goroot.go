// Package goroot reads texts of the Go distribution.
package goroot

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// HeldOut returns the texts of the Go distribution that were held out from the training of the
// module examples/transformer/trained. They are Go files and pages (.go, .md and .html) below src
// and doc that are UTF-8 and have between 200 bytes and 256 KiB. Folders called testdata are
// excluded. A hash of the file name without folders selects about one file in 40, so files of one
// name are all held out or all not. The order depends on the paths alone, and mixes the packages.
func HeldOut() ([]string, error) {
	root := find()
	if root == "" {
		return nil, fmt.Errorf("there is no Go distribution: neither GOROOT nor `go env GOROOT` names one")
	}
	var paths []string
	texts := make(map[string]string) // by path
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
			if hash(filepath.Base(name))%40 != 0 {
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
			paths = append(paths, p)
			texts[p] = string(data)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(hash(a), hash(b)), strings.Compare(a, b))
	})
	var all []string
	for _, p := range paths {
		all = append(all, texts[p])
	}
	return all, nil
}

// find returns the folder of the variable GOROOT, or else the folder that `go env GOROOT` prints,
// or "". runtime.GOROOT is deprecated, and empty in a program that was built with -trimpath.
func find() string {
	if root := os.Getenv("GOROOT"); root != "" {
		return root
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // it never fails
	x := h.Sum64()
	x ^= x >> 32 // the upper bits of FNV mix better
	return x * 0x9e3779b97f4a7c15 >> 16
}
