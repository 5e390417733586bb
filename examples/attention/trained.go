package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

// trainedModel is the folder of the default model, from the root of the repository.
const trainedModel = "examples/transformer/trained"

const (
	texts         = 2048 // tokens of a text
	lossSequences = 4    // sequences of the mean loss
	trainedDraws  = 2    // draws of the frequencies, landmarks or clusters of a form
)

// trainedForms are the forms that the program compares on heads of the model.
var trainedForms = []string{"clusters", "landmarks", "SDERF", "FAVOR+"}

// swapped are the forms for which the program measures the loss of the model.
var swapped = []string{"exact", "bits:8", "clusters:64", "clusters:256", "landmarks:64", "landmarks:256", "positive:64", "positive:256", "elu", "window:128", "mean"}

// compareModel compares forms of attention on a head of each layer of the model, and measures the
// loss of the model with each form in all heads. It returns nothing if there is no model.
func compareModel(s settings, stdout io.Writer) ([]compared, error) {
	if s.model == "" {
		return nil, nil
	}
	m, err := lm.Open(s.model)
	if errors.Is(err, os.ErrNotExist) && s.model == trainedModel {
		_, err = fmt.Fprintf(stdout, "\nThere is no trained model in %s: the root of the repository has one, and -model names another.\n", s.model)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	in, text, err := fromModel(s, m)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(stdout)
	s.draws, s.out = trainedDraws, "" // -o is for the outputs of the text
	c, err := compare(s, in, stdout)
	if err != nil {
		return nil, err
	}
	return []compared{c}, reportLosses(stdout, s, m, text)
}

// fromModel returns head l of each layer l, for s.length tokens. Without a mask the tokens of
// several texts are one sequence, so queries see the keys of other texts too. Causal attention has
// the tokens of one text.
func fromModel(s settings, m *lm.Model) (in input, text *lm.Text, err error) {
	length := min(s.length, texts)
	if text, err = m.Text("", max(s.length, lossSequences*length), length); err != nil {
		return in, nil, err
	}
	n := min(max(s.length/length, 1), len(text.Batches))
	if s.causal {
		n = 1
	}
	var numbers []int
	var names []string
	for l := range m.Layers {
		numbers = append(numbers, l*m.Heads+l%m.Heads)
		names = append(names, fmt.Sprintf("%d.%d", l, l%m.Heads))
	}
	for _, h := range m.Gather(text.Batches[:n], numbers...) {
		in.heads = append(in.heads, head{q: h.Q, k: h.K, v: h.V})
	}
	in.about = []string{
		fmt.Sprintf("Heads %v of the decoder in %s, which has %d parameters, in %d texts of %d tokens:", names, m.Dir, m.Size(), n, length),
		text.Name + ". Rotary positions are in queries and keys.",
	}
	in.rank, in.forms = 3, trainedForms
	in.title = "heads of a trained transformer"
	return in, text, nil
}

// reportLosses prints the loss of the model with each form in all of its heads.
func reportLosses(w io.Writer, s settings, m *lm.Model, text *lm.Text) error {
	batches := text.Batches[:min(lossSequences, len(text.Batches))]
	t := table.New(1, "attention of all heads", "nats a token", "more than exact", "bits a byte")
	forms, err := lm.ParseForms(swapped...)
	if err != nil {
		return err
	}
	if err := m.Compare(forms, batches, s.seed, func(f lm.Form, nats, more float64) {
		t.Row(f.String(), fmt.Sprintf("%.4f", nats), fmt.Sprintf("%+.4f", more), fmt.Sprintf("%.3f", nats/math.Ln2/text.BytesPerToken))
	}); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMean loss over %d texts of %d tokens that training held out:\n", len(batches), len(batches[0].Tokens))
	return t.Fprint(w)
}
