package automl

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/compute/agop"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

type family struct {
	name  string
	curve curve // of columns; nil for columns as they are
	fixed bool  // the kernel is space.kernel

	// applies reports whether the family can learn the points x, and classes or, for 0, numbers.
	applies func(x dense.Matrix[float64], classes int) bool

	// start is the first length-scale to try, and ratio is λ, or 0 to choose it.
	space func(s *mixtureSearch, b ridge.Block[float64]) (at space, start, ratio float64, err error)
}

const mostMetric = 300

var everyFamily = []family{
	{"linear", nil, true, always, linear(deviations)},
	{"linear, ranks", ranks, true, severalValues, linear(pairs)},
	{"sparse linear", nil, true, func(x dense.Matrix[float64], classes int) bool {
		n, d := float64(x.Rows), float64(x.Cols)
		return classes == 0 && fewRows(x.Rows, x.Cols) && n*n*d <= 1e8
	}, sparse},
	{"one length-scale", nil, false, always, scaledColumns(deviations)},
	{"one length-scale, columns in equal units", nil, false, func(x dense.Matrix[float64], _ int) bool { return x.Cols > 1 && equalUnits(x) }, scaledColumns(equal)},
	{"one length-scale, 0 and 1 as they are", nil, false, func(x dense.Matrix[float64], _ int) bool { return x.Cols > 1 && !equalUnits(x) && anyPair(x) }, scaledColumns(pairs)},
	{"one length-scale, ranks", ranks, false, severalValues, scaledColumns(pairs)},
	{"one length-scale, squashed", squashed, false, severalValues, scaledColumns(pairs)},
	{"boxes", nil, true, func(x dense.Matrix[float64], _ int) bool { return x.Cols <= mostMetric }, boxes},
	{"a length-scale a column", nil, false, func(x dense.Matrix[float64], classes int) bool { return classes == 0 && severalScales(x) }, ownScales},
	{"diagonal metric", nil, false, func(x dense.Matrix[float64], classes int) bool { return classes > 0 && severalScales(x) }, learntMetric(2, true)},
	{"full metric", nil, false, func(x dense.Matrix[float64], _ int) bool { return severalScales(x) && x.Cols <= x.Rows/5 }, learntMetric(3, false)},
}

// severalValues reports whether a column has more than two values.
func severalValues(x dense.Matrix[float64], _ int) bool {
	return anyColumn(x, func(low, high float64, pair bool) bool { return low < high && !pair })
}

// linear returns the function of a family of linear functions of columns with the units.
func linear(u units) func(s *mixtureSearch, b ridge.Block[float64]) (space, float64, float64, error) {
	return func(_ *mixtureSearch, b ridge.Block[float64]) (space, float64, float64, error) {
		at, err := standardised(b.X, u)
		at.kernel = kernels.DotProduct{}
		return at, 0, 0, err
	}
}

func always(dense.Matrix[float64], int) bool { return true }

func severalScales(x dense.Matrix[float64]) bool { return x.Cols > 1 && x.Cols <= mostMetric }

func fewRows(n, d int) bool { return n < 3*d }

func scaledColumns(u units) func(s *mixtureSearch, b ridge.Block[float64]) (space, float64, float64, error) {
	return func(_ *mixtureSearch, b ridge.Block[float64]) (space, float64, float64, error) {
		at, err := standardised(b.X, u)
		if err != nil {
			return at, 0, 0, err
		}
		z, err := at.points(b.X)
		return at, distance(z), 0, err
	}
}

func ownScales(s *mixtureSearch, b ridge.Block[float64]) (at space, start, ratio float64, err error) {
	if at, err = standardised(b.X, deviations); err != nil {
		return at, 0, 0, err
	}
	if b.X, err = at.points(b.X); err != nil {
		return at, 0, 0, err
	}
	defer func(power int) { s.power = power }(s.power) // the start of other families
	k, _, err := s.likelyLength(b, distance(b.X), []float64{0.25, 0.5, 1, 2})
	if err != nil {
		return at, 0, 0, err
	}
	found, err := gramian.LearnScales(s.ctx, k, b.X, b.Y, b.Weights, true, false, func(x, y dense.Matrix[float64], weights []float64) (float64, error) {
		_, _, err := s.likeliest(k, x, y, weights)
		return math.Ldexp(stat.Mean(weights, nil), s.power), err
	})
	for j, l := range found.Logs {
		at.factors[j] *= math.Exp(-l)
	}
	at.ratio = found.Ratio
	return at, k.LengthScale, 0, err
}

// learntMetric learns L from the average outer product of gradients of a fit, and fits again, for
// some rounds [Radhakrishnan et al. 2024].
func learntMetric(rounds int, diagonal bool) func(s *mixtureSearch, b ridge.Block[float64]) (space, float64, float64, error) {
	return func(s *mixtureSearch, b ridge.Block[float64]) (space, float64, float64, error) {
		at, err := standardised(b.X, deviations)
		if err != nil {
			return at, 0, 0, err
		}
		rows := b
		if rows.X, err = at.points(b.X); err != nil {
			return at, 0, 0, err
		}
		at.metric = dense.New[float64](b.X.Cols, b.X.Cols)
		for j := range b.X.Cols {
			at.metric.Set(j, j, 1)
		}
		parts := []float64{0.5, 1, 2}
		for range rounds {
			best, err := s.improve(at.metric, rows, diagonal, parts)
			if err != nil {
				return at, 0, 0, err
			}
			if b.X.Rows > racedRows {
				parts = []float64{best}
			}
		}
		z, err := at.points(b.X)
		return at, distance(z) / 2, 0, err
	}
}

// improve replaces the metric L by (M/‖M‖ + 10⁻⁴I)^½, where M is the mean of ∇f∇fᵀ over rows and
// outputs, for the f of most evidence among length-scales, which are parts of the usual one. The
// points x of b are standardised, and f is a function of z = L·x, so that ∇f = Lᵀ·∂f/∂z. It returns
// the part of f.
func (s *mixtureSearch) improve(metric dense.Matrix[float64], b ridge.Block[float64], diagonal bool, parts []float64) (best float64, err error) {
	d := b.X.Cols
	var z mat.Dense
	l := gonum.ToMat(metric)
	z.Mul(gonum.ToMat(b.X), l.T())
	b.X = gonum.FromMat[float64](&z)
	usual := distance(b.X)
	k, weights, err := s.likelyLength(b, usual, parts)
	if err != nil {
		return 0, err
	}
	m, err := s.outerProduct(k, b.X, weights)
	if err != nil {
		return 0, err
	}
	var turned, full mat.Dense
	turned.Mul(l.T(), m)
	full.Mul(&turned, l)
	for i := range d {
		for j := range i + 1 {
			m.SetSym(i, j, full.At(i, j))
			if diagonal && j < i {
				m.SetSym(i, j, 0)
			}
		}
	}
	root, err := agop.Metric(s.ctx, m)
	if err != nil {
		return 0, err
	}
	dense.Copy(metric, root)
	return k.LengthScale / usual, nil
}

// likelyLength returns the Gaussian kernel of most evidence among parts of the usual length-scale,
// and the weights of the fit.
func (s *mixtureSearch) likelyLength(b ridge.Block[float64], usual float64, parts []float64) (k kernels.Gaussian, weights dense.Matrix[float64], err error) {
	most := math.Inf(-1)
	for _, part := range parts {
		at := kernels.Gaussian{LengthScale: part * usual}
		a, score, err := s.likeliest(at, b.X, b.Y, b.Weights)
		if err != nil {
			return k, weights, err
		}
		if score > most {
			k, weights, most = at, a, score
		}
	}
	return k, weights, nil
}
