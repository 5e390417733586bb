package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
)

// windowed returns a small model whose heads have the form.
func windowed(t *testing.T, folder, form string) *lm.Model {
	t.Helper()
	m, err := lm.Open(folder)
	require.NoError(t, err)
	f, err := lm.ParseForm(form)
	require.NoError(t, err)
	require.NoError(t, f.Use(m, decoder.Batch{Tokens: []int{1, 2, 3}, Lengths: []int{3}}, 1))
	return m
}

// greedy returns n tokens, each the most likely one after those before, and the bytes of the state
// after each hundred.
func greedy(t *testing.T, m *lm.Model, n int) (tokens, bytes []int) {
	t.Helper()
	s, err := m.NewState()
	require.NoError(t, err)
	next := []int{'L', 'i', 'g', 'h', 't'}
	for i := 1; i <= n; i++ {
		logits := s.Step(next)
		next = []int{draw(logits.Row(logits.Rows-1), 0, nil)}
		tokens = append(tokens, next[0])
		if i%100 == 0 {
			held, err := s.Bytes()
			require.NoError(t, err)
			bytes = append(bytes, held)
		}
	}
	return tokens, bytes
}

// TestWindowedState: a state with a window and sinks writes what a state of all tokens writes while
// the window holds them all, takes as many bytes for any number of tokens, and has the logits of a
// pass over the text with the same window.
func TestWindowedState(t *testing.T) {
	const n = 400
	folder, _ := random(t)
	full, growing := greedy(t, windowed(t, folder, "exact"), n)
	wide, _ := greedy(t, windowed(t, folder, "window:1000+4"), n)
	assert.Equal(t, full, wide)
	m := windowed(t, folder, "window:16+4")
	_, held := greedy(t, m, n)
	assert.Len(t, slices.Compact(held), 1, "bytes do not grow")
	assert.Greater(t, growing[3], 3*growing[0], "and those of all tokens do")

	// 1500 tokens are more than the state keeps with this window: it has dropped some.
	long := make([]int, 1500)
	for i := range long {
		long[i] = (i*i + 7*i) % 251
	}
	want := m.Forward(long, []int{len(long)}).Clone()
	s, err := m.NewState()
	require.NoError(t, err)
	for at, n := 0, 1; at < len(long); at, n = at+n, n%7+1 {
		n = min(n, len(long)-at)
		got := s.Step(long[at : at+n])
		for i := range n {
			for j, v := range got.Row(i) {
				require.InDelta(t, want.At(at+i, j), v, 1e-5, "token %d, logit %d", at+i, j)
			}
		}
	}
	all := windowed(t, folder, "exact").Forward(long, []int{len(long)})
	assert.NotEqual(t, all.Row(1000), want.Row(1000), "the window counts")
}

func TestStream(t *testing.T) {
	model, _ := random(t)
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("Light is one thing. ", 60)), 0o644))
	args := []string{"-model", model, "-text", text, "-context", "300", "-generate", "1030", "-length", "5"}
	out := clitest.Output(t, run, append(args, "-form", "window:16+2")...)
	// A state that kept more than its window asks for, 787 tokens at most, could not be written.
	assert.Contains(t, out, "window, 16 and 2 sinks, at positions that go on growing")
	rows := regexp.MustCompile(`(?m)^ *(\d+) +\d+ +(\d+) +[\d.]+$`).FindAllStringSubmatch(out, -1)
	require.Len(t, rows, quarters, out)
	for i, row := range rows {
		assert.Equal(t, []string{"257", "515", "772", "1030"}[i], row[1])
		assert.Equal(t, rows[0][2], row[2], "bytes do not grow")
	}
	assert.Error(t, run(append(args, "-form", "window:16"), clitest.Full{}), "a full disk is told")

	// In one sequence both columns are the same.
	out = clitest.Output(t, run, "-model", model, "-text", text, "-context", "600", "-generate", "600", "-form", "exact")
	losses := regexp.MustCompile(`(?m)^ *(?:\d+|all) +([\d.]+) +([\d.]+)$`).FindAllStringSubmatch(out, -1)
	require.Len(t, losses, quarters+1, out)
	for _, row := range losses {
		assert.Equal(t, row[1], row[2])
	}
}

// TestParts: losses of parts, and sequences within them, are those of forward passes.
func TestParts(t *testing.T) {
	model, text := random(t)
	m, err := lm.Open(model)
	require.NoError(t, err)
	all, err := m.Text(text, 330, 330)
	require.NoError(t, err)
	b := all.Batches[0]
	got, err := parts(m, b, 100)
	require.NoError(t, err)
	losses := m.Losses(decoder.Batch{Tokens: b.Tokens, Next: b.Next, Lengths: []int{100, 100, 100, 30}})
	var want [quarters]float64
	from := 0
	for i := range want {
		to := end(len(losses), i)
		want[i] = floats.Sum(losses[from:to]) / float64(to-from)
		from = to
	}
	assert.InDeltaSlice(t, want[:], got[:], 1e-6)
}
