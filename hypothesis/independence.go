package hypothesis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/rff"
)

// Independence tests whether two variables are independent, where row i of x (n×d) and row i of y
// (n×e) are a pair of values. The test of Independence is by permutations of the Hilbert–Schmidt
// independence criterion (HSIC) of the features φ = phi of x and ψ = psi of y, with φ̃ and ψ̃ for
// features minus means [Gretton et al. 2005, 2007]:
//
//	Statistic  ‖1/n·Σφ̃_iψ̃_iᵀ‖²,  the biased estimate of HSIC, tr(KHLH)/n²,
//	Unbiased   [ ‖Σφ̃ψ̃ᵀ‖² + ab/((n−1)(n−2)) − nc/(n−2) ] / (n(n−3)),
//	           a = Σ‖φ̃_i‖², b = Σ‖ψ̃_i‖², c = Σ‖φ̃_i‖²‖ψ̃_i‖² [Song et al. 2012].
//
// If x and y are independent, and the rows of x or the rows of y are exchangeable, then the p-value
// p of Independence has P(p ≤ α) ≤ α for every number of rows, features and permutations. For
// Independence, the feature map phi may be learnt from x, and the feature map psi from y, but
// neither map from both samples.
//
// With n ≤ Options.Cells rows, Independence draws all permutations with equal probabilities, for
// B·n·D·E multiply-adds with B permutations, D features of phi and E of psi. If n > Options.Cells,
// Independence divides n rows at random into some √Options.Cells cells, and each permutation shifts
// the rows of y in each cell cyclically. Mostly 50 features of each map suffice for Independence:
// package components makes few features of many.
//
// Independence returns an error for fewer than 4 rows, different numbers of rows in x and y, a
// number of columns that does not fit the map, and options out of range.
func Independence[T dense.Float](ctx context.Context, phi, psi rff.Map[T], x, y dense.Matrix[T], o Options, src rand.Source) (Result, error) {
	if err := argument.Context("hypothesis", ctx); err != nil {
		return Result{}, err
	}
	o, err := o.checked()
	if err != nil {
		return Result{}, err
	}
	p := &pairs[T]{ctx: ctx}
	for i, s := range []struct {
		name string
		phi  rff.Map[T]
		x    dense.Matrix[T]
	}{{"phi", phi, x}, {"psi", psi, y}} {
		d, width, err := dims(s.name, s.phi)
		if err != nil {
			return Result{}, err
		}
		if err := checkSample([...]string{"x", "y"}[i], s.x, d, src); err != nil {
			return Result{}, err
		}
		p.sides[i] = side[T]{name: [...]string{"x", "y"}[i], phi: s.phi, x: s.x, mean: newGroup(width)}
	}
	n := x.Rows
	if n != y.Rows || n < 4 {
		return Result{}, fmt.Errorf("hypothesis: x has %d rows and y %d, want the same number, at least 4", n, y.Rows)
	}
	if err := limit.Memory[float64](64, p.width(0), p.width(1)); err != nil {
		return Result{}, fmt.Errorf("hypothesis: products of %d and %d features: %w", p.width(0), p.width(1), err)
	}
	rng := rand.New(src)
	p.order = rng.Perm(n)
	if err := p.findMeans(); err != nil {
		return Result{}, err
	}
	var norms []float64
	if n <= o.Cells {
		norms, err = p.permuted(rng, o.Draws)
	} else {
		norms, err = p.rotated(rng, o.Draws, o.Cells)
	}
	if err != nil {
		return Result{}, err
	}
	observed := norms[0]
	count := 0
	for _, v := range norms {
		if v >= observed-p.tolerance() {
			count++
		}
	}
	size, square := float64(n), observed*observed
	unbiased := (square + p.a*p.b/((size-1)*(size-2)) - p.c*size/(size-2)) / (size * (size - 3))
	e := 2 * (p.sides[0].exponent + p.sides[1].exponent)
	return Result{
		P: float64(count) / float64(1+o.Draws), Draws: o.Draws,
		Statistic: math.Ldexp(square/(size*size), e), Unbiased: math.Ldexp(unbiased, e),
	}, nil
}

// pairs divides features by a power of two, so that squares neither overflow nor all underflow.
type pairs[T dense.Float] struct {
	ctx     context.Context
	sides   [2]side[T]
	order   []int
	a, b, c float64 // Σ‖φ‖², Σ‖ψ‖², Σ‖φ‖²‖ψ‖² about the means
	norms   float64 // Σ‖φ‖‖ψ‖
}

type side[T dense.Float] struct {
	name     string
	phi      rff.Map[T]
	x        dense.Matrix[T]
	mean     *group
	exponent int // of the largest feature
}

func (p *pairs[T]) width(i int) int { return len(p.sides[i].mean.mean) }

func (p *pairs[T]) tolerance() float64 {
	n := float64(len(p.order))
	means := norm(p.sides[0].mean.mean)*math.Sqrt(n*p.b) + norm(p.sides[1].mean.mean)*math.Sqrt(n*p.a)
	return 0x1p-45*p.norms + 0x1p-50*means
}

func (p *pairs[T]) findMeans() error {
	for i := range p.sides {
		s, peak := &p.sides[i], 0.0
		for lo, hi := range interrupt.Ranges(p.ctx, s.x.Rows, blockRows) {
			phi := s.phi.Transform(dense.Matrix[T]{}, s.x.RowRange(lo, hi))
			if err := checkFeatures(s.name, phi, func(i int) int { return lo + i }); err != nil {
				return err
			}
			for i := range phi.Rows {
				addRow(s.mean, phi.Row(i))
				for _, v := range phi.Row(i) {
					peak = max(peak, math.Abs(float64(v)))
				}
			}
		}
		if err := argument.FiniteAll("hypothesis: scale the rows: mean feature of "+s.name, s.mean.mean); err != nil {
			return err
		}
		_, s.exponent = math.Frexp(peak)
		scale(s.mean.mean, s.exponent)
	}
	return p.ctx.Err()
}

// scale divides x by 2^e, without rounding.
func scale(x []float64, e int) {
	for i, v := range x {
		x[i] = math.Ldexp(v, -e)
	}
}

// features returns the features minus their means, of rows lo to hi in the random order, and adds
// the rows to a, b, c and norms. After the end of the context some features are missing.
func (p *pairs[T]) features(lo, hi int) (both [2]dense.Matrix[float64]) {
	for i, s := range p.sides {
		both[i] = dense.New[float64](hi-lo, p.width(i))
		for from, to := range interrupt.Ranges(p.ctx, hi-lo, blockRows) {
			part := both[i].RowRange(from, to)
			dense.Copy(part, s.phi.Transform(dense.Matrix[T]{}, layout.Rows(s.x, p.order[lo+from:lo+to])))
			for l := range part.Rows {
				scale(part.Row(l), s.exponent)
				vecmath.AddScaled(part.Row(l), s.mean.mean, -1)
			}
		}
	}
	for l := range hi - lo {
		u, v := both[0].Row(l), both[1].Row(l)
		a, b := vecmath.Dot(u, u), vecmath.Dot(v, v)
		p.a += a
		p.b += b
		p.c += a * b
		p.norms += math.Sqrt(a) * math.Sqrt(b)
	}
	return both
}

func (p *pairs[T]) addProduct(x, y dense.Matrix[float64], beta float64, c dense.Matrix[float64]) {
	columns := max(1, int(0x1p27/float64(max(1, x.Rows))/float64(y.Cols)))
	for lo, hi := range interrupt.Ranges(p.ctx, x.Cols, columns) {
		matmul.TMul(1, x.ColRange(lo, hi), y, beta, c.RowRange(lo, hi))
	}
}

// Draw 0 is the data. f(b, c) writes the product of draw b to c.
func (p *pairs[T]) productNorms(draws int, f func(b int, c dense.Matrix[float64])) ([]float64, error) {
	norms := make([]float64, draws+1)
	parallel.Rows(len(norms), 8, func(lo, hi int) {
		c := dense.New[float64](p.width(0), p.width(1))
		for b := lo; b < hi && p.ctx.Err() == nil; b++ {
			f(b, c)
			norms[b] = norm(c.Data)
		}
	})
	return norms, p.ctx.Err()
}

func (p *pairs[T]) permuted(rng *rand.Rand, draws int) ([]float64, error) {
	n := len(p.order)
	both := p.features(0, n)
	// Each draw has its own seed, so that goroutines may compute the draws in any order.
	seeds := make([]uint64, draws+1)
	for b := range seeds {
		seeds[b] = rng.Uint64()
	}
	return p.productNorms(draws, func(b int, c dense.Matrix[float64]) {
		moved := both[1]
		if b > 0 {
			moved = dense.New[float64](n, p.width(1))
			order := rand.New(rand.NewPCG(seeds[b], 0)).Perm(n)
			for lo, hi := range interrupt.Ranges(p.ctx, n, 1<<14) {
				for i := lo; i < hi; i++ {
					copy(moved.Row(i), both[1].Row(order[i]))
				}
			}
		}
		p.addProduct(both[0], moved, 0, c)
	})
}

func (p *pairs[T]) rotated(rng *rand.Rand, draws, cells int) ([]float64, error) {
	const numbers = 1 << 25 // 256 MB
	d, e := p.width(0), p.width(1)
	k := max(8, int(math.Sqrt(float64(min(cells, numbers/d/e)))))
	n := len(p.order)
	step := n / (k * k)
	products := make([]dense.Matrix[float64], k*k) // of a cell, for each rotation
	for cell := range k {
		rows := k * step
		both := p.features(cell*rows, (cell+1)*rows)
		parallel.Pieces(k, func(s int) {
			m := dense.New[float64](d, e)
			at := s * step
			p.addProduct(both[0].RowRange(0, rows-at), both[1].RowRange(at, rows), 0, m)
			p.addProduct(both[0].RowRange(rows-at, rows), both[1].RowRange(0, at), 1, m)
			products[cell*k+s] = m
		})
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
	}
	fixed := dense.New[float64](d, e)
	rest := p.features(k*k*step, n)
	p.addProduct(rest[0], rest[1], 0, fixed)
	rotations := make([]uint16, (draws+1)*k)
	for i := range rotations[k:] {
		rotations[k+i] = uint16(rng.IntN(k))
	}
	return p.productNorms(draws, func(b int, c dense.Matrix[float64]) {
		dense.Copy(c, fixed)
		for cell, s := range rotations[b*k : (b+1)*k] {
			vecmath.AddScaled(c.Data, products[cell*k+int(s)].Data, 1)
		}
	})
}
