// Package goroot reads files of the Go distribution.
package goroot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Read returns the contents of a file of the Go distribution, or false if the file does not exist.
// Some Linux packages of Go lack the files of tests.
func Read(path ...string) ([]byte, bool) {
	root := find()
	if root == "" {
		return nil, false
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.Join(path...)))
	return data, err == nil
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
