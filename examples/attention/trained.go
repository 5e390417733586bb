package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/seed-feabd252/randfeat/examples/internal/lm"
)

// trainedModel is the folder of the default model, from the root of the repository.
const trainedModel = "examples/transformer/trained"

const (
	texts        = 2048 // tokens of a text
	trainedDraws = 2    // draws of the frequencies, landmarks or clusters of a form
)

// trainedForms are the forms that the program compares on heads of the model.
var trainedForms = []string{"clusters", "landmarks", "SDERF", "FAVOR+"}

// compareModel compares forms of attention on a head of each layer of the model. It returns nothing
// if there is no model.
func compareModel(s settings, stdout io.Writer) ([]compared, error) {
	if s.model == "" {
		return nil, nil
	}
	m, err := lm.Open(s.model, "")
	if errors.Is(err, os.ErrNotExist) && s.model == trainedModel {
		_, err = fmt.Fprintf(stdout, "\nThere is no trained model in %s: the root of the repository has one, and -model names another.\n", s.model)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	in, err := fromModel(s, m)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(stdout)
	s.draws, s.out = trainedDraws, "" // -o is for the outputs of the text
	c, err := compare(s, in, stdout)
	if err != nil {
		return nil, err
	}
	return []compared{c}, nil
}

// fromModel returns head l of each layer l, for s.length tokens. Without a mask the tokens of
// several texts are one sequence, so queries see the keys of other texts too. Causal attention has
// the tokens of one text.
func fromModel(s settings, m *lm.Model) (in input, err error) {
	length := min(s.length, texts)
	text, err := m.Text("", s.length, length)
	if err != nil {
		return in, err
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
	return in, nil
}
