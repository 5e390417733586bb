package estimate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/welford"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/linear"
	"github.com/seed-feabd252/randfeat/rff"
)

// UnbiasedOptions adjusts [Unbiased]. By default UnbiasedOptions stand for bidirectional attention
// with the scale 1/√Dim, 32 replicates per estimate, and as many random features as
// [Unbiased.Pilot] finds.
type UnbiasedOptions struct {
	// Dim is the dimension d of queries and keys, at least 1.
	Dim int

	// The Scale is not negative.
	performer.Softmax

	// Features is the number of positive random features with which each replicate estimates the
	// numerator and the denominator of attention, before a correction of the bias of their ratio.
	// With zero Features, Estimate begins with [Unbiased.Pilot] to find a number of features.
	Features int

	// Replicates is the number of random estimates that Estimate averages, at least 2; 0 means 32.
	Replicates int

	// Frequencies is the joint distribution of d random frequencies in R^d that are drawn together.
	// Each frequency should have the distribution N(0, I), as in orf.IID and orf.GramSchmidt; in
	// orf.Hadamard and orf.Givens each frequency has only nearly this distribution, and estimates
	// have a bias. Nil Frequencies stand for orf.GramSchmidt.
	Frequencies orf.Ensemble

	// MaxCost is the largest mean cost of a call of Estimate, including Pilot, relative to exact
	// attention. Pilot and Estimate return [ErrCost] if the predicted cost is above MaxCost. A
	// MaxCost of zero means 1, and +Inf no limit. Do not discard an estimate because it takes long,
	// and do not repeat a call of Estimate that a context has ended: the remaining estimates would
	// be biased.
	MaxCost float64
}

// Unbiased estimates softmax attention without bias, in time linear in the number of tokens. The
// expectation of an estimate is exactly softmax attention of queries q_i, keys k_j and values v_j:
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = exp(Scale·q_iᵀk_j).
//
// Unbiased estimates the output of softmax attention, and the standard error of each element of the
// estimate. An estimate is the mean of R independent random estimates, called replicates. A
// replicate is the ratio Y₀ of the numerator and the denominator of attention, estimated with m₀
// positive random features (rff.SoftmaxOptimal), plus a random correction Δ whose expectation is
// minus the bias of Y₀ [Blanchet & Glynn 2015]. With too few features, most of the variance may
// come from events that are too rare to occur in one call of Estimate; [Unbiased.Pilot] finds a
// sufficient number.
//
// Each replicate of an estimate has a finite variance and a finite mean cost: m₀ random features
// for a ratio, and 4.4·m₀ more on average for a correction, for m₀ Features. Use Unbiased if many
// estimates are averaged, so that a bias would remain after the noise has averaged out. For a
// single output, performer.Linear with the features of rff.SoftmaxOptimal nearly always has a
// smaller mean squared error than an Unbiased of equal cost. An estimate may leave the convex hull
// of the values, because the random corrections of the bias may have either sign. Exact attention
// is cheaper than Unbiased up to some ten thousand tokens: Pilot and Estimate return [ErrCost]
// unless UnbiasedOptions.MaxCost allows a higher cost.
//
// An Unbiased draws from its random source at every call, so that goroutines must not share an
// Unbiased. Two Unbiased with equal options and seeds give equal results for equal calls, bit for
// bit, for any GOMAXPROCS.
type Unbiased[T dense.Float] struct {
	opts UnbiasedOptions
	src  rand.Source
	rng  *rand.Rand

	frequencies func(m int) (orf.Projection[T], error) // of a block

	memory   linear.Fractions[T] // numerators and denominators of a block
	damped   float64             // the a of rff.SoftmaxOptimal
	first    ratios              // of Y₀, and of the first half
	second   ratios              // of the second half
	base     dense.Matrix[float64]
	a, b, ab dense.Matrix[float64]
}

// decay is r of docs/laws.md. The sum of 4^(−n)/rⁿ must be finite for the variance, so that r > ¼,
// and the sum of 2ⁿrⁿ for the cost, so that r < ½. decay is the geometric mean of both bounds.
const decay = 0.3535533905932738

// NewUnbiased returns an [Unbiased] that draws random numbers from src.
//
// NewUnbiased returns an error for a Dim below 1, a Scale other than zero that is not a positive
// number in the range of T, negative Features or too many for memory, fewer than two Replicates
// (other than zero) or more than 2⁴⁰, a MaxCost that is negative or NaN, and a nil src. NewUnbiased
// draws once from UnbiasedOptions.Frequencies, and returns the error of the draw, if any.
func NewUnbiased[T dense.Float](opts UnbiasedOptions, src rand.Source) (*Unbiased[T], error) {
	d := opts.Dim
	if d < 1 {
		return nil, fmt.Errorf("estimate: Dim = %d, want at least 1", d)
	}
	if opts.Features < 0 {
		return nil, fmt.Errorf("estimate: Features = %d, want at least 1, or 0 for a pilot", opts.Features)
	}
	if opts.Replicates == 0 {
		opts.Replicates = 32
	}
	if opts.Replicates < 2 {
		return nil, fmt.Errorf("estimate: Replicates = %d, want at least 2 for a standard error", opts.Replicates)
	}
	if opts.Replicates > limit.Repeats {
		return nil, fmt.Errorf("estimate: Replicates = %d, want at most %d", opts.Replicates, limit.Repeats)
	}
	if err := limit.Memory[T](opts.Features, d); err != nil {
		return nil, fmt.Errorf("estimate: Dim = %d, Features = %d: %w", d, opts.Features, err)
	}
	if opts.MaxCost == 0 {
		opts.MaxCost = 1
	}
	if !(opts.MaxCost > 0) {
		return nil, fmt.Errorf("estimate: MaxCost = %v, want a positive number, or 0 for 1", opts.MaxCost)
	}
	if src == nil {
		return nil, errors.New("estimate: src is nil")
	}
	if opts.Scale == 0 {
		opts.Scale = 1 / math.Sqrt(float64(d))
	}
	if opts.Frequencies == nil {
		opts.Frequencies = orf.GramSchmidt{}
	}
	u := &Unbiased[T]{opts: opts, src: src, rng: rand.New(src)}
	u.frequencies = func(m int) (orf.Projection[T], error) { return orf.Draw[T](opts.Frequencies, m, d, src) }
	if _, err := u.draw(max(opts.Features, 1)); err != nil {
		return nil, err
	}
	return u, nil
}

// For attention of queries q (Lq×d) over keys k (Lk×d) and values v (Lk×dv), Estimate writes the
// mean of independent replicates into mean (Lq×dv) and the standard errors of the elements of mean
// into stderr (Lq×dv), and returns both matrices; Estimate allocates mean and stderr if they are
// zero. The square of an element of stderr is an unbiased estimate of the variance of the
// corresponding element of mean.
//
// With 32 replicates, an element of mean is within 2 standard errors of exact attention about as
// often as under Student's t distribution, 94.6 % of the time, and less often if Features is below
// the number that Pilot returns. If Pilot needs more than 4096 features, Estimate computes with
// 4096 and returns no error, while Pilot returns an error.
//
// For R replicates and m₀ features, Lq queries and Lk keys of dimension d, and values of dimension
// dv, Estimate takes O(R·(Lq+Lk)·m₀·(d+dv)) time on average besides a pilot, and keeps O(Lq·dv)
// memory for later calls. Large norms of queries and keys cause neither overflow nor underflow.
//
// The output of a query that sees no key is zero. NaN and ±Inf in q, k or v spread to every
// dependent row of mean and stderr.
//
// The matrices mean and stderr must not overlap each other, q, k or v. Estimate writes nothing if
// it returns an error, such as the error of a context ctx that has ended. Estimate checks whether
// ctx has ended between blocks of features and between the queries of a pilot. Estimate panics if
// ctx is nil, and if the shapes of q, k and v do not fit.
func (u *Unbiased[T]) Estimate(ctx context.Context, mean, stderr, q, k, v dense.Matrix[T]) (dense.Matrix[T], dense.Matrix[T], error) {
	u.check(q, k, v)
	mean, stderr = dense.Ensure(mean, q.Rows, v.Cols), dense.Ensure(stderr, q.Rows, v.Cols)
	if err := contextError(ctx); err != nil {
		return mean, stderr, err
	}
	if q.Rows == 0 || k.Rows == 0 || v.Cols == 0 {
		clearRows(mean)
		clearRows(stderr)
		return mean, stderr, nil
	}
	m := u.opts.Features
	if m == 0 {
		p, err := u.pilot(ctx, q, k, v)
		if err != nil {
			return mean, stderr, err
		}
		m = p.features
	}
	if err := u.cost(q, k, v).check(0, m); err != nil {
		return mean, stderr, err
	}
	u.damped = u.damping(q, k)
	s := newMoments(q.Rows, v.Cols)
	for range u.opts.Replicates {
		n, err := u.replicate(ctx, m, q, k, v)
		if err != nil {
			return mean, stderr, err
		}
		s.add(u.combine(probability(n)))
	}
	writeMoments(mean, stderr, s)
	return mean, stderr, nil
}

// replicate draws the level n and computes Y₀, Y_a, Y_b and Y_n of docs/laws.md with m₀ = m, in u.
func (u *Unbiased[T]) replicate(ctx context.Context, m int, q, k, v dense.Matrix[T]) (n int, err error) {
	for _, y := range []*dense.Matrix[float64]{&u.base, &u.a, &u.b, &u.ab} {
		*y = sized(*y, q.Rows, v.Cols)
	}
	if err := u.half(ctx, &u.first, 1, m, q, k, v); err != nil {
		return 0, err
	}
	u.first.outputs(u.base)
	n = u.level()
	return n, u.halves(ctx, 1<<(n-1), m, q, k, v)
}

// halves computes the outputs Y_a and Y_b of two halves, each with a number of blocks of m
// features, and the outputs of both halves together.
func (u *Unbiased[T]) halves(ctx context.Context, blocks, m int, q, k, v dense.Matrix[T]) error {
	if err := u.half(ctx, &u.first, blocks, m, q, k, v); err != nil {
		return err
	}
	if err := u.half(ctx, &u.second, blocks, m, q, k, v); err != nil {
		return err
	}
	u.first.outputs(u.a)
	u.second.outputs(u.b)
	u.first.add(&u.second)
	u.first.outputs(u.ab)
	return nil
}

func (u *Unbiased[T]) half(ctx context.Context, r *ratios, blocks, m int, q, k, v dense.Matrix[T]) error {
	r.reset(q.Rows, v.Cols)
	for range blocks {
		if err := contextError(ctx); err != nil {
			return err
		}
		a, err := u.draw(m)
		if err != nil {
			return err
		}
		u.memory = addFeatures(r, a, u.memory, q, k, v)
	}
	return nil
}

func contextError(ctx context.Context) error {
	if err := argument.Context("estimate", ctx); err != nil {
		return fmt.Errorf("estimate: %w", err)
	}
	return nil
}

func (u *Unbiased[T]) draw(m int) (linear.Fractional[T], error) {
	w, err := u.frequencies(m)
	if err != nil {
		return nil, err
	}
	phi, err := rff.Draw(rff.SoftmaxOptimal{Scale: u.opts.Scale, A: u.damped}, w)
	if err != nil {
		return nil, err
	}
	return linear.New(phi, rff.Keys(phi), linear.Options{Causal: u.opts.Causal})
}

// level draws N of docs/laws.md.
func (u *Unbiased[T]) level() int {
	return 1 + int(math.Log(1-u.rng.Float64())/math.Log(decay))
}

// probability returns P(N = n).
func probability(n int) float64 { return (1 - decay) * math.Pow(decay, float64(n-1)) }

// combine returns Y₀ + Δ/p of the last replicate. combine overwrites Y₀.
func (u *Unbiased[T]) combine(p float64) dense.Matrix[float64] {
	for i, a := range u.a.Data {
		u.base.Data[i] += (u.ab.Data[i] - (a+u.b.Data[i])/2) / p
	}
	return u.base
}

func (u *Unbiased[T]) check(q, k, v dense.Matrix[T]) {
	q.Check()
	k.Check()
	v.Check()
	switch {
	case q.Cols != k.Cols:
		panic(fmt.Sprintf("estimate: q is %d×%d, k is %d×%d, want queries and keys of one dimension", q.Rows, q.Cols, k.Rows, k.Cols))
	case k.Rows != v.Rows:
		panic(fmt.Sprintf("estimate: k is %d×%d, v is %d×%d, want as many values as keys", k.Rows, k.Cols, v.Rows, v.Cols))
	case u.opts.Causal && q.Rows != k.Rows:
		panic(fmt.Sprintf("estimate: q is %d×%d, k is %d×%d, want as many queries as keys for causal attention", q.Rows, q.Cols, k.Rows, k.Cols))
	case q.Cols != u.opts.Dim:
		panic(fmt.Sprintf("estimate: q is %d×%d, k is %d×%d, want points of R^%d", q.Rows, q.Cols, k.Rows, k.Cols, u.opts.Dim))
	}
}

func clearRows[T dense.Float](m dense.Matrix[T]) {
	for i := range m.Rows {
		clear(m.Row(i))
	}
}

func sized(m dense.Matrix[float64], r, c int) dense.Matrix[float64] {
	if m.Rows == r && m.Cols == c {
		return m
	}
	return dense.New[float64](r, c)
}

type moments struct {
	n                   float64
	mean, rest, squares dense.Matrix[float64]
}

func newMoments(r, c int) *moments {
	return &moments{mean: dense.New[float64](r, c), rest: dense.New[float64](r, c), squares: dense.New[float64](r, c)}
}

func (s *moments) add(x dense.Matrix[float64]) {
	s.n++
	for i, v := range x.Data {
		welford.Add(s.n, v, &s.mean.Data[i], &s.rest.Data[i], &s.squares.Data[i])
	}
}

func (s *moments) stderr(i int) float64 { return welford.StdErr(s.n, s.squares.Data[i]) }

func writeMoments[T dense.Float](mean, stderr dense.Matrix[T], s *moments) {
	for i := range mean.Rows {
		m, e := mean.Row(i), stderr.Row(i)
		for j := range m {
			at := i*len(m) + j
			m[j], e[j] = T(s.mean.Data[at]), T(s.stderr(at))
		}
	}
}
