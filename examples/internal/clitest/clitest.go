// Package clitest runs the example programs in tests.
package clitest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

// Output returns the output of the program. The test fails if the program returns an error.
func Output(t *testing.T, run cli.Run, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(args, &out); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

// Full is a writer on a full disk.
type Full struct{}

func (Full) Write([]byte) (int, error) { return 0, errors.New("disk full") }
