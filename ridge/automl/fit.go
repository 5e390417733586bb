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
	"github.com/seed-feabd252/randfeat/ridge"
)

// Options are the parameters of Fit, which with zero Options learns to predict numbers.
type Options struct {
	// Classes is the number of classes, at least 2, if each target is a class: a whole number from
	// 0 to Classes − 1. A Classes of 0 stands for targets that are numbers.
	Classes int

	// ClassWeights has, for each class, a factor of the weights of the rows of the class.
	ClassWeights []float64

	// Labels has a text for each class, and the file that Model.Write writes contains the texts. A
	// nil Labels stands for classes without texts.
	Labels []string

	// Landmarks is the largest number of landmarks (Nyström points) of a kernel, and so of
	// features. If Landmarks is 0, Fit uses the exact kernel of up to 3000 rows, or of up to some
	// 30,000 if 200 iterations of kernelridge.Fit suffice, and 2000 landmarks in other cases. With
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
	// whose degrees of freedom Fit chooses by leave-one-out errors. HeavyTails costs about 50 fits
	// to up to 1500 rows with up to 500 landmarks, as many again for each function of the mixture,
	// and for each function up to 30 fits (often three) to all rows.
	HeavyTails bool

	// After each part of the work, Fit calls a Progress other than nil with the numbers of ended
	// parts and of all parts, and the family of models of the part, which is "" for the mixing and
	// for the fits to all rows. Fit calls Progress on the goroutine that has called Fit.
	Progress func(done, total int, family string)
}

// Result is the result of Fit: a Model of numbers or classes, and a Report.
type Result[T dense.Float] struct {
	Model *Model[T]
	Report
}

// Fit compares functions of all families by errors at held-out rows, mixes the best ones, and fits
// the mixture to all rows, as docs/regression.md describes. The targets of n rows are an n×p matrix
// with p numbers for each row, or, if Options.Classes is above 0, an n×1 matrix with the class of
// each row. From the source src, Fit draws a sample of the rows and the random numbers of fits.
//
// Fit reads the rows once to draw a sample of up to 1500 rows that chooses, and once or twice for
// the last fit of each of up to six functions, or three from 3001 rows on, and up to 31 times with
// Options.HeavyTails. For n rows, d columns and p outputs, a last fit costs n³/6 for the exact
// kernel, n·D² multiply-adds and some tens of D³/6 with D landmarks, or some 15·n²·(d + 2p + 32)
// with the kernel of all rows. If ctx ends before Fit has tried a family of models, Fit returns the
// error of ctx within about 0.1 s. If ctx ends later, Fit returns the error of ctx and a mixture of
// the families so far, after fits to the sample that ctx does not interrupt.
//
// Fit returns an error for a nil argument, for options out of range, for HeavyTails with Groups or
// Classes, for fewer than ten rows with a weight above 0, for numbers that are NaN, infinite or in
// columns of points above 1e300 in size, and for an output whose range is not from 1e-130 to 1e130.
// With Options.Classes, Fit returns an error for a class without rows, and for a target that is not
// a whole number from 0 to Classes − 1. Fit returns an error for Groups that are not as many as the
// rows, for too few rows or groups to hold some out, if reading rows fails, and if no family can be
// fitted.
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
	s := &mixtureSearch{Options: o, ctx: ctx, src: src, power: -4, choice: -4, positive: drawn.positive && !o.HeavyTails}
	if o.Groups != nil {
		for _, i := range drawn.numbers[:drawn.choose] {
			s.group = append(s.group, o.Groups[i])
		}
	}
	s.exact = o.Landmarks == 0 && drawn.n <= exactRows && !o.HeavyTails
	if s.members = mostMembers; drawn.n > exactRows {
		s.members = fewMembers
	}
	s.landmarks = o.landmarks(drawn.n)
	robust := drawn.all.RowRange(0, drawn.choose)
	if o.HeavyTails {
		robust, err = s.robust(robust)
	}
	s.given = drawn.all.Weights
	found := choice{Report: Report{Best: -1}}
	if err == nil {
		found, err = s.choose(robust)
	}
	var r *Result[T]
	if err == nil {
		found.Report.Rows = drawn.n
		if r, err = conclude(s, found, rows, drawn); err == nil && ctx.Err() == nil {
			s.progress("")
			return r, nil
		}
	}
	if stop := ctx.Err(); stop != nil {
		return soFar[T](s, found, robust), stop
	}
	return nil, wrap(err)
}

// conclude fits the mixture to all rows.
func conclude[T dense.Float](s *mixtureSearch, found choice, rows ridge.Rows[T], drawn trainingSample) (*Result[T], error) {
	var all []fitted[T]
	var first task[T]
	for i, p := range found.picks {
		l, err := p.learn(s, drawn.n)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			found.learnt = l
		}
		t := newTask(s, p, l, rows, drawn, i == 0)
		f, err := fitTask(s, &found, t)
		if err != nil {
			return nil, err
		}
		if all = append(all, f); i == 0 {
			first = t
		}
	}
	m := new(Model[T])
	if s.Classes == 0 {
		var err error
		if all[0].Model, m.scores, err = withQuantiles(s, &found, first, all); err != nil {
			return nil, err
		}
	}
	for _, f := range all {
		m.members = append(m.members, f.member)
	}
	return &Result[T]{m, found.Report}, nil
}

// soFar returns a fit of the best mixture so far to the rows b of the sample, or nil. The context
// has ended.
func soFar[T dense.Float](s *mixtureSearch, found choice, b ridge.Block[float64]) *Result[T] {
	if found.Best < 0 {
		return nil
	}
	own, n := *s, b.X.Rows
	own.ctx, own.Groups, own.HeavyTails = context.WithoutCancel(s.ctx), s.group, false
	own.src = rand.NewPCG(1, 2) // a fit that was left may draw from s.src yet
	found.Ended, found.Report.Rows = true, n
	drawn := trainingSample{all: b, unit: 1, choose: n, n: n}
	for i := range n {
		drawn.numbers = append(drawn.numbers, i)
	}
	r, err := conclude(&own, found, ridge.Rows[T](narrow[T](b)), drawn)
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
