package audit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/performer"
)

// Options adjusts [Measure].
type Options struct {
	// Rows is the number of rows of q that are drawn for each head. Zero means 64.
	Rows int

	// Confidence of intervals and of [Report.Worse], above 0 and at most 0.999. Zero means 0.95.
	Confidence float64

	// Sequences are those of the call of ForwardSequences, for a performer.Batch.
	Sequences performer.Sequences

	// Queries says for each row of q whether Measure may draw the row. Outputs for padding are of no
	// interest, and Sequences.Valid speaks of keys alone. Nil means that all rows may be drawn.
	Queries []bool

	// Timed lets every form compute all of its outputs, and sets [Report.Time].
	Timed bool

	// Progress, if not nil, is called with the number of parts that are done and the number of all
	// parts. A part is up to 1024 exact rows, or a form. The calls come in order from the goroutine
	// that audits.
	Progress func(done, total int)
}

// Measure measures the error of the outputs of forms against exact attention, on rows drawn at
// random: a number of rows of q for each head, each row at most once. There is one result for each
// form, all on the same rows. The truth is a performer.Exact, for all heads of the forms, or a
// performer.Batch of Exacts with as many heads as the forms. q (Lq×H·d), k (Lk×Hk·d) and v (Lk×Hk·dv) are what Forward
// of the forms takes. All rows are audited if there are no more than asked for.
//
// A form is any Form, also of another package, or an [Output]. The truth is what outputs should be:
// the scale of the truth is 1/√d unless set, whatever the scale of the features is. Measure does not
// judge whether a kernel suits a model.
//
// Measure takes O(H·rows·Lk·(d+dv)) time for exact attention of the rows, once, and the time of the
// forms. A form that is Rowwise by its performer.Description, or a performer.Batch of
// those with one sequence, answers the drawn queries only, unless Timed is set. Any other form
// computes all of its outputs: outputs may depend on other queries, as a choice by the number of
// queries does. In float32 at L = 16384 and d = dv = 64, an audit of 64 rows of an Output took 1.6 %
// of the time of exact attention; running FAVOR+ with 256 features added 1.8 %.
//
// Measure draws from src. The same seed gives the same numbers, but Time, whatever GOMAXPROCS is, and
// the result for a form does not depend on the other forms. q, k and v do not change.
//
// An error reports negative rows, a nil src, a Confidence out of range, no form or a nil one, a
// truth that is not made of Exacts, a form that is causal or unnormalised where the truth is not or
// the other way round, Sequences for a form that is not a Batch, no row to draw, shapes that do not
// fit, and the end of ctx, which is looked at between blocks of exact rows and between forms: Measure ends
// after the Forward of a form at the latest, which takes no context. The results of the forms before
// that are returned then. A nil ctx panics. A form of another package may
// panic with shapes of its own.
func Measure[T dense.Float](ctx context.Context, truth performer.Attention[T], q, k, v dense.Matrix[T], opts Options, src rand.Source, forms ...performer.Attention[T]) ([]Report, error) {
	x := input[T]{truth, q, k, v}
	switch any(*new(T)).(type) {
	case float32:
		return measure32(ctx, x, opts, src, forms)
	default:
		return measure64(ctx, x, opts, src, forms)
	}
}

// input is what exact attention is computed of.
type input[T dense.Float] struct {
	truth   performer.Attention[T]
	q, k, v dense.Matrix[T]
}

//go:noinline
func measure32(ctx context.Context, x any, opts Options, src rand.Source, forms any) ([]Report, error) {
	return measure(ctx, x.(input[float32]), opts, src, forms.([]performer.Attention[float32]))
}

//go:noinline
func measure64(ctx context.Context, x any, opts Options, src rand.Source, forms any) ([]Report, error) {
	return measure(ctx, x.(input[float64]), opts, src, forms.([]performer.Attention[float64]))
}

func measure[T dense.Float](ctx context.Context, x input[T], opts Options, src rand.Source, forms []performer.Attention[T]) ([]Report, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	if opts.Rows < 0 {
		return nil, fmt.Errorf("audit: Rows = %d, want at least 1, or 0 for 64", opts.Rows)
	}
	if opts.Rows == 0 {
		opts.Rows = 64
	}
	if src == nil {
		return nil, errors.New("audit: src is nil")
	}
	if err := checkConfidence(&opts.Confidence); err != nil {
		return nil, err
	}
	if len(forms) == 0 {
		return nil, errors.New("audit: no forms, want at least 1")
	}
	heads, err := exactHeads(x.truth, forms...)
	if err != nil {
		return nil, err
	}
	for i, form := range forms {
		if err := fits(i, form, heads, x.q, x.k, x.v, opts); err != nil {
			return nil, err
		}
	}
	rng := rand.New(src)
	a, err := drawRows(heads, x.q, x.k, x.v, opts, rng)
	if err != nil {
		return nil, err
	}
	pieces := a.allPieces()
	parts := (len(pieces) + roundPieces - 1) / roundPieces
	report := func(done int) {
		if opts.Progress != nil {
			opts.Progress(done, parts+len(forms))
		}
	}
	if err := a.attend(ctx, pieces, report); err != nil {
		return nil, err
	}
	a.averages()
	seed := [2]uint64{rng.Uint64(), rng.Uint64()}
	var all []Report
	for i, form := range forms {
		if err := ended(ctx); err != nil {
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
		return fmt.Errorf("audit: Confidence = %v, want a number above 0 and at most %v", *confidence, mostConfidence)
	}
	return nil
}

// ended returns why to end early, if so. A nil ctx panics.
func ended(ctx context.Context) error {
	if err := argument.Context("audit", ctx); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// descriptionOf returns what a form says of itself, and whether it does.
func descriptionOf[T dense.Float](form performer.Attention[T]) (performer.Description, bool) {
	if d, ok := form.(performer.Described); ok {
		return d.Describe(), true
	}
	return performer.Description{}, false
}

// rowwise reports whether the form is known to compute each output from one query.
func rowwise[T dense.Float](form performer.Attention[T]) bool {
	if b, ok := form.(performer.Batch[T]); ok {
		heads, _, _ := b.Dims()
		for h := range heads {
			if !rowwise(b.Head(h)) {
				return false
			}
		}
		return true
	}
	d, _ := descriptionOf(form)
	return d.Rowwise
}

// exactHeads returns the truth as a Batch of Exacts with as many heads as the forms. The error
// reports a truth of another kind, and heads that differ from the truth.
func exactHeads[T dense.Float](truth performer.Attention[T], forms ...performer.Attention[T]) (performer.Batch[T], error) {
	if isNil(truth) {
		return nil, errors.New("audit: truth is nil")
	}
	for i, form := range forms {
		if isNil(form) {
			return nil, fmt.Errorf("audit: form %d is nil", i)
		}
	}
	b, isHeads := truth.(performer.Batch[T])
	if !isHeads {
		if _, ok := exactOf(truth); !ok {
			return nil, fmt.Errorf("audit: truth is a %T, want a performer.Exact, or a performer.Batch of Exacts", truth)
		}
		heads, keyHeads := 1, 1
		for _, form := range forms {
			if b, ok := form.(performer.Batch[T]); ok && heads == 1 {
				heads, keyHeads, _ = b.Dims()
			}
		}
		var err error
		if b, err = performer.NewBatch(heads, keyHeads, truth); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
	}
	heads, _, _ := b.Dims()
	for h := range heads {
		exact, ok := exactOf(b.Head(h))
		if !ok {
			return nil, fmt.Errorf("audit: truth has a %T for head %d, want a performer.Exact", b.Head(h), h)
		}
		if exact.Window != 0 || exact.Slope != 0 {
			return nil, fmt.Errorf("audit: truth has Window = %d and Slope = %v for head %d, want none: rows are drawn without their places", exact.Window, exact.Slope, h)
		}
		if exact.Bits != 0 {
			return nil, fmt.Errorf("audit: truth has Bits = %d for head %d, want 0: the truth is not rounded", exact.Bits, h)
		}
	}
	for i, form := range forms {
		if err := sameHeads(i, form, b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// sameHeads returns an error if form i is nil or known to compute something else than the truth.
func sameHeads[T dense.Float](i int, form performer.Attention[T], truth performer.Batch[T]) error {
	if isNil(form) {
		return fmt.Errorf("audit: form %d is nil", i)
	}
	wantHeads, wantKeys, _ := truth.Dims()
	b, isBatch := form.(performer.Batch[T])
	if isBatch {
		if heads, keyHeads, _ := b.Dims(); heads != wantHeads || keyHeads != wantKeys {
			return fmt.Errorf("audit: form %d has %d heads of queries and %d of keys, truth has %d and %d, want the same",
				i, heads, keyHeads, wantHeads, wantKeys)
		}
	}
	for h := range wantHeads {
		one := form
		if isBatch {
			one = b.Head(h)
		}
		if err := sameOptions(i, one, truth.Head(h), h); err != nil {
			return err
		}
	}
	return nil
}

// sameOptions returns an error if form i is known to compute something else than the truth for a head.
func sameOptions[T dense.Float](i int, form, truth performer.Attention[T], head int) error {
	d, ok := descriptionOf(form)
	if !ok {
		return nil
	}
	exact, _ := exactOf(truth)
	of, want := optionsOf(d), linearOptions(exact)
	if of != want {
		return fmt.Errorf("audit: form %d has %+v for head %d, truth has %+v, want the same", i, of, head, want)
	}
	return nil
}

// optionsOf returns what a form has to have in common with the truth.
func optionsOf(d performer.Description) performer.LinearOptions {
	return performer.LinearOptions{Causal: d.Causal, Unnormalised: d.Unnormalised}
}

// linearOptions returns the options of linear attention that approximates exact attention.
func linearOptions(exact performer.ExactOptions) performer.LinearOptions {
	return performer.LinearOptions{Causal: exact.Causal, Unnormalised: exact.Unnormalised}
}

// exactOf returns the options of the Exact that the form is, if it is one.
func exactOf[T dense.Float](form performer.Attention[T]) (performer.ExactOptions, bool) {
	if e, ok := form.(performer.Exact[T]); ok {
		return e.Options(), true
	}
	return performer.ExactOptions{}, false
}

// isNil reports whether there is no form: nil, or a nil pointer of some type.
func isNil[T dense.Float](form performer.Attention[T]) bool {
	v := reflect.ValueOf(form)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// fits returns an error unless q, k and v fit form i and the truth, and opts fit them.
func fits[T dense.Float](i int, form performer.Attention[T], truth performer.Batch[T], q, k, v dense.Matrix[T], opts Options) error {
	s := opts.Sequences
	if err := truth.Check(q, k, v, s); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if opts.Queries != nil && len(opts.Queries) != q.Rows {
		return fmt.Errorf("audit: Queries has length %d, want one for each of %d queries", len(opts.Queries), q.Rows)
	}
	if out, ok := form.(Output[T]); ok {
		dense.Matrix[T](out).Check()
		heads, keyHeads, _ := truth.Dims()
		if want := v.Cols / keyHeads * heads; out.Rows != q.Rows || out.Cols != want {
			return fmt.Errorf("audit: form %d is an Output of %d×%d, want %d×%d", i, out.Rows, out.Cols, q.Rows, want)
		}
		return nil
	}
	if b, ok := form.(performer.Batch[T]); ok {
		if err := b.Check(q, k, v, s); err != nil {
			return fmt.Errorf("audit: form %d: %w", i, err)
		}
		return nil
	}
	if s.Queries != nil || s.Past != nil || s.Valid != nil {
		return fmt.Errorf("audit: there are Sequences, but form %d is a %T, want a performer.Batch", i, form)
	}
	d, _ := descriptionOf(form)
	if d.Dim != 0 && d.Dim != q.Cols {
		return fmt.Errorf("audit: q is %d×%d, but form %d takes points of R^%d", q.Rows, q.Cols, i, d.Dim)
	}
	if exact, _ := exactOf(truth.Head(0)); exact.Causal && q.Rows != k.Rows {
		return fmt.Errorf("audit: q is %d×%d, k is %d×%d, want as many queries as keys for causal attention", q.Rows, q.Cols, k.Rows, k.Cols)
	}
	return nil
}
