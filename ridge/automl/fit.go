package automl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Options are the parameters of Fit. The zero value lets Fit learn numbers and choose everything.
type Options struct {
	// Classes is the number of classes, at least 2, if the targets are classes: whole numbers from
	// 0 to Classes − 1. 0 stands for numbers.
	Classes int

	// ClassWeights has for each class a factor that multiplies the weights of its rows.
	ClassWeights []float64

	// Labels has a text for each class, and the file of the classifier contains the texts. Nil
	// stands for none.
	Labels []string

	// Landmarks is the largest number of landmarks (Nyström points) of a kernel, and so of
	// features. A value of 0 stands for all rows if package kernelridge fits all in time (up to
	// some 50,000), and for 2000 if not. With at least as many landmarks as rows the kernel is
	// exact.
	Landmarks int

	// Groups has a number for each row, in the order of reading. Rows of equal numbers depend on
	// each other, such as the rows of one patient. Everything that Fit chooses, its scores and its
	// bands then come from errors at whole groups that a fit has not seen. Nil stands for rows that
	// do not depend on each other.
	Groups []int

	// Forward says that Groups are times, of any unit and in any order. Scores and bands then come
	// from errors at each of the last five tenths of the rows, of fits to all rows before.
	Forward bool

	// HeavyTails is for numeric targets with outliers: the noise follows Student's t-distribution,
	// with degrees of freedom that leave-one-out errors choose. HeavyTails costs about 100 fits of
	// up to 1500 rows and 500 landmarks, and up to 30 fits (often three) to all rows.
	HeavyTails bool

	// Fit calls Progress, unless Progress is nil, after each part of the work, on the goroutine of
	// the caller, with the number of parts that have ended, the number of all parts, and the family
	// of models of the part, which is "" for the fit to all rows.
	Progress func(done, total int, family string)
}

// Result is the result of Fit: a Model for numbers, or a Classifier for classes. Model and
// Classifier take rows in the units of the data, because their feature map contains the scales of
// the columns; the method Write of both writes map and model to one file. After a fit with the
// kernel of all rows, Model.Rows returns the rows, and LeaveOneOut, Jackknife and Gradient of Model
// return an error.
type Result[T dense.Float] struct {
	Model      *ridge.Model[T]      // nil for classes
	Classifier *ridge.Classifier[T] // nil for numbers
	Report
}

// Fit chooses a family of models, learns its parameters, and fits it to all rows, as
// docs/regression.md describes. The targets of the n rows are numbers (n×p for p outputs), or
// classes (n×1) if Options.Classes is given. src draws a sample of the rows, the order of the
// sample, and the random frequencies of features.
//
// Fit reads the rows once to draw a sample, and once for the final fit, up to 31 times with
// Options.HeavyTails, and eleven times with Options.Groups. To choose the family, Fit uses up to 1500 rows. The final fit of n rows costs
// n·D² multiply-adds and some tens of D³/6 with D landmarks, or some 15·n²·(d + 2p + 32) with the
// kernel of all rows, for d columns and p outputs. When ctx ends, Fit returns within about 0.1 s.
//
// The error reports a nil rows or src, options out of range, Groups that are not as many as the
// rows or too few to hold some out, HeavyTails with Groups, fewer than ten rows with a weight
// above 0, HeavyTails with classes, targets that are not classes as Options.Classes says, a class
// without rows, an output that does not vary or whose range is not from 1e-130 to 1e130, numbers
// that are NaN or infinite, the errors of reading rows, too few rows to hold some out, the end of
// ctx, and the error of the first family if no family can be fitted.
func Fit[T dense.Float](ctx context.Context, rows ridge.Rows[T], o Options, src rand.Source) (*Result[T], error) {
	return door.Choose[T, *Result[T]](fit32, fit64, arguments[T]{ctx, rows, o, src})
}

// arguments has the arguments of Fit.
type arguments[T dense.Float] struct {
	ctx  context.Context
	rows ridge.Rows[T]
	o    Options
	src  rand.Source
}

//go:noinline
func fit32(a any) (any, error) { return fit(a.(arguments[float32])) }

//go:noinline
func fit64(a any) (any, error) { return fit(a.(arguments[float64])) }

func fit[T dense.Float](a arguments[T]) (*Result[T], error) {
	ctx, rows, o, src := a.ctx, a.rows, a.o, a.src
	if rows == nil {
		return nil, errors.New("automl: rows is nil, want data")
	}
	if err := argument.Context("automl", ctx); err != nil {
		return nil, err
	}
	if src == nil {
		return nil, errors.New("automl: src is nil, want a source of randomness")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	drawn, err := draw(ctx, rows, o, rand.New(src))
	if err != nil {
		return nil, err
	}
	s := &search{Options: o, ctx: ctx, src: src, power: new(int)}
	if o.Groups != nil {
		for _, i := range drawn.numbers[:drawn.choose] {
			s.group = append(s.group, o.Groups[i])
		}
	}
	s.Landmarks = o.landmarks(drawn.n)
	all, robust := drawn.all, drawn.all.RowRange(0, drawn.choose)
	if o.HeavyTails {
		robust, err = s.robust(robust)
	}
	var found choice
	if err == nil {
		found, err = s.choose(robust)
	}
	if err != nil {
		return nil, cmp.Or(ctx.Err(), wrap(err))
	}
	found.Report.Rows = drawn.n
	r := &Result[T]{Report: found.Report}
	if o.Groups != nil {
		if err := groupFit(s, &found, rows, drawn, r); err != nil {
			return nil, cmp.Or(ctx.Err(), wrap(err))
		}
		s.progress("")
		return r, nil
	}
	if o.fitsKernel(&found, drawn.n, all.X.Cols) {
		done, err := kernelFit(s, found, rows, drawn, r)
		if err != nil {
			return nil, cmp.Or(ctx.Err(), wrap(err))
		}
		if done {
			s.progress("")
			return r, nil
		}
	}
	found.landmarks = min(s.Landmarks, all.X.Rows)
	phi, err := build[T](ctx, found.space, found.kernel, all.X.RowRange(0, found.landmarks))
	switch {
	case err != nil:
	case o.Classes == 0:
		if r.Model, err = regress(ctx, phi, rows, found.ratio); err != nil {
			break
		}
		weighted := reweighted[T]{ctx, rows, r.Model, math.Inf(1)}
		found.noise = r.Model.Noise()
		if o.HeavyTails {
			r.Model, weighted, err = heavy(s, &found, weighted, all, robust.Weights)
		}
		if err == nil {
			r.Model, err = withBands(weighted, r.Model, &found, all)
			r.Report = found.Report
		}
	default:
		var best ridge.Choice[T]
		best, err = ridge.Classify(ctx, []rff.Map[T]{phi}, rows, ridge.ClassifyOptions{Classes: o.Classes, ClassWeights: o.ClassWeights, Labels: o.Labels})
		r.Classifier = best.Classifier
	}
	if err := cmp.Or(ctx.Err(), wrap(err)); err != nil {
		return nil, err
	}
	s.progress("")
	return r, nil
}

// landmarks returns the largest number of landmarks of a kernel of n rows.
func (o Options) landmarks(n int) int {
	switch {
	case o.Landmarks > 0:
		return o.Landmarks
	case n <= exactRows:
		return n
	}
	return 2000
}

func (o Options) check() error {
	switch {
	case o.Classes < 0 || o.Classes == 1:
		return fmt.Errorf("automl: Classes = %d, want 0 or at least 2", o.Classes)
	case o.Landmarks < 0:
		return fmt.Errorf("automl: Landmarks = %d, want at least 0", o.Landmarks)
	case o.Classes == 0 && (o.ClassWeights != nil || o.Labels != nil):
		return errors.New("automl: ClassWeights or Labels without Classes")
	case o.Groups == nil && o.Forward:
		return errors.New("automl: Forward without Groups, want the time of each row")
	case o.Groups != nil && o.HeavyTails:
		return errors.New("automl: HeavyTails with Groups, whose noise is not chosen by group")
	case o.Classes > 0 && o.HeavyTails:
		return fmt.Errorf("automl: HeavyTails with Classes = %d, want numbers", o.Classes)
	case o.Labels != nil && len(o.Labels) != o.Classes:
		return fmt.Errorf("automl: %d Labels, want one for each of %d classes", len(o.Labels), o.Classes)
	case o.ClassWeights != nil && len(o.ClassWeights) != o.Classes:
		return fmt.Errorf("automl: %d ClassWeights, want one for each of %d classes", len(o.ClassWeights), o.Classes)
	}
	if err := limit.Memory[float64](o.Landmarks, o.Landmarks); err != nil {
		return fmt.Errorf("automl: Landmarks = %d: %w", o.Landmarks, err)
	}
	if err := limit.Memory[float64](sampleRows, o.Classes); err != nil {
		return fmt.Errorf("automl: Classes = %d: %w", o.Classes, err)
	}
	return nil
}

// wrap returns err as an error of this package.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("automl: %w", err)
}
