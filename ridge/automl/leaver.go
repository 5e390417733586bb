package automl

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

func (s *search) classes(b ridge.Block[float64], at space, k kernels.Kernel, ratio float64) (learnt, error) {
	rows, err := collect(s.ctx, view[float64]{b, s.Classes, s.ClassWeights, nil})
	if err != nil {
		return learnt{}, err
	}
	l, err := s.regression(rows, at, k, ratio)
	if err != nil {
		return l, err
	}
	known := func(i int) bool { return !math.IsNaN(l.left.At(i, 0)) }
	held := pick(rows, known)
	left := pick(ridge.Block[float64]{X: rows.X, Y: l.left, Weights: rows.Weights}, known).Y
	l.classifier, l.score, err = l.model.Classifier(held.Y, held.Weights, left, nil)
	l.score = -l.score
	return l, err
}

// byGroup chooses λ by the errors at left-out groups, and returns these errors of the rows of b and
// minus their mean square. Rows without an error have NaN.
func (s *search) byGroup(phi rff.Map[float64], b ridge.Block[float64]) (ratio, score float64, left dense.Matrix[float64], err error) {
	unit, forward, n := s.group, s.Forward, b.X.Rows
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if forward {
		unit = foldsOfGroups(s.group, forwardFolds, true)
		if slices.Max(unit) < 0 { // half of the rows have the last time
			times := slices.Compact(slices.Sorted(slices.Values(s.group)))
			for i, t := range s.group {
				unit[i] = slices.Index(times, t) - 1
			}
		}
		if slices.Max(unit) < 0 { // one time
			unit, forward = slices.Clone(order), false
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(unit[i], unit[j]) })
	l := leaver{ctx: s.ctx, forward: forward, gram: dense.New[float64](n, n), y: layout.Rows(b.Y, order)}
	for _, i := range order {
		l.weights, l.unit = append(l.weights, b.Weights[i]), append(l.unit, unit[i])
	}
	features := phi.Transform(dense.Matrix[float64]{}, layout.Rows(b.X, order))
	if err := interrupt.Await(s.ctx, func() { matmul.MulT(1, features, features, 0, l.gram) }); err != nil {
		return 0, 0, left, err
	}
	scale := 0.0
	for i, w := range l.weights {
		scale += w * l.gram.At(i, i) / float64(n)
	}
	if !(scale > 0) {
		return 0, 0, left, errors.New("the features are 0 at all rows")
	}
	best, least := *s.power, math.Inf(1)
	try := func(power int) bool {
		errs, loss, failed := l.errors(math.Ldexp(scale, power))
		if err = cmp.Or(err, failed); failed != nil || !(loss < least) {
			return false
		}
		best, least, left = power, loss, errs
		return true
	}
	try(best)
	for _, step := range []int{2, -2} {
		for at := best + step; at >= -24 && at <= 12 && try(at); at += step {
		}
	}
	*s.power = best
	if left.Rows == 0 {
		return 0, 0, left, cmp.Or(s.ctx.Err(), err, errors.New("errors at rows left out are not finite"))
	}
	back := dense.New[float64](n, b.Y.Cols)
	for at, i := range order {
		copy(back.Row(i), left.Row(at))
	}
	return math.Ldexp(scale, best), -least, back, s.ctx.Err()
}

// leaver computes errors at rows left out of fits of kernel ridge regression with an intercept.
// Rows of one unit are neighbours.
type leaver struct {
	ctx     context.Context
	forward bool
	gram, y dense.Matrix[float64]
	weights []float64
	unit    []int
}

// errors returns the errors e at the rows left out, and the mean of w·e². For A = K + λΩ⁻¹ and M =
// A⁻¹ − uuᵀ/(1ᵀu), u = A⁻¹1, the errors of a group g are (M_gg)⁻¹(My)_g. Forward in time, they are
// L_gg(z − b·v)_g for A = LLᵀ, z = L⁻¹y, v = L⁻¹1 and the intercept b of the rows before, because
// the leading part of L is the factor of these rows.
func (l leaver) errors(ratio float64) (e dense.Matrix[float64], loss float64, err error) {
	n, p := l.y.Rows, l.y.Cols
	e = dense.New[float64](n, p)
	gram := l.gram.Clone()
	a, factor, err := gramian.Direct(l.ctx, gram, l.y, l.weights, ratio)
	if err != nil {
		return e, 0, err
	}
	inverse, whole, z := dense.Matrix[float64]{}, 0.0, dense.New[float64](n, p+1)
	if l.forward {
		for i := range n {
			copy(z.Row(i), l.y.Row(i))
			z.Set(i, p, 1)
		}
		factor.Half(l.ctx, z)
	} else {
		inverse = dense.New[float64](n, n)
		if err := factor.Invert(l.ctx, func(lo int, columns dense.Matrix[float64]) {
			dense.Copy(inverse.ColRange(lo, lo+columns.Cols), columns)
		}); err != nil {
			return e, 0, err
		}
		for i := range n {
			whole += a.At(i, p)
		}
	}
	total := 0.0
	for lo, hi := 0, 0; lo < n; lo = hi {
		for hi = lo; hi < n && l.unit[hi] == l.unit[lo]; hi++ {
		}
		own := e.RowRange(lo, hi)
		switch {
		case l.forward && l.unit[lo] < 0:
			for i := range own.Data {
				own.Data[i] = math.NaN()
			}
			continue
		case l.forward:
			ahead(own, gram, z, lo)
		default:
			dense.Copy(own, a.RowRange(lo, hi).ColRange(0, p))
			columns, m := inverse.RowRange(lo, n).ColRange(lo, hi), dense.New[float64](hi-lo, hi-lo)
			matmul.TMul(1, columns, columns, 0, m)
			for i := range m.Rows {
				for j := range m.Cols {
					m.Row(i)[j] -= a.At(lo+i, p) * a.At(lo+j, p) / whole
				}
			}
			of, err := cholesky.New(l.ctx, m)
			if err != nil {
				return e, 0, err
			}
			of.Solve(own)
		}
		for i, w := range l.weights[lo:hi] {
			loss += w * meanSquare(own.Row(i))
			total += w
		}
	}
	return e, loss / total, nil
}

// ahead writes the errors at the rows from lo on of fits to the rows before. r is the upper
// triangle Lᵀ, and z is L⁻¹(y, 1).
func ahead(e, r, z dense.Matrix[float64], lo int) {
	p := e.Cols
	for j := range p {
		b, squares := 0.0, 0.0
		for i := range lo {
			v := z.At(i, p)
			b += v * z.At(i, j)
			squares += v * v
		}
		b /= squares
		for i := range e.Rows {
			sum := 0.0
			for k := lo; k <= lo+i; k++ {
				sum += r.At(k, lo+i) * (z.At(k, j) - b*z.At(k, p))
			}
			e.Set(i, j, sum)
		}
	}
}
