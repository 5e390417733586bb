package kernelridge_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
)

// A model has the noise of maximum evidence, deviations that are those of the process with the rank
// of all rows and larger ones with less, draws functions about its mean, and has the same bits from
// its file. What needs products of features is an error.
func TestModel(t *testing.T) { densetest.Both(t, testModel[float32], testModel[float64]) }

func testModel[T dense.Float](t *testing.T) {
	b := waves[T](200, 0, 1)
	b.Y = b.Y.ColRange(1, 2).Clone()
	k := kernels.Pullback{K: kernels.Gaussian{}, A: dense.Of(2, 3, []float64{1, 0, 0.5, 0, 1, 0})}
	const ratio = 0.05
	fit := func(rank int) *ridge.Model[T] {
		r := must.Have(kernelridge.Fit(t.Context(), k, b, kernelridge.Options{Ratio: ratio, Rank: rank, Probes: 2, Tolerance: 1e-7, Src: rand.NewPCG(1, 2)}))
		return r.Model
	}
	m, small := fit(200), fit(20)
	a, constant := direct(t, k, b, ratio, true)
	noise := 0.0
	for i := range 200 {
		noise += ratio * a.At(i, 0) * (float64(b.Y.At(i, 0)) - constant[0]) / 199
	}
	assert.InEpsilon(t, noise, m.Noise()[0], 1e-5)
	assert.InEpsilon(t, noise/ratio, m.Prior()[0], 1e-5)

	x := waves[T](30, 0, 2).X
	mean, sd := m.Posterior(x)
	assert.Equal(t, m.Mean(dense.Matrix[T]{}, x), mean)
	// Of the process without an intercept, which adds up to σ²/Σω.
	ones, none := b, dense.Matrix[float64]{}
	ones.Y = dense.Copy(dense.Matrix[T]{}, kernels.Gram(none, k, dense.Copy(none, b.X), dense.Copy(none, x)))
	c, _ := direct(t, k, ones, ratio, false)
	for i := range x.Rows {
		variance := 1.0
		for l := range 200 {
			variance -= c.At(l, i) * float64(ones.Y.At(l, i))
		}
		assert.InEpsilon(t, math.Sqrt(noise/ratio*max(variance, 1e-4)), sd.At(i, 0), 0.05, "row %d", i)
	}
	_, upper := small.Posterior(x)
	for i := range x.Rows {
		assert.GreaterOrEqual(t, upper.At(i, 0), sd.At(i, 0)*0.999)
	}

	functions := must.Have(m.Sample(400, 0, rand.NewPCG(5, 6)))
	drawn := functions.Eval(dense.Matrix[T]{}, x)
	for i := range x.Rows {
		sum := 0.0
		for _, v := range drawn.Row(i) {
			sum += float64(v) / 400
		}
		assert.InDelta(t, mean.At(i, 0), sum, 4*float64(sd.At(i, 0))/20+1e-5)
	}

	_, err := m.LeaveOneOut(dense.Matrix[T]{}, b.X, b.Y, b.Weights)
	assert.ErrorContains(t, err, "kernelridge.Fit returns")
	var file bytes.Buffer
	require.NoError(t, m.Write(&file))
	again := must.Have(ridge.ReadModel[T](&file))
	wantMean, wantHalf := m.Band(x, 0.9)
	gotMean, gotHalf := again.Band(x, 0.9)
	assert.Equal(t, wantMean, gotMean)
	assert.Equal(t, wantHalf, gotHalf)
	assert.Equal(t, m.Noise(), again.Noise())
	_, want := m.Rows()
	_, got := again.Rows()
	assert.Equal(t, want, got)
}

// A classifier of errors at rows left out has probabilities of the loss that errors at rows left
// out tell, and the same bits from its file.
func TestClassifier(t *testing.T) {
	densetest.Both(t, testClassifier[float32], testClassifier[float64])
}

func testClassifier[T dense.Float](t *testing.T) {
	draw := func(n int, seed uint64) (x, y dense.Matrix[T]) {
		rng := rand.New(rand.NewPCG(seed, 1))
		x, y = dense.New[T](n, 2), dense.New[T](n, 3)
		for i := range n {
			u, v := rng.NormFloat64(), rng.NormFloat64()
			copy(x.Row(i), []T{T(u), T(v)})
			y.Set(i, min(2, int(math.Hypot(u, v)+0.2*rng.NormFloat64()+0.2)), 1)
		}
		return x, y
	}
	loss := func(c *ridge.Classifier[T], x, y dense.Matrix[T]) (mean float64) {
		p := c.Probabilities(dense.Matrix[T]{}, x)
		for i := range p.Rows {
			sum := 0.0
			for j, v := range p.Row(i) {
				sum += float64(v)
				if y.At(i, j) == 1 {
					mean -= math.Log(float64(v)) / float64(p.Rows)
				}
			}
			assert.InDelta(t, 1, sum, 1e-5)
		}
		return mean
	}
	k := kernels.Gaussian{LengthScale: 1}
	x, y := draw(300, 1)
	z, other := draw(600, 2)
	r := must.Have(kernelridge.Fit(t.Context(), k, ridge.Block[T]{X: x, Y: y}, kernelridge.Options{Ratio: 0.5, Rank: 60, Probes: 16, Src: rand.NewPCG(1, 2)}))
	labels := []string{"a", "b", "c"}
	c, at, err := r.Model.Classifier(y, nil, r.LeftOut, labels)
	require.NoError(t, err)
	// The standard deviation of a loss is about 0.7.
	assert.InDelta(t, loss(c, z, other), at, 4*0.7*math.Sqrt(1.0/300+1.0/600))
	assert.Less(t, loss(c, z, other), 0.6)
	var file bytes.Buffer
	require.NoError(t, c.Write(&file))
	again := must.Have(ridge.ReadClassifier[T](&file))
	assert.Equal(t, c.Probabilities(dense.Matrix[T]{}, z), again.Probabilities(dense.Matrix[T]{}, z))
	assert.Equal(t, labels, again.Labels())

	classify := func(y dense.Matrix[T], leftOut dense.Matrix[float64], labels []string) error {
		_, _, err := r.Model.Classifier(y, nil, leftOut, labels)
		return err
	}
	rows, a := r.Model.Rows()
	numbers := make([]float64, 3)
	for want, err := range map[string]error{
		"ridge: errors at rows left out are 0×0, want 300×3":                               classify(y, dense.Matrix[float64]{}, nil),
		"ridge: row 0 of y is no indicator of a class":                                     classify(dense.New[T](300, 3), r.LeftOut, nil),
		"ridge: 2 Labels, want one for each of 3 classes":                                  classify(y, r.LeftOut, labels[:2]),
		"ridge: 2 means and 3 noises of 3 outputs":                                         must.Err(r.Model.WithKernel(rows, a, numbers[:2], numbers)),
		"ridge: 299 rows and 300×3 weights, want at least one row, and 3 weights for each": must.Err(r.Model.WithKernel(rows.RowRange(0, 299), a, numbers, numbers)),
	} {
		assert.EqualError(t, err, want)
	}
}
