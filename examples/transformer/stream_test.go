package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// windowed returns a small model whose heads have the form.
func windowed(t *testing.T, folder, form string) *lm.Model {
	t.Helper()
	m, err := lm.Open(folder, "")
	require.NoError(t, err)
	f, err := lm.ParseForm(form)
	require.NoError(t, err)
	require.NoError(t, f.Use(m, 1))
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
	assert.Less(t, slices.Max(held), growing[2], "at most the tokens of a tile besides")
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

// TestStream: losses of exact attention are those of a forward pass, states with a window have a
// bounded size, and fewer bits take less memory.
func TestStream(t *testing.T) {
	const n = 1030
	model, _ := random(t)
	// Larger logits, so that the rounding of weights changes four digits of the loss.
	path := filepath.Join(model, "model.safetensors")
	f := file(t, path)
	var err error
	f.Tensors["model.norm.weight"], err = safetensors.FromFloats([]int{16}, slices.Repeat([]float32{16}, 16))
	require.NoError(t, err)
	var larger bytes.Buffer
	require.NoError(t, safetensors.Write(&larger, f))
	require.NoError(t, os.WriteFile(path, larger.Bytes(), 0o600))
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("Light is one thing. ", 60)), 0o644))
	args := []string{"-model", model, "-text", text, "-context", "300", "-form", "window:16+2", "-stream"}
	rows := func(n int) map[string][]string {
		found := map[string][]string{}
		for line := range strings.Lines(clitest.Output(t, run, append(args, fmt.Sprint(n))...)) {
			if cells := regexp.MustCompile(" {2,}").Split(strings.TrimSpace(line), -1); len(cells) == 7 {
				found[cells[0]+" "+cells[1]] = cells[2:]
			}
		}
		require.Len(t, found, 2+3*5)
		return found
	}
	got, short := rows(n), rows(n-256) // tokens of a tile
	m, err := lm.Open(model, "")
	require.NoError(t, err)
	all, err := m.Text(text, n, n)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("%.4f", m.Loss(all.Batches).Nats), got["F32 exact"][0])
	assert.NotEqual(t, got["F32 exact"][0], got["BF16 exact"][0])
	assert.Equal(t, "0.00000", got["BF16 exact"][1])
	assert.Less(t, got["F32 bits, 8"][1], got["F32 bits, 4"][1])
	assert.Less(t, got["F32 bits, 4"][1], got["F32 window, 16 and 2 sinks"][1])
	size := func(row []string) int {
		kilobytes, err := strconv.Atoi(row[4])
		require.NoError(t, err)
		return kilobytes
	}
	const window = "F16 window, 16 and 2 sinks"
	assert.Equal(t, size(short[window]), size(got[window]))
	assert.Less(t, size(short["F16 exact"]), size(got["F16 exact"]))
	assert.Less(t, size(got["F16 bits, 8"]), size(got["F16 bits, 16"]))
	assert.Error(t, run(append(args, "1030"), clitest.Full{}), "a full disk is told")
}
