package ridge

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/rff"
)

// Write writes the model with the feature map to w as one safetensors file, which NumPy reads.
// docs/regression.md lists the arrays. The documentation of rff.Write lists the feature maps that
// Write supports and the parts that files of all types have. For D features and p outputs the file
// of Write has about 4·D² + 8·D·p bytes and those of the feature map. Write returns an error for a
// feature map that rff.Write refuses, and the errors of w.
func (m *Model[T]) Write(w io.Writer) error {
	if m.phi == nil {
		return errNoModel
	}
	return write(w, m)
}

// Write writes the classifier with the feature map to w, as Model.Write writes a model.
func (c *Classifier[T]) Write(w io.Writer) error {
	if c.phi == nil {
		return errNoClassifier
	}
	return write(w, c)
}

// ReadModel reads from r, up to the end of r, a model that Model.Write has written. With equal
// processors and equal versions of the module, predictions, variances and samples of the model of
// ReadModel equal those of the written model bit for bit.
//
// ReadModel returns an error that names a missing, damaged or unknown part of the file, an error
// for a file of a classifier, of another element type than T or of another version of the format,
// and the errors of r. ReadModel allocates at most a multiple of the bytes read from r.
func ReadModel[T dense.Float](r io.Reader) (*Model[T], error) {
	return read[T, *Model[T]](r)
}

// ReadClassifier reads a classifier that Classifier.Write has written, as ReadModel does.
func ReadClassifier[T dense.Float](r io.Reader) (*Classifier[T], error) {
	return read[T, *Classifier[T]](r)
}

type learnt[T dense.Float] interface{ recipe() recipe[T] }

func write[T dense.Float](w io.Writer, m learnt[T]) error {
	return archive.Write[T](w, "ridge", "model", m.recipe())
}

func read[T dense.Float, M learnt[T]](r io.Reader) (m M, err error) {
	held, err := archive.Read[T, recipe[T]](r, "ridge", "model")
	if err != nil {
		return m, err
	}
	got := held.make()
	m, ok := got.(M)
	if !ok {
		return m, fmt.Errorf("ridge: the file has a %T, want a %T", got, m)
	}
	return m, nil
}

type recipe[T dense.Float] interface {
	check() error
	make() learnt[T] // after check
}

func init() {
	register[float32]()
	register[float64]()
}

func register[T dense.Float]() {
	registry.Register(map[string]any{
		"Model": modelRecipe[T]{}, "Classifier": classifierRecipe[T]{},
		"KernelModel": kernelModelRecipe[T]{}, "KernelClassifier": kernelClassifierRecipe[T]{},
	},
		func(r any) (recipe[T], error) { return r.(recipe[T]), r.(recipe[T]).check() })
	asPart[T, *Model[T]](map[string]any{"Model": modelRecipe[T]{}, "KernelModel": kernelModelRecipe[T]{}})
	asPart[T, *Classifier[T]](map[string]any{"Classifier": classifierRecipe[T]{}, "KernelClassifier": kernelClassifierRecipe[T]{}})
}

func asPart[T dense.Float, M learnt[T]](kinds map[string]any) {
	registry.RegisterFunc(func(m M) (any, error) { return m.recipe(), nil })
	registry.Register(kinds, func(r any) (m M, err error) {
		if err := r.(recipe[T]).check(); err != nil {
			return m, err
		}
		return r.(recipe[T]).make().(M), nil
	})
}

type modelRecipe[T dense.Float] struct {
	Map rff.Map[T]
	posteriorRecipe
}

func (m *Model[T]) recipe() recipe[T] {
	r := modelRecipe[T]{m.phi, m.posterior.recipe()}
	if m.exact == nil {
		return r
	}
	return kernelModelRecipe[T]{r, exactRecipe[T]{m.exact.rows, m.exact.Weights}}
}

func (r modelRecipe[T]) check() error {
	if err := checkWeights(r.Map, r.Weights, "outputs", 1); err != nil {
		return err
	}
	return r.posteriorRecipe.check()
}

func (r modelRecipe[T]) make() learnt[T] {
	return &Model[T]{r.Map, features.New(r.Map), *r.posterior(), nil}
}

type exactRecipe[T dense.Float] struct {
	Rows       dense.Matrix[T]
	RowWeights dense.Matrix[float64] // a
}

type kernelModelRecipe[T dense.Float] struct {
	modelRecipe[T]
	exactRecipe[T]
}

func (r kernelModelRecipe[T]) check() error {
	return cmp.Or(r.modelRecipe.check(), r.exactRecipe.check(r.Map, r.Weights.Cols))
}

func (r exactRecipe[T]) check(phi rff.Map[T], p int) error {
	if phi == nil {
		return nil // which checkWeights reports
	}
	if d, _ := phi.Dims(); r.Rows.Cols != d {
		return fmt.Errorf("rows have %d columns, want %d", r.Rows.Cols, d)
	}
	return checkExact(phi.Kernel(), r.Rows, r.RowWeights, p)
}

func (r kernelModelRecipe[T]) make() learnt[T] {
	m := r.modelRecipe.make().(*Model[T])
	m.exact = newExact(r.Map.Kernel(), r.Rows, r.RowWeights)
	return m
}

type posteriorRecipe struct {
	Weights     dense.Matrix[float64]
	FeatureMean []float64 // φ̄; zeros without an intercept
	TargetMean  []float64 // ȳ; zeros without an intercept
	Centred     bool      // the model has an intercept
	Noise       []float64 // σ²
	Ratio       float64   // λ = σ²/s²
	RowWeight   float64   // Σω
	LogEvidence float64
	Root        []float64 // lower triangle of R⁻ᵀ, row by row, or samples over √S in rows
	Samples     int       // S, or 0 for the triangle
	Bound       []float64 // as Accuracy has it; nil for the direct solution
	ErrorOfLog  float64   // standard error of LogEvidence
	Errors      []float64 // at other rows, output by output; nil for none
	Relative    bool      // Errors are ratios to standard deviations
	Logs        []float64 // weights of the means of log-errors, and these means at φ̄; nil for none
}

func (p *posterior) recipe() posteriorRecipe {
	r := &p.regression
	return posteriorRecipe{
		Weights: r.Weights, FeatureMean: r.FeatureMean, TargetMean: r.TargetMean, Centred: p.centred, Noise: r.Noise,
		Ratio: r.Ratio, RowWeight: p.weight, LogEvidence: p.evidence, Root: p.root.data, Samples: p.root.samples, Bound: p.accuracy.Bound, ErrorOfLog: p.accuracy.LogEvidence,
		Errors: r.Errors, Relative: r.Relative, Logs: r.Logs,
	}
}

func (r posteriorRecipe) check() error {
	width, outputs := r.Weights.Rows, r.Weights.Cols
	// The weights are in memory, so want does not overflow.
	want := uint64(width) * uint64(width+1) / 2
	if r.Samples > 0 {
		want = uint64(width) * uint64(r.Samples)
	}
	switch {
	case r.Samples < 0 || r.Samples == 1 || r.Samples > 0 && want/uint64(r.Samples) != uint64(width):
		return fmt.Errorf("samples = %d, want 0 or at least 2", r.Samples)
	case r.Bound != nil && len(r.Bound) != outputs:
		return fmt.Errorf("bound has %d numbers, want %d", len(r.Bound), outputs)
	case !(r.ErrorOfLog >= 0):
		return fmt.Errorf("errorOfLog = %v, want a number from 0 on", r.ErrorOfLog)
	case len(r.FeatureMean) != width:
		return fmt.Errorf("featureMean has %d numbers, want %d", len(r.FeatureMean), width)
	case len(r.TargetMean) != outputs || len(r.Noise) != outputs:
		return fmt.Errorf("targetMean has %d numbers and noise %d, want %d", len(r.TargetMean), len(r.Noise), outputs)
	case uint64(len(r.Root)) != want:
		return fmt.Errorf("root has %d numbers, want the %d of %d features and %d samples", len(r.Root), want, width, r.Samples)
	}
	if e := r.LogEvidence; e-e != 0 {
		return fmt.Errorf("logEvidence = %v, want a finite number", e)
	}
	err := cmp.Or(argument.FiniteAll("featureMean", r.FeatureMean), argument.FiniteAll("targetMean", r.TargetMean), argument.FiniteAll("root", r.Root),
		checkBands(r.Errors, r.Logs, r.Weights), checkPositive("ratio", r.Ratio), checkPositive("rowWeight", r.RowWeight))
	for j, v := range r.Noise {
		err = cmp.Or(err, checkPositive(fmt.Sprintf("noise[%d]", j), v), checkPositive(fmt.Sprintf("noise[%d]/ratio", j), v/r.Ratio))
	}
	for i := 0; i < width && r.Samples == 0 && err == nil; i++ {
		err = checkPositive(fmt.Sprintf("pivot %d of root", i), r.Root[i*(i+3)/2])
	}
	return err
}

func (r posteriorRecipe) posterior() *posterior {
	p := &posterior{
		regression: features.Regression{Weights: r.Weights, Facts: features.Facts{FeatureMean: r.FeatureMean, TargetMean: r.TargetMean, Noise: r.Noise, Ratio: r.Ratio, Errors: r.Errors, Relative: r.Relative, Logs: r.Logs}},
		centred:    r.Centred, weight: r.RowWeight, root: root{r.Weights.Rows, r.Samples, r.Root}, evidence: r.LogEvidence,
		accuracy: Accuracy{Samples: r.Samples, Bound: r.Bound, LogEvidence: r.ErrorOfLog},
	}
	if r.Centred {
		p.regression.Base = 1 / r.RowWeight
	}
	for _, v := range r.Noise {
		p.prior = append(p.prior, v/r.Ratio)
	}
	return p
}

func checkPositive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s = %v, want a positive number", name, v)
	}
	return nil
}

type classifierRecipe[T dense.Float] struct {
	Map         rff.Map[T]
	Weights     dense.Matrix[T]
	Intercepts  []T      // at the mean
	FeatureMean []T      // φ̄
	Labels      []string // nil for none
}

func (c *Classifier[T]) recipe() recipe[T] {
	r := classifierRecipe[T]{c.phi, c.weights, c.offset, c.mean, c.labels}
	if c.exact == nil {
		return r
	}
	return kernelClassifierRecipe[T]{r, exactRecipe[T]{c.exact.rows, c.exact.Weights}}
}

func (r classifierRecipe[T]) check() error {
	if err := checkWeights(r.Map, r.Weights, "classes", 2); err != nil {
		return err
	}
	switch {
	case len(r.Intercepts) != r.Weights.Cols:
		return fmt.Errorf("%d intercepts, want %d", len(r.Intercepts), r.Weights.Cols)
	case len(r.FeatureMean) != r.Weights.Rows:
		return fmt.Errorf("featureMean has %d numbers, want %d", len(r.FeatureMean), r.Weights.Rows)
	case r.Labels != nil && len(r.Labels) != r.Weights.Cols:
		return fmt.Errorf("%d labels, want %d", len(r.Labels), r.Weights.Cols)
	}
	return cmp.Or(argument.FiniteAll("intercepts", r.Intercepts), argument.FiniteAll("featureMean", r.FeatureMean))
}

func (r classifierRecipe[T]) make() learnt[T] {
	return &Classifier[T]{r.Map, r.FeatureMean, r.Weights, r.Intercepts, r.Labels, nil}
}

type kernelClassifierRecipe[T dense.Float] struct {
	classifierRecipe[T]
	exactRecipe[T]
}

func (r kernelClassifierRecipe[T]) check() error {
	return cmp.Or(r.classifierRecipe.check(), r.exactRecipe.check(r.Map, r.Weights.Cols))
}

func (r kernelClassifierRecipe[T]) make() learnt[T] {
	c := r.classifierRecipe.make().(*Classifier[T])
	c.exact = newExact(r.Map.Kernel(), r.Rows, r.RowWeights)
	return c
}

func checkWeights[T, W dense.Float](phi rff.Map[T], w dense.Matrix[W], columns string, least int) error {
	if phi == nil {
		return errors.New("map is nil")
	}
	if _, width := phi.Dims(); w.Rows != width || w.Cols < least {
		return fmt.Errorf("weights are %d×%d, want %d rows of features and at least %d %s", w.Rows, w.Cols, width, least, columns)
	}
	return argument.Finite("weights", w)
}
