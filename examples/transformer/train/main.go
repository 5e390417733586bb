// Train trains the decoder that examples/transformer runs, on the text of the Go distribution.
package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/bpe"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/goroot"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/performer"
)

const about = `train trains a decoder with the layers of Llama on the text of the Go distribution.

The text is cut into tokens by byte-pair encoding, which is trained first. One file in 40 or so is held out. AdamW runs
for -minutes, or for -steps; its rate rises for 2 % of that and falls to zero as a cosine. Sequences have a quarter of
-context for 40 % of the training, half of it for 25 %, and all of it then. Gradients of attention are those of package performer.
-form elu trains through linear attention with the features elu+1.

-out names a directory, which gets merges.txt (the tokens) and, every few minutes, config.json, model.safetensors (half
precision) and curve.csv (mean losses in nats a token: of training since the row before, and of some held-out text).`

func main() { cli.Main("train", run) }

type settings struct {
	out, form                          string
	minutes, rate                      float64
	steps, tokens, context, vocabulary int
	layers, heads, inner               int
	seed                               uint64
}

func run(args []string, stdout io.Writer) error {
	fs := cli.NewFlags("train")
	var s settings
	fs.StringVar(&s.out, "out", "", "`folder` of the results, which is made")
	fs.Float64Var(&s.minutes, "minutes", 90, 1e-3, 1e6, "length of the training")
	fs.ChoiceVar(&s.form, "form", "exact", []string{"exact", "elu"}, "attention of all heads")
	fs.Float64Var(&s.rate, "rate", 3e-3, 1e-9, 1, "highest rate of AdamW")
	fs.IntVar(&s.steps, "steps", 0, 0, 100_000_000, "number of steps, instead of -minutes unless 0")
	fs.IntVar(&s.tokens, "tokens", 4096, 4, 1<<20, "tokens of a step, a multiple of -context")
	fs.IntVar(&s.context, "context", 2048, 4, 1<<16, "length of the longest sequences, a multiple of 4")
	fs.IntVar(&s.vocabulary, "vocabulary", 2048, 257, 1<<16, "number of tokens of the byte-pair encoding")
	fs.IntVar(&s.layers, "layers", 4, 1, 1000, "number of layers")
	fs.IntVar(&s.heads, "heads", 4, 1, 1000, "heads of 64 coordinates in a layer")
	fs.IntVar(&s.inner, "inner", 688, 1, 1_000_000, "columns of the inner layers")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of the first parameters")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	switch {
	case s.out == "":
		return errors.New("-out is missing, want a directory")
	case s.context%4 != 0:
		return fmt.Errorf("-context is %d, want a multiple of 4", s.context)
	case s.tokens < s.context || s.tokens%s.context != 0:
		return fmt.Errorf("-tokens is %d, want a multiple of %d", s.tokens, s.context)
	}
	if err := s.fits(); err != nil {
		return err
	}
	if err := cli.Folder("out", s.out); err != nil {
		return err
	}
	tr, err := s.training(stdout)
	if err != nil {
		return err
	}
	return tr.run()
}

const headDim = 64

// fits returns an error unless parameters with their gradients and moments, and what gradients keep
// of the tokens of a step, fit into memory. Numbers have 4 bytes.
func (s settings) fits() error {
	width, inner, layers := float64(headDim*s.heads), float64(s.inner), float64(s.layers)
	parameters := float64(s.vocabulary)*width + layers*(4*width*width+3*width*inner)
	kept := float64(s.tokens) * (float64(s.vocabulary) + layers*(10*width+3*inner))
	return cli.Fits(4*(4*parameters+kept), "-vocabulary %d -layers %d -heads %d -inner %d -tokens %d", s.vocabulary, s.layers, s.heads, s.inner, s.tokens)
}

// config returns the sizes of the model.
func (s settings) config(tokens int) decoder.Config {
	return decoder.Config{
		Vocabulary: tokens, Layers: s.layers, Width: s.heads * headDim,
		Heads: s.heads, KeyHeads: s.heads, HeadDim: headDim, Inner: s.inner, Context: s.context, Epsilon: 1e-5, Base: 10000, Tied: true,
	}
}

// training makes the tokenizer, the text in tokens and the model.
func (s settings) training(stdout io.Writer) (*training, error) {
	texts, err := goroot.Texts()
	if err != nil {
		return nil, err
	}
	var learnt []string
	for _, text := range texts {
		if !text.HeldOut {
			learnt = append(learnt, text.Text)
		}
	}
	t, err := bpe.Train(learnt, s.vocabulary)
	if err != nil {
		return nil, err
	}
	if err := cli.Write(filepath.Join(s.out, "merges.txt"), t.Write); err != nil {
		return nil, err
	}
	c, err := newCorpus(texts, t, s.context)
	if err != nil {
		return nil, err
	}
	tr := &training{settings: s, corpus: c, stdout: stdout}
	heads := func(int) (decoder.Attention[float32], error) {
		form, err := lm.Form{Name: s.form}.Attention(dense.Matrix[float32]{Cols: headDim}, true, s.seed)
		if err != nil {
			return nil, err
		}
		return performer.NewBatch(s.heads, s.heads, form)
	}
	if tr.model, err = decoder.New(s.config(t.Size()), heads, exprand.NewSource(s.seed)); err != nil {
		return nil, err
	}
	tr.optimiser = decoder.NewAdamW(tr.model.Parameters())
	_, err = fmt.Fprintf(stdout, "%d tokens to train on, %d held out, %.3f bytes a token, %d parameters\n",
		len(c.training), len(c.heldOut), c.bytesPerToken, tr.model.Size())
	return tr, err
}
