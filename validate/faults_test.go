package validate_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// fault is a wrong implementation beside the right implementation.
type fault struct {
	name         string
	wrong, right lawCase[float64]
	size         size
	points       func(d int) (p points[float64], draws int)
	seen         func(d deviation) float64
}

// inMean, inMSE and inSquares return the part of a deviation that shows a fault.
func inMean(d deviation) float64    { return d.mean }
func inMSE(d deviation) float64     { return d.mse }
func inSquares(d deviation) float64 { return d.squares }

// The check of TestEstimatesFollowTheLaws must fail with each fault and pass without it. With other
// seeds one of the 22 comparisons that must pass would fail with a probability of 0.15 %.
func TestPlantedFaultsAreCaught(t *testing.T) {
	t.Parallel()
	haar := with[float64](orf.GramSchmidt{})
	positive := lawCase[float64]{project: haar, mapping: of[float64](rff.SoftmaxPositive{Scale: 1}), law: law{mse: mse.Positive.Haar.Softmax}}
	fourier := lawCase[float64]{project: haar, mapping: of[float64](rff.Gaussian{LengthScale: 1}), law: law{mse: mse.Trig.Haar.Gaussian}}
	kinks := lawCase[float64]{project: with[float64](orf.IID{}), mapping: bent[float64](-0.5).over, law: bent[float64](-0.5).law()}
	off := lawCase[float64]{project: haar, mapping: centred(of[float64](rff.SoftmaxPositive{Scale: 1})), law: centredLaw(mse.Positive.Haar.Softmax)}
	near := func(d int) (points[float64], int) { return pairsFor[float64]("", d, 1, lawDraws) }
	far := func(d int) (points[float64], int) { return pairsFor[float64]("", d, 1.5, lawDraws) }

	for i, f := range []fault{
		{"fixed lengths", fourier.over(with[float64](orf.GramSchmidt{FixedLength: true})), fourier, size{8, 8}, far, inMean},
		{"ε in features", positive.through(raised), positive, size{16, 8}, near, inMean},
		{"independent rows", fourier.over(with[float64](orf.IID{})), fourier, size{8, 8}, far, inMSE},
		{"orthogonal rows for independent ones", kinks.over(haar), kinks, size{8, 8}, near, inMSE},
		{"rows of another mean", positive.over(shifted), positive, size{16, 16}, near, inSquares},
		{"no factor for the product of means", off.mapped(incomplete), off, size{16, 8}, near, inMean},
	} {
		t.Run(f.name, func(t *testing.T) {
			seed := uint64(100 * (i + 1))
			p, draws := f.points(f.size.d)
			deviate(t, f.right.draw(f.size), f.right.law, f.size.m, p, draws, seed).check(t, "without the fault")

			wrong := deviate(t, f.wrong.draw(f.size), f.wrong.law, f.size.m, p, draws, seed+50)
			t.Logf("|z| of mean %.1f, of MSE %.1f, z of squares %.1f; measured over exact MSE %.3f", wrong.mean, wrong.mse, wrong.squares, wrong.ratios)
			assert.Greater(t, f.seen(wrong), float64(lawLimit))
		})
	}
}

// over returns the case with another projection.
func (c lawCase[T]) over(p projecting[T]) lawCase[T] {
	c.project = p
	return c
}

// mapped returns the case with other maps.
func (c lawCase[T]) mapped(f func(w orf.Projection[T], src rand.Source) (rff.Map[T], error)) lawCase[T] {
	c.mapping = f
	return c
}

// of returns the case with the features of s and the same kernel.
func (c lawCase[T]) of(s scheme[T]) lawCase[T] {
	right := c.mapping
	c.mapping = func(w orf.Projection[T], src rand.Source) (rff.Map[T], error) {
		m, err := right(w, src)
		if err != nil {
			return nil, err
		}
		return rff.New(rff.Scheme[T]{F: s.f, H: s.h, Kernel: m.Kernel()}, w)
	}
	return c
}

// through returns the case with every map wrapped.
func (c lawCase[T]) through(wrap func(rff.Map[T]) rff.Map[T]) lawCase[T] {
	inner := c.mapping
	c.mapping = func(w orf.Projection[T], src rand.Source) (rff.Map[T], error) {
		m, err := inner(w, src)
		return wrap(m), err
	}
	return c
}

// qr returns Q and R of a d×d matrix of normal variables, and that matrix.
func qr(d int, src rand.Source) (q, r, g *mat.Dense) {
	rng := rand.New(src)
	g = mat.NewDense(d, d, nil)
	for i := range d {
		for j := range d {
			g.Set(i, j, rng.NormFloat64())
		}
	}
	var f mat.QR
	f.Factorize(g)
	q, r = new(mat.Dense), new(mat.Dense)
	f.QTo(q)
	f.RTo(r)
	return q, r, g
}

// shifted moves all rows by a twentieth of a standard deviation along (1, −1, 1, …), so that an
// estimate is too high in some directions and too low by the same amount in opposite directions.
func shifted(m, d int, src rand.Source) (orf.Projection[float64], error) {
	p, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
	if err != nil {
		return nil, err
	}
	w := p.Frequencies()
	for i := range m {
		for j := range d {
			w.Set(i, j, w.At(i, j)+0.05*float64(1-2*(j%2)))
		}
	}
	return orf.FromMatrix(w)
}

// epsilon adds 1e-4 to every feature, as implementations do to avoid zero.
type epsilon struct{ rff.Map[float64] }

func raised(m rff.Map[float64]) rff.Map[float64] { return epsilon{m} }

func (e epsilon) Transform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	dst = e.Map.Transform(dst, x)
	for i := range dst.Rows {
		floats.AddConst(1e-4, dst.Row(i))
	}
	return dst
}

// multiple multiplies all features by a number.
type multiple struct {
	rff.Map[float64]
	by float64
}

func (m multiple) Transform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	dst = m.Map.Transform(dst, x)
	for i := range dst.Rows {
		floats.Scale(m.by, dst.Row(i))
	}
	return dst
}

// incomplete returns a centred map without the constant exp(−bᵀc).
func incomplete(w orf.Projection[float64], src rand.Source) (rff.Map[float64], error) {
	phi, err := centred(of[float64](rff.SoftmaxPositive{Scale: 1}))(w, src)
	if err != nil {
		return nil, err
	}
	b, c := lawMeans(len(w.Frequencies().Row(0)))
	root := math.Exp(floats.Dot(b, c) / 2)
	return pair{multiple{phi, root}, multiple{rff.Keys(phi), root}}, nil
}

// pair is a map of queries with a map of keys.
type pair struct {
	rff.Map[float64]
	keys rff.Map[float64]
}

func (p pair) Keys() rff.Map[float64] { return p.keys }
