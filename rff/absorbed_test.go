package rff

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/orf"
)

// sharpened are the maps of linearly mapped points.
func sharpened[T dense.Float]() map[string]func(w orf.Projection[T], x, y dense.Matrix[T], scale float64) (LogMap[T], error) {
	return map[string]func(w orf.Projection[T], x, y dense.Matrix[T], scale float64) (LogMap[T], error){
		"SADERF": SADERF[T], "ADERF": ADERF[T],
	}
}

// Matrices that frequencies absorb and points that are mapped give the logarithms that the
// formula has, to rounding, in all blocks of rows.
func TestAbsorbedMatricesAreTheFormula(t *testing.T) {
	densetest.Both(t, testAbsorbed[float32], testAbsorbed[float64])
}

func testAbsorbed[T dense.Float](t *testing.T) {
	const m, d, n, scale = 7, 3, absorbedRows + 70, 1.5
	w, err := orf.Draw[T](orf.GramSchmidt{}, m, d, rand.NewPCG(1, 2))
	require.NoError(t, err)
	x, y := uniform[T](n, d), uniform[T](50, d)
	for i := range n {
		x.Set(i, 1, 3*x.At(i, 0)+x.At(i, 1))
	}
	for name, make := range sharpened[T]() {
		f, err := make(w, x.RowRange(0, 60), y, scale)
		require.NoError(t, err)
		fit := fitOf(t, name, w, x.RowRange(0, 60), y, scale)
		for _, side := range sides(f) {
			require.NotNil(t, side.absorbed, name)
			got := side.LogTransform(dense.Matrix[T]{}, x)
			phi := side.Transform(dense.Matrix[T]{}, x)
			mapped := &balanced[T]{frame: side.frame, inner: side.inner, factors: side.factors, operand: side.operand, transposed: side.transposed}
			other := mapped.LogTransform(dense.Matrix[T]{}, x)
			for _, i := range []int{0, 1, 63, 64, 1024, absorbedRows - 1, absorbedRows, n - 1} {
				want, sizes := logOptimal(fit, scale, w.Frequencies(), x.Row(i))
				for j, v := range want {
					// Sums of d products of three, twice, and the last operations.
					tolerance := (2*d + 8) * densetest.Roundoff[T]() * sizes[j]
					assert.InDelta(t, v, float64(got.At(i, j)), tolerance, "%s, absorbed (%d, %d)", side.name, i, j)
					assert.InDelta(t, v, float64(other.At(i, j)), tolerance, "%s, mapped (%d, %d)", side.name, i, j)
					assert.InEpsilon(t, math.Exp(float64(got.At(i, j))), float64(phi.At(i, j)), 4*densetest.Roundoff[T](), "%s (%d, %d)", side.name, i, j)
				}
			}
			fit.Query, fit.Key = fit.Key, fit.Query
		}
	}
}

// sides returns the maps of queries and keys.
func sides[T dense.Float](m Map[T]) []*balanced[T] {
	return []*balanced[T]{m.(*side[T]).Map.(*balanced[T]), Keys(m).(*side[T]).Map.(*balanced[T])}
}

func fitOf[T dense.Float](t *testing.T, name string, w orf.Projection[T], x, y dense.Matrix[T], scale float64) Fitting {
	fit, err := FitOf(name, w, x, y, scale)
	require.NoError(t, err)
	return fit
}

// logOptimal returns the logarithms of the features of SoftmaxOptimal at Px, and
// the sums of the magnitudes of their terms.
func logOptimal[T dense.Float](e Fitting, scale float64, w dense.Matrix[T], x []T) (logs, sizes []float64) {
	level, size := 0.0, 0.0
	mapped, bound := make([]float64, len(x)), make([]float64, len(x))
	for l := range x {
		for j, v := range x {
			mapped[l] += e.Query.At(l, j) * float64(v)
			bound[l] += math.Abs(e.Query.At(l, j) * float64(v))
		}
		level -= scale / 2 * mapped[l] * mapped[l]
		size += scale * bound[l] * bound[l]
	}
	for k := range w.Rows {
		v := level + float64(len(x))/4*math.Log(1-4*e.A) - math.Log(float64(w.Rows))/2
		s := 1 + size + math.Abs(v-level)
		for l, u := range w.Row(k) {
			v += e.A*float64(u)*float64(u) + math.Sqrt((1-4*e.A)*scale)*float64(u)*mapped[l]
			s += math.Abs(e.A)*float64(u)*float64(u) + math.Sqrt((1-4*e.A)*scale)*math.Abs(float64(u))*bound[l]
		}
		logs, sizes = append(logs, v), append(sizes, s)
	}
	return logs, sizes
}

// undrawn forgets what a projection is.
type undrawn struct{ orf.Projection[float32] }

// What has structure keeps it, and what would leave the range of the type is not absorbed.
func TestWhatIsAbsorbed(t *testing.T) {
	const m, d = 6, 4
	x, y := uniform[float32](30, d), uniform[float32](20, d)
	large, small := uniform[float32](30, d), uniform[float32](20, d)
	for i := range large.Data {
		large.Data[i] *= 1 << 62
	}
	for i := range small.Data {
		small.Data[i] /= 1 << 62
	}
	src := rand.NewPCG(1, 2)
	must := func(w orf.Projection[float32], err error) orf.Projection[float32] {
		require.NoError(t, err)
		return w
	}
	iid := must(orf.Draw[float32](orf.IID{}, m, d, src))
	for name, make := range sharpened[float32]() {
		for kind, c := range map[string]struct {
			w        orf.Projection[float32]
			x, y     dense.Matrix[float32]
			absorbed bool
		}{
			"iid":          {iid, x, y, true},
			"Gram–Schmidt": {must(orf.Draw[float32](orf.GramSchmidt{}, m, d, src)), x, y, true},
			"Halton":       {must(orf.Draw[float32](orf.Halton{}, m, d, src)), x, y, true},
			"given":        {must(orf.FromMatrix(iid.Frequencies())), x, y, true},
			"Hadamard":     {must(orf.Draw[float32](orf.Hadamard{}, m, d, src)), x, y, false},
			"Givens":       {must(orf.Draw[float32](orf.Givens{}, m, d, src)), x, y, false},
			"undrawn":      {undrawn{iid}, x, y, false},
			"out of range": {iid, large, small, false},
		} {
			f, err := make(c.w, c.x, c.y, 1)
			require.NoError(t, err, "%s, %s", name, kind)
			for _, side := range sides(f) {
				assert.Equal(t, c.absorbed, side.absorbed != nil, "%s, %s", name, kind)
			}
		}
	}
}

// uniform returns an r×c matrix of numbers between −1 and 1.
func uniform[T dense.Float](r, c int) dense.Matrix[T] {
	rng, x := rand.New(rand.NewPCG(3, 4)), dense.New[T](r, c)
	for i := range x.Data {
		x.Data[i] = T(2*rng.Float64() - 1)
	}
	return x
}
