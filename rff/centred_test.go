package rff_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// softmaxMaps are the maps of the softmax kernel of scale scaleOf, over independent frequencies.
func softmaxMaps[T dense.Float](t testing.TB, m, d int) map[string]rff.Map[T] {
	maps := map[string]rff.Map[T]{}
	for _, r := range randomMaps[T]() {
		if _, ok := r.kernel.(kernels.Softmax); ok {
			maps[r.name] = must.Have(r.draw(m, d, exprand.NewSource(5)))
		}
	}
	require.Len(t, maps, 7)
	return maps
}

// logProduct returns log φ(x)ᵀψ(y), in float64, and Σ|φ_k·ψ_k|/|φᵀψ|.
func logProduct[T dense.Float](phi rff.Map[T], x, y []T) (log, condition float64) {
	a, b := dense.Of(1, len(x), x), dense.Of(1, len(y), y)
	var p, q dense.Matrix[T]
	l, ok := phi.(rff.LogMap[T])
	if !ok {
		p, q = phi.Transform(p, a), rff.Keys(phi).Transform(q, b)
		var sum, size float64
		for k, v := range p.Data {
			sum += float64(v) * float64(q.Data[k])
			size += math.Abs(float64(v) * float64(q.Data[k]))
		}
		return math.Log(sum), size / math.Abs(sum)
	}
	p, q = l.LogTransform(p, a), rff.Keys(phi).(rff.LogMap[T]).LogTransform(q, b)
	sums := make([]float64, len(p.Data))
	for k, v := range p.Data {
		sums[k] = float64(v) + float64(q.Data[k])
	}
	return floats.LogSumExp(sums), 1
}

// The estimate is that of phi at x − b and y − c times exp(s·(xᵀc + bᵀy − bᵀc)).
func testCentredIsExact[T dense.Float](t *testing.T) {
	const m, d, n = 40, 5, 6
	u := densetest.Roundoff[T]()
	for _, offset := range []float64{0.5, 30} {
		means := points[T](3, 2, d, offset)
		b, c := means.Row(0), means.Row(1)
		x0, y0 := points[T](1, n, d, 0.5), points[T](2, n, d, 0.5)
		for name, phi := range softmaxMaps[T](t, m, d) {
			centred := must.Have(rff.Centred(phi, b, c))
			assert.Equal(t, phi.Kernel(), centred.Kernel(), name)
			_, positive := phi.(rff.LogMap[T])
			for i := range n {
				x, y := make([]T, d), make([]T, d)
				var factor, size float64
				for j := range d {
					x[j], y[j] = x0.At(i, j)+b[j], y0.At(i, j)+c[j]
				}
				for j := range d {
					p, q, r := float64(x[j])*float64(c[j]), float64(b[j])*float64(y[j]), float64(b[j])*float64(c[j])
					factor += scaleOf * (p + q - r)
					size += scaleOf * (math.Abs(p) + math.Abs(q) + math.Abs(r))
				}
				if !positive && math.Abs(factor) > 40 {
					continue // out of range
				}
				want, condition := logProduct(phi, subtract(x, b), subtract(y, c))
				got, _ := logProduct(centred, x, y)
				// Logarithms of the size of both terms are rounded, and exponentials of them taken.
				assert.InDelta(t, want+factor, got, 16*u*(8+size+math.Abs(want))*condition, "%s, offset %v", name, offset)
			}
		}
	}
}

func subtract[T dense.Float](x, b []T) []T {
	z := make([]T, len(x))
	for j := range z {
		z[j] = x[j] - b[j]
	}
	return z
}

func TestCentredIsExact(t *testing.T) {
	densetest.Both(t, testCentredIsExact[float32], testCentredIsExact[float64])
}

// Logarithms stay numbers with offsets of norm 100, and their errors are those of rounding them.
func TestCentredFarFromZero(t *testing.T) {
	const m, d, n = 64, 16, 20
	wide, narrow := iidOf[float64](m, d), iidOf[float32](m, d)
	b := points[float32](3, 1, d, 25) // a norm of about 100
	c := b.Clone()
	for j := range d {
		c.Data[j] *= 0.9
	}
	for _, norm := range []float64{1, 30} {
		x := points[float32](1, n, d, norm/4)
		for i := range n {
			for j := range d {
				x.Set(i, j, x.At(i, j)+b.Data[j])
			}
		}
		const s = 0.25
		f64 := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: s}, wide))
		f32 := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: s}, narrow))
		exact := must.Have(rff.Centred(f64, dense.Copy(dense.Matrix[float64]{}, b).Data, dense.Copy(dense.Matrix[float64]{}, c).Data))
		rounded := must.Have(rff.Centred(f32, b.Data, c.Data))
		want := exact.(rff.LogMap[float64]).LogTransform(dense.Matrix[float64]{}, dense.Copy(dense.Matrix[float64]{}, x))
		got := rounded.(rff.LogMap[float32]).LogTransform(dense.Matrix[float32]{}, x)
		for i := range n {
			var argument float64 // what frequencies, which are rounded, are multiplied by
			for j := range d {
				argument += math.Abs(float64(x.At(i, j) - b.Data[j]))
			}
			size := math.Abs(float64(got.At(i, 0)))
			for k := range m {
				size = max(size, math.Abs(float64(got.At(i, k))))
			}
			assert.Greater(t, size, 500.0)
			for k := range m {
				require.InDelta(t, want.At(i, k), float64(got.At(i, k)), 0x1p-24*(4*size+4*(d+6)*argument), "norm %v", norm)
			}
		}
	}
}

// The law is that of the map at centred points times the square of the factor.
func TestLawsOfCentredMaps(t *testing.T) {
	const m, d = 20, 4
	p := points[float64](7, 4, d, 0.5)
	x, y, b, c := p.Row(0), p.Row(1), p.Row(2), p.Row(3)
	factor := math.Exp(scaleOf * (floats.Dot(x, c) + floats.Dot(b, y) - floats.Dot(b, c)))
	for name, phi := range softmaxMaps[float64](t, m, d) {
		centred := must.Have(rff.Centred(phi, b, c))
		law := func(m rff.Map[float64]) mse.Errors {
			e, ok := m.(mse.Lawful).Law().Errors()
			require.True(t, ok, name)
			return e
		}
		inner, got := law(phi), law(centred)
		want := inner.MSE(subtract(x, b), subtract(y, c)) * factor * factor
		assert.InEpsilon(t, want, got.MSE(x, y), 1e-12, name)
		assert.InEpsilon(t, want, law(rff.Keys(centred)).MSE(y, x), 1e-12, "keys of %s", name)
		assert.Equal(t, "Centred "+inner.Name, got.Name)
		assert.Equal(t, inner.Relative == nil, got.Relative == nil, name)
		if got.Relative != nil {
			assert.InEpsilon(t, inner.Relative(subtract(x, b), subtract(y, c)), got.Relative(x, y), 1e-12, name)
		}
	}
}

func TestCentre(t *testing.T) {
	x := dense.Of(3, 2, []float32{1, 10, 2, 20, 6, 0})
	centred, mean, err := rff.SubtractMean(x)
	require.NoError(t, err)
	assert.Equal(t, []float32{3, 10}, mean)
	assert.Equal(t, []float32{-2, 0, -1, 10, 3, -10}, centred.Data)
	assert.Equal(t, float32(1), x.At(0, 0))
	_, _, err = rff.SubtractMean(dense.New[float64](0, 2))
	assert.EqualError(t, err, "rff: x is 0×2, want at least one row")
	_, _, err = rff.SubtractMean(dense.Of(1, 2, []float64{1, math.NaN()}))
	assert.EqualError(t, err, "rff: x[0][1] = NaN, want a finite number")
}

func TestCentredWithoutMeans(t *testing.T) {
	const m, d = 9, 3
	x := points[float64](1, 4, d, 1)
	none := dense.Matrix[float64]{}
	phi := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: scaleOf}, iidOf[float64](m, d)))
	centred := must.Have(rff.Centred(phi, nil, nil))
	assert.Equal(t, logs(phi).LogTransform(none, x), logs(centred).LogTransform(none, x))
	assert.Equal(t, "Centred(SoftmaxPositive(scale=1.5): R^3 → R^9)", fmt.Sprint(centred))
	assert.True(t, rff.Keys(rff.Keys(centred)) == centred)
}
