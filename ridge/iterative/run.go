package iterative

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/ridge"
)

// RunOptions are the parameters of Solver.Run.
type RunOptions struct {
	// MaxIterations is the largest number of iterations of this call, each a pass over the rows; 0
	// for 1000.
	MaxIterations int

	// Run calls Progress, unless Progress is nil, after each iteration, on the goroutine of the
	// caller.
	Progress func(Progress)
}

// Progress describes the state of a Solver.
type Progress struct {
	Iterations int     // in all calls of Run
	Ratio      float64 // λ, or 0 while it is chosen
	Bound      float64 // largest error bound of the outputs, in the unit of Options.Tolerance; +Inf while λ is chosen
	Solved     int     // number of solved columns
	Of         int     // number of columns, outputs and samples
}

// NotConverged is the error of a Solver that has not reached its tolerance.
type NotConverged struct {
	Progress  // at the end of Run
	Tolerance float64
	Stalled   bool // rounding prevents progress, and more iterations do not help
}

// Error describes how far the solver came.
func (e *NotConverged) Error() string {
	if e.Ratio == 0 {
		return fmt.Sprintf("iterative: after %d steps Noise/Prior is not chosen yet: want more steps", e.Iterations)
	}
	why := "want more steps, a larger Rank or a larger Noise/Prior"
	if e.Stalled {
		why = "rounding of float64 hides the rest: want a larger Noise/Prior"
	}
	return fmt.Sprintf("iterative: after %d steps with Noise/Prior = %.3g errors of means are up to %.3g, Tolerance = %.3g, and %d of %d columns are solved: %s",
		e.Iterations, e.Ratio, e.Bound, e.Tolerance, e.Solved, e.Of, why)
}

const (
	// sampleTolerance bounds the error of a sampled function at the rows, relative to the function.
	// The relative error of a variance is about the square of sampleTolerance.
	sampleTolerance = 1.0 / 256
	// margin is the factor by which a round reduces a residual below its goal.
	margin = 0.5
	// longest is the largest number of steps of a round in T. Rounding of T may keep a residual
	// from decreasing, and then only longest ends the round.
	longest = 150
)

// Run takes steps until all columns are solved. rows are the rows of New. The result does not
// depend on GOMAXPROCS, nor on how many calls of Run took the steps.
//
// The first steps choose λ unless it is given: at most 64 steps of 16 columns in float64, or of two
// more than the outputs if these are more. L steps keep 16·D·L numbers, and 32·D·L at the end. Some
// of the steps compute the eigenvalues of a matrix of up to 16·L rows.
//
// A later step is a pass over the rows: n transforms and 2n·D·k multiply-adds in T for k unsolved
// columns. Before a column counts as solved, Run computes its residual in float64. If T does not
// suffice, later steps use float64.
//
// The error is a *NotConverged if MaxIterations steps do not suffice or rounding prevents progress.
// Model then returns the model of the current weights, and in the first case Run can be called
// again. Other errors report a zero solver, a negative MaxIterations, nil rows, rows that differ
// from the rows of New, products that are not finite, targets that the features explain to rounding
// for every λ, and the end of ctx. After these errors the solver is as it was after the previous
// step, and Run can be called again. Run checks ctx every 256 rows. Run does not wait for gonum's
// decompositions, which run to their end in the background. A nil ctx panics.
func (s *Solver[T]) Run(ctx context.Context, rows ridge.Rows[T], o RunOptions) error {
	if err := argument.Context("iterative", ctx); err != nil {
		return err
	}
	switch {
	case s.phi == nil:
		return errNoSolver
	case rows == nil:
		return errors.New("iterative: rows is nil, want data")
	}
	return s.core.run(ctx, s.source.of(s.core.moments, rows), o)
}

func (s *solver) run(ctx context.Context, rows operator, o RunOptions) error {
	if o.MaxIterations < 0 {
		return fmt.Errorf("iterative: MaxIterations = %d, want at least 0", o.MaxIterations)
	}
	if o.MaxIterations == 0 {
		o.MaxIterations = 1000
	}
	for range o.MaxIterations {
		if s.done() || s.stalled {
			break
		}
		if err := s.step(ctx, rows); err != nil {
			return err
		}
		if o.Progress != nil {
			o.Progress(s.progress())
		}
	}
	if s.done() {
		return nil
	}
	return &NotConverged{s.progress(), s.opts.Tolerance, s.stalled}
}

var errNoSolver = errors.New("iterative: the Solver is zero, want one of New")

// done reports whether λ is chosen and all columns are solved.
func (s *solver) done() bool { return s.ratio > 0 && s.finished() }

// step takes one pass over the rows: for the choice of λ, for all running columns, or for the
// residuals of all waiting columns.
func (s *solver) step(ctx context.Context, rows operator) error {
	if s.ratio == 0 {
		return s.choose(ctx, rows)
	}
	if list := s.in(running); len(list) > 0 {
		v := pick(s.direction, list)
		av, err := s.multiply(ctx, rows, v, s.wide)
		if err != nil {
			return err
		}
		norms := s.advance(s.condition, list, v, av)
		s.steps++
		s.round++
		goals := s.goals(list)
		rounding := s.unit
		if s.wide {
			rounding = unit[float64]()
		}
		exhausted := math.Sqrt(rounding) / 32 // least reduction of a residual in a round
		for i, j := range list {
			if !s.wide && s.round == longest || norms[i] <= max(margin*goals[i], exhausted*s.norm[j]) {
				s.end(j)
			}
		}
		return nil
	}
	list := s.in(waiting)
	x := pick(s.solution, list)
	r, err := s.multiply(ctx, rows, x, true)
	if err != nil {
		return err
	}
	s.steps++
	b := pick(s.right, list)
	for i := range r.Data {
		r.Data[i] = b.Data[i] - r.Data[i]
	}
	put(s.residual, list, r)
	slow := false
	goals, squares := s.goals(list), dots(r, r)
	for i, j := range list {
		norm := math.Sqrt(squares[i])
		if norm <= goals[i] {
			s.status[j] = solved
		}
		slow = slow || s.status[j] != solved && norm > s.norm[j]/8
	}
	if slow {
		s.stalled = s.wide
		s.wide = true
	}
	s.restart(s.condition)
	return nil
}

// multiply returns (S + λI)V.
func (s *solver) multiply(ctx context.Context, rows operator, v dense.Matrix[float64], wide bool) (dense.Matrix[float64], error) {
	av := dense.New[float64](v.Rows, v.Cols)
	if err := rows.pass(ctx, av, v, wide, nil); err != nil {
		return av, err
	}
	for i, e := range v.Data {
		av.Data[i] += s.ratio * e
	}
	return av, argument.Finite("iterative: product of sums with a column", av)
}

// goals returns for each listed column the norm of the residual below which it is solved. The
// function of weights with the residual r has the error Σω(f − f̂)² ≤ ‖r‖²/(4λ) at the rows.
func (s *solver) goals(list []int) []float64 {
	goals := make([]float64, len(list))
	x := pick(s.solution, list)
	sum := pick(s.right, list)
	r := pick(s.residual, list)
	for i := range sum.Data {
		sum.Data[i] -= r.Data[i]
	}
	images, squares := dots(x, sum), dots(x, x)
	for i, j := range list {
		size := 0.0
		if j < len(s.moments.squares) {
			size = s.opts.Tolerance * math.Sqrt(s.moments.squares[j])
		} else {
			// ‖Ω^½Φx‖² = xᵀ(b − r) − λ‖x‖². Its mean is the number of degrees of freedom.
			size = sampleTolerance * math.Sqrt(1+max(0, images[i]-s.ratio*squares[i]))
		}
		goals[i] = 2 * math.Sqrt(s.ratio) * size
	}
	return goals
}

func (s *solver) progress() Progress {
	p := Progress{Iterations: s.steps, Ratio: s.ratio, Of: s.right.Cols, Solved: len(s.in(solved))}
	if s.ratio == 0 {
		p.Bound = math.Inf(1)
		return p
	}
	for j, e := range s.bounds() {
		if spread := math.Sqrt(s.moments.squares[j] / s.moments.weight); e > 0 {
			p.Bound = max(p.Bound, e/spread)
		}
	}
	return p
}

// bounds returns a bound of the root mean square error at the rows for each output.
func (s *solver) bounds() []float64 {
	squares := dots(s.residual, s.residual)
	bounds := make([]float64, len(s.moments.squares))
	for j := range bounds {
		bounds[j] = math.Sqrt(squares[j]) / (2 * math.Sqrt(s.ratio*s.moments.weight))
	}
	return bounds
}
