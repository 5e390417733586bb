package iterative

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Write writes the model with its map as one safetensors file, which NumPy reads: package
// documentation lists the arrays under Files. The error reports a zero model, a map that cannot be
// written, and the errors of w.
func (m *Model[T]) Write(w io.Writer) error {
	if m.phi == nil {
		return errNoModel
	}
	return wrap(archive.Write[T](w, "model", modelRecipe[T]{m.phi, m.core}))
}

// ReadModel reads a model that Model.Write wrote, to the end of r. Predictions have the same bits,
// on the same processor and version of this module. The error names what is missing, damaged or
// unknown in the file, a file of the other element type and of a later version, and reports the
// errors of r. Memory is bounded by the bytes that arrive, whatever the file claims.
func ReadModel[T dense.Float](r io.Reader) (*Model[T], error) {
	held, err := archive.Read[T, modelRecipe[T]](r, "model")
	if err == nil {
		err = held.check()
	}
	if err != nil {
		return nil, wrap(err)
	}
	return &Model[T]{held.Map, features.New(held.Map), held.posterior}, nil
}

// Write writes the solver with its map, as it is after the last step: 8·D·(r + 4(p + S)) bytes and
// those of the map, while λ is chosen 8·D·16 bytes for every step. The rows are not written.
// ReadSolver reads it, and Run goes on with the same bits. Errors are those of Model.Write.
func (s *Solver[T]) Write(w io.Writer) error {
	if s.phi == nil {
		return errNoSolver
	}
	return wrap(archive.Write[T](w, "solver", solverRecipe[T]{s.phi, s.core.recipe()}))
}

// ReadSolver reads a solver that Solver.Write wrote. Everything else is as for ReadModel.
func ReadSolver[T dense.Float](r io.Reader) (*Solver[T], error) {
	held, err := archive.Read[T, solverRecipe[T]](r, "solver")
	if err == nil {
		err = held.check()
	}
	if err != nil {
		return nil, wrap(err)
	}
	core, err := held.solver(unit[T]())
	if err != nil {
		return nil, wrap(err)
	}
	return &Solver[T]{held.Map, newSource(held.Map), core}, nil
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("iterative: %w", err)
}

// modelRecipe is what the file of a model holds: the exported fields.
type modelRecipe[T dense.Float] struct {
	Map rff.Map[T]
	posterior
}

func (r modelRecipe[T]) check() error {
	if r.Map == nil {
		return errors.New("map is nil")
	}
	_, width := r.Map.Dims()
	return r.posterior.check(width)
}

// check returns an error unless p is a posterior of so many features.
func (p *posterior) check(width int) error {
	outputs, f := p.Weights.Cols, &p.Facts
	switch {
	case p.Weights.Rows != width || outputs < 1:
		return fmt.Errorf("weights are %d×%d, want %d rows of features and at least 1 output", p.Weights.Rows, outputs, width)
	case p.Samples.Rows != width || p.Samples.Cols == 1:
		return fmt.Errorf("samples are %d×%d, want %d rows of features and not 1 column", p.Samples.Rows, p.Samples.Cols, width)
	case len(f.FeatureMean) != width || len(f.TargetMean) != outputs || len(f.Noise) != outputs || len(f.Bound) != outputs:
		return fmt.Errorf("featureMean has %d numbers, targetMean %d, noise %d and bound %d, want %d and %d thrice",
			len(f.FeatureMean), len(f.TargetMean), len(f.Noise), len(f.Bound), width, outputs)
	}
	if err := finite(p.Weights, p.Samples); err != nil {
		return err
	}
	numbers := append([]float64{f.Base, f.Evidence.Value}, f.FeatureMean...)
	if err := argument.FiniteAll("base, evidence and featureMean", append(numbers, f.TargetMean...)); err != nil {
		return err
	}
	if !(f.Base >= 0) || !(f.Evidence.Error >= 0) {
		return fmt.Errorf("base = %v and evidence.error = %v, want numbers from 0 on", f.Base, f.Evidence.Error)
	}
	return positive(append([]float64{f.Ratio}, f.Noise...), "ratio and noise")
}

// solverRecipe is what the file of a solver holds.
type solverRecipe[T dense.Float] struct {
	Map rff.Map[T]
	stateRecipe
}

func (r solverRecipe[T]) check() error {
	if r.Map == nil {
		return errors.New("map is nil")
	}
	_, width := r.Map.Dims()
	return r.stateRecipe.check(width)
}

// stateRecipe is what the file of a solver holds beside its map.
type stateRecipe struct {
	Moments      moments
	Noise, Prior float64 // as given, or 0
	NoIntercept  bool
	Tolerance    float64
	Ratio        float64 // 0 while it is chosen, and then there are no columns yet
	Factor       dense.Matrix[float64]
	Shift        float64
	Right        dense.Matrix[float64]
	Choice       choice
	Columns      columns
}

func (s *solver) recipe() stateRecipe {
	return stateRecipe{
		Moments: *s.moments, Noise: s.opts.Noise, Prior: s.opts.Prior, NoIntercept: s.opts.NoIntercept, Tolerance: s.opts.Tolerance,
		Ratio: s.ratio, Factor: s.condition.Factor, Shift: s.condition.Shift, Right: s.right, Choice: s.choice, Columns: s.columns,
	}
}

func (r stateRecipe) solver(unit float64) (*solver, error) {
	s := &solver{
		problem: problem{
			unit: unit, moments: &r.Moments,
			opts:  Options{Options: ridge.Options{Noise: r.Noise, Prior: r.Prior, NoIntercept: r.NoIntercept}, Tolerance: r.Tolerance},
			ratio: r.Ratio, condition: &nystroem{Factor: r.Factor, Shift: r.Shift}, right: r.Right,
		},
		choice: r.Choice, columns: r.Columns,
	}
	if s.ratio == 0 {
		return s, nil
	}
	return s, s.condition.prepare(context.Background())
}

func (r stateRecipe) check(width int) error {
	m, outputs := r.Moments, len(r.Moments.Targets)
	samples := r.Right.Cols - outputs
	switch {
	case r.Right.Rows != width || outputs < 1 || samples < 0 || samples == 1:
		return fmt.Errorf("right is %d×%d for %d outputs, want %d rows, at least 1 output, and 0 samples or at least 2", r.Right.Rows, r.Right.Cols, outputs, width)
	case len(m.Mean) != width || len(m.Squares) != outputs || m.Count < 1 || r.Columns.Steps < 0:
		return fmt.Errorf("mean has %d numbers and squares %d, of %d rows after %d steps", len(m.Mean), len(m.Squares), m.Count, r.Columns.Steps)
	}
	if err := finite(r.Right); err != nil {
		return err
	}
	for _, part := range [][]float64{m.Mean, m.Targets, m.Squares, {m.Weight, m.LogWeight, m.Trace, r.Noise, r.Prior}} {
		if err := argument.FiniteAll("a number of the rows", part); err != nil {
			return err
		}
	}
	if err := positive([]float64{r.Tolerance, m.Weight}, "tolerance and weight"); err != nil {
		return err
	}
	if r.Ratio == 0 {
		return r.Choice.check(width, outputs, r.Columns.Steps)
	}
	if r.Factor.Rows != width || r.Factor.Cols > width {
		return fmt.Errorf("factor is %d×%d, want %d rows and at most as many columns", r.Factor.Rows, r.Factor.Cols, width)
	}
	if err := finite(r.Factor); err != nil {
		return err
	}
	if err := positive([]float64{r.Ratio, r.Shift}, "ratio and shift"); err != nil {
		return err
	}
	return r.Columns.check(width, outputs, samples)
}

// check returns an error unless c are columns of a solver of so many features, outputs and samples.
func (c *columns) check(width, outputs, samples int) error {
	count := outputs + samples
	for _, x := range []dense.Matrix[float64]{c.Solution, c.Residual, c.Direction} {
		if x.Rows != width || x.Cols != count {
			return fmt.Errorf("a matrix of columns is %d×%d, want %d×%d", x.Rows, x.Cols, width, count)
		}
	}
	switch {
	case len(c.Lanczos) != samples || c.Round < 0:
		return fmt.Errorf("lanczos has %d parts after %d steps of a round, want %d", len(c.Lanczos), c.Round, samples)
	case len(c.Product) != count || len(c.Start) != count || len(c.State) != count:
		return fmt.Errorf("product has %d numbers, start %d and state %d, want %d", len(c.Product), len(c.Start), len(c.State), count)
	}
	for j, s := range c.State {
		if s < running || s > solved {
			return fmt.Errorf("state[%d] = %d, want a number from %d to %d", j, s, running, solved)
		}
	}
	if err := finite(c.Solution, c.Residual, c.Direction); err != nil {
		return err
	}
	for _, part := range [][]float64{c.Product, c.Start} {
		if err := argument.FiniteAll("a number of the columns", part); err != nil {
			return err
		}
	}
	for i, l := range c.Lanczos {
		if len(l.Alpha) != len(l.Beta) || len(l.Alpha) > c.Steps || !(l.Size >= 0) || math.IsInf(l.Size, 0) {
			return fmt.Errorf("lanczos[%d] has %d and %d coefficients of %d steps, and the size %v", i, len(l.Alpha), len(l.Beta), c.Steps, l.Size)
		}
		if err := positive(l.Alpha, "alpha"); err != nil {
			return err
		}
		for _, b := range l.Beta {
			if !(b >= 0) || math.IsInf(b, 0) {
				return fmt.Errorf("beta = %v, want a number from 0 on", b)
			}
		}
	}
	return nil
}

// finite returns an error unless all numbers are finite.
func finite(all ...dense.Matrix[float64]) error {
	for _, x := range all {
		if err := argument.Finite("a matrix", x); err != nil {
			return err
		}
	}
	return nil
}

// positive returns an error unless all numbers are positive and finite.
func positive(x []float64, name string) error {
	for _, v := range x {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: %v, want positive numbers", name, v)
		}
	}
	return nil
}
