// Charmodel trains a small language model twice, with linear and with exact attention.
//
// Both models are transformers that predict each character of Newton's Opticks, which comes with
// Go, from the characters before it. The models start from the same parameters and see the same
// batches for the same time, with gradients by package performer. The program prints the losses on
// the last tenth of the text, which is not trained on, lets each model write, and draws the losses
// against time.
//
// # References
//
//   - [Loshchilov & Hutter 2019] I. Loshchilov, F. Hutter: Decoupled weight decay regularization.
//     ICLR 2019.
//   - [So et al. 2021] D. R. So, W. Mańke, H. Liu, Z. Dai, N. Shazeer, Q. V. Le: Primer: searching
//     for efficient transformers for language modeling. NeurIPS 2021.
//   - [Zhang & Sennrich 2019] B. Zhang, R. Sennrich: Root mean square layer normalization. NeurIPS
//     2019.
package main

import (
	"fmt"
	"io"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/examples/internal/text"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

const about = `charmodel trains a character-level language model twice, with linear and with exact causal attention.

Without flags it reads Newton's Opticks, which the Go distribution ships (or this module's README where it does not).
-text names another text. The model has 4 blocks of width 128, with 4 heads each and inner layers of 512, and is
trained by AdamW on the first nine tenths of the text. Each training takes as long as -seconds says; -steps gives the
number of steps instead, and then the same seed gives the same model. The loss is the mean of −log p, where p is the
probability that the model gave the next character. The program prints the loss on the last tenth beside the entropy of
the characters alone, lets each model write, and draws the losses against time.

The embedding of a character is the sum of learnt vectors of the character, of the three before and of the place.
Linear attention has elu+1 features, which learn faster here; -map positive takes random features of the softmax
kernel, which -redraw draws anew from time to time.`

func main() { cli.Main("charmodel", run) }

// settings are the flags.
type settings struct {
	text, plot, mapName   string
	seconds               float64
	steps, batch, context int
	m, redraw, length     int
	seed                  uint64
}

func run(args []string, stdout, stderr io.Writer) error {
	s, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	from, err := text.Read(s.text)
	if err != nil {
		return err
	}
	c, err := newCorpus(from.Text, s.context)
	if err != nil {
		return fmt.Errorf("%s: %w", from.Name, err)
	}
	trainings, err := s.trainings(c)
	if err != nil {
		return err
	}
	describe(stdout, from, c, s, trainings[0].model)
	bar := progress.New(stderr, len(trainings)*barSteps, "training")
	for _, t := range trainings {
		if err = t.run(c, s, rand.New(s.source("batches")), bar); err != nil {
			break
		}
	}
	bar.Close()
	if err != nil {
		return err
	}
	if err := report(stdout, c, s, trainings); err != nil {
		return err
	}
	return cli.Save(stdout, "picture of the losses", s.plot, picture(from, c, trainings).Save)
}

// most is the most characters of a step: gradients keep some 50 kB of each.
const most = 1 << 16

// parse reads the flags and checks what can be checked before any work.
func parse(args []string, stdout io.Writer) (s settings, done bool, err error) {
	fs := cli.NewFlags("charmodel")
	fs.InputVar(&s.text, "text", "", "file", "text to use for Newton's Opticks")
	fs.OutputVar(&s.plot, "plot", "charmodel.png", "picture of the losses", cli.Pictures...)
	fs.Float64Var(&s.seconds, "seconds", 70, 1e-3, 1e6, "time for each of the two trainings")
	fs.IntVar(&s.steps, "steps", 0, 0, 10_000_000, "steps of each training, for -seconds unless 0")
	fs.IntVar(&s.batch, "batch", 4, 1, most, "sequences of a step")
	fs.IntVar(&s.context, "context", 128, 1, most, "characters of a sequence")
	fs.ChoiceVar(&s.mapName, "map", mapNames[0], mapNames, "feature map of linear attention")
	fs.IntVar(&s.m, "m", 64, 1, 4096, "features of -map positive")
	fs.IntVar(&s.redraw, "redraw", 0, 0, 10_000_000, "steps between draws of the features of -map positive; 0 keeps the first")
	fs.IntVar(&s.length, "length", 320, 0, 1_000_000, "characters that each model writes")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness")
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return s, done, err
	}
	if s.batch*s.context > most {
		return s, false, fmt.Errorf("-batch %d, want at most %d sequences of %d, which have %d characters", s.batch, most/s.context, s.context, most)
	}
	return s, false, nil
}

// source returns the randomness for one purpose, which does not depend on other purposes.
func (s settings) source(purpose string) rand.Source {
	seed := s.seed
	for _, b := range []byte(purpose) {
		seed = seed*0x100000001b3 ^ uint64(b)
	}
	return exprand.NewSource(seed)
}

// trainings returns both models before their training. Their parameters are the same.
func (s settings) trainings(c corpus) ([]*training[float32], error) {
	shape := defaults
	shape.symbols, shape.context = len(c.symbols), s.context
	src := s.source("features")
	draw := func() (rff.Map[float32], error) {
		return features[float32](s.mapName, s.m, shape.width/shape.heads, src)
	}
	linear := &training[float32]{name: "linear"}
	if s.mapName == "positive" {
		linear.redraw = draw
	}
	exact := &training[float32]{name: "exact"}
	var err error
	linear.model, err = newModel(shape, func() (performer.Differentiable[float32], error) {
		f, err := draw()
		if err != nil {
			return nil, err
		}
		return performer.NewLinear(f, performer.LinearOptions{Causal: true})
	}, s.source("parameters"))
	if err != nil {
		return nil, err
	}
	exact.model, err = newModel(shape, func() (performer.Differentiable[float32], error) {
		return performer.Exact[float32]{Causal: true}, nil
	}, s.source("parameters"))
	return []*training[float32]{linear, exact}, err
}
