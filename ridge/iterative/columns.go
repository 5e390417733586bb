package iterative

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// States of a column.
const (
	running = iota // in a round of conjugate gradients
	waiting        // at the end of a round, for its residual to be computed anew
	solved
)

// columns are systems (S + λI)x = b with the same matrix, each with conjugate gradients of its own.
// Exported fields are parts of files.
//
// A round of conjugate gradients updates its residuals, which rounding of T takes away from the
// truth with time. So a round ends where T is exhausted, residuals are computed anew in float64,
// and the next round solves for what is left: iterative refinement.
type columns struct {
	Solution  dense.Matrix[float64] // x, a column each: those of outputs, then those of samples
	Residual  dense.Matrix[float64] // b − (S + λI)x
	Direction dense.Matrix[float64]
	Product   []float64 // rᵀP⁻¹r
	Start     []float64 // ‖r‖ at the beginning of the round
	State     []int
	Steps     int  // passes over the rows
	Round     int  // those of the round
	Wide      bool // passes are those of float64
	Stalled   bool // a round in float64 has gained nothing
	Lanczos   []lanczos
}

// lanczos are the coefficients of conjugate gradients in the first round of a sample.
type lanczos struct {
	Size        float64 // bᵀP⁻¹b
	Alpha, Beta []float64
	Closed      bool
}

func newColumns(right dense.Matrix[float64], samples int) columns {
	c := columns{
		Solution: dense.New[float64](right.Rows, right.Cols), Residual: right.Clone(),
		Direction: dense.New[float64](right.Rows, right.Cols),
		Product:   make([]float64, right.Cols), Start: make([]float64, right.Cols), State: make([]int, right.Cols),
		Lanczos: make([]lanczos, samples),
	}
	for j := range c.State {
		c.State[j] = waiting
	}
	return c
}

// in returns the columns in a state.
func (c *columns) in(state int) []int {
	var list []int
	for j, s := range c.State {
		if s == state {
			list = append(list, j)
		}
	}
	return list
}

// restart begins a round of the columns that wait, whose residuals are right.
func (c *columns) restart(p *nystroem) {
	list := c.in(waiting)
	c.Round = 0
	r := pick(c.Residual, list)
	z := p.solve(r)
	products, squares := dots(r, z), dots(r, r)
	put(c.Direction, list, z)
	for i, j := range list {
		c.State[j], c.Product[j], c.Start[j] = running, products[i], math.Sqrt(squares[i])
		if s := j - (len(c.State) - len(c.Lanczos)); s >= 0 && !c.Lanczos[s].Closed && c.Lanczos[s].Size == 0 {
			c.Lanczos[s].Size = products[i]
		}
	}
}

// advance takes a step of conjugate gradients in the columns of the list, whose directions are v
// and their products with S + λI are av. It returns the norms of the residuals.
func (c *columns) advance(p *nystroem, list []int, v, av dense.Matrix[float64]) []float64 {
	curvatures := dots(v, av)
	alphas, betas := make([]float64, len(list)), make([]float64, len(list))
	for i, j := range list {
		// A curvature that is not positive is rounding at the end of a round.
		if curvatures[i] > 0 && c.Product[j] > 0 {
			alphas[i] = c.Product[j] / curvatures[i]
		}
	}
	x, r := pick(c.Solution, list), pick(c.Residual, list)
	for f := range v.Rows {
		to, rest, step, change := x.Row(f), r.Row(f), v.Row(f), av.Row(f)
		for i, a := range alphas {
			to[i] += a * step[i]
			rest[i] -= a * change[i]
		}
	}
	put(c.Solution, list, x)
	put(c.Residual, list, r)
	z := p.solve(r)
	products, squares := dots(r, z), dots(r, r)
	for i, j := range list {
		if alphas[i] > 0 {
			betas[i] = max(0, products[i]) / c.Product[j]
		}
		if s := j - (len(c.State) - len(c.Lanczos)); s >= 0 && !c.Lanczos[s].Closed && alphas[i] > 0 {
			c.Lanczos[s].Alpha = append(c.Lanczos[s].Alpha, alphas[i])
			c.Lanczos[s].Beta = append(c.Lanczos[s].Beta, betas[i])
		}
		c.Product[j] = max(0, products[i])
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
	put(c.Direction, list, v)
	return squares
}

// end ends the round of column j.
func (c *columns) end(j int) {
	c.State[j] = waiting
	if s := j - (len(c.State) - len(c.Lanczos)); s >= 0 {
		c.Lanczos[s].Closed = true
	}
}

// finished reports whether all columns are solved.
func (c *columns) finished() bool {
	return !slices.ContainsFunc(c.State, func(s int) bool { return s != solved })
}

// pick returns some columns of x.
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

// put writes the columns of from into those of x.
func put(x dense.Matrix[float64], list []int, from dense.Matrix[float64]) {
	for i := range x.Rows {
		row := x.Row(i)
		for l, v := range from.Row(i) {
			row[list[l]] = v
		}
	}
}

// dots returns the products of columns of x with the same columns of y.
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
