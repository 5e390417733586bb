package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
)

// random writes a model of bytes with random parameters, and a text, and returns their paths.
func random(t *testing.T) (model, text string) {
	t.Helper()
	model = t.TempDir()
	c := decoder.Config{
		Vocabulary: 256, Layers: 2, Width: 16, Heads: 4, KeyHeads: 2, HeadDim: 4, Inner: 8, Context: 64, Epsilon: 1e-5, Base: 10000, Tied: true,
	}
	m, err := decoder.New(c, lm.Exact(c), exprand.NewSource(1))
	require.NoError(t, err)
	config, err := m.JSON()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(model, "config.json"), config, 0o644))
	file, err := os.Create(filepath.Join(model, "model.safetensors"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, m.Write(file))
	text = filepath.Join(model, "text")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("Light is one thing. ", 20)), 0o644))
	return model, text
}

func TestRun(t *testing.T) {
	model, text := random(t)
	for _, form := range []string{"exact", "mean", "elu", "positive:8", "landmarks:8", "landmarks:1000", "window:4", "window:4+2", "window:32"} {
		out := clitest.Output(t, run, "-model", model, "-text", text, "-context", "32", "-tokens", "128",
			"-form", form, "-prompt", "Light", "-length", "5")
		assert.Contains(t, out, "2 layers of 4 heads of 4 coordinates")
		assert.Contains(t, out, "\n1.3 ", "the last head")
		assert.Contains(t, out, "Mean loss of 128 tokens")
		assert.Contains(t, out, "\nLight")
		var exact, other float64
		_, losses, _ := strings.Cut(out, "in sequences of 32:\n")
		lines := strings.Split(losses, "\n")
		read(t, lines[0], &exact)
		read(t, lines[1], &other)
		// Logits of random parameters are small: each of the 256 bytes is nearly as likely.
		assert.InDelta(t, math.Log(256), exact, 0.2, form)
		switch form {
		case "exact", "landmarks:1000", "window:32": // as many landmarks as keys are exact attention
			assert.InDelta(t, exact, other, 1e-4, form)
		case "mean":
			assert.NotEqual(t, exact, other, form)
		}
	}
	bits := clitest.Output(t, run, "-model", model, "-text", text, "-context", "32", "-tokens", "32", "-form", "bits:8", "-length", "0")
	assert.Contains(t, bits, "bits, 8")
	clusters := clitest.Output(t, run, "-model", model, "-text", text, "-context", "32", "-tokens", "32", "-form", "clusters:8", "-length", "0")
	assert.Contains(t, clusters, "clusters, 8")
	one := clitest.Output(t, run, "-model", model, "-text", text, "-context", "32", "-tokens", "32", "-form", "mean", "-only", "1.2", "-length", "0")
	assert.Contains(t, one, "mean, head 1.2")
	assert.NotContains(t, one, "With")
	greedy := []string{"-model", model, "-text", text, "-context", "32", "-tokens", "32", "-form", "exact", "-temperature", "0"}
	_, first, _ := strings.Cut(clitest.Output(t, run, append(greedy, "-seed", "2")...), "With exact")
	_, second, _ := strings.Cut(clitest.Output(t, run, append(greedy, "-seed", "3")...), "With exact")
	assert.Equal(t, first, second)
	assert.Error(t, run(greedy, clitest.Full{}, io.Discard), "a full disk is told")
}

// read reads the loss in a line of the program.
func read(t *testing.T, line string, loss *float64) {
	t.Helper()
	fields := strings.Fields(line)
	for i, f := range fields {
		if f == "nats" {
			_, err := fmt.Sscanf(fields[i-1], "%f", loss)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, *loss, line)
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	model, text := random(t)
	for want, args := range map[string]string{
		"-h tells how to make a model":   "-model EMPTY",
		"-tokens is 5":                   "-tokens 5",
		`-form is "fast"`:                "-form fast",
		`-form is "positive"`:            "-form positive",
		`-form is "landmarks:0"`:         "-form landmarks:0",
		`-form is "landmarks:9000"`:      "-form landmarks:9000",
		`-form is "window:99999999"`:     "-form window:99999999",
		`-form is "mean:3"`:              "-form mean:3",
		`-form is "bits:7"`:              "-form bits:7",
		`-form is "window:3+"`:           "-form window:3+",
		`-form is "landmarks:3+1"`:       "-form landmarks:3+1",
		"-generate is 3":                 "-generate 3",
		"want one of them":               "-generate 4 -table",
		`-only is "1"`:                   "-only 1",
		"there is no head 2.0 in 2":      "-model MODEL -text TEXT -context 32 -tokens 32 -only 2.0",
		"there is no head 0.4 in 2":      "-model MODEL -text TEXT -context 32 -tokens 32 -only 0.4",
		"has 400 tokens, want more than": "-model MODEL -text TEXT",
		"-prompt is empty":               "-model MODEL -text TEXT -context 32 -tokens 32 -prompt=",
	} {
		args = strings.NewReplacer("MODEL", model, "TEXT", text, "EMPTY", t.TempDir()).Replace(args)
		assert.ErrorContains(t, run(strings.Fields(args), io.Discard, io.Discard), want)
	}
}

// TestStatistics has a head with two equal queries (3, 4) over keys (0, 0), (0, 2): the weights of the
// second query are e^0 and e^(8/√2).
func TestStatistics(t *testing.T) {
	q := dense.Of(2, 2, []float32{3, 4, 3, 4})
	k := dense.Of(2, 2, []float32{0, 0, 0, 2})
	s := statisticsOf(q, k)
	logit := 8 / math.Sqrt2
	p := 1 / (1 + math.Exp(logit))
	assert.InDelta(t, 5, s.query, 1e-6)
	assert.InDelta(t, 1, s.key, 1e-6)
	assert.InDelta(t, 2, s.longest, 1e-6)
	assert.InDelta(t, 0, s.low, 1e-6)
	assert.InDelta(t, logit, s.high, 1e-6)
	assert.InDelta(t, logit/2, s.spread, 1e-6)
	assert.InDelta(t, -p*math.Log(p)-(1-p)*math.Log(1-p), s.entropy, 1e-6)

	// Equal weights of n keys: the last 64 and the top 64 have 64/n each. Queries see 257 … 512 keys.
	flat := statisticsOf(dense.New[float32](512, 2), dense.New[float32](512, 2))
	var want, entropy float64
	for n := 257; n <= 512; n++ {
		want += 64 / float64(n) / 256
		entropy += math.Log(float64(n)) / 256
	}
	assert.InDelta(t, want, flat.top[1], 1e-12)
	assert.InDelta(t, want, flat.window[0], 1e-12)
	assert.InDelta(t, 2*want, flat.window[1], 1e-12)
	assert.InDelta(t, entropy, flat.entropy, 1e-12)
	assert.Zero(t, flat.spread)
}
