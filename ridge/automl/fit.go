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

// Options are the parameters of Fit, which with zero Options learns to predict numbers.
type Options struct {
	// Classes is the number of classes, at least 2, if each target is a class: a whole number from
	// 0 to Classes − 1. A Classes of 0 stands for targets that are numbers.
	Classes int

	// ClassWeights has, for each class, a factor of the weights of the rows of the class.
	ClassWeights []float64

	// Labels has a text for each class, and the file that Classifier.Write writes contains the
	// texts. A nil Labels stands for classes without texts.
	Labels []string

	// Landmarks is the largest number of landmarks (Nyström points) of a kernel, and so of
	// features. If Landmarks is 0, Fit uses the exact kernel of up to 3000 rows, or of up to some
	// 50,000 if 200 iterations of kernelridge.Fit suffice, and 2000 landmarks in other cases. With
	// at least as many landmarks as rows, the Nyström approximation of a kernel is exact.
	Landmarks int

	// Groups has a number for each row, in the order in which Fit reads the rows. Rows of equal
	// numbers depend on each other, such as the rows of one patient: choices of Fit, scores and
	// prediction bands come from prediction errors at whole groups of rows that a fit has not seen.
	// A nil Groups stands for rows that do not depend on each other.
	Groups []int

	// Forward says that the numbers in Groups are times of rows, in any unit and any order. With
	// Forward, scores and prediction bands come from prediction errors at each of the last five
	// tenths of the rows, sorted by time, of fits to all rows of earlier tenths.
	Forward bool

	// HeavyTails is for numeric targets with outliers: the noise follows Student's t-distribution,
	// whose degrees of freedom Fit chooses by leave-one-out errors. HeavyTails costs about 100 fits
	// to up to 1500 rows with up to 500 landmarks, and up to 30 fits (often three) to all rows.
	HeavyTails bool

	// After each part of the work, Fit calls a Progress other than nil with the numbers of ended
	// parts and of all parts, and the family of models of the part, which is "" for the fit to all
	// rows. Fit calls Progress on the goroutine that has called Fit.
	Progress func(done, total int, family string)
}

// Result is the result of Fit: a Model for numbers, or a Classifier for classes. Model and
// Classifier accept rows in the units of the data, because the feature map inside scales the
// columns, and the method Write of both writes the feature map too. If Fit fits the kernel of all
// rows with package kernelridge, Model.Rows returns the rows, and LeaveOneOut, Jackknife and
// Gradient of Model return an error.
type Result[T dense.Float] struct {
	Model      *ridge.Model[T]      // nil for classes
	Classifier *ridge.Classifier[T] // nil for numbers
	Report
}

// Fit chooses a family of models by errors at held-out rows, learns the parameters of the family,
// and fits the family to all rows, as docs/regression.md describes. The targets of n rows are an
// n×p matrix with p numbers for each row, or, if Options.Classes is above 0, an n×1 matrix with the
// class of each row. From the source src, Fit draws a sample of up to 1500 rows, by which Fit
// chooses the family, and the random numbers of fits.
//
// Fit reads the rows once to draw a sample of up to 1500 rows, by which Fit chooses the family, and
// once or twice for the final fit, up to 31 times with Options.HeavyTails, and up to eleven times
// with Options.Groups. For n rows, d columns and p outputs, the final fit costs n·D² multiply-adds
// and some tens of D³/6 with D landmarks, or some 15·n²·(d + 2p + 32) with the kernel of all rows.
// If ctx ends, Fit returns the error of ctx, and a result of the best family so far, if any, after
// a fit to the sample that ctx does not interrupt.
//
// Fit returns an error for a nil argument, for options out of range, for HeavyTails with Groups or
// Classes, for fewer than ten rows with a weight above 0, for numbers that are NaN or infinite, and
// for an output whose range is not from 1e-130 to 1e130. With Options.Classes, Fit returns an error
// for a class without rows, and for a target that is not a whole number from 0 to Classes − 1. Fit
// returns an error for Groups that are not as many as the rows, for too few rows or groups to hold
// some out, if reading rows fails, and if no family can be fitted.
func Fit[T dense.Float](ctx context.Context, rows ridge.Rows[T], o Options, src rand.Source) (*Result[T], error) {
	r, err := door.Choose[T, outcome[T]](fit32, fit64, arguments[T]{ctx, rows, o, src})
	return r.result, cmp.Or(err, r.err)
}

type arguments[T dense.Float] struct {
	ctx  context.Context
	rows ridge.Rows[T]
	o    Options
	src  rand.Source
}

type outcome[T dense.Float] struct {
	result *Result[T]
	err    error
}

//go:noinline
func fit32(a any) (any, error) {
	r, err := fit(a.(arguments[float32]))
	return outcome[float32]{r, err}, nil
}

//go:noinline
func fit64(a any) (any, error) {
	r, err := fit(a.(arguments[float64]))
	return outcome[float64]{r, err}, nil
}

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
	robust := drawn.all.RowRange(0, drawn.choose)
	if o.HeavyTails {
		robust, err = s.robust(robust)
	}
	found := choice{Report: Report{Best: -1}}
	if err == nil {
		found, err = s.choose(robust)
	}
	var r *Result[T]
	if err == nil {
		found.Report.Rows = drawn.n
		if r, err = conclude(s, found, rows, drawn, robust.Weights); err == nil && ctx.Err() == nil {
			s.progress("")
			return r, nil
		}
	}
	if stop := ctx.Err(); stop != nil {
		return soFar[T](s, found, robust), stop
	}
	return nil, wrap(err)
}

func conclude[T dense.Float](s *search, found choice, rows ridge.Rows[T], drawn sample, weights []float64) (*Result[T], error) {
	all := drawn.all
	r := &Result[T]{Report: found.Report}
	if s.Groups != nil {
		return r, groupFit(s, &found, rows, drawn, r)
	}
	if s.fitsKernel(&found, drawn.n, all.X.Cols) {
		if done, err := kernelFit(s, found, rows, drawn, r); done || err != nil {
			return r, err
		}
	}
	found.landmarks = min(s.Landmarks, all.X.Rows)
	phi, err := build[T](s.ctx, found.space, found.kernel, all.X.RowRange(0, found.landmarks))
	if err != nil {
		return r, err
	}
	if s.Classes > 0 {
		o := ridge.ClassifyOptions{Classes: s.Classes, ClassWeights: s.ClassWeights, Labels: s.Labels}
		if found.Ended {
			o.Ratio = found.ratio
		}
		best, err := ridge.Classify(s.ctx, []rff.Map[T]{phi}, rows, o)
		r.Classifier = best.Classifier
		return r, err
	}
	if r.Model, err = regress(s.ctx, phi, rows, found.ratio); err != nil {
		return r, err
	}
	weighted := reweighted[T]{s.ctx, rows, r.Model, math.Inf(1)}
	found.noise = r.Model.Noise()
	if s.HeavyTails {
		r.Model, weighted, err = heavy(s, &found, weighted, all, weights)
	}
	if err == nil {
		r.Model, err = withBands(weighted, r.Model, &found, all)
		r.Report = found.Report
	}
	return r, err
}

// soFar returns a fit of the best family so far to the rows b of the sample, or nil. The context
// has ended.
func soFar[T dense.Float](s *search, found choice, b ridge.Block[float64]) *Result[T] {
	if found.Best < 0 {
		return nil
	}
	own, n := *s, b.X.Rows
	own.ctx, own.Groups, own.HeavyTails = context.WithoutCancel(s.ctx), s.group, false
	found.ratio, found.Ended, found.Report.Rows = found.lambda, true, n
	drawn := sample{all: b, choose: n, n: n}
	for i := range n {
		drawn.numbers = append(drawn.numbers, i)
	}
	r, err := conclude(&own, found, ridge.Rows[T](narrow[T](b)), drawn, nil)
	if err != nil {
		return nil
	}
	return r
}

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
	for i, w := range o.ClassWeights {
		if !(w > 0) || math.IsInf(w, 1) {
			return fmt.Errorf("automl: ClassWeights[%d] = %v, want a positive number", i, w)
		}
	}
	if err := limit.Memory[float64](o.Landmarks, o.Landmarks); err != nil {
		return fmt.Errorf("automl: Landmarks = %d: %w", o.Landmarks, err)
	}
	if err := limit.Memory[float64](sampleRows, o.Classes); err != nil {
		return fmt.Errorf("automl: Classes = %d: %w", o.Classes, err)
	}
	return nil
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("automl: %w", err)
}
