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
	// MaxIterations is the largest number of iterations of this call, each a pass over the rows; 0 for 1000.
	MaxIterations int

	// Progress, if not nil, is called after every step, from the goroutine of the caller.
	Progress func(Progress)
}

// Progress is where a Solver is.
type Progress struct {
	Iterations int     // so far, in all calls
	Ratio      float64 // λ, 0 while it is chosen
	Bound      float64 // of errors of means: the largest of an output, as for Options.Tolerance; +Inf before λ
	Solved     int     // columns that are solved, outputs and samples
	Of         int     // columns
}

// NotConverged is the error of a Solver that has not reached its tolerance.
type NotConverged struct {
	Progress  // at the end
	Tolerance float64
	Stalled   bool // rounding lets no step gain anything; more steps do not help
}

// Error says how far the solver came.
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
	// sampleTolerance bounds errors of samples of functions in units of their size, at the rows. An
	// error of so much changes a variance by a share of its square.
	sampleTolerance = 1.0 / 256
	// margin is how far below its goal a round takes a residual.
	margin = 0.5
	// longest is the number of steps of a round in T. Where rounding of T keeps residuals from
	// falling no step ends the round.
	longest = 150
)

// Run takes steps until all columns are solved, from where the solver is. rows are those of New.
// The result does not depend on GOMAXPROCS, nor on where Run was stopped and went on.
//
// The first steps choose a λ that is left open: L of them, at most 64, of 16 columns in float64, or
// of two more than outputs if those are more. They keep 16·D·L numbers, and twice as many at the
// end, and some find the eigenvalues of a matrix of up to 16·L rows.
//
// A further step is a pass over the rows: n transforms and 2n·D·k multiply-adds in T, k the number
// of columns that are not yet solved. Residuals are computed anew in float64 before a column counts
// as solved, and if T does not suffice further steps are those of float64.
//
// The error is a *NotConverged if steps are used up or rounding lets no step gain anything: Model
// then has the weights so far, and Run goes on after the former. Other errors report a negative
// MaxIterations, nil rows, rows that are not those of New, products that are not finite, targets that the
// features explain to rounding whatever λ is, a zero solver, and the end of ctx, which is noticed
// within 256 rows. Run does not wait for the end of gonum's decomposition, which goes on alone until it
// is done. After those the solver is as it was after the last step,
// and Run can go on. A nil ctx panics.
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
		if s.done() || s.Stalled {
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
	return &NotConverged{s.progress(), s.opts.Tolerance, s.Stalled}
}

var errNoSolver = errors.New("iterative: the Solver is zero, want one of New or ReadSolver")

// done reports whether λ is settled and all columns are solved.
func (s *solver) done() bool { return s.ratio > 0 && s.finished() }

// step takes a step of the choice of λ, or of all columns that run, or finds the residuals of
// columns that wait.
func (s *solver) step(ctx context.Context, rows operator) error {
	if s.ratio == 0 {
		return s.choose(ctx, rows)
	}
	if list := s.in(running); len(list) > 0 {
		v := pick(s.Direction, list)
		av, err := s.product(ctx, rows, v, s.Wide)
		if err != nil {
			return err
		}
		norms := s.advance(s.condition, list, v, av)
		s.Steps++
		s.Round++
		goals := s.goals(list)
		rounding := s.unit
		if s.Wide {
			rounding = unit[float64]()
		}
		exhausted := math.Sqrt(rounding) / 32 // of the residuals of a round
		for i, j := range list {
			if !s.Wide && s.Round == longest || norms[i] <= max(margin*goals[i], exhausted*s.Start[j]) {
				s.end(j)
			}
		}
		return nil
	}
	list := s.in(waiting)
	x := pick(s.Solution, list)
	r, err := s.product(ctx, rows, x, true)
	if err != nil {
		return err
	}
	s.Steps++
	b := pick(s.right, list)
	for i := range r.Data {
		r.Data[i] = b.Data[i] - r.Data[i]
	}
	put(s.Residual, list, r)
	slow := false
	goals, squares := s.goals(list), dots(r, r)
	for i, j := range list {
		norm := math.Sqrt(squares[i])
		if norm <= goals[i] {
			s.State[j] = solved
		}
		slow = slow || s.State[j] != solved && norm > s.Start[j]/8
	}
	if slow {
		s.Stalled = s.Wide
		s.Wide = true
	}
	s.restart(s.condition)
	return nil
}

// product returns (S + λI)V.
func (s *solver) product(ctx context.Context, rows operator, v dense.Matrix[float64], wide bool) (dense.Matrix[float64], error) {
	av := dense.New[float64](v.Rows, v.Cols)
	if err := rows.pass(ctx, av, v, wide, nil); err != nil {
		return av, err
	}
	for i, e := range v.Data {
		av.Data[i] += s.ratio * e
	}
	return av, argument.Finite("iterative: product of sums with a column", av)
}

// goals returns the norms of residuals that solve columns. A residual r of the weights leaves an
// error Σω(f − f̂)² ≤ ‖r‖²/(4λ) of the function at the rows, because √s/(s + λ) ≤ 1/(2√λ) for all s
// ≥ 0.
func (s *solver) goals(list []int) []float64 {
	goals := make([]float64, len(list))
	x := pick(s.Solution, list)
	sum := pick(s.right, list)
	r := pick(s.Residual, list)
	for i := range sum.Data {
		sum.Data[i] -= r.Data[i]
	}
	images, squares := dots(x, sum), dots(x, x)
	for i, j := range list {
		size := 0.0
		if j < len(s.moments.Squares) {
			size = s.opts.Tolerance * math.Sqrt(s.moments.Squares[j])
		} else {
			// ‖Ω^½Φx‖² = xᵀ(b − r) − λ‖x‖², whose mean is the number of degrees of freedom.
			size = sampleTolerance * math.Sqrt(1+max(0, images[i]-s.ratio*squares[i]))
		}
		goals[i] = 2 * math.Sqrt(s.ratio) * size
	}
	return goals
}

// progress returns where the solver is.
func (s *solver) progress() Progress {
	p := Progress{Iterations: s.Steps, Ratio: s.ratio, Of: s.right.Cols, Solved: len(s.in(solved))}
	if s.ratio == 0 {
		p.Bound = math.Inf(1)
		return p
	}
	for j, e := range s.bounds() {
		if spread := math.Sqrt(s.moments.Squares[j] / s.moments.Weight); e > 0 {
			p.Bound = max(p.Bound, e/spread)
		}
	}
	return p
}

// bounds returns the bounds of the errors of outputs: roots of mean squares at the rows.
func (s *solver) bounds() []float64 {
	squares := dots(s.Residual, s.Residual)
	bounds := make([]float64, len(s.moments.Squares))
	for j := range bounds {
		bounds[j] = math.Sqrt(squares[j]) / (2 * math.Sqrt(s.ratio*s.moments.Weight))
	}
	return bounds
}
