// Package vectors computes word vectors of a text by counting.
//
// A matrix of co-occurrences counts how often two words are near each other. The positive part of
// their pointwise mutual information (PPMI) is above zero for words that are near each other more
// often than by chance. The word vectors are the leading singular vectors of the PPMI matrix times
// the square roots of their singular values. Words in similar contexts have similar vectors [Levy &
// Goldberg 2015].
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
	Vocabulary int // the number of the most frequent words that get vectors, at least Dim
	Window     int // the largest distance of words that count as near
}

// Model holds the vectors of the words of a text.
type Model struct {
	// Words are in order of descending frequency, and words of equal frequency in alphabetical
	// order.
	Words []string

	// Vectors has a row for each word. The mean over all words of the text is subtracted, then each
	// row is scaled to length 1. A word with no positive PPMI may have the zero vector.
	Vectors dense.Matrix[float64]

	// Tokens are the words of the text in order, as rows of Vectors, without words outside the
	// vocabulary.
	Tokens []int
}

// Learn computes the vectors of the words of a text in O(V²·Dim) time and O(V²) memory for a
// vocabulary of V words. src determines the start of the search for singular vectors, which affects
// the last digits and the last few columns only.
//
// The options must be positive, with Vocabulary at least Dim. Learn returns an error if the text
// has fewer than Dim different words.
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

// number sets Words and Tokens.
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

// cooccurrences returns the symmetric matrix of the weighted numbers of pairs of words i and j at a
// distance of at most window. A pair at distance k has the weight 1/k.
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
			if v > 0 { // so both sums are positive
				row[j] = max(0, math.Log(v*total/(sums[i]*sums[j])))
			}
		}
	}
}

// centre subtracts the mean over the tokens from every vector and scales the differences to length
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

// Sequence returns the vectors (n×Dim) of the n tokens in the middle of the text, or of all tokens
// of a shorter text. The middle has no title pages and prefaces.
func (m *Model) Sequence(n int) dense.Matrix[float64] {
	n = min(n, len(m.Tokens))
	first := (len(m.Tokens) - n) / 2
	x := dense.New[float64](n, m.Vectors.Cols)
	for i, t := range m.Tokens[first : first+n] {
		copy(x.Row(i), m.Vectors.Row(t))
	}
	return x
}
