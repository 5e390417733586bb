package iterative

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/rff"
)

// Write writes the model with its map as one safetensors file, which NumPy reads. The package
// documentation lists the arrays under Files. The error reports a zero model, a map that cannot be
// written, and the errors of w.
func (m *Model[T]) Write(w io.Writer) error {
	if m.phi == nil {
		return errNoModel
	}
	if err := archive.Write[T](w, "model", modelRecipe[T]{m.phi, m.core}); err != nil {
		return fmt.Errorf("iterative: %w", err)
	}
	return nil
}

// ReadModel reads a model that Model.Write wrote, to the end of r. The model predicts the same bits
// on the same processor and version of this module. The error names a missing, damaged or unknown
// part of the file, and reports a file of another element type, a file of a later version, and the
// errors of r. ReadModel allocates at most a multiple of the bytes that it has read.
func ReadModel[T dense.Float](r io.Reader) (*Model[T], error) {
	held, err := archive.Read[T, modelRecipe[T]](r, "model")
	if err == nil {
		err = held.check()
	}
	if err != nil {
		return nil, fmt.Errorf("iterative: %w", err)
	}
	return &Model[T]{held.Map, features.New(held.Map), held.posterior}, nil
}

// modelRecipe lists the parts of the file of a model: its exported fields.
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

// check returns an error unless p is a posterior of width features.
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
	for _, x := range [...]dense.Matrix[float64]{p.Weights, p.Samples} {
		if err := argument.Finite("a matrix", x); err != nil {
			return err
		}
	}
	numbers := append([]float64{f.Base, f.Evidence.Value}, f.FeatureMean...)
	if err := argument.FiniteAll("base, evidence and featureMean", append(numbers, f.TargetMean...)); err != nil {
		return err
	}
	if !(f.Base >= 0) || !(f.Evidence.Error >= 0) {
		return fmt.Errorf("base = %v and evidence.error = %v, want numbers from 0 on", f.Base, f.Evidence.Error)
	}
	for _, v := range append([]float64{f.Ratio}, f.Noise...) {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("ratio and noise: %v, want positive numbers", v)
		}
	}
	return nil
}
