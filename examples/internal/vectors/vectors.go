// Package vectors makes word vectors out of a text, by counting.
//
// How often two words stand near each other gives a matrix of co-occurrences; the positive part of
// their pointwise mutual information (PPMI) tells which words do so more often than by chance; the
// leading singular vectors of that matrix, times the square roots of their singular values, place
// words of similar company at similar points [Levy & Goldberg 2015].
//
// # References
//
//   - [Halko, Martinsson & Tropp 2011] Finding structure with randomness: probabilistic algorithms
//     for constructing approximate matrix decompositions. SIAM Review 53(2).
//   - [Levy & Goldberg 2015] Levy, Goldberg & Dagan, Improving distributional similarity with
//     lessons learned from word embeddings. TACL 3.
package vectors

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// Options are the sizes of a model.
type Options struct {
	Dim        int // dimension of the vectors
	Vocabulary int // how many of the most frequent words get one, at least Dim
	Window     int // how many words to either side count as near
}

// Model holds the vectors of the words of a text.
type Model struct {
	// Words are in order of falling frequency; words of equal frequency in alphabetical order.
	Words []string

	// Vectors has a row for each word: centred, so that the mean over the running text was zero,
	// then scaled to length 1. A word that has no company other than chance may have the zero
	// vector.
	Vectors dense.Matrix[float64]

	// Tokens are the words of the text as rows of Vectors, in order; words outside the vocabulary
	// are left out.
	Tokens []int
}

// Learn makes word vectors of the words of a text in O(V²·Dim) time and O(V²) memory for a
// vocabulary of V words. The randomness of src decides where the search for the singular vectors
// starts, hence only the last digits and the last few columns.
//
// The options are positive, and Vocabulary is at least Dim. It is an error if the text has fewer
// than Dim different words.
func Learn(text []string, opts Options, src rand.Source) (*Model, error) {
	m := &Model{}
	m.number(text, opts.Vocabulary)
	if len(m.Words) < opts.Dim {
		return nil, fmt.Errorf("vectors: the text has %d different words, want at least %d", len(m.Words), opts.Dim)
	}
	counts := cooccurrences(m.Tokens, len(m.Words), opts.Window)
	ppmi(counts)
	m.Vectors = embed(counts, opts.Dim, src)
	m.centre()
	return m, nil
}

// number fills Words and Tokens.
func (m *Model) number(text []string, size int) {
	freq := make(map[string]int)
	for _, w := range text {
		freq[w]++
	}
	for w := range freq {
		m.Words = append(m.Words, w)
	}
	slices.SortFunc(m.Words, func(a, b string) int {
		return cmp.Or(cmp.Compare(freq[b], freq[a]), cmp.Compare(a, b))
	})
	m.Words = m.Words[:min(size, len(m.Words))]
	row := make(map[string]int, len(m.Words))
	for i, w := range m.Words {
		row[w] = i
	}
	for _, w := range text {
		if i, ok := row[w]; ok {
			m.Tokens = append(m.Tokens, i)
		}
	}
}

// cooccurrences returns the symmetric matrix of how often words i and j stand at most window tokens
// apart, where a pair at distance k counts 1/k.
func cooccurrences(tokens []int, words, window int) dense.Matrix[float64] {
	c := dense.New[float64](words, words)
	for t, i := range tokens {
		for k := 1; k <= window && t+k < len(tokens); k++ {
			j := tokens[t+k]
			c.Data[i*c.Stride+j] += 1 / float64(k)
			c.Data[j*c.Stride+i] += 1 / float64(k)
		}
	}
	return c
}

// ppmi replaces counts c_ij by max(0, log(c_ij·Σc / (Σ_l c_il · Σ_l c_lj))).
func ppmi(c dense.Matrix[float64]) {
	sums := make([]float64, c.Rows)
	for i := range sums {
		sums[i] = floats.Sum(c.Row(i))
	}
	total := floats.Sum(sums)
	for i := range c.Rows {
		row := c.Row(i)
		for j, v := range row {
			if v > 0 { // a word next to nothing has a sum of zero
				row[j] = max(0, math.Log(v*total/(sums[i]*sums[j])))
			}
		}
	}
}

// centre subtracts the mean over the tokens from every vector and scales the difference to length
// 1.
func (m *Model) centre() {
	mean := make([]float64, m.Vectors.Cols)
	for _, t := range m.Tokens {
		floats.Add(mean, m.Vectors.Row(t))
	}
	floats.Scale(1/float64(len(m.Tokens)), mean)
	for i := range m.Vectors.Rows {
		row := m.Vectors.Row(i)
		floats.Sub(row, mean)
		if n := floats.Norm(row, 2); n > 0 {
			floats.Scale(1/n, row)
		}
	}
}

// Sequence returns the vectors (n×Dim) of the n tokens in the middle of the text, past title pages
// and prefaces, or of all of them if they are fewer.
func (m *Model) Sequence(n int) dense.Matrix[float64] {
	n = min(n, len(m.Tokens))
	first := (len(m.Tokens) - n) / 2
	x := dense.New[float64](n, m.Vectors.Cols)
	for i, t := range m.Tokens[first : first+n] {
		copy(x.Row(i), m.Vectors.Row(t))
	}
	return x
}
