package vectors

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
)

func TestCooccurrences(t *testing.T) {
	c := cooccurrences([]int{0, 1, 2, 0}, 3, 2)
	assert.Equal(t, []float64{0, 1.5, 1.5, 1.5, 0, 1, 1.5, 1, 0}, c.Data)
}

func TestPPMI(t *testing.T) {
	c := dense.Of(3, 3, []float64{6, 1, 0, 1, 2, 0, 0, 0, 0})
	ppmi(c)
	want := []float64{math.Log(6 * 10 / 49.0), 0, 0, 0, math.Log(2 * 10 / 9.0), 0, 0, 0, 0}
	assert.InDeltaSlice(t, want, c.Data, 1e-15)
}

// The Gram matrix of the embedding of A = QΛQᵀ is the best approximation of
// |A| = Q|Λ|Qᵀ of that rank.
func TestEmbedAgainstFullDecomposition(t *testing.T) {
	const n, dim = 120, 8
	src := exprand.NewSource(1)
	normal := distuv.Normal{Sigma: 1, Src: src}
	var basis, start mat.Dense
	start.ReuseAs(n, n)
	start.Apply(func(_, _ int, _ float64) float64 { return normal.Rand() }, &start)
	basis.CloneFrom(orthonormal(&start))
	size := func(k int) float64 { return 10 * math.Pow(0.8, float64(k)) }
	a, want := dense.New[float64](n, n), dense.New[float64](n, n)
	for i := range n {
		for j := range n {
			for k := range n {
				term := basis.At(i, k) * size(k) * basis.At(j, k)
				a.Row(i)[j] += term * float64(1-2*(k%2))
				if k < dim {
					want.Row(i)[j] += term
				}
			}
		}
	}
	x := gonum.ToMat(embed(a, dim, src))
	var got mat.Dense
	got.Mul(x, x.T())
	// The subspace has 24 columns and 4 applications of A: what is left of a
	// vector outside it is (0.8^(24−8))⁴ < 1e-6 of the smallest one wanted.
	assert.True(t, mat.EqualApprox(&got, gonum.ToMat(want), 1e-5), "largest difference %v",
		floats.Distance(got.RawMatrix().Data, want.Data, math.Inf(1)))
}

// corpus has two kinds of words, each in company of its own.
func corpus() []string {
	var b strings.Builder
	src := exprand.NewSource(5)
	for range 600 {
		noun := []string{"red", "green", "blue", "violet"}[src.Uint64()%4]
		verb := []string{"runs", "walks", "sleeps", "eats"}[src.Uint64()%4]
		b.WriteString("the " + noun + " ray bends a dog " + verb + " home . ")
	}
	return strings.Fields(b.String())
}

func TestLearn(t *testing.T) {
	m, err := Learn(corpus(), Options{Dim: 6, Vocabulary: 100, Window: 2}, exprand.NewSource(1))
	require.NoError(t, err)
	assert.Len(t, m.Words, 15)
	assert.Equal(t, ".", m.Words[0], "equal frequencies are in alphabetical order")
	assert.Len(t, m.Tokens, 600*9)
	for i := range m.Vectors.Rows {
		assert.InDelta(t, 1, floats.Norm(m.Vectors.Row(i), 2), 1e-12, m.Words[i])
	}
	assert.ElementsMatch(t, []string{"violet", "red", "green", "blue"}, nearest(m, "violet", 4))
	assert.ElementsMatch(t, []string{"walks", "runs", "sleeps", "eats"}, nearest(m, "walks", 4))

	again, err := Learn(corpus(), Options{Dim: 6, Vocabulary: 100, Window: 2}, exprand.NewSource(1))
	require.NoError(t, err)
	assert.Equal(t, m, again)
}

func TestVocabularyIsCut(t *testing.T) {
	m, err := Learn(strings.Fields("a b a c a b d"), Options{Dim: 2, Vocabulary: 2, Window: 1}, exprand.NewSource(1))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, m.Words)
	assert.Equal(t, []int{0, 1, 0, 0, 1}, m.Tokens)
}

func TestSequence(t *testing.T) {
	m := &Model{Vectors: dense.Of(5, 1, []float64{0, 1, 2, 3, 4}), Tokens: []int{4, 3, 2, 1, 0}}
	assert.Equal(t, []float64{3, 2, 1}, m.Sequence(3).Data)
	assert.Equal(t, []float64{4, 3, 2, 1, 0}, m.Sequence(9).Data)
}

// nearest returns the n words whose vectors have the largest cosines with the vector of a word.
func nearest(m *Model, word string, n int) []string {
	at := m.Vectors.Row(slices.Index(m.Words, word))
	words := slices.Clone(m.Words)
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Compare(floats.Dot(at, m.Vectors.Row(slices.Index(m.Words, b))), floats.Dot(at, m.Vectors.Row(slices.Index(m.Words, a))))
	})
	return words[:n]
}

func TestErrors(t *testing.T) {
	_, err := Learn(strings.Fields("one two three"), Options{Dim: 4, Vocabulary: 9, Window: 1}, exprand.NewSource(1))
	assert.EqualError(t, err, "vectors: the text has 3 different words, want at least 4")
}
