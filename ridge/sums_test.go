package ridge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/safetensors"
)

func sumOf[T dense.Float](t testing.TB, phi rff.Map[T], x, y dense.Matrix[T], weights []T) *ridge.Sums[T] {
	s := must.Have(ridge.NewSums(phi, y.Cols))
	require.NoError(t, s.Add(x, y, weights))
	return s
}

// predictions returns what a model of the sums predicts, with its evidence.
func predictions[T dense.Float](t testing.TB, s *ridge.Sums[T], o ridge.Options, z dense.Matrix[T]) []float64 {
	m := must.Have(s.Fit(t.Context(), o))
	mean, sd := m.Predict(z)
	all := []float64{m.LogEvidence()}
	for i := range z.Rows {
		all = append(all, float64(mean.At(i, 0)), float64(sd.At(i, 0)))
	}
	return all
}

// Any split of the rows into sums, merged in any order, gives the sums of all rows to rounding: the
// elements of ΦᵀΦ are sums of n terms of size up to 1/m, and the triangle is compared as bytes
// would hold it.
func TestMergedSumsAreTheSums(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testMerged[float32](t, 2e-6) })
	t.Run("type=float64", func(t *testing.T) { testMerged[float64](t, 1e-12) })
}

func testMerged[T dense.Float](t *testing.T, tolerance float64) {
	const n, d = 5000, 6
	phi := gaussian[T](t, 100, d, 1, 1)
	x, y := friedman[T](n, d, 1)
	for i := range y.Rows {
		y.Set(i, 0, y.At(i, 0)+100)
	}
	weights := make([]T, n)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range weights {
		weights[i] = T(rng.Float64())
	}
	whole := numbers(t, sumOf(t, phi, x, y, weights))
	for _, cuts := range [][]int{{0, 5000}, {0, 1, 5000}, {0, 300, 301, 2600, 5000}, {0, 2500, 5000, 5000}} {
		merged := must.Have(ridge.NewSums(phi, 1))
		for _, i := range rng.Perm(len(cuts) - 1) {
			lo, hi := cuts[i], cuts[i+1]
			part := sumOf(t, phi, x.RowRange(lo, hi), y.RowRange(lo, hi), weights[lo:hi])
			before := numbers(t, part)
			require.NoError(t, merged.Merge(part))
			assert.Equal(t, before, numbers(t, part))
		}
		assert.Equal(t, n, merged.Rows())
		assertClose(t, whole, numbers(t, merged), tolerance)
	}
}

// numbers returns the sums as the bytes hold them: Σω, means and products about them.
func numbers[T dense.Float](t testing.TB, s *ridge.Sums[T]) map[string][]float64 {
	f := must.Have(safetensors.View(must.Have(s.MarshalBinary())))
	all := map[string][]float64{}
	for name, tensor := range f.Tensors {
		if name != "sums.marks" {
			all[name] = must.Have(safetensors.Floats[float64](tensor))
		}
	}
	for _, name := range []string{"rowWeight", "logWeight", "effectiveRows"} {
		all[name] = []float64{must.Have(strconv.ParseFloat(f.Metadata["sums."+name], 64))}
	}
	return all
}

// assertClose compares each kind of sums relative to its largest element.
func assertClose(t *testing.T, want, got map[string][]float64, tolerance float64) {
	t.Helper()
	for name, values := range want {
		largest := 0.0
		for _, v := range values {
			largest = math.Max(largest, math.Abs(v))
		}
		assert.InDeltaSlice(t, values, got[name], tolerance*largest, name)
	}
}

// 9,000 rows are two parts of 4,080 rows, on two processors at the same time, and the rest.
func TestSumsDoNotDependOnProcessors(t *testing.T) {
	densetest.Both(t, testProcessors[float32], testProcessors[float64])
}

func testProcessors[T dense.Float](t *testing.T) {
	phi := gaussian[T](t, 150, 6, 1, 1)
	x, y := friedman[T](9000, 6, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	many := numbers(t, sumOf(t, phi, x, y, nil))
	runtime.GOMAXPROCS(1)
	assert.Equal(t, many, numbers(t, sumOf(t, phi, x, y, nil)))
}

// Scale(3) leaves the sums of rows added three times, with their evidence and noise.
func TestScaleRepeatsRows(t *testing.T) {
	densetest.Both(t, testScale[float32], testScale[float64])
}

func testScale[T dense.Float](t *testing.T) {
	phi := gaussian[T](t, 15, 5, 1, 1)
	x, y := friedman[T](200, 5, 1)
	weights := make([]T, x.Rows)
	for i := range weights {
		weights[i] = T(i%3) / 2
	}
	once, thrice := sumOf(t, phi, x, y, weights), sumOf(t, phi, x, y, weights)
	for range 2 {
		require.NoError(t, thrice.Add(x, y, weights))
	}
	require.NoError(t, once.Scale(3))
	assert.Equal(t, 3*once.Rows(), thrice.Rows())
	assertClose(t, numbers(t, thrice), numbers(t, once), 1e-12)
	// λ is found to a tolerance.
	assert.InDeltaSlice(t, predictions(t, thrice, ridge.Options{}, x), predictions(t, once, ridge.Options{}, x), 1e-3)
	a := must.Have(thrice.Fit(t.Context(), ridge.Options{Prior: 20}))
	b := must.Have(once.Fit(t.Context(), ridge.Options{Prior: 20}))
	assert.InDelta(t, a.LogEvidence(), b.LogEvidence(), 1e-6)
	assert.InEpsilon(t, a.Noise()[0], b.Noise()[0], 1e-3)
}

// Scale refuses factors, and leaves the sums unchanged.
func TestScaleErrors(t *testing.T) {
	phi := gaussian[float64](t, 5, 5, 1, 1)
	x, y := friedman[float64](20, 5, 1)
	s := sumOf(t, phi, x, y, nil)
	before := numbers(t, s)
	for _, factor := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		assert.EqualError(t, s.Scale(factor), fmt.Sprintf("ridge: factor = %v, want a positive number", factor))
	}
	assert.EqualError(t, s.Scale(math.MaxFloat64), "ridge: factor = 1.7976931348623157e+308 leaves +Inf effective rows of weight +Inf, want positive numbers")
	assert.Equal(t, before, numbers(t, s))
	require.NoError(t, s.Scale(0.04))
	_, err := s.Fit(t.Context(), ridge.Options{})
	assert.EqualError(t, err, "ridge: 0.8 effective rows tell nothing of the noise, want at least 2, or Noise and Prior")
	empty := must.Have(ridge.NewSums(phi, 1))
	assert.NoError(t, empty.Scale(0.5))
}

func TestSumsAsBytes(t *testing.T) {
	densetest.Both(t, testBytes[float32], testBytes[float64])
}

func testBytes[T dense.Float](t *testing.T) {
	phi := gaussian[T](t, 70, 5, 1, 1)
	x, y := friedman[T](200, 5, 1)
	s := sumOf(t, phi, x, y, nil)
	b := must.Have(s.MarshalBinary())
	again := must.Have(ridge.NewSums(phi, 1))
	require.NoError(t, again.UnmarshalBinary(b))
	assert.Equal(t, predictions(t, s, ridge.Options{}, x), predictions(t, again, ridge.Options{}, x), "same bits")
	require.NoError(t, s.Add(x, y, nil))
	require.NoError(t, again.Add(x, y, nil))
	assert.Equal(t, numbers(t, s), numbers(t, again))

	refuse := func(s *ridge.Sums[T], data []byte, want string) {
		t.Helper()
		before := numbers(t, s)
		assert.ErrorContains(t, s.UnmarshalBinary(data), want)
		assert.Equal(t, before, numbers(t, s))
	}
	text := func(key, value, want string) {
		t.Helper()
		refuse(again, must.Have(archive.Changed(b, func(f *safetensors.File) { f.Metadata["sums."+key] = value })), want)
	}
	text("rows", strconv.Itoa(math.MaxInt), fmt.Sprintf("ridge: sums of %d rows, want 0 to %d", math.MaxInt, math.MaxInt/2))
	text("rows", "-1", "ridge: sums of -1 rows, want 0 to")
	text("rows", "0", "ridge: sums of 0 rows with the weight 200")
	text("rowWeight", "NaN", "ridge: sums of 200 rows with the weight NaN")
	text("rowWeight", "+Inf", "ridge: sums of 200 rows with the weight +Inf")
	text("effectiveRows", "NaN", "ridge: sums of 200 rows that stand for NaN")
	text("d", "6", "ridge: sums of features R^6 → R^140 and 1 outputs, want R^5 → R^140 and 1")
	for _, name := range []string{"marks", "squares", "scatter"} {
		refuse(again, must.Have(archive.Changed(b, func(f *safetensors.File) {
			f.Tensors["sums."+name] = safetensors.Tensor{DType: safetensors.F64, Shape: []int{2}, Data: make([]byte, 16)}
		})), "for 140 features and 1 outputs")
	}
	refuse(again, must.Have(archive.Changed(b, func(f *safetensors.File) { clear(f.Tensors["sums.marks"].Data) })), "features differ")
	two := must.Have(ridge.NewSums(phi, 2))
	assert.ErrorContains(t, two.UnmarshalBinary(b), "and 1 outputs, want R^5 → R^140 and 2")
	other := must.Have(ridge.NewSums(gaussian[T](t, 70, 5, 1, 2), 1))
	refuse(other, b, "features differ")
	assert.ErrorContains(t, other.Merge(s), "features differ")
}

func TestSumsErrors(t *testing.T) {
	phi := gaussian[float64](t, 2, 3, 1, 1)
	_, err := ridge.NewSums[float64](nil, 1)
	assert.EqualError(t, err, "ridge: phi is nil, want a feature map")
	_, err = ridge.NewSums(phi, -1)
	assert.EqualError(t, err, "ridge: outputs = -1, want at least 0")
	s := must.Have(ridge.NewSums(phi, 1))
	x, y := dense.New[float64](2, 3), dense.New[float64](2, 1)
	assert.EqualError(t, s.Add(x.ColRange(0, 2), y, nil), "ridge: x is 2×2, want 3 columns")
	assert.EqualError(t, s.Add(x, x, nil), "ridge: y is 2×3, want 2×1")
	assert.EqualError(t, s.Add(x, y, make([]float64, 3)), "ridge: 3 weights for 2 rows")
	assert.EqualError(t, s.Add(x, y, []float64{1, -1}), "ridge: weights[1] = -1, want a finite number from 0 on")
	x.Set(1, 2, math.NaN())
	assert.EqualError(t, s.Add(x, y, nil), "ridge: x[1][2] = NaN, want a finite number")
	x.Set(1, 2, 0)
	y.Set(0, 0, math.Inf(-1))
	assert.EqualError(t, s.Add(x, y, nil), "ridge: y[0][0] = -Inf, want a finite number")
	_, err = s.Fit(t.Context(), ridge.Options{})
	assert.EqualError(t, err, "ridge: no rows, want at least 1 with a weight above 0")
	assert.EqualError(t, s.Merge(nil), "ridge: other is nil, want sums")
	two := must.Have(ridge.NewSums(phi, 2))
	assert.EqualError(t, s.Merge(two), "ridge: other has 2 outputs, want 1")
}

func BenchmarkFit(b *testing.B) {
	b.Run("type=float32/n=200000/d=10/D=1024", benchmarkFit[float32])
	b.Run("type=float64/n=200000/d=10/D=1024", benchmarkFit[float64])
}

// benchmarkFit fits with a fixed ratio of variances, as the peer does.
func benchmarkFit[T dense.Float](b *testing.B) {
	phi := gaussian[T](b, 512, 10, 1, 1)
	x, y := friedman[T](200000, 10, 1)
	z, truth := friedman[T](5000, 10, 2)
	b.ReportAllocs()
	var m *ridge.Model[T]
	for b.Loop() {
		m = must.Have(ridge.Fit(b.Context(), phi, ridge.Block[T]{X: x, Y: y}, ridge.Options{Noise: 1, Prior: 10}))
	}
	b.ReportMetric(rmse(m.Mean(dense.Matrix[T]{}, z), truth), "rmse")
}

// rmse returns the root mean square of the difference.
func rmse[T dense.Float](a, b dense.Matrix[T]) float64 {
	sum := 0.0
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			e := float64(v) - float64(b.At(i, j))
			sum += e * e
		}
	}
	return math.Sqrt(sum / float64(a.Rows*a.Cols))
}

func BenchmarkPredict(b *testing.B) {
	for _, sd := range []bool{false, true} {
		name := "n=5000/d=10/D=1024" + map[bool]string{true: "/sd=true"}[sd]
		b.Run("type=float32/"+name, func(b *testing.B) { benchmarkPredict[float32](b, sd) })
		b.Run("type=float64/"+name, func(b *testing.B) { benchmarkPredict[float64](b, sd) })
	}
}

func benchmarkPredict[T dense.Float](b *testing.B, sd bool) {
	phi := gaussian[T](b, 512, 10, 1, 1)
	x, y := friedman[T](5000, 10, 1)
	m := must.Have(ridge.Fit(b.Context(), phi, ridge.Block[T]{X: x, Y: y}, ridge.Options{Noise: 1, Prior: 10}))
	mean := dense.New[T](x.Rows, 1)
	b.ReportAllocs()
	for b.Loop() {
		if sd {
			m.Predict(x)
		} else {
			m.Mean(mean, x)
		}
	}
}
