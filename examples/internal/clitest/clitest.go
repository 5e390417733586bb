// Package clitest runs the example programs in tests.
package clitest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

// Output returns what the program prints on standard output. The test fails if the program returns
// an error, or prints on standard error, where only a progress bar on a terminal may be.
func Output(t *testing.T, run cli.Run, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if err := run(args, &stdout, &stderr); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	if stderr.Len() > 0 {
		t.Errorf("%q prints %q on standard error", args, stderr.String())
	}
	return stdout.String()
}

// Full is a disk that is full: every write returns the error "disk full".
type Full struct{}

// Write returns the error.
func (Full) Write([]byte) (int, error) { return 0, errors.New("disk full") }
