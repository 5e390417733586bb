package main

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/examples/internal/text"
	"github.com/seed-feabd252/randfeat/examples/internal/vectors"
)

// input holds the tensors that attention is computed on. All heads have the same shapes.
type input[T dense.Float] struct {
	heads  []head[T]
	rank   int                 // of the tensors: 3 with a dimension for heads
	title  string              // of the picture
	forms  []string            // names of the forms that are compared
	about  []string            // lines on the origin of the tensors
	tokens func(n int) head[T] // n tokens from the beginning of the text, which is read again if it ends; nil for files
}

// head holds queries (Lq×d), keys (Lk×d) and values (Lk×dv).
type head[T dense.Float] struct{ q, k, v dense.Matrix[T] }

// The sizes of the word vectors.
const (
	dim        = 64
	vocabulary = 1500
	window     = 5
)

// fromText makes tensors of a text. Values are the vectors of the words. Queries and keys are the
// same vectors scaled to the length s.norm: a token gathers the vectors of words used in like
// company, itself included.
//
// The vectors are centred over the text. Otherwise every output, and every estimate with any
// weights, would be close to the mean of the values.
func fromText(s settings) (input[float32], error) {
	var in input[float32]
	from, err := text.Read(s.text)
	if err != nil {
		return in, err
	}
	words := text.Words(from.Text)
	model, err := vectors.Learn(words, vectors.Options{Dim: dim, Vocabulary: vocabulary, Window: window}, source(s.seed, "vectors"))
	if err != nil {
		return in, fmt.Errorf("%s: %w", from.Name, err)
	}
	in.heads = []head[float32]{headOf(model.Sequence(s.length), s.norm)}
	in.tokens = func(n int) head[float32] {
		x := dense.New[float64](n, dim)
		for i := range n {
			copy(x.Row(i), model.Vectors.Row(model.Tokens[i%len(model.Tokens)]))
		}
		return headOf(x, s.norm)
	}
	in.rank, in.forms = 2, formNames
	in.title = from.Title
	in.about = []string{
		fmt.Sprintf("%s: %d words; the %d most frequent have vectors of", from.Name, len(words), len(model.Words)),
		fmt.Sprintf("%d numbers, made from how often words stand within %d of each other (PPMI, truncated SVD), centred.", dim, window),
		"Nearest " + nearest(model) + " (by cosine).",
		fmt.Sprintf("V = the vectors of %d words of running text, scaled to length 1; Q = K = %v·V.", in.heads[0].v.Rows, s.norm),
	}
	return in, nil
}

// headOf returns the values x, and queries and keys of a length, which point the same way.
func headOf(x dense.Matrix[float64], norm float64) head[float32] {
	v := dense.Copy(dense.Matrix[float32]{}, x)
	q := dense.New[float32](v.Rows, v.Cols)
	for i, x := range v.Data {
		q.Data[i] = float32(norm) * x
	}
	return head[float32]{q: q, k: q, v: v}
}

// nearest shows the neighbours of one frequent word: the word with the nearest neighbours.
func nearest(m *vectors.Model) string {
	const frequent, neighbours = 200, 5
	var word string
	var near []string
	best := -1.0
	for _, w := range m.Words[:min(frequent, len(m.Words))] {
		names, cosines := m.Nearest(w, neighbours)
		if mean := stat.Mean(cosines, nil); mean > best {
			word, near, best = w, names, mean
		}
	}
	return fmt.Sprintf("to %q: %s", word, strings.Join(near, ", "))
}

// checkFiles compares the headers of the three files and returns their type.
func checkFiles(s settings) (string, error) {
	q, err := matrices.Stat(s.q)
	if err != nil {
		return "", err
	}
	k, err := matrices.Stat(s.k)
	if err != nil {
		return "", err
	}
	v, err := matrices.Stat(s.v)
	if err != nil {
		return "", err
	}
	for _, other := range []struct {
		path string
		matrices.Header
	}{{s.k, k}, {s.v, v}} {
		switch {
		case other.Type != q.Type:
			return "", fmt.Errorf("%s is %v, %s is %v: want the same type", s.q, q.Type, other.path, other.Type)
		case len(other.Shape) != len(q.Shape):
			return "", fmt.Errorf("%s has shape %v, %s has %v: want the same rank", s.q, q.Shape, other.path, other.Shape)
		case len(q.Shape) == 3 && other.Shape[0] != q.Shape[0]:
			return "", fmt.Errorf("%s has %d heads, %s has %d: want the same", s.q, q.Shape[0], other.path, other.Shape[0])
		}
	}
	lq, d := rowsAndColumns(q)
	lk, dk := rowsAndColumns(k)
	lv, _ := rowsAndColumns(v)
	switch {
	case d != dk:
		return "", fmt.Errorf("queries of %s have dimension %d, keys of %s %d: want the same", s.q, d, s.k, dk)
	case lk != lv:
		return "", fmt.Errorf("%s has %d keys, %s has %d values: want the same", s.k, lk, s.v, lv)
	case s.causal && lq != lk:
		return "", fmt.Errorf("%s has %d queries, %s has %d keys: -causal wants the same", s.q, lq, s.k, lk)
	}
	return q.Type, nil
}

func rowsAndColumns(h matrices.Header) (int, int) {
	n := len(h.Shape)
	return h.Shape[n-2], h.Shape[n-1]
}

// fromFiles reads the tensors that checkFiles has found to fit.
func fromFiles[T dense.Float](s settings) (input[T], error) {
	var in input[T]
	var tensors [3]matrices.Tensor[T]
	for i, path := range []string{s.q, s.k, s.v} {
		var err error
		if tensors[i], err = matrices.Read[T](path); err != nil {
			return in, err
		}
	}
	q, k, v := tensors[0], tensors[1], tensors[2]
	for h := range q.Heads() {
		in.heads = append(in.heads, head[T]{q: q.Head(h), k: k.Head(h), v: v.Head(h)})
	}
	in.rank, in.forms = len(q.Shape), formNames
	in.title = fmt.Sprintf("%s, %s, %s", s.q, s.k, s.v)
	in.about = []string{fmt.Sprintf("Q = %s %v, K = %s %v, V = %s %v", s.q, q.Shape, s.k, k.Shape, s.v, v.Shape)}
	return in, nil
}
