package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// rowMap is the map of a function of rows, for features that rff does not have.
type rowMap[T dense.Float] struct {
	in, out int
	row     func(phi, x []T)
}

func (m rowMap[T]) Dims() (in, out int) { return m.in, m.out }

func (m rowMap[T]) Kernel() kernels.Kernel { return kernels.DotProduct{} }

func (m rowMap[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, m.out)
	for i := range x.Rows {
		m.row(dst.Row(i), x.Row(i))
	}
	return dst
}

// logRowMap is a rowMap of logarithms.
type logRowMap[T dense.Float] struct{ rowMap[T] }

func (m logRowMap[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return m.rowMap.Transform(dst, x)
}

func (m logRowMap[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = m.LogTransform(dst, x)
	for i := range dst.Rows {
		for f, v := range dst.Row(i) {
			dst.Row(i)[f] = T(math.Exp(float64(v)))
		}
	}
	return dst
}

// logReLU is the positive map of the features max(0, x_f), many of them zero.
func logReLU[T dense.Float](d int) rff.Map[T] {
	return logRowMap[T]{rowMap[T]{in: d, out: d, row: func(phi, x []T) {
		for f, v := range x {
			if v <= 0 {
				v = 0
			}
			phi[f] = T(math.Log(float64(v)))
		}
	}}}
}

// reLU is logReLU without logarithms.
func reLU[T dense.Float](d int) rff.Map[T] {
	return rowMap[T]{in: d, out: d, row: func(phi, x []T) {
		for f, v := range x {
			if v <= 0 {
				v = 0
			}
			phi[f] = v
		}
	}}
}

// namedMap is one of the maps that every form must be right for.
type namedMap[T dense.Float] struct {
	name string
	rff.Map[T]
}

// positiveMaps returns the LogMaps of rff on R^d.
func positiveMaps[T dense.Float](d int) []namedMap[T] {
	iid := must.Have(orf.Draw[T](orf.IID{}, 32, d, densetest.Source(2)))
	return []namedMap[T]{
		{"positive iid", must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 0.5}, iid))},
		{"positive orf", maptest.Positive[T](32, d)},
		{"hyperbolic", must.Have(rff.Draw(rff.SoftmaxHyperbolic{Scale: 1}, maptest.Frequencies[T](16, d)))},
		{"elu", must.Have(rff.Draw[T](rff.ELU{D: d}, nil))},
		{"centred", maptest.Centred(must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 0.5}, iid)))},
	}
}

// maps returns every kind of map on R^d.
func maps[T dense.Float](d int) []namedMap[T] {
	w := maptest.Frequencies[T](32, d)
	landmarks := densetest.Normal[T](rand.New(densetest.Source(3)), 6, d, 0.4, 0.3)
	return append(positiveMaps[T](d),
		namedMap[T]{"log relu", logReLU[T](d)},
		namedMap[T]{"relu", reLU[T](d)},
		namedMap[T]{"identity", must.Have(rff.Draw[T](rff.Identity{D: d}, nil))},
		namedMap[T]{"dot product", must.Have(rff.Draw(rff.DotProduct{}, w))},
		namedMap[T]{"gaussian", must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w))},
		namedMap[T]{"laplacian", must.Have(rff.Draw(rff.Laplacian{LengthScale: 4}, must.Have(orf.Draw[T](orf.Cauchy{}, 32, d, densetest.Source(5)))))},
		namedMap[T]{"matern", must.Have(rff.Draw(rff.Matern{Nu: 1.5, LengthScale: 2, Src: densetest.Source(6)}, w))},
		namedMap[T]{"softmax trig", must.Have(rff.Draw(rff.SoftmaxTrig{Scale: 1}, w))},
		namedMap[T]{"angular", must.Have(rff.Draw(rff.Angular{}, w))},
		namedMap[T]{"arc-cosine", must.Have(rff.Draw(rff.ArcCosine{}, w))},
		namedMap[T]{"quadratic", must.Have(rff.Draw[T](rff.Quadratic{D: d}, nil))},
		namedMap[T]{"nystroem", must.Have(rff.Nystroem[T](kernels.Gaussian{}, landmarks))},
		namedMap[T]{"spectral", must.Have(rff.Spectral[T](kernels.Gaussian{}, landmarks, 4))},
	)
}

// pairOfMaps is a map of queries with the map of keys that it names.
type pairOfMaps[T dense.Float] struct {
	rff.Map[T]
	keys rff.Map[T]
}

func (p pairOfMaps[T]) Keys() rff.Map[T] { return p.keys }

// attention returns attention with one map for queries and keys.
func attention[T dense.Float](m rff.Map[T], opts performer.LinearOptions) performer.Linear[T] {
	return must.Have(performer.NewLinear(m, opts))
}

// Every map that is supposed to go through logarithms does.
func TestPositiveMapsAreLogMaps(t *testing.T) {
	for _, m := range positiveMaps[float32](4) {
		require.True(t, performer.InsideOf(attention(m.Map, performer.LinearOptions{})).Engine.Logs, m.name)
	}
}
