package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
)

// input holds the tensors for attention. All heads have the same shapes.
type input struct {
	heads []head
	rank  int    // of the tensors: 2, or 3 with a dimension for heads
	title string // of the picture
	about string // the origin of the tensors
}

// head holds queries (Lq×d), keys (Lk×d) and values (Lk×dv).
type head struct{ q, k, v dense.Matrix[float32] }

// trainedModel is the folder of the default model, from the root of the repository.
const trainedModel = "examples/transformer/trained"

// texts is the number of tokens of a text.
const texts = 2048

// fromModel returns head l of each layer l of a decoder, for s.length tokens. Without a mask the
// tokens of several texts are one sequence, so queries see the keys of other texts too. Causal
// attention has the tokens of one text.
func fromModel(s settings) (in input, err error) {
	m, err := lm.Open(s.model, "")
	if errors.Is(err, os.ErrNotExist) {
		return in, fmt.Errorf("%w, want the folder of a decoder: the root of the repository has %s, and -model names another", err, trainedModel)
	}
	if err != nil {
		return in, err
	}
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
	in.about = fmt.Sprintf("Heads %v of the decoder in %s, which has %d parameters, in %d texts of %d tokens:\n%s. Rotary positions are in queries and keys.",
		names, m.Dir, m.Size(), n, length, text.Name)
	in.rank, in.title = 3, "heads of a trained transformer"
	return in, nil
}

// fromFiles reads the tensors of the files of -q, -k and -v. It returns an error if their shapes do
// not fit.
func fromFiles(s settings) (in input, err error) {
	var x [3]dense.Tensor[float32]
	var shapes [3][]int
	for i, path := range []string{s.q, s.k, s.v} {
		if x[i], shapes[i], err = matrices.Read(path); err != nil {
			return in, err
		}
		switch {
		case len(shapes[i]) != len(shapes[0]):
			return in, fmt.Errorf("%s has shape %v, %s has %v: want the same rank", s.q, shapes[0], path, shapes[i])
		case x[i].Heads != x[0].Heads:
			return in, fmt.Errorf("%s has %d heads, %s has %d: want the same", s.q, x[0].Heads, path, x[i].Heads)
		}
	}
	for h := range x[0].Heads {
		in.heads = append(in.heads, head{q: dense.Head(x[0], 0, h), k: dense.Head(x[1], 0, h), v: dense.Head(x[2], 0, h)})
	}
	switch h := in.heads[0]; {
	case h.q.Cols != h.k.Cols:
		return in, fmt.Errorf("queries of %s have dimension %d, keys of %s %d: want the same", s.q, h.q.Cols, s.k, h.k.Cols)
	case h.k.Rows != h.v.Rows:
		return in, fmt.Errorf("%s has %d keys, %s has %d values: want the same", s.k, h.k.Rows, s.v, h.v.Rows)
	case s.causal && h.q.Rows != h.k.Rows:
		return in, fmt.Errorf("%s has %d queries, %s has %d keys: -causal wants the same", s.q, h.q.Rows, s.k, h.k.Rows)
	}
	in.rank, in.title = len(shapes[0]), fmt.Sprintf("%s, %s, %s", s.q, s.k, s.v)
	in.about = fmt.Sprintf("Q = %s %v, K = %s %v, V = %s %v", s.q, shapes[0], s.k, shapes[1], s.v, shapes[2])
	return in, nil
}
