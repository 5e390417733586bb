package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/examples/internal/text"
	"github.com/seed-feabd252/randfeat/validate/charts"
)

// describe prints the text, the model and the features.
func describe(w io.Writer, from text.Source, c corpus, s settings, m *model[float32]) {
	features := "elu+1 features"
	if s.mapName == "positive" {
		features = fmt.Sprintf("%d positive random features of exp(qᵀk/√d), orthogonal frequencies", s.m)
		if s.redraw > 0 {
			features += fmt.Sprintf(", redrawn every %d steps", s.redraw)
		}
	}
	fmt.Fprintf(w, `%s: %d characters, %d different ones; the last %d are held out
Transformer of %d blocks, width %d, %d heads, %d parameters; %d sequences of %d characters a step
Linear attention has %s

`, from.Name, len(c.training)+len(c.heldOut), len(c.symbols), len(c.heldOut),
		m.shape.blocks, m.width, m.heads, m.size(), s.batch, s.context, features)
}

// report prints the table and the texts.
func report(w io.Writer, c corpus, s settings, trainings []*training[float32]) error {
	t := table.New(1,
		"attention", "steps", "ms a step", "training loss", "held-out loss", "bits a character")
	for _, tr := range trainings {
		last := tr.curve[len(tr.curve)-1]
		t.Row(tr.name, fmt.Sprint(tr.steps), fmt.Sprintf("%.1f", 1e3*tr.time.Seconds()/float64(tr.steps)),
			nats(last.training), nats(tr.loss), nats(tr.loss/math.Ln2))
	}
	entropy := c.entropy()
	t.Row("none *", "", "", "", nats(entropy), nats(entropy/math.Ln2))
	if err := t.Fprint(w); err != nil {
		return err
	}
	fmt.Fprint(w, "\nLosses are in nats a character. * entropy of the characters of the entire text, each by itself\n")
	prompt := c.heldOut[:min(64, len(c.heldOut))]
	fmt.Fprintf(w, "\nThe held-out text begins\n%s", quoted(c.text(prompt)))
	for _, tr := range trainings {
		symbols := tr.model.continuation(prompt, s.length, rand.New(s.source("continuation")))
		fmt.Fprintf(w, "\nand the model with %s attention goes on\n%s", tr.name, quoted(c.text(symbols)))
	}
	return nil
}

func nats(v float64) string { return fmt.Sprintf("%.3f", v) }

// quoted indents the lines of s.
func quoted(s string) string {
	return "    " + strings.ReplaceAll(s, "\n", "\n    ") + "\n"
}

// picture draws losses against time, in a panel for the training text and one for the held-out
// text.
func picture(from text.Source, c corpus, trainings []*training[float32]) charts.Figure {
	level := []charts.Level{{Name: "entropy of the characters", Y: c.entropy()}}
	seen, heldOut := charts.Panel{Title: "training", Levels: level}, charts.Panel{Title: "held out", Levels: level}
	for _, t := range trainings {
		a, b := charts.Series{Name: t.name + " attention"}, charts.Series{Name: t.name + " attention"}
		for _, p := range t.curve {
			a.Points = append(a.Points, charts.Point{X: p.seconds, Y: p.training})
			b.Points = append(b.Points, charts.Point{X: p.seconds, Y: p.heldOut})
		}
		seen.Series, heldOut.Series = append(seen.Series, a), append(heldOut.Series, b)
	}
	return charts.Figure{
		Title:  "Character model with linear and exact attention: " + from.Title,
		XLabel: "seconds of training", YLabel: "loss in nats a character",
		Panels: []charts.Panel{seen, heldOut},
	}
}
