package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
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

	curve    bytes.Buffer // curve.csv
	progress progress
	earlier  progress // when this run of the program began
	start    time.Time
}

// progress is how far a training is.
type progress struct {
	Done      float64 // fraction of the schedule
	From      int     // steps when the schedule began
	Seconds   float64
	Steps     int
	Tokens    int
	Sequences int
}

const (
	pointMinutes = 2.5 // between rows of curve.csv
	glance       = 16  // held-out sequences of a row
)

// run trains until the schedule is over.
func (t *training) run() error {
	if err := t.openCurve(); err != nil {
		return err
	}
	t.earlier, t.start = t.progress, time.Now()
	saved, pointed, sum, n := t.start, t.start, 0.0, 0
	for t.progress.Done < 1 {
		loss, err := t.step()
		if err != nil {
			return err
		}
		sum += loss
		n++
		over := t.progress.Done >= 1
		if over || time.Since(pointed).Minutes() >= pointMinutes {
			if err := t.point(sum / float64(n)); err != nil {
				return err
			}
			pointed, sum, n = time.Now(), 0, 0
		}
		if over || time.Since(saved).Minutes() >= t.save {
			if err := t.store(); err != nil {
				return err
			}
			saved = time.Now()
		}
	}
	loss, err := t.corpus.loss(t.model, len(t.corpus.heldOut))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.stdout, "%d tokens in %.0f s; held out: %.4f nats a token, %.4f bits a byte\n",
		t.progress.Tokens, t.progress.Seconds, loss, loss/math.Ln2/t.corpus.bytesPerToken)
	return err
}

// step takes one step and returns the loss before it.
func (t *training) step() (float64, error) {
	p := &t.progress
	length := contextAt(p.Done, t.context)
	loss, err := t.model.Gradients(t.corpus.sample(t.tokens/length, length, &p.Sequences))
	if err != nil {
		return 0, err
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, fmt.Errorf("the loss of step %d is %v; a lower -rate may help", p.Steps, loss)
	}
	t.optimiser.Step(t.rate * rateAt(p.Done))
	p.Steps++
	p.Tokens += t.tokens
	run := time.Since(t.start)
	p.Seconds = t.earlier.Seconds + run.Seconds()
	p.Done = t.earlier.Done + run.Minutes()/t.minutes
	if t.steps > 0 {
		p.Done = float64(p.Steps-p.From) / float64(t.steps)
	}
	return loss, nil
}

func (t *training) curvePath() string { return filepath.Join(t.out, "curve.csv") }

// openCurve begins curve.csv with its head, or with what is there if a training goes on.
func (t *training) openCurve() error {
	if !t.resume {
		t.row("seconds", "steps", "tokens", "context", "rate", "training", "heldout")
		return nil
	}
	text, err := os.ReadFile(t.curvePath())
	t.curve.Write(text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// point appends a row to curve.csv, and prints it.
func (t *training) point(loss float64) error {
	heldOut, err := t.corpus.loss(t.model, glance*t.context)
	if err != nil {
		return err
	}
	p := t.progress
	fmt.Fprintf(t.stdout, "%6.0f s, step %d: training %.4f, held out %.4f\n", p.Seconds, p.Steps, loss, heldOut)
	t.row(fmt.Sprintf("%.0f", p.Seconds), strconv.Itoa(p.Steps), strconv.Itoa(p.Tokens),
		strconv.Itoa(contextAt(p.Done, t.context)), fmt.Sprintf("%.3g", t.rate*rateAt(p.Done)),
		fmt.Sprintf("%.4f", loss), fmt.Sprintf("%.4f", heldOut))
	return cli.Write(t.curvePath(), func(w io.Writer) error {
		_, err := w.Write(t.curve.Bytes())
		return err
	})
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
