package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
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
	"github.com/seed-feabd252/randfeat/safetensors"
)

// random writes a model of bytes with random parameters, and a text, and returns their paths.
func random(t *testing.T) (model, text string) {
	t.Helper()
	model = t.TempDir()
	shapes := map[string][]int{"model.embed_tokens": {256, 16}, "model.norm": {16}}
	for i := range 2 {
		for name, shape := range map[string][]int{
			"self_attn.q_proj": {16, 16}, "self_attn.k_proj": {8, 16}, "self_attn.v_proj": {8, 16}, "self_attn.o_proj": {16, 16},
			"mlp.gate_proj": {8, 16}, "mlp.up_proj": {8, 16}, "mlp.down_proj": {16, 8}, "input_layernorm": {16}, "post_attention_layernorm": {16},
		} {
			shapes[fmt.Sprintf("model.layers.%d.%s", i, name)] = shape
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	f := &safetensors.File{Tensors: make(map[string]safetensors.Tensor)}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		x := slices.Repeat([]float32{1}, shape[0])
		if len(shape) == 2 {
			sigma := 1 / math.Sqrt(float64(shape[1]))
			if shape[0] == 256 {
				sigma = 0.02 // logits near zero
			}
			x = make([]float32, shape[0]*shape[1])
			for i := range x {
				x[i] = float32(sigma * rng.NormFloat64())
			}
		}
		tensor, err := safetensors.FromFloats(shape, x)
		require.NoError(t, err)
		f.Tensors[name+".weight"] = tensor
	}
	var weights bytes.Buffer
	require.NoError(t, safetensors.Write(&weights, f))
	text = filepath.Join(model, "text")
	for path, data := range map[string]string{
		"config.json": `{"model_type": "llama", "vocab_size": 256, "num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 4,
			"num_key_value_heads": 2, "intermediate_size": 8, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000,
			"tie_word_embeddings": true}`,
		"model.safetensors": weights.String(),
		"tokenizer.json":    string(bytesAlone(t)),
		"text":              strings.Repeat("Light is one thing. ", 20),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(model, path), []byte(data), 0o644))
	}
	return model, text
}

// bytesAlone returns a tokenizer with a token for each byte of ASCII.
func bytesAlone(t *testing.T) []byte {
	vocab := map[string]int{"Ġ": ' '}
	for b := '!'; b <= '~'; b++ {
		vocab[string(b)] = int(b)
	}
	data, err := json.Marshal(map[string]any{"pre_tokenizer": map[string]any{"type": "ByteLevel"}, "model": map[string]any{"type": "BPE", "vocab": vocab}})
	require.NoError(t, err)
	return data
}

func TestRun(t *testing.T) {
	model, text := random(t)
	for _, form := range []string{"exact", "mean", "elu", "positive:8", "window:4", "window:4+2", "window:32"} {
		out := clitest.Output(t, run, "-model", model, "-text", text, "-context", "32", "-tokens", "128",
			"-form", form, "-prompt", "Light", "-length", "5")
		assert.Contains(t, out, "2 layers of 4 heads of 4 coordinates")
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
		case "exact", "window:32":
			assert.InDelta(t, exact, other, 1e-4, form)
		case "mean":
			assert.NotEqual(t, exact, other, form)
		}
	}
	bits := clitest.Output(t, run, "-model", model, "-text", text, "-context", "32", "-tokens", "32", "-form", "bits:8", "-length", "0")
	assert.Contains(t, bits, "bits, 8")
	keys := clitest.Output(t, run, "-model", model, "-text", text, "-context", "32", "-tokens", "32", "-form", "blocks:8", "-length", "0")
	assert.Contains(t, keys, "blocks, 8")
	assert.NotContains(t, keys, "With")
	greedy := []string{"-model", model, "-text", text, "-context", "32", "-tokens", "32", "-form", "exact", "-temperature", "0"}
	_, first, _ := strings.Cut(clitest.Output(t, run, append(greedy, "-seed", "2")...), "tokens a second:\n")
	_, second, _ := strings.Cut(clitest.Output(t, run, append(greedy, "-seed", "3")...), "tokens a second:\n")
	assert.Contains(t, first, "Why is the sky blue?")
	assert.Equal(t, first, second)
	assert.Error(t, run(greedy, clitest.Full{}), "a full disk is told")

	// The same weights in a file that an index names.
	require.NoError(t, os.Rename(filepath.Join(model, "model.safetensors"), filepath.Join(model, "part.safetensors")))
	names := make(map[string]string)
	for name := range file(t, filepath.Join(model, "part.safetensors")).Tensors {
		names[name] = "part.safetensors"
	}
	index, err := json.Marshal(map[string]any{"weight_map": names})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(model, "model.safetensors.index.json"), index, 0o600))
	_, indexed, _ := strings.Cut(clitest.Output(t, run, greedy...), "tokens a second:\n")
	assert.Equal(t, first, indexed)
}

// TestTolerance: every head has attention of its own, and the model that of exact attention nearly.
func TestTolerance(t *testing.T) {
	model, _ := random(t)
	text := filepath.Join(model, "long")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("Light is one thing, and its rays differ. ", 80)), 0o600))
	out := clitest.Output(t, run, "-model", model, "-text", text, "-context", "1000", "-tokens", "2000", "-tolerance", "0.05")
	heads := 0
	for _, row := range regexp.MustCompile(`(?m)^  (\w.*)  (\d+) heads$`).FindAllStringSubmatch(out, -1) {
		n, err := strconv.Atoi(row[2])
		require.NoError(t, err)
		assert.NotEqual(t, "exact attention", strings.TrimSpace(row[1]))
		heads += n
	}
	assert.Equal(t, 2*4, heads, out)
	var exact, chosen, divergence float64
	_, losses, _ := strings.Cut(out, "in sequences of 1000: ")
	_, err := fmt.Sscanf(losses, "exact %f, chosen %f nats a token.\nKullback–Leibler divergence of the next token from that with exact attention: %f nats.", &exact, &chosen, &divergence)
	require.NoError(t, err, out)
	assert.InDelta(t, math.Log(256), exact, 0.2)
	assert.InDelta(t, exact, chosen, 1e-3)
	assert.Less(t, divergence, 5e-4)
	assert.Contains(t, out, "Attention in all heads over 1000 tokens: exact ")
}

// file reads a file of weights.
func file(t *testing.T, path string) *safetensors.File {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := safetensors.View(data)
	require.NoError(t, err)
	return f
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
	t.Setenv("GOROOT", t.TempDir())
	model, text := random(t)
	require.NoError(t, os.WriteFile(filepath.Join(model, "binary"), []byte{'a', 0xff}, 0o600))
	for want, args := range map[string]string{
		"config.json":                    "-model EMPTY",
		"fetches 98 MB and writes it":    "",
		`-heads has "2.0"`:               "-model MODEL -text TEXT -context 32 -tokens 32 -heads 2.0 -save EMPTY",
		`-heads has "1.00"`:              "-model MODEL -text TEXT -context 32 -tokens 32 -heads 1.00 -table",
		`-heads has "1.4"`:               "-model MODEL -text TEXT -context 32 -tokens 32 -heads 1.4 -table",
		"-tokens is 5":                   "-tokens 5",
		`-form is "fast"`:                "-form fast",
		`-form is "positive"`:            "-form positive",
		`-form is "blocks:0"`:            "-form blocks:0",
		`-form is "blocks:9000"`:         "-form blocks:9000",
		`-form is "window:99999999"`:     "-form window:99999999",
		`-form is "mean:3"`:              "-form mean:3",
		`-form is "bits:7"`:              "-form bits:7",
		`-form is "window:3+"`:           "-form window:3+",
		`-form is "topk:3+5"`:            "-form topk:3+5",
		`-form is "topk:3+"`:             "-form topk:3+",
		`-form is "blocks:3+1"`:          "-form blocks:3+1",
		"two of -stream":                 "-stream 4 -table",
		"-tolerance are given":           "-tolerance 0.1 -table",
		"-save and -tolerance are given": "-save EMPTY -table",
		"has one sequence of 300 tokens": "-model MODEL -text TEXT -context 300 -tokens 300 -tolerance 0.1",
		"has 400 tokens, want more than": "-model MODEL -text TEXT",
		"-prompt is empty":               "-model MODEL -text TEXT -context 32 -tokens 32 -prompt=",
		"no Opticks: name a text":        "-model MODEL",
		"binary: not UTF-8 text":         "-model MODEL -text MODEL/binary",
	} {
		args = strings.NewReplacer("MODEL", model, "TEXT", text, "EMPTY", t.TempDir()).Replace(args)
		assert.ErrorContains(t, run(strings.Fields(args), io.Discard), want)
	}
}
