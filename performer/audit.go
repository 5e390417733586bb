package performer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// AuditOptions adjusts [Audit].
type AuditOptions struct {
	// Rows is the number of rows of q that are drawn for each head. Zero means 64.
	Rows int

	// Confidence of intervals and of [Audited.Worse], above 0 and at most 0.999. Zero means 0.95.
	Confidence float64

	// Sequences are those of the call of ForwardSequences, for a [Batch].
	Sequences Sequences

	// Queries says for each row of q whether Audit may draw the row. Outputs for padding are of no
	// interest, and Sequences.Valid speaks of keys alone. Nil means that all rows may be drawn.
	Queries []bool

	// Timed lets every form compute all of its outputs, and sets [Audited.Time].
	Timed bool

	// Context stops an audit early when it is cancelled, with Context.Err() in the error. Nil means
	// that nothing stops it. It is checked between blocks of exact rows and between forms.
	Context context.Context

	// Progress, if not nil, is called with the number of parts that are done and the number of all
	// parts. A part is up to 1024 exact rows, or a form. The calls come in order from the goroutine
	// that audits.
	Progress func(done, total int)
}

// Output is a form whose outputs are known: Forward returns the matrix. [Audit] measures the error
// of outputs that are at hand, or come from elsewhere, by an Output.
type Output[T dense.Float] dense.Matrix[T]

// Forward returns o, or dst with the numbers of o if dst is not zero. Forward panics if o does not
// have a row for each query.
func (o Output[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	if o.Rows != q.Rows {
		panic(fmt.Sprintf("performer: the Output is %d×%d, q is %d×%d, want as many rows", o.Rows, o.Cols, q.Rows, q.Cols))
	}
	if dst.Rows == 0 && dst.Data == nil {
		return dense.Matrix[T](o)
	}
	return dense.Copy(dst, dense.Matrix[T](o))
}

// Audit measures the error of the outputs of forms against exact attention, on rows drawn at
// random: a number of rows of q for each head, each row at most once. There is one result for each
// form, all on the same rows. The truth is an [Exact], for all heads of the forms, or a [Batch] of
// Exacts with as many heads as the forms. q (Lq×H·d), k (Lk×Hk·d) and v (Lk×Hk·dv) are what Forward
// of the forms takes. All rows are audited if there are no more than asked for.
//
// A form is any Form, also of another package, or an [Output]. The truth is what outputs should be:
// the scale of the truth is 1/√d unless set, whatever the scale of the features is. Audit does not
// judge whether a kernel suits a model.
//
// Audit takes O(H·rows·Lk·(d+dv)) time for exact attention of the rows, once, and the time of the
// forms. A bidirectional Attention, Landmarks, Exact or Corrected without a window, or a Batch of
// those with one sequence, answers the drawn queries only, unless Timed is set. Any other form
// computes all of its outputs: outputs may depend on other queries, as a choice by the number of
// queries does. In float32 at L = 16384 and d = dv = 64, an audit of 64 rows of an Output took 1.6 %
// of the time of exact attention; running FAVOR+ with 256 features added 1.8 %.
//
// Audit draws from src. The same seed gives the same numbers, but Time, whatever GOMAXPROCS is, and
// the result for a form does not depend on the other forms. q, k and v do not change.
//
// An error reports negative rows, a nil src, a Confidence out of range, no form or a nil one, a
// truth that is not made of Exacts, a form that is causal or unnormalised where the truth is not or
// the other way round, Sequences for a form that is not a Batch, no row to draw, shapes that do not
// fit, and a Context that is cancelled. The results of the forms before that are returned then. A form
// of another package may panic with shapes of its own.
func Audit[T dense.Float](truth Form[T], q, k, v dense.Matrix[T], opts AuditOptions, src rand.Source, forms ...Form[T]) ([]Audited, error) {
	if opts.Rows < 0 {
		return nil, fmt.Errorf("performer: Rows = %d, want at least 1, or 0 for 64", opts.Rows)
	}
	if opts.Rows == 0 {
		opts.Rows = 64
	}
	if src == nil {
		return nil, errors.New("performer: src is nil")
	}
	if err := checkConfidence(&opts.Confidence); err != nil {
		return nil, err
	}
	if len(forms) == 0 {
		return nil, errors.New("performer: no forms, want at least 1")
	}
	heads, err := exactHeads(truth, forms...)
	if err != nil {
		return nil, err
	}
	for i, form := range forms {
		if err := fitsAudit(i, form, heads, q, k, v, opts); err != nil {
			return nil, err
		}
	}
	rng := rand.New(src)
	a, err := drawAudit(heads, q, k, v, opts, rng)
	if err != nil {
		return nil, err
	}
	parts := (len(a.pieces) + auditRound - 1) / auditRound
	report := func(done int) {
		if opts.Progress != nil {
			opts.Progress(done, parts+len(forms))
		}
	}
	if err := a.attend(opts.Context, report); err != nil {
		return nil, err
	}
	a.averages()
	seed := [2]uint64{rng.Uint64(), rng.Uint64()}
	var all []Audited
	for i, form := range forms {
		if err := ended(opts.Context); err != nil {
			return all, err
		}
		outputs, time := a.outputs(form, opts.Timed)
		one := a.compare(outputs, opts.Confidence, rand.New(rand.NewPCG(seed[0], seed[1])))
		if opts.Timed {
			one.Time = time
		}
		all = append(all, one)
		report(parts + i + 1)
	}
	return all, nil
}

// checkConfidence returns an error unless the confidence is in range, and makes 0 the default.
func checkConfidence(confidence *float64) error {
	if *confidence == 0 {
		*confidence = 0.95
	}
	if !(*confidence > 0 && *confidence <= mostConfidence) {
		return fmt.Errorf("performer: Confidence = %v, want a number above 0 and at most %v", *confidence, mostConfidence)
	}
	return nil
}

// ended returns why to end early, if so.
func ended(ctx context.Context) error {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("performer: %w", ctx.Err())
}

// describedForm is a form that says what it computes.
type describedForm interface {
	options() Options

	// rowwise reports whether the output for a query depends neither on other queries nor on how
	// many there are.
	rowwise() bool
}

var (
	_ describedForm = (*Attention[float32])(nil)
	_ describedForm = Exact[float32]{}
	_ describedForm = (*Auto[float32])(nil)
	_ describedForm = (*Landmarks[float32])(nil)
)

func (a *Attention[T]) options() Options { return a.opts }

func (a *Attention[T]) rowwise() bool { return !a.opts.Causal }

func (e Exact[T]) options() Options { return Options{Causal: e.Causal, Unnormalised: e.Unnormalised} }

func (e Exact[T]) rowwise() bool { return !e.Causal }

func (a *Auto[T]) options() Options { return a.made().opts }

func (a *Auto[T]) rowwise() bool { return false }

func (l *Landmarks[T]) options() Options { return l.exact.options() }

func (l *Landmarks[T]) rowwise() bool { return !l.exact.Causal }

// rowwise reports whether the form is known to compute each output from one query.
func rowwise[T dense.Float](form Form[T]) bool {
	if b, ok := form.(*Batch[T]); ok {
		for _, u := range b.units {
			if !rowwise(u.form) {
				return false
			}
		}
		return true
	}
	d, ok := form.(describedForm)
	return ok && d.rowwise()
}

// exactHeads returns the truth as a Batch of Exacts with as many heads as the forms. The error
// reports a truth of another kind, and heads that differ from the truth.
func exactHeads[T dense.Float](truth Form[T], forms ...Form[T]) (*Batch[T], error) {
	if isNil(truth) {
		return nil, errors.New("performer: truth is nil")
	}
	for i, form := range forms {
		if isNil(form) {
			return nil, fmt.Errorf("performer: form %d is nil", i)
		}
	}
	heads, isHeads := truth.(*Batch[T])
	if isHeads && heads.heads == 0 {
		return nil, errNoBatch
	}
	if !isHeads {
		if !isExact(truth) {
			return nil, fmt.Errorf("performer: truth is a %T, want an Exact, or a Batch of Exacts", truth)
		}
		n, keys := 1, 1
		for _, form := range forms {
			if b, ok := form.(*Batch[T]); ok && n == 1 {
				n, keys = max(b.heads, 1), max(b.keyHeads, 1)
			}
		}
		var err error
		if heads, err = NewBatch[T](n, keys, exactOf(truth)); err != nil {
			return nil, err
		}
	}
	for i := range heads.count {
		if u := heads.unit(i); !isExact(u.form) {
			return nil, fmt.Errorf("performer: truth has a %T for head %d, want an Exact", u.form, u.from)
		}
	}
	for i, form := range forms {
		if err := sameHeads(i, form, heads); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// sameHeads returns an error if form i is nil or known to compute something else than the truth.
func sameHeads[T dense.Float](i int, form Form[T], truth *Batch[T]) error {
	if isNil(form) {
		return fmt.Errorf("performer: form %d is nil", i)
	}
	b, ok := form.(*Batch[T])
	switch {
	case !ok:
		return sameOptions(i, form, truth, 0, truth.heads)
	case b.heads == 0:
		return errNoBatch
	case b.heads != truth.heads || b.keyHeads != truth.keyHeads:
		return fmt.Errorf("performer: form %d has %d heads of queries and %d of keys, truth has %d and %d, want the same",
			i, b.heads, b.keyHeads, truth.heads, truth.keyHeads)
	}
	for j := range b.count {
		u := b.unit(j)
		if err := sameOptions(i, u.form, truth, u.from, u.to); err != nil {
			return err
		}
	}
	return nil
}

// sameOptions returns an error if a form, which is form i or a part of it, is known to compute
// something else than the truth for the heads from ≤ h < to.
func sameOptions[T dense.Float](i int, form Form[T], truth *Batch[T], from, to int) error {
	d, ok := form.(describedForm)
	if !ok {
		return nil
	}
	for h := from; h < to; h++ {
		if of, want := d.options(), exactOf(truth.unit(h).form).options(); of != want {
			return fmt.Errorf("performer: form %d has %+v for head %d, truth has %+v, want the same", i, of, h, want)
		}
	}
	return nil
}

// isExact reports whether the form is an Exact.
func isExact[T dense.Float](form Form[T]) bool {
	switch form.(type) {
	case Exact[T], *Exact[T]:
		return true
	}
	return false
}

// exactOf returns the Exact that the form is.
func exactOf[T dense.Float](form Form[T]) Exact[T] {
	if e, ok := form.(*Exact[T]); ok {
		return *e
	}
	return form.(Exact[T])
}

// fitsAudit returns an error unless q, k and v fit form i and the truth, and opts fit them.
func fitsAudit[T dense.Float](i int, form Form[T], truth *Batch[T], q, k, v dense.Matrix[T], opts AuditOptions) error {
	if err := truth.fits(q, k, v); err != nil {
		return err
	}
	s := opts.Sequences
	if err := s.fits(q.Rows, k.Rows); err != nil {
		return err
	}
	if opts.Queries != nil && len(opts.Queries) != q.Rows {
		return fmt.Errorf("performer: Queries has length %d, want one for each of %d queries", len(opts.Queries), q.Rows)
	}
	if out, ok := form.(Output[T]); ok {
		dense.Matrix[T](out).Check()
		if want := v.Cols / truth.keyHeads * truth.heads; out.Rows != q.Rows || out.Cols != want {
			return fmt.Errorf("performer: form %d is an Output of %d×%d, want %d×%d", i, out.Rows, out.Cols, q.Rows, want)
		}
		return nil
	}
	if b, ok := form.(*Batch[T]); ok {
		return b.fits(q, k, v)
	}
	if s.Queries != nil || s.Past != nil || s.Valid != nil {
		return fmt.Errorf("performer: there are Sequences, but form %d is a %T, want a Batch", i, form)
	}
	if p, ok := form.(maskedForm[T]); ok && p.dimension() != 0 && p.dimension() != q.Cols {
		return fmt.Errorf("performer: q is %d×%d, but form %d takes points of R^%d", q.Rows, q.Cols, i, p.dimension())
	}
	if exactOf(truth.unit(0).form).Causal && q.Rows != k.Rows {
		return fmt.Errorf("performer: q is %d×%d, k is %d×%d, want as many queries as keys for causal attention", q.Rows, q.Cols, k.Rows, k.Cols)
	}
	return nil
}
