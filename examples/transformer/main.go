// Transformer runs a decoder with the layers of Llama or GPT-2, whose attention is any form of
// package performer.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-feabd252/randfeat/examples/internal/bpe"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/safetensors"
)

const about = `transformer runs a decoder with the layers of Llama or GPT-2, measures its loss, and lets it write.

-model names a directory with config.json and model.safetensors as Hugging Face's programs write them, and merges.txt,
the tokens of GPT-2; without merges.txt tokens are bytes. go run ./examples/transformer/train makes one in a few hours.
The program measures the mean loss on -text, or on files of the Go distribution that the training held out, in sequences
of -context tokens. It prints statistics of the queries and keys of every head, and the loss again with another form of
attention: -form exact, mean (the mean of the values so far), elu, positive:m (m random features of the softmax kernel),
or landmarks:r (r keys of the first sequence). -only layer.head leaves all other heads exact. The model then writes
-length tokens that follow -prompt.`

func main() { cli.Main("transformer", run) }

// settings are the flags.
type settings struct {
	model, text, form, only, prompt string
	context, tokens, length         int
	temperature                     float64
	seed                            uint64
}

func run(args []string, stdout, _ io.Writer) error {
	fs := flag.NewFlagSet("transformer", flag.ContinueOnError)
	var s settings
	fs.StringVar(&s.model, "model", "examples/transformer/trained", "`directory` of the model")
	fs.StringVar(&s.text, "text", "", "`file` to measure the loss on, instead of the Go distribution")
	fs.StringVar(&s.form, "form", "positive:256", "other form of attention")
	fs.StringVar(&s.only, "only", "", "the one `layer.head` that has the other form, from 0; empty for all")
	fs.StringVar(&s.prompt, "prompt", "// Sum returns the sum of the elements of x.\nfunc Sum(", "text that the model continues")
	fs.IntVar(&s.context, "context", 2048, "length of sequences")
	fs.IntVar(&s.tokens, "tokens", 1<<14, "tokens to measure the loss on")
	fs.IntVar(&s.length, "length", 100, "number of tokens that the model writes")
	fs.Float64Var(&s.temperature, "temperature", 0.7, "divisor of the logits of tokens that are written; 0 takes the largest")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of random features and tokens")
	if done, err := cli.Parse(fs, about, args, stdout); done || err != nil {
		return err
	}
	switch {
	case s.context < 2:
		return fmt.Errorf("-context is %d, want at least 2", s.context)
	case s.tokens < s.context:
		return fmt.Errorf("-tokens is %d, want at least the %d of a sequence", s.tokens, s.context)
	case s.length < 0:
		return fmt.Errorf("-length is %d, want at least 0", s.length)
	case !(s.temperature >= 0) || math.IsInf(s.temperature, 0):
		return fmt.Errorf("-temperature is %v, want at least 0", s.temperature)
	}
	return s.report(stdout)
}

// report reads the model and the text, and prints everything.
func (s settings) report(w io.Writer) error {
	f, err := parseForm(s.form, s.only)
	if err != nil {
		return err
	}
	m, err := s.read()
	if err != nil {
		return err
	}
	if f.head >= m.Heads || f.layer >= m.Layers {
		return fmt.Errorf("-only is %q, and there are %d layers of %d heads", s.only, m.Layers, m.Heads)
	}
	t, err := s.tokenizer(m)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d parameters, %d layers of %d heads of %d coordinates\n\n", s.model, m.Size(), m.Layers, m.Heads, m.HeadDim)
	text, err := s.sequences(t, m.Vocabulary)
	if err != nil {
		return err
	}
	exact, err := measure(m, text.batches)
	if err != nil {
		return err
	}
	if err := printHeads(w, m, s.context); err != nil {
		return err
	}
	forms, err := f.layers(m, text.batches[0], s.seed)
	if err != nil {
		return err
	}
	for i, heads := range forms {
		m.Use(i, heads)
	}
	other, err := measure(m, text.batches)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMean loss of %d tokens of %s, in sequences of %d:\n", text.tokens(), text.name, s.context)
	for _, l := range []struct {
		name string
		measured
	}{{"exact", exact}, {f.String(), other}} {
		fmt.Fprintf(w, "  %-24s  %.4f nats a token, %.4f bits a byte, %.0f ms a sequence\n", l.name, l.loss,
			l.loss/math.Ln2/text.bytesPerToken, l.time.Seconds()*1000/float64(len(text.batches)))
	}
	if s.length == 0 {
		return nil
	}
	written, err := s.write(m, t)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nWith %v:\n\n%s\n", f, written)
	return err
}

// read reads the model, with exact attention.
func (s settings) read() (*decoder.Model[float32], error) {
	config, err := os.ReadFile(filepath.Join(s.model, "config.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w (-h tells how to make a model)", err)
	}
	if err != nil {
		return nil, err
	}
	c, err := decoder.ParseConfig(config)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(s.model, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	weights, err := safetensors.Read(file)
	if err != nil {
		return nil, err
	}
	return decoder.Read(weights, c, exact(c))
}

// tokenizer reads merges.txt, or returns the tokenizer of bytes if there is none. It is an error if
// the model has fewer tokens, EndOfText aside.
func (s settings) tokenizer(m *decoder.Model[float32]) (*bpe.Tokenizer, error) {
	name := filepath.Join(s.model, "merges.txt")
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return bpe.Bytes(), nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := bpe.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if t.EndOfText() > m.Vocabulary {
		return nil, fmt.Errorf("%s has %d tokens, and the model %d", name, t.Size(), m.Vocabulary)
	}
	return t, nil
}

// measured is a mean loss in nats a token, and the time of it all.
type measured struct {
	loss float64
	time time.Duration
}

// measure returns the mean loss over batches.
func measure(m *decoder.Model[float32], batches []decoder.Batch) (measured, error) {
	start := time.Now()
	var sum, n float64
	for _, b := range batches {
		losses, err := m.Losses(b)
		if err != nil {
			return measured{}, err
		}
		for _, l := range losses {
			sum += l
			n++
		}
	}
	return measured{sum / n, time.Since(start)}, nil
}
