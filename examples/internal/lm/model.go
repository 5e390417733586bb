// Package lm measures language models of package decoder: it reads them, cuts texts into sequences
// of their tokens, and replaces their attention by other forms.
package lm

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/bpe"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// Model is a decoder with its tokens.
type Model struct {
	*decoder.Model[float32]
	Tokenizer *bpe.Tokenizer
	Dir       string
}

// Open reads config.json, model.safetensors and merges.txt in a folder. Attention is exact.
func Open(dir string) (*Model, error) {
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return nil, err
	}
	c, err := decoder.ParseConfig(config)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	weights, err := safetensors.Read(file)
	if err != nil {
		return nil, err
	}
	m := &Model{Dir: dir}
	if m.Model, err = decoder.Read(weights, c, Exact(c)); err != nil {
		return nil, err
	}
	merges, err := os.Open(filepath.Join(dir, "merges.txt"))
	if err != nil {
		return nil, err
	}
	defer merges.Close()
	if m.Tokenizer, err = bpe.Read(merges); err != nil {
		return nil, fmt.Errorf("%s: %w", merges.Name(), err)
	}
	if m.Tokenizer.EndOfText() > m.Vocabulary {
		return nil, fmt.Errorf("%s has %d tokens, and its model %d", dir, m.Tokenizer.Size(), m.Vocabulary)
	}
	return m, nil
}

// Exact returns exact attention for all layers of a model.
func Exact(c decoder.Config) func(int) (decoder.Attention[float32], error) {
	return func(int) (decoder.Attention[float32], error) {
		exact, err := performer.NewExact[float32](performer.ExactOptions{Causal: true})
		if err != nil {
			return nil, err
		}
		return performer.NewBatch[float32](c.Heads, c.KeyHeads, exact)
	}
}

// Head returns the queries, keys and values of a head of a layer, in the batch that m has read
// last.
func (m *Model) Head(layer, head int) (q, k, v dense.Matrix[float32]) {
	q, k, v = m.Projections(layer)
	kept := head / (m.Heads / m.KeyHeads)
	return q.ColRange(head*m.HeadDim, (head+1)*m.HeadDim),
		k.ColRange(kept*m.HeadDim, (kept+1)*m.HeadDim), v.ColRange(kept*m.HeadDim, (kept+1)*m.HeadDim)
}

// Head is the queries, keys and values of a head, a row for each token.
type Head struct{ Q, K, V dense.Matrix[float32] }

// Gather returns some heads in batches of one size together. Head h of layer l has the number
// l·m.Heads + h.
func (m *Model) Gather(batches []decoder.Batch, numbers ...int) []Head {
	n := len(batches[0].Tokens)
	all := make([]Head, len(numbers))
	for i := range all {
		for _, x := range []*dense.Matrix[float32]{&all[i].Q, &all[i].K, &all[i].V} {
			*x = dense.New[float32](len(batches)*n, m.HeadDim)
		}
	}
	for j, b := range batches {
		m.Forward(b.Tokens, b.Lengths)
		for i, h := range numbers {
			q, k, v := m.Head(h/m.Heads, h%m.Heads)
			dense.Copy(all[i].Q.RowRange(j*n, (j+1)*n), q)
			dense.Copy(all[i].K.RowRange(j*n, (j+1)*n), k)
			dense.Copy(all[i].V.RowRange(j*n, (j+1)*n), v)
		}
	}
	return all
}

// Loss is a mean loss in nats a token, and the time that it took.
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

// Compare calls report for each form, with the mean loss of the model whose heads all have the
// form, and the difference from the loss with the first form.
func (m *Model) Compare(forms []Form, batches []decoder.Batch, seed uint64, report func(f Form, nats, more float64)) error {
	var first float64
	for i, f := range forms {
		if err := f.Use(m, batches[0], seed); err != nil {
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
