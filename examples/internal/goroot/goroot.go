// Package goroot finds files that the Go distribution ships.
package goroot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Read returns the contents of a file of the Go distribution. It returns false where the file is
// not there: some Linux packages leave out what only tests read.
func Read(path ...string) ([]byte, bool) {
	root := find()
	if root == "" {
		return nil, false
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.Join(path...)))
	return data, err == nil
}

// find returns the directory that GOROOT names, or else the one that `go env GOROOT` prints, or
// nothing if there is neither. runtime.GOROOT is deprecated, and empty in a program built with
// -trimpath.
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
