// Package lm measures language models of package decoder. It reads models, cuts texts into
// sequences of tokens, and replaces the attention of models by approximations.
package lm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

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

// Layer returns the heads of a layer over the tokens of the last call of Read.
func (m *Model) Layer(layer int) (all []Head) {
	q, k, v := m.Projections(layer)
	part := func(x dense.Matrix[float32], h int) dense.Matrix[float32] {
		return x.ColRange(h*m.HeadDim, (h+1)*m.HeadDim)
	}
	for h := range m.Heads {
		keys := h / (m.Heads / m.KeyHeads)
		all = append(all, Head{fmt.Sprintf("%d.%d", layer, h), part(q, h), part(k, keys), part(v, keys)})
	}
	return all
}

// Gather returns the heads that names lists over a sequence of tokens, in the order of layers. A
// name is layer.head, such as 13.7, and names are divided by blanks. "all" lists all heads, and ""
// a head of every third layer, the last layer among them.
func (m *Model) Gather(names string, tokens []int) (all []Head, _ error) {
	m.Read(tokens, []int{len(tokens)})
	left := strings.Fields(names)
	for l := range m.Layers {
		for h, head := range m.Layer(l) {
			at := slices.Index(left, head.Name)
			if at >= 0 {
				left = slices.Delete(left, at, at+1)
			}
			if at >= 0 || names == "all" || names == "" && (m.Layers-1-l)%3 == 0 && h == 4*l%m.Heads {
				all = append(all, head)
			}
		}
	}
	if len(left) > 0 && names != "all" {
		return nil, fmt.Errorf("-heads has %q, want layer.head of %d layers of %d heads, such as 0.0, each once", left[0], m.Layers, m.Heads)
	}
	return all, nil
}

// Loss is a mean loss in nats per token, and the time to compute it.
type Loss struct {
	Nats    float64
	Time    time.Duration
	outputs []dense.Matrix[float32] // of the layers, for each batch
}

// Loss returns the mean loss over batches.
func (m *Model) Loss(batches []decoder.Batch) (l Loss) {
	start := time.Now()
	var all []float64
	for _, b := range batches {
		x := m.Read(b.Tokens, b.Lengths)
		l.outputs, all = append(l.outputs, x), append(all, m.Losses(x, b.Next)...)
	}
	l.Nats, l.Time = stat.Mean(all, nil), time.Since(start)
	return l
}

// Divergence returns the mean Kullback–Leibler divergence of the next token with the attention of
// other from that of exact, in nats.
func (m *Model) Divergence(exact, other Loss) float64 {
	var all []float64
	for i, x := range exact.outputs {
		all = append(all, m.Divergences(x, other.outputs[i])...)
	}
	return stat.Mean(all, nil)
}
