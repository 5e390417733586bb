package performer

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// AuditOptions adjusts [Audit].
type AuditOptions[T dense.Float] struct {
	// Confidence of intervals and of [Audited.Worse], above 0 and at most 0.999. Zero means 0.95.
	Confidence float64

	// Output is what the form makes of q, k and v (Lq×H·dv). Audit does not run the form then, and
	// the form may be nil. The zero Matrix lets Audit run the form.
	Output dense.Matrix[T]

	// Sequences are those of the call of ForwardSequences, for a [Batch].
	Sequences Sequences

	// Queries says for each row of q whether Audit may draw the row. Outputs for padding are of no
	// interest, and Sequences.Valid speaks of keys alone. Nil means that all rows may be drawn.
	Queries []bool
}

// Audit measures how far the outputs of a form are from exact attention, on rows drawn at random:
// for each head, so many of the rows of q, each row at most once. The truth is an [Exact], for all
// heads of the form, or a [Batch] of Exacts with as many heads as the form. q (Lq×H·d), k (Lk×Hk·d)
// and v (Lk×Hk·dv) are what Forward of the form takes. All rows are audited if there are no more
// than asked for.
//
// The form is any Form, also of another package. The truth is what outputs should be: the scale of
// the truth is 1/√d unless set, whatever the scale of the features is. Audit does not judge whether
// a kernel suits a model.
//
// Audit takes O(H·rows·Lk·(d+dv)) time for exact attention of the rows, and the time of the form. A
// bidirectional Attention or Exact, or a Batch of those with one sequence, answers the drawn
// queries only. Any other form computes all of its outputs, unless Output has them: outputs may
// depend on other queries, as a choice by the number of queries does. In float32 at L = 16384 and
// d = dv = 64, an audit of 64 rows of a given Output took 1.1 % of the time of exact attention, and
// 2.3 % if causal; running FAVOR+ with 256 features added 1.9 % and 12 %.
//
// Audit draws from src. The same seed gives the same numbers whatever GOMAXPROCS is. q, k, v and
// Output do not change.
//
// An error reports rows below 1, a nil src, a Confidence out of range, a nil form without Output, a
// truth that is not made of Exacts, a form that is causal or unnormalised where the truth is not or
// the other way round, Sequences for a form that is not a Batch, no row to draw, and shapes that do
// not fit. A form of another package may panic with shapes of its own.
func Audit[T dense.Float](form, truth Form[T], q, k, v dense.Matrix[T], rows int, opts AuditOptions[T], src rand.Source) (Audited, error) {
	if rows < 1 {
		return Audited{}, fmt.Errorf("performer: rows = %d, want at least 1", rows)
	}
	if src == nil {
		return Audited{}, errors.New("performer: src is nil")
	}
	if opts.Confidence == 0 {
		opts.Confidence = 0.95
	}
	if !(opts.Confidence > 0 && opts.Confidence <= mostConfidence) {
		return Audited{}, fmt.Errorf("performer: Confidence = %v, want a number above 0 and at most %v", opts.Confidence, mostConfidence)
	}
	heads, err := exactHeads(form, truth)
	if err != nil {
		return Audited{}, err
	}
	if err := fitsAudit(form, heads, q, k, v, opts); err != nil {
		return Audited{}, err
	}
	rng := rand.New(src)
	a, err := drawAudit(heads, q, k, v, rows, opts, rng)
	if err != nil {
		return Audited{}, err
	}
	a.attend()
	return a.compare(a.outputs(form, opts.Output), opts.Confidence, rng), nil
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
)

func (a *Attention[T]) options() Options { return a.opts }

func (a *Attention[T]) rowwise() bool { return !a.opts.Causal }

func (e Exact[T]) options() Options { return Options{Causal: e.Causal, Unnormalised: e.Unnormalised} }

func (e Exact[T]) rowwise() bool { return !e.Causal }

func (a *Auto[T]) options() Options { return a.linear.opts }

func (a *Auto[T]) rowwise() bool { return false }

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

// exactHeads returns the truth as a Batch of Exacts with as many heads as the form, which may be
// nil. The error reports a truth of another kind, and heads that differ from the truth.
func exactHeads[T dense.Float](form, truth Form[T]) (*Batch[T], error) {
	several, isBatch := form.(*Batch[T])
	heads, isHeads := truth.(*Batch[T])
	if isBatch && several.heads == 0 || isHeads && heads.heads == 0 {
		return nil, errNoBatch
	}
	if !isHeads {
		if !isExact(truth) {
			return nil, fmt.Errorf("performer: truth is a %T, want an Exact, or a Batch of Exacts", truth)
		}
		n, keys := 1, 1
		if isBatch {
			n, keys = several.heads, several.keyHeads
		}
		var err error
		if heads, err = NewBatch[T](n, keys, exactOf(truth)); err != nil {
			return nil, err
		}
	}
	if isBatch && (several.heads != heads.heads || several.keyHeads != heads.keyHeads) {
		return nil, fmt.Errorf("performer: form has %d heads of queries and %d of keys, truth has %d and %d, want the same",
			several.heads, several.keyHeads, heads.heads, heads.keyHeads)
	}
	for i := range heads.count {
		if u := heads.unit(i); !isExact(u.form) {
			return nil, fmt.Errorf("performer: truth has a %T for head %d, want an Exact", u.form, u.from)
		}
	}
	if !isBatch {
		return heads, sameOptions(form, heads, 0, heads.heads)
	}
	for i := range several.count {
		u := several.unit(i)
		if err := sameOptions(u.form, heads, u.from, u.to); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// sameOptions returns an error if the form is known to compute something else than the truth for
// the heads from ≤ h < to.
func sameOptions[T dense.Float](form Form[T], truth *Batch[T], from, to int) error {
	d, ok := form.(describedForm)
	if !ok {
		return nil
	}
	for h := from; h < to; h++ {
		if of, want := d.options(), exactOf(truth.unit(h).form).options(); of != want {
			return fmt.Errorf("performer: form has %+v for head %d, truth has %+v, want the same", of, h, want)
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

// fitsAudit returns an error unless q, k and v fit the form and the truth, and opts fit them.
func fitsAudit[T dense.Float](form Form[T], truth *Batch[T], q, k, v dense.Matrix[T], opts AuditOptions[T]) error {
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
	if out := opts.Output; out.Rows != 0 || out.Data != nil {
		out.Check()
		if want := v.Cols / truth.keyHeads * truth.heads; out.Rows != q.Rows || out.Cols != want {
			return fmt.Errorf("performer: Output is %d×%d, want %d×%d", out.Rows, out.Cols, q.Rows, want)
		}
		return nil
	}
	if form == nil {
		return errors.New("performer: form is nil, want a form or its Output")
	}
	if b, ok := form.(*Batch[T]); ok {
		return b.fits(q, k, v)
	}
	if s.Queries != nil || s.Past != nil || s.Valid != nil {
		return fmt.Errorf("performer: there are Sequences for a %T, want a Batch", form)
	}
	if p, ok := form.(maskedForm[T]); ok && p.dimension() != 0 && p.dimension() != q.Cols {
		return fmt.Errorf("performer: q is %d×%d, but the form takes points of R^%d", q.Rows, q.Cols, p.dimension())
	}
	if exactOf(truth.unit(0).form).Causal && q.Rows != k.Rows {
		return fmt.Errorf("performer: q is %d×%d, k is %d×%d, want as many queries as keys for causal attention", q.Rows, q.Cols, k.Rows, k.Cols)
	}
	return nil
}
