package main

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/examples/internal/text"
	"github.com/seed-feabd252/randfeat/examples/internal/vectors"
)

// input holds the tensors for attention. All heads have the same shapes.
type input struct {
	heads []head
	rank  int      // of the tensors: 2, or 3 with a dimension for heads
	title string   // of the picture
	forms []string // names of the forms to compare
	about []string // lines on the origin of the tensors
}

// head holds queries (Lq×d), keys (Lk×d) and values (Lk×dv).
type head struct{ q, k, v dense.Matrix[float32] }

// The sizes of the word vectors.
const (
	dim        = 64
	vocabulary = 1500
	window     = 5
)

// fromText returns the tensors of a text. Values are the vectors of the words. Queries and keys are
// the same vectors scaled to the length s.norm, so the output of a word averages the vectors of
// words in similar contexts.
//
// The mean of the vectors over the text is zero. With another mean, averages with any weights would
// be close to the mean.
func fromText(s settings) (input, error) {
	var in input
	from, err := text.Read(s.text)
	if err != nil {
		return in, err
	}
	words := text.Words(from.Text)
	model, err := vectors.Learn(words, vectors.Options{Dim: dim, Vocabulary: vocabulary, Window: window}, source(s.seed, "vectors"))
	if err != nil {
		return in, fmt.Errorf("%s: %w", from.Name, err)
	}
	v := dense.Copy(dense.Matrix[float32]{}, model.Sequence(s.length))
	q := dense.New[float32](v.Rows, v.Cols)
	for i, x := range v.Data {
		q.Data[i] = float32(s.norm) * x
	}
	in.heads = []head{{q: q, k: q, v: v}}
	in.rank, in.forms = 2, formNames
	in.title = from.Title
	in.about = []string{
		fmt.Sprintf("%s: %d words; the %d most frequent have vectors of", from.Name, len(words), len(model.Words)),
		fmt.Sprintf("%d numbers, made from how often words stand within %d of each other (PPMI, truncated SVD), centred.", dim, window),
		fmt.Sprintf("V = the vectors of %d words of running text, scaled to length 1; Q = K = %v·V.", v.Rows, s.norm),
	}
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
	in.rank, in.forms = len(shapes[0]), formNames
	in.title = fmt.Sprintf("%s, %s, %s", s.q, s.k, s.v)
	in.about = []string{fmt.Sprintf("Q = %s %v, K = %s %v, V = %s %v", s.q, shapes[0], s.k, shapes[1], s.v, shapes[2])}
	return in, nil
}
