package audit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer"
)

// Options adjusts [Measure].
type Options struct {
	// Rows is the number of rows of the queries q that Measure samples for each head; Measure
	// samples all rows if q has fewer. Rows of 0 stands for 64.
	Rows int

	// Confidence is the statistical confidence of the intervals of errors in a [Report] and of the
	// bound [Report.Worse], above 0 and at most 0.999. A Confidence of 0 stands for 0.95.
	Confidence float64
}

// Measure measures the errors of approximations of attention over one sequence on a random sample
// of rows of the queries q. The arguments q (Lq×H·d), k (Lk×Hk·d) and v (Lk×Hk·dv) are queries,
// keys and values of H heads of queries and Hk heads of keys. The argument exact is a
// performer.Exact for all heads of the approximations, or a performer.Batch of Exacts with as many
// heads as the approximations. Measure ignores the options Bits and TopK of the argument exact.
// Unless the argument exact has a Scale, exact attention has the scores q_iᵀk_j/√d for queries of
// dimension d, even if an approximation has features of another kernel.
//
// Measure samples row i of the Lq rows of q, for each head, with a probability proportional to
//
//	½·1/Lq + ¼·‖q_i‖⁴/Σ_j ‖q_j‖⁴ + ¼·w_i/Σ_j w_j,  w_i = 1/(i+1) for causal attention, else 1.
//
// The probability is at most 1, and Measure samples each row of q at most once for each head.
//
// Measure computes exact attention of the sampled rows once for all approximations, in
// O(H·Rows·Lk·(d+dv)) time for H heads and Lk keys of dimension d with values of dimension dv. If
// the performer.Description of an approximation has IndependentQueries, the approximation computes
// the outputs of the sampled queries alone, and otherwise all outputs. Equal random sources src
// give equal Reports, whatever GOMAXPROCS is.
//
// Measure returns an error for a nil src, an option out of range, no approximation or a nil one,
// exact attention that is not made of performer.Exacts, an approximation that differs from exact in
// Causal, a q without rows, and shapes of q, k and v that do not fit. If the
// context ctx ends, which Measure checks between blocks of exact rows and between approximations,
// Measure returns the error of ctx and the Reports that are complete. Measure panics if ctx is nil.
func Measure[T dense.Float](ctx context.Context, exact performer.Attention[T], q, k, v dense.Matrix[T], opts Options, src rand.Source, approximations ...performer.Attention[T]) ([]Report, error) {
	x := input[T]{q, k, v}
	switch any(*new(T)).(type) {
	case float32:
		return measure32(ctx, exact, x, opts, src, approximations)
	default:
		return measure64(ctx, exact, x, opts, src, approximations)
	}
}

type input[T dense.Float] struct{ q, k, v dense.Matrix[T] }

//go:noinline
func measure32(ctx context.Context, exact, x any, opts Options, src rand.Source, all any) ([]Report, error) {
	given, _ := exact.(performer.Attention[float32]) // nil is not an Attention
	return measure(ctx, given, x.(input[float32]), opts, src, all.([]performer.Attention[float32]))
}

//go:noinline
func measure64(ctx context.Context, exact, x any, opts Options, src rand.Source, all any) ([]Report, error) {
	given, _ := exact.(performer.Attention[float64]) // nil is not an Attention
	return measure(ctx, given, x.(input[float64]), opts, src, all.([]performer.Attention[float64]))
}

func measure[T dense.Float](ctx context.Context, given performer.Attention[T], x input[T], opts Options, src rand.Source, all []performer.Attention[T]) ([]Report, error) {
	if err := contextError(ctx); err != nil {
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
	if len(all) == 0 {
		return nil, errors.New("audit: no approximations, want at least 1")
	}
	exact, err := exactBatch(given, all...)
	if err != nil {
		return nil, err
	}
	for i, a := range all {
		if err := checkShapes(i, a, exact, x); err != nil {
			return nil, err
		}
	}
	s, err := newSample(exact, x, opts.Rows, rand.New(src))
	if err != nil {
		return nil, err
	}
	if err := attend(ctx, s.heads); err != nil {
		return nil, err
	}
	var reports []Report
	for _, a := range all {
		if err := contextError(ctx); err != nil {
			return reports, err
		}
		reports = append(reports, report(s.heads, s.outputs(a), opts.Confidence))
	}
	return reports, nil
}

func (s *querySample[T]) outputs(a performer.Attention[T]) []dense.Matrix[T] {
	x, n := s.input, len(s.heads)
	all := make([]dense.Matrix[T], n)
	if !descriptionOf(a).IndependentQueries {
		out := a.Forward(dense.Matrix[T]{}, x.q, x.k, x.v)
		for h, head := range s.heads {
			all[h] = layout.Rows(layout.Head(out, h, n), head.rows)
		}
		return all
	}
	// The columns of head h are the sampled rows of head h.
	sampled, least := len(s.heads[0].rows), min(descriptionOf(a).LeastQueries, x.q.Rows)
	q := dense.New[T](max(sampled, least), x.q.Cols)
	for h, head := range s.heads {
		dense.Copy(layout.Head(q, h, n), layout.Rows(head.q, repeated(head.rows, least)))
	}
	out := a.Forward(dense.Matrix[T]{}, q, x.k, x.v)
	for h := range all {
		all[h] = layout.Head(out, h, n).RowRange(0, sampled)
	}
	return all
}

// checkConfidence returns an error unless the confidence is in range. Zero becomes the default.
func checkConfidence(confidence *float64) error {
	if *confidence == 0 {
		*confidence = 0.95
	}
	if !(*confidence > 0 && *confidence <= maxConfidence) {
		return fmt.Errorf("audit: Confidence = %v, want a number above 0 and at most %v", *confidence, maxConfidence)
	}
	return nil
}

func contextError(ctx context.Context) error {
	if err := argument.Context("audit", ctx); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// Output is a matrix of known outputs in the place of an attention, such as outputs of other
// software whose error [Measure] measures: Forward returns the matrix, whatever the arguments are.
type Output[T dense.Float] dense.Matrix[T]

// Forward returns the outputs o without a copy if dst is the zero Matrix, and otherwise copies o to
// dst and returns dst. Forward panics unless o and q have equally many rows.
func (o Output[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	if o.Rows != q.Rows {
		panic(fmt.Sprintf("audit: the Output is %d×%d, q is %d×%d, want as many rows", o.Rows, o.Cols, q.Rows, q.Cols))
	}
	if dst.Rows == 0 && dst.Data == nil {
		return dense.Matrix[T](o)
	}
	return dense.Copy(dst, dense.Matrix[T](o))
}
