// Package lm measures language models of package decoder. It reads models, cuts texts into
// sequences of tokens, and replaces the attention of models by approximations.
package lm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/bpe"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// Model is a decoder with its tokenizer.
type Model struct {
	*decoder.Model
	Tokenizer *bpe.Tokenizer
	Dir       string
}

// Open reads config.json, tokenizer.json and model.safetensors of a folder, or the files of
// model.safetensors.index.json. The model has exact attention.
func Open(dir string, weights safetensors.DType) (*Model, error) {
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return nil, err
	}
	c, err := decoder.ParseConfig(config)
	if err != nil {
		return nil, err
	}
	tensors, err := readTensors(dir)
	if err != nil {
		return nil, err
	}
	exact, err := Exact(c)
	if err != nil {
		return nil, err
	}
	m := &Model{Dir: dir}
	if m.Model, err = decoder.Read(tensors, c, exact, weights); err != nil {
		return nil, err
	}
	tokenizer, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	if m.Tokenizer, err = bpe.Parse(tokenizer); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if m.Tokenizer.Size() > m.Vocabulary {
		return nil, fmt.Errorf("%s has %d tokens, and its model %d", dir, m.Tokenizer.Size(), m.Vocabulary)
	}
	return m, nil
}

// readTensors reads model.safetensors of a folder, or else the files of its index.
func readTensors(dir string) (*safetensors.File, error) {
	name := filepath.Join(dir, "model.safetensors")
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		if _, indexErr := os.Stat(name + ".index.json"); indexErr == nil {
			return safetensors.ReadIndex(os.DirFS(dir), "model.safetensors.index.json")
		}
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return safetensors.Read(file)
}

// Exact returns exact causal attention for the heads of a layer.
func Exact(c decoder.Config) (none performer.Batch[float32], _ error) {
	exact, err := performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})
	if err != nil {
		return none, err
	}
	return performer.NewBatch[float32](performer.BatchOptions{Heads: c.Heads, KeyHeads: c.KeyHeads}, exact)
}

// Head is one head of a model over the tokens of a text, with a row for each token.
type Head struct {
	Name    string // layer.head
	Q, K, V dense.Matrix[float32]
}

// Gather returns the heads that names lists over a sequence of tokens. A name is layer.head, such
// as 13.7, and names are divided by blanks. "all" lists all heads, and "" a head of every third
// layer, the last layer among them.
func (m *Model) Gather(names string, tokens []int) ([]Head, error) {
	var all []Head
	add := func(l, h int) { all = append(all, Head{Name: fmt.Sprintf("%d.%d", l, h)}) }
	switch names {
	case "all":
		for l := range m.Layers {
			for h := range m.Heads {
				add(l, h)
			}
		}
	case "":
		for l := (m.Layers - 1) % 3; l < m.Layers; l += 3 {
			add(l, 4*l%m.Heads)
		}
	default:
		for name := range strings.FieldsSeq(names) {
			all = append(all, Head{Name: name})
		}
	}
	m.Read(tokens, []int{len(tokens)})
	for i := range all {
		var l, h int
		x := &all[i]
		if _, err := fmt.Sscanf(x.Name, "%d.%d", &l, &h); err != nil || l < 0 || l >= m.Layers || h < 0 || h >= m.Heads || fmt.Sprintf("%d.%d", l, h) != x.Name {
			return nil, fmt.Errorf("-heads has %q, want layer.head of %d layers of %d heads, such as 0.0", x.Name, m.Layers, m.Heads)
		}
		q, k, v := m.Projections(l)
		keys := h / (m.Heads / m.KeyHeads)
		x.Q = q.ColRange(h*m.HeadDim, (h+1)*m.HeadDim)
		x.K, x.V = k.ColRange(keys*m.HeadDim, (keys+1)*m.HeadDim), v.ColRange(keys*m.HeadDim, (keys+1)*m.HeadDim)
	}
	return all, nil
}

// Loss is a mean loss in nats per token, and the time to compute it.
type Loss struct {
	Nats float64
	Time time.Duration
}

// Loss returns the mean loss over batches.
func (m *Model) Loss(batches []decoder.Batch) Loss {
	start := time.Now()
	var sum, n float64
	for _, b := range batches {
		for _, l := range m.Losses(b) {
			sum += l
			n++
		}
	}
	return Loss{sum / n, time.Since(start)}
}

// Compare calls report for each form with the mean loss of the model if all heads have the form,
// and with the difference from the loss of the first form.
func (m *Model) Compare(forms []Form, batches []decoder.Batch, seed uint64, report func(f Form, nats, more float64)) error {
	var first float64
	for i, f := range forms {
		if err := f.Use(m, seed); err != nil {
			return err
		}
		nats := m.Loss(batches).Nats
		if i == 0 {
			first = nats
		}
		report(f, nats, nats-first)
	}
	return nil
}
