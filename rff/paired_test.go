package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// SADERF and ADERF give the logarithms that the formula has, to rounding, in all blocks of rows.
func TestPairsAreTheFormula(t *testing.T) {
	densetest.Both(t, testPairs[float32], testPairs[float64])
}

func testPairs[T dense.Float](t *testing.T) {
	const m, d, n, scale = 7, 3, 600, 1.5
	w := must.Have(orf.Draw[T](orf.GramSchmidt{}, m, d, rand.NewPCG(1, 2)))
	x, y := uniform[T](n, d), uniform[T](50, d)
	for i := range n {
		x.Set(i, 1, 3*x.At(i, 0)+x.At(i, 1))
	}
	for _, s := range pairedSpecs(x.RowRange(0, 60), y, scale) {
		f, fit := must.Have(rff.Draw(s, w)), fitOf(s)
		for _, side := range []rff.Map[T]{f, rff.Keys(f)} {
			got, phi := logs(side).LogTransform(dense.Matrix[T]{}, x), side.Transform(dense.Matrix[T]{}, x)
			for _, i := range []int{0, 1, 63, 64, 255, 256, n - 1} {
				want, sizes := logOptimal(fit, scale, w.Frequencies(), x.Row(i))
				for j, v := range want {
					// Sums of d products of three, twice, and the last operations.
					tolerance := (2*d + 8) * densetest.Roundoff[T]() * sizes[j]
					assert.InDelta(t, v, float64(got.At(i, j)), tolerance, "%v (%d, %d)", side, i, j)
					assert.InEpsilon(t, math.Exp(float64(got.At(i, j))), float64(phi.At(i, j)), 4*densetest.Roundoff[T](), "%v (%d, %d)", side, i, j)
				}
			}
			fit.query, fit.key = fit.key, fit.query
		}
	}
}

// pairedSpecs are the maps of linearly mapped points, fitted to samples.
func pairedSpecs[T dense.Float](x, y dense.Matrix[T], scale float64) []rff.Spec {
	return []rff.Spec{must.Have(rff.FitSADERF(x, y, scale)), must.Have(rff.FitADERF(x, y, scale))}
}

// fitting is what a Spec maps points by, and its damping.
type fitting struct {
	a          float64
	query, key dense.Matrix[float64]
}

// fitOf returns the fitting of SADERF or ADERF; of SDERF its basis.
func fitOf(s rff.Spec) fitting {
	switch s := s.(type) {
	case rff.SADERF:
		d := len(s.Psi)
		f := fitting{s.A, dense.New[float64](d, d), dense.New[float64](d, d)}
		for l, v := range s.Psi {
			f.query.Set(l, l, v)
			f.key.Set(l, l, 1/v)
		}
		return f
	case rff.ADERF:
		return fitting{s.A, s.Query, s.Key}
	}
	basis := s.(rff.SDERF).Basis
	return fitting{0, basis, basis}
}

// logOptimal returns the logarithms of the features of SoftmaxOptimal at Px, and
// the sums of the magnitudes of their terms.
func logOptimal[T dense.Float](e fitting, scale float64, w dense.Matrix[T], x []T) (logs, sizes []float64) {
	level, size := 0.0, 0.0
	mapped, bound := make([]float64, len(x)), make([]float64, len(x))
	for l := range x {
		for j, v := range x {
			mapped[l] += e.query.At(l, j) * float64(v)
			bound[l] += math.Abs(e.query.At(l, j) * float64(v))
		}
		level -= scale / 2 * mapped[l] * mapped[l]
		size += scale * bound[l] * bound[l]
	}
	for k := range w.Rows {
		v := level + float64(len(x))/4*math.Log(1-4*e.a) - math.Log(float64(w.Rows))/2
		s := 1 + size + math.Abs(v-level)
		for l, u := range w.Row(k) {
			v += e.a*float64(u)*float64(u) + math.Sqrt((1-4*e.a)*scale)*float64(u)*mapped[l]
			s += math.Abs(e.a)*float64(u)*float64(u) + math.Sqrt((1-4*e.a)*scale)*math.Abs(float64(u))*bound[l]
		}
		logs, sizes = append(logs, v), append(sizes, s)
	}
	return logs, sizes
}

// uniform returns an r×c matrix of numbers between −1 and 1.
func uniform[T dense.Float](r, c int) dense.Matrix[T] {
	rng, x := rand.New(rand.NewPCG(3, 4)), dense.New[T](r, c)
	for i := range x.Data {
		x.Data[i] = T(2*rng.Float64() - 1)
	}
	return x
}
