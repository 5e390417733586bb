package ridge_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// threeBands returns points of the plane whose class depends on the first coordinate. The middle
// class never has the largest mean, so that Classify mixes the scores. The rows of rare are far
// off, and have class 3.
func threeBands[T dense.Float](n int, seed uint64, rare ...int) ridge.Block[T] {
	rng := rand.New(rand.NewPCG(seed, 8))
	b := ridge.Block[T]{X: dense.New[T](n, 2), Y: dense.New[T](n, 1)}
	for i := range n {
		c := [...]int{0, 1, 2, 1}[rng.IntN(4)]
		b.X.Set(i, 0, T(float64(c)+0.4*rng.NormFloat64()))
		b.X.Set(i, 1, T(0.3*rng.NormFloat64()))
		b.Y.Set(i, 0, T(c))
	}
	for _, i := range rare {
		b.X.Set(i, 1, b.X.At(i, 1)+6)
		b.Y.Set(i, 0, 3)
	}
	return b
}

// classify returns the classification by the coordinates of the plane.
func classify[T dense.Float](t *testing.T, rows ridge.Rows[T], classes int, o ridge.ClassifyOptions) ridge.Choice[T] {
	t.Helper()
	phi := must.Have(rff.Draw[T](rff.Identity{D: 2}, nil))
	o.Classes = classes
	found := must.Have(ridge.Classify(t.Context(), []rff.Map[T]{phi}, rows, o))
	return found
}

// lossOf returns the log-loss of the classifier at the rows and its standard error.
func lossOf[T dense.Float](c *ridge.Classifier[T], b ridge.Block[T]) (mean, standardError float64) {
	p, squares := c.Probabilities(dense.Matrix[T]{}, b.X), 0.0
	n := float64(b.X.Rows)
	for i, l := range b.Y.Data {
		own := -math.Log(float64(p.At(i, int(l))))
		mean, squares = mean+own/n, squares+own*own/n
	}
	return mean, math.Sqrt((squares - mean*mean) / n)
}

// The order of the rows does not matter: classes in turn, classes in ascending order and other
// orders have the same loss at other rows, within four standard errors, and Classify reports it.
func TestClassesInTurn(t *testing.T) {
	densetest.Both(t, testClassesInTurn[float32], testClassesInTurn[float64])
}

func testClassesInTurn[T dense.Float](t *testing.T) {
	const n = 6000
	rows, other := threeBands[T](n, 1), threeBands[T](n, 2)
	orders := map[string][]int{"drawn": rand.New(rand.NewPCG(1, 2)).Perm(n)}
	var middle, others []int
	for c := range 3 {
		for i, l := range rows.Y.Data {
			if int(l) != c {
				continue
			}
			orders["ascending"] = append(orders["ascending"], i)
			if c == 1 {
				middle = append(middle, i)
			} else {
				others = append(others, i)
			}
		}
	}
	for i := range min(len(middle), len(others)) {
		orders["in turn"] = append(orders["in turn"], middle[i], others[i])
	}
	for name, at := range orders {
		b := ridge.Block[T]{X: layout.Rows(rows.X, at), Y: layout.Rows(rows.Y, at)}
		found := classify(t, b, 3, ridge.ClassifyOptions{Ratio: 1})
		loss, e := lossOf(found.Classifier, other)
		assert.InDelta(t, 0.35, loss, 0.02, name)
		assert.InDelta(t, loss, found.Trials[0].Score, 4*e*math.Sqrt(1+n/2048), name)
	}
}

// A row of weight 0 changes nothing, not even the last bit.
func TestRowsWithoutWeight(t *testing.T) {
	densetest.Both(t, testRowsWithoutWeight[float32], testRowsWithoutWeight[float64])
}

func testRowsWithoutWeight[T dense.Float](t *testing.T) {
	for _, c := range []struct{ n, each int }{{40, 25}, {2500, 1}, {1030, 1}} {
		few := threeBands[T](c.n, 1)
		many := ridge.Block[T]{}
		var at []int
		for i := range c.n {
			few.Weights = append(few.Weights, T(1+i%3))
			for range c.each {
				at, many.Weights = append(at, c.n-1-i), append(many.Weights, 0)
			}
			at, many.Weights = append(at, i), append(many.Weights, few.Weights[i])
		}
		many.X, many.Y = layout.Rows(few.X, at), layout.Rows(few.Y, at)
		for _, ratio := range []float64{0, 1} {
			if ratio == 0 && c.n > 40 {
				continue // takes long
			}
			o := ridge.ClassifyOptions{Ratio: ratio, ClassWeights: []float64{1, 2, 3}}
			want, got := classify(t, few, 3, o), classify(t, many, 3, o)
			assert.Equal(t, want.Trials, got.Trials)
			assert.Equal(t, want.Temperature, got.Temperature)
			assert.Equal(t, want.Classifier.Probabilities(dense.Matrix[T]{}, few.X), got.Classifier.Probabilities(dense.Matrix[T]{}, few.X))
		}
	}
}

// Rows of hardly any weight hardly count, so that weights tend to 0 continuously, and weights that
// are all multiplied by a number change nothing.
func TestWeightsOfClassify(t *testing.T) {
	const n = 60
	few, more := threeBands[float64](n, 1), threeBands[float64](3000, 2)
	p := func(b ridge.Block[float64], ratio float64) dense.Matrix[float64] {
		return classify(t, b, 3, ridge.ClassifyOptions{Ratio: ratio}).Classifier.Probabilities(dense.Matrix[float64]{}, few.X)
	}
	want := p(few, 1)
	b := ridge.Block[float64]{X: dense.New[float64](n+more.X.Rows, 2), Y: dense.New[float64](n+more.X.Rows, 1)}
	dense.Copy(b.X.RowRange(0, n), few.X)
	dense.Copy(b.Y.RowRange(0, n), few.Y)
	dense.Copy(b.X.RowRange(n, b.X.Rows), more.X)
	dense.Copy(b.Y.RowRange(n, b.X.Rows), more.Y)
	for i := range b.X.Rows {
		b.Weights = append(b.Weights, 1)
		if i >= n {
			b.Weights[i] = 1e-9
		}
	}
	assert.InDeltaSlice(t, want.Data, p(b.RowRange(0, 1000), 1).Data, 1e-4)
	few.Weights = slices.Repeat([]float64{1e200}, n)
	assert.InDeltaSlice(t, want.Data, p(few, 1e200).Data, 1e-6)
}

// The sample has all rows of a class with few, and as many of the others. The weights of a class
// in the losses are those of all its rows. There is a row of each class, however many there are.
func TestSampleOfClasses(t *testing.T) {
	for _, sizes := range [][]int{{100, 200}, {5000, 10, 1500, 5000}, make([]int, 3000)} {
		var labels []int
		total := 0
		for c := range sizes {
			sizes[c] = max(1, sizes[c])
			total += sizes[c]
			for range sizes[c] {
				labels = append(labels, c)
			}
		}
		counts, shares := ridge.SampleOf(labels, len(sizes))
		sampled, sum := 0, 0.0
		for c, n := range counts {
			sampled += n
			sum += shares[c]
		}
		assert.Equal(t, max(min(total, 2048), len(sizes)), sampled)
		for c, n := range counts {
			assert.Greater(t, n, 0)
			if n < sizes[c] {
				assert.GreaterOrEqual(t, n+1, counts[0])
			}
			assert.InEpsilon(t, float64(sizes[c])/float64(total), shares[c]/sum, 1e-9)
		}
	}
}
