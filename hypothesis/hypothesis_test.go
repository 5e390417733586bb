package hypothesis_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hypothesis"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// law draws an element of a row.
type law func(rng *rand.Rand) float64

func gauss(rng *rand.Rand) float64  { return rng.NormFloat64() }
func cauchy(rng *rand.Rand) float64 { return math.Tan(math.Pi * (rng.Float64() - 0.5)) }
func coin(rng *rand.Rand) float64   { return float64(rng.IntN(2)) }
func far(rng *rand.Rand) float64    { return 1e6 + rng.NormFloat64() }

func sample[T dense.Float](rng *rand.Rand, n, d int, f law) dense.Matrix[T] {
	x := dense.New[T](n, d)
	for i := range x.Data {
		x.Data[i] = T(f(rng))
	}
	return x
}

// pool returns the rows of all samples.
func pool[T dense.Float](samples ...dense.Matrix[T]) dense.Matrix[T] {
	all := dense.Matrix[T]{Cols: samples[0].Cols, Stride: samples[0].Cols}
	for _, s := range samples {
		all.Data = append(all.Data, s.Data...)
		all.Rows += s.Rows
	}
	return all
}

// gaussian returns m frequencies of the Gaussian kernel with the given length-scale.
func gaussian[T dense.Float](m, d int, lengthScale float64, src rand.Source) rff.Map[T] {
	return must.Have(rff.Draw(rff.Gaussian{LengthScale: lengthScale}, must.Have(orf.Draw[T](orf.GramSchmidt{}, m, d, src))))
}

// usual returns features of the Gaussian kernel with the median distance of the rows as
// length-scale.
func usual[T dense.Float](m int, src rand.Source, samples ...dense.Matrix[T]) rff.Map[T] {
	all := pool(samples...)
	length := 1.5 // where half the rows are equal, or many
	if all.Rows <= 100 {
		if median, err := ridge.MedianDistance(all, src); err == nil {
			length = median
		}
	}
	return gaussian[T](m, all.Cols, length, src)
}

// weights returns the rows of B permutations of m elements 1/m and n elements −1/n, the data first.
func weights(rng *rand.Rand, m, n, draws int) dense.Matrix[float64] {
	w := dense.New[float64](1+draws, m+n)
	for b := range w.Rows {
		row := w.Row(b)
		for i := range row {
			row[i] = -1 / float64(n)
			if i < m {
				row[i] = 1 / float64(m)
			}
		}
		if b > 0 {
			rng.Shuffle(m+n, func(i, j int) { row[i], row[j] = row[j], row[i] })
		}
	}
	return w
}

// quadratic is the exact test with all n² values of the kernel [Gretton et al. 2012].
func quadratic(rng *rand.Rand, k kernels.Kernel, x, y dense.Matrix[float64], draws int) (p, statistic float64) {
	all := pool(x, y)
	gram := kernels.Gram(dense.Matrix[float64]{}, k, all, all)
	w := weights(rng, x.Rows, y.Rows, draws)
	product := dense.New[float64](w.Rows, w.Cols)
	matmul.Mul(1, w, gram, 0, product)
	count := 0
	for b := range w.Rows {
		sum := 0.0
		for i, v := range product.Row(b) {
			sum += v * w.At(b, i)
		}
		if b == 0 {
			statistic = sum
		}
		if sum >= statistic-1e-12 {
			count++
		}
	}
	return float64(count) / float64(1+draws), statistic
}

// kolmogorov returns sup (F̂(α) − α) and sup |F̂(α) − α| over α = k/(1+B).
func kolmogorov(ps []float64, draws int) (above, apart float64) {
	slices.Sort(ps)
	for k := 1; k <= 1+draws; k++ {
		alpha := float64(k) / float64(1+draws)
		at, _ := slices.BinarySearch(ps, alpha+1e-9)
		d := float64(at)/float64(len(ps)) - alpha
		above, apart = max(above, d), max(apart, math.Abs(d))
	}
	return above, apart
}

// bound is the distance from the uniform distribution that the distribution of a number of p-values
// exceeds with the probability 10⁻⁶ [Massart 1990].
func bound(runs int) float64 { return math.Sqrt(math.Log(2e6) / (2 * float64(runs))) }

// cases are pairs of samples of one distribution.
var cases = []struct {
	name    string
	m, n, d int
	f       law
	ties    bool
}{
	{"normal", 30, 30, 3, gauss, false},
	{"m ≠ n", 12, 90, 3, gauss, false},
	{"ties", 25, 40, 2, coin, true},
	{"Cauchy", 30, 45, 2, cauchy, false},
	{"mean of 10⁶ deviations", 20, 30, 2, far, false},
	{"2 and 2 rows", 2, 2, 1, gauss, true},
	{"cells", 140, 900, 2, gauss, false},
}

// p-values are uniform if both samples have one distribution, and stochastically larger if
// permutations tie. More -repetitions find smaller errors.
func TestTwoSampleUnderTheNull(t *testing.T) {
	t.Run("type=float32", testTwoSampleNull[float32])
	t.Run("type=float64", testTwoSampleNull[float64])
}

func testTwoSampleNull[T dense.Float](t *testing.T) {
	for _, c := range cases {
		src := rand.NewPCG(11, 12)
		rng := rand.New(src)
		checkUniform(t, c.name, c.ties, func() float64 {
			x, y := sample[T](rng, c.m, c.d, c.f), sample[T](rng, c.n, c.d, c.f)
			return must.Have(hypothesis.TwoSample(t.Context(), usual(16, src, x, y), x, y, hypothesis.Options{Draws: 49, Cells: 128}, src)).P
		})
	}
}

// checkUniform checks that p-values of 49 draws are uniform, or stochastically larger if there are
// ties.
func checkUniform(t *testing.T, name string, ties bool, p func() float64) {
	t.Helper()
	ps := make([]float64, repetitions(150))
	for r := range ps {
		ps[r] = p()
	}
	above, apart := kolmogorov(ps, 49)
	t.Logf("%s: above %.3f, apart %.3f, bound %.3f", name, above, apart, bound(len(ps)))
	assert.LessOrEqual(t, above, bound(len(ps)), name)
	if !ties {
		assert.LessOrEqual(t, apart, bound(len(ps)), name)
	}
}

// sortColumn sorts the rows of a single column.
func sortColumn(x dense.Matrix[float64]) { slices.Sort(x.Data) }
