package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
)

// training is the training of one model.
type training struct {
	settings
	corpus    *corpus
	model     *decoder.Model[float32]
	optimiser *decoder.AdamW[float32]
	stdout    io.Writer

	start     time.Time
	done      float64 // fraction of the schedule
	steps     int
	tokens    int
	sequences int
	curve     bytes.Buffer // curve.csv
}

const (
	pointMinutes = 2.5 // between rows of curve.csv
	glance       = 16  // held-out sequences of a row
)

// run trains until the schedule is over.
func (t *training) run() error {
	t.row("seconds", "steps", "tokens", "context", "rate", "training", "heldout")
	t.start = time.Now()
	pointed, sum, n := t.start, 0.0, 0
	for t.done < 1 {
		loss, err := t.step()
		if err != nil {
			return err
		}
		sum += loss
		n++
		if t.done >= 1 || time.Since(pointed).Minutes() >= pointMinutes {
			if err := t.point(sum / float64(n)); err != nil {
				return err
			}
			pointed, sum, n = time.Now(), 0, 0
		}
	}
	took := time.Since(t.start)
	loss := t.corpus.loss(t.model, len(t.corpus.heldOut))
	_, err := fmt.Fprintf(t.stdout, "%d tokens in %.0f s; held out: %.4f nats a token, %.4f bits a byte\n",
		t.tokens, took.Seconds(), loss, loss/math.Ln2/t.corpus.bytesPerToken)
	return err
}

// step takes one step and returns the loss before it.
func (t *training) step() (float64, error) {
	length := contextAt(t.done, t.context)
	loss := t.model.Gradients(t.corpus.sample(t.settings.tokens/length, length, &t.sequences))
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, fmt.Errorf("the loss of step %d is %v; a lower -rate may help", t.steps, loss)
	}
	t.optimiser.Step(t.rate * rateAt(t.done))
	t.steps++
	t.tokens += t.settings.tokens
	t.done = time.Since(t.start).Minutes() / t.minutes
	if t.settings.steps > 0 {
		t.done = float64(t.steps) / float64(t.settings.steps)
	}
	return loss, nil
}

// point prints the losses, appends them to curve.csv, and writes the model.
func (t *training) point(loss float64) error {
	heldOut := t.corpus.loss(t.model, glance*t.context)
	seconds := time.Since(t.start).Seconds()
	fmt.Fprintf(t.stdout, "%6.0f s, step %d: training %.4f, held out %.4f\n", seconds, t.steps, loss, heldOut)
	t.row(fmt.Sprintf("%.0f", seconds), strconv.Itoa(t.steps), strconv.Itoa(t.tokens),
		strconv.Itoa(contextAt(t.done, t.context)), fmt.Sprintf("%.3g", t.rate*rateAt(t.done)),
		fmt.Sprintf("%.4f", loss), fmt.Sprintf("%.4f", heldOut))
	config, err := t.model.JSON()
	if err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"curve.csv":         whole(t.curve.Bytes()),
		"config.json":       whole(append(config, '\n')),
		"model.safetensors": t.model.Write,
	} {
		if err := cli.Write(filepath.Join(t.out, name), write); err != nil {
			return err
		}
	}
	return nil
}

// whole returns what writes a text.
func whole(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// row appends a row to curve.
func (t *training) row(cells ...string) {
	c := csv.NewWriter(&t.curve)
	_ = c.Write(cells) // a buffer takes all
	c.Flush()
}

// contextAt returns the length of sequences when a fraction of the training is done.
func contextAt(done float64, longest int) int {
	switch {
	case done < 0.4:
		return longest / 4
	case done < 0.65:
		return longest / 2
	}
	return longest
}

// rateAt returns the rate when a fraction of the training is done, over the highest.
func rateAt(done float64) float64 {
	const warmUp = 0.02
	return min(done/warmUp, (1+math.Cos(math.Pi*min(done, 1)))/2)
}
