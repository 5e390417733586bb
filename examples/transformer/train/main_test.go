package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

// distribution makes a Go root with files that are easy to learn.
func distribution(t *testing.T) {
	t.Helper()
	root := t.TempDir()
	for i := range 80 {
		folder := filepath.Join(root, "src", "testing", fmt.Sprintf("p%d", i))
		require.NoError(t, os.MkdirAll(folder, 0o755))
		text := strings.Repeat(fmt.Sprintf("for i := range %d {\n\tsum += i\n}\n", i%3), 20)
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.go", i)), []byte(text), 0o644))
	}
	t.Setenv("GOROOT", root)
}

func TestTrain(t *testing.T) {
	distribution(t)
	out := t.TempDir()
	args := []string{
		"-out", out, "-context", "64", "-tokens", "128", "-vocabulary", "280",
		"-layers", "1", "-heads", "1", "-inner", "32", "-rate", "0.01", "-steps", "60",
	}
	text := clitest.Output(t, run, args...)
	assert.Contains(t, text, "7680 tokens in ")
	assert.Less(t, heldOut(t, text), 2.0, "well below log 280 = 5.6")
	for _, name := range []string{"merges.txt", "config.json", "model.safetensors"} {
		assert.FileExists(t, filepath.Join(out, name))
	}

	linear := clitest.Output(t, run, append(args, "-form", "elu")...)
	assert.Less(t, heldOut(t, linear), 2.0)
	curve, err := os.ReadFile(filepath.Join(out, "curve.csv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(curve)), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, "seconds,steps,tokens,context,rate,training,heldout", lines[0])
	assert.Contains(t, lines[1], ",60,7680,64,0,")
}

// heldOut returns the loss in the last line that the program prints.
func heldOut(t *testing.T, text string) float64 {
	t.Helper()
	_, after, ok := strings.Cut(text, "; held out: ")
	require.True(t, ok, text)
	var loss float64
	_, err := fmt.Sscanf(after, "%f", &loss)
	require.NoError(t, err)
	return loss
}

func TestSchedule(t *testing.T) {
	assert.Zero(t, rateAt(0))
	assert.InDelta(t, 0.5, rateAt(0.01), 1e-12)
	assert.InDelta(t, 0.5, rateAt(0.5), 1e-12)
	assert.InDelta(t, 0, rateAt(1.5), 1e-12)
	assert.Equal(t, []int{16, 16, 32, 64, 64}, []int{
		contextAt(0, 64), contextAt(0.39, 64), contextAt(0.5, 64), contextAt(0.7, 64), contextAt(1, 64),
	})
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	distribution(t)
	out := t.TempDir()
	for want, args := range map[string]string{
		"-out is missing":         "-steps 1",
		"-context is 6":           "-out OUT -context 6",
		"-tokens is 100":          "-out OUT -context 64 -tokens 100",
		"want more than 65536":    "-out OUT -context 65536 -tokens 65536",
		"GiB of memory":           "-out OUT -layers 100 -heads 64",
		`-out "main.go/x": not a`: "-out main.go/x",
	} {
		err := run(strings.Fields(strings.ReplaceAll(args, "OUT", out)), io.Discard)
		assert.ErrorContains(t, err, want)
	}
}
