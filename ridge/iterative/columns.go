package iterative

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// status is the status of a column.
type status int

const (
	running status = iota // in a round of conjugate gradients
	waiting               // at the end of a round, before its residual is computed again
	solved
)

// columns are systems (S + λI)x = b with one matrix. Each column has its own conjugate gradients.
//
// Conjugate gradients update a residual step by step, and rounding of T makes it differ from the
// true residual. So a round ends when the rounding of T stops its progress. The solver then
// computes the residual in float64, and the next round solves for it: iterative refinement.
type columns struct {
	solution  dense.Matrix[float64] // x: the columns of outputs, then the columns of samples
	residual  dense.Matrix[float64] // b − (S + λI)x
	direction dense.Matrix[float64]
	product   []float64 // rᵀP⁻¹r
	norm      []float64 // ‖r‖ at the beginning of the round
	status    []status
	steps     int  // passes over the rows
	round     int  // passes in the round
	wide      bool // passes use float64
	stalled   bool // a round in float64 has not reduced a residual enough
	lanczos   []lanczos
}

// lanczos has the coefficients of conjugate gradients in the first round of a sample.
type lanczos struct {
	size        float64 // bᵀP⁻¹b
	alpha, beta []float64
	closed      bool // the first round has ended
}

func newColumns(right dense.Matrix[float64], samples int) columns {
	return columns{
		solution: dense.New[float64](right.Rows, right.Cols), residual: right.Clone(),
		direction: dense.New[float64](right.Rows, right.Cols),
		product:   make([]float64, right.Cols), norm: make([]float64, right.Cols), status: slices.Repeat([]status{waiting}, right.Cols),
		lanczos: make([]lanczos, samples),
	}
}

// in returns the indices of the columns with the given status.
func (c *columns) in(s status) []int {
	var list []int
	for j, v := range c.status {
		if v == s {
			list = append(list, j)
		}
	}
	return list
}

// coefficients returns the coefficients of column j if j is a sample in its first round, and nil
// otherwise.
func (c *columns) coefficients(j int) *lanczos {
	if s := j - (len(c.status) - len(c.lanczos)); s >= 0 && !c.lanczos[s].closed {
		return &c.lanczos[s]
	}
	return nil
}

// restart begins a round of all waiting columns. Their residuals are correct.
func (c *columns) restart(p *nystroem) {
	list := c.in(waiting)
	c.round = 0
	r := pick(c.residual, list)
	z := p.solve(r)
	products, squares := dots(r, z), dots(r, r)
	put(c.direction, list, z)
	for i, j := range list {
		c.status[j], c.product[j], c.norm[j] = running, products[i], math.Sqrt(squares[i])
		if l := c.coefficients(j); l != nil && l.size == 0 {
			l.size = products[i]
		}
	}
}

// advance takes a step of conjugate gradients in the listed columns, whose directions are v, with
// av = (S + λI)v. advance returns the norms of the residuals.
func (c *columns) advance(p *nystroem, list []int, v, av dense.Matrix[float64]) []float64 {
	curvatures := dots(v, av)
	alphas, betas := make([]float64, len(list)), make([]float64, len(list))
	for i, j := range list {
		// At the end of a round, rounding may make a curvature negative.
		if curvatures[i] > 0 && c.product[j] > 0 {
			alphas[i] = c.product[j] / curvatures[i]
		}
	}
	x, r := pick(c.solution, list), pick(c.residual, list)
	for f := range v.Rows {
		to, rest, step, change := x.Row(f), r.Row(f), v.Row(f), av.Row(f)
		for i, a := range alphas {
			to[i] += a * step[i]
			rest[i] -= a * change[i]
		}
	}
	put(c.solution, list, x)
	put(c.residual, list, r)
	z := p.solve(r)
	products, squares := dots(r, z), dots(r, r)
	for i, j := range list {
		if alphas[i] > 0 {
			betas[i] = max(0, products[i]) / c.product[j]
			if l := c.coefficients(j); l != nil {
				l.alpha, l.beta = append(l.alpha, alphas[i]), append(l.beta, betas[i])
			}
		}
		c.product[j] = max(0, products[i])
		squares[i] = math.Sqrt(squares[i])
		if alphas[i] == 0 {
			c.end(j)
		}
	}
	for f := range v.Rows {
		step, from := v.Row(f), z.Row(f)
		for i, b := range betas {
			step[i] = from[i] + b*step[i]
		}
	}
	put(c.direction, list, v)
	return squares
}

// end ends the round of column j.
func (c *columns) end(j int) {
	c.status[j] = waiting
	if l := c.coefficients(j); l != nil {
		l.closed = true
	}
}

// finished reports whether all columns are solved.
func (c *columns) finished() bool {
	return !slices.ContainsFunc(c.status, func(s status) bool { return s != solved })
}

// pick returns a copy of the listed columns of x.
func pick(x dense.Matrix[float64], list []int) dense.Matrix[float64] {
	to := dense.New[float64](x.Rows, len(list))
	for i := range x.Rows {
		row, from := to.Row(i), x.Row(i)
		for l, j := range list {
			row[l] = from[j]
		}
	}
	return to
}

// put copies the columns of from into the listed columns of x.
func put(x dense.Matrix[float64], list []int, from dense.Matrix[float64]) {
	for i := range x.Rows {
		row := x.Row(i)
		for l, v := range from.Row(i) {
			row[list[l]] = v
		}
	}
}

// dots returns x_jᵀy_j for the columns j of x and y.
func dots(x, y dense.Matrix[float64]) []float64 {
	sums := make([]float64, x.Cols)
	for i := range x.Rows {
		other := y.Row(i)
		for j, v := range x.Row(i) {
			sums[j] += v * other[j]
		}
	}
	return sums
}
