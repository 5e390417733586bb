// Package lm measures language models of package decoder. It reads models, cuts texts into
// sequences of tokens, and replaces the attention of models by approximations.
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

// Model is a decoder with its tokenizer.
type Model struct {
	*decoder.Model
	Tokenizer *bpe.Tokenizer
	Dir       string
}

// Open reads config.json, model.safetensors and merges.txt of a folder. The model has exact
// attention.
func Open(dir string, weights safetensors.DType) (*Model, error) {
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
	tensors, err := safetensors.Read(file)
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

// Exact returns exact causal attention for the heads of a layer.
func Exact(c decoder.Config) (none performer.Batch[float32], _ error) {
	exact, err := performer.NewExact[float32](performer.ExactOptions{Causal: true})
	if err != nil {
		return none, err
	}
	return performer.NewBatch[float32](c.Heads, c.KeyHeads, exact)
}

// Head returns the queries, keys and values of a head of a layer, for the last batch of m.
func (m *Model) Head(layer, head int) (q, k, v dense.Matrix[float32]) {
	q, k, v = m.Projections(layer)
	keyHead := head / (m.Heads / m.KeyHeads)
	return q.ColRange(head*m.HeadDim, (head+1)*m.HeadDim),
		k.ColRange(keyHead*m.HeadDim, (keyHead+1)*m.HeadDim), v.ColRange(keyHead*m.HeadDim, (keyHead+1)*m.HeadDim)
}

// Head holds the queries, keys and values of a head, with a row for each token.
type Head struct{ Q, K, V dense.Matrix[float32] }

// Gather returns the heads with the given numbers, over all batches, which have one size. Head h of
// layer l has the number l·m.Heads + h.
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
