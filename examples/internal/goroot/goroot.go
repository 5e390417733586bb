// Package goroot finds files that the Go distribution ships.
package goroot

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Read returns the contents of a file below the directory that GOROOT names, or else below the one
// that `go env GOROOT` prints. It returns false where the file is in neither: some Linux packages
// leave out what only tests read.
func Read(path ...string) ([]byte, bool) {
	if data, ok := under(os.Getenv("GOROOT"), path); ok {
		return data, true
	}
	return under(asked(), path)
}

// find returns the directory that GOROOT names, or else the one that `go env GOROOT` prints, or
// nothing if there is neither.
func find() string {
	if root := os.Getenv("GOROOT"); root != "" {
		return root
	}
	return asked()
}

// asked returns what `go env GOROOT` prints, or nothing. runtime.GOROOT is deprecated, and empty in
// a program built with -trimpath.
func asked() string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// under returns the contents of a file in a Go root.
func under(root string, path []string) ([]byte, bool) {
	if root == "" {
		return nil, false
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.Join(path...)))
	return data, err == nil
}
