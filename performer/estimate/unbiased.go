package estimate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// UnbiasedOptions selects what [Unbiased] computes. The zero value is
// bidirectional attention with scale 1/√d from 32 replicates, whose m₀ comes from a
// pilot.
type UnbiasedOptions struct {
	// Scale multiplies the products q_iᵀk_j. Zero means 1/√d.
	Scale float64

	// Causal lets query i see the keys j ≤ i only; as many queries as keys
	// are required then.
	Causal bool

	// Features is m₀, the number of positive features of a block. Zero lets every
	// Estimate begin with a Pilot.
	Features int

	// Replicates is the number R ≥ 2 of independent estimates that are averaged.
	// Zero means 32.
	Replicates int

	// Frequencies is the law of the frequencies of a block. Each frequency should be N(0, I), as
	// in orf.IID and orf.GramSchmidt. Where it is nearly so, as in orf.Hadamard and orf.Givens, the
	// expectation is attention with the kernel that the features have on average. Nil means
	// orf.GramSchmidt.
	Frequencies orf.Ensemble

	// MaxCost is the largest cost of an Estimate, its pilot included, as a multiple of the cost of
	// exact attention. Both are predictions, from multiply-adds and exponentials and from measured times of sums and pilots. Pilot and Estimate refuse to cost more, with
	// [ErrCost]. Zero means 1, which is to refuse where exact attention is cheaper; +Inf lets them
	// run at any cost. The cost of an Estimate is random, and MaxCost bounds its mean: to leave out
	// estimates that turn out to be costly would make the others biased. For the same reason a
	// context that ends an Estimate should not make the caller try again.
	MaxCost float64

	// Progress, if not nil, is called with the number of replicates that are made and the number
	// that will be in all, after each replicate and each round of a pilot. The calls come in order
	// from the goroutine that estimates.
	Progress func(done, total int)
}

// Unbiased estimates softmax attention in time linear in the number of tokens, with
// an expectation that is exactly
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = exp(Scale·q_iᵀk_j),
//
// and with its standard error. Numerator and denominator of performer.Linear with positive
// features are unbiased, but their ratio is not: its bias is of order 1/m.
//
// Let Y_n be the ratio from m₀·2ⁿ features, in 2ⁿ independent blocks, and Y_a, Y_b those
// from either half of them. Then Δ_n = Y_n − ½(Y_a + Y_b) has the expectation
// E Y_n − E Y_(n−1), and these add up to what is missing. A replicate is
//
//	Y₀ + Δ_N/P(N),  P(N = n) = (1−r)·r^(n−1), n ≥ 1, r = 2^(−3/2),
//
// where Y₀ has m₀ features of its own [Blanchet & Glynn 2015]. With positive features
// every Y is an average of values, ‖Δ_n‖² falls as 4^(−n) < rⁿ and 2ⁿrⁿ can be summed: its
// variance and its expected cost are finite. A replicate takes 5.4·m₀ features on
// average, and one in 2.8ⁿ⁻¹ takes 2ⁿ·m₀ and more.
//
// The features are those of rff.SoftmaxOptimal. Those of rff.SoftmaxPositive are the case
// a = 0, in which the weight of a frequency in a ratio has no bound: Δ is seldom large, but
// is huge then, and no practical number of replicates shows its variance. A negative a
// bounds the weights by (1−4a)^(d/2)·exp(−p/8a), p = Scale·‖q+k‖². Estimate takes the a that
// makes the fourth moment of a weight least at a typical p, the mean of p under the exact
// attention of up to 16 queries. The value depends on q and k alone, so that estimates stay
// unbiased; in causal attention it depends on later tokens too.
//
// Use it where estimates are averaged over many draws, so that a bias would remain when
// the noise has gone: gradients, sums over layers or documents, a check of the bias of
// other estimates. For one output at one price the ratio of the same kind of features has
// the smaller mean squared error nearly always: where m₀ is what [Unbiased.Pilot] says, by
// 5.4·(1 + Correction/Variance), a factor of 5 to 11, as the bias is small against the noise
// that is left. What a replicate adds has no sign and may leave the convex hull of the
// values.
//
// With fewer features the variance is finite but may be huge, and events that are too rare
// for R replicates carry it: ‖Δ_n‖² falls as 4^(−n) only once a block has enough features.
//
// Exact attention is cheaper up to some ten thousand tokens, and far beyond where norms are large.
// Pilot and Estimate refuse then, unless MaxCost lets them run.
//
// An Unbiased draws from its source at every call and belongs to one goroutine. The
// same calls after the same source give the same bits, whatever GOMAXPROCS is.
type Unbiased[T dense.Float] struct {
	d    int
	opts UnbiasedOptions
	src  rand.Source
	rng  *rand.Rand

	frequencies func(m int) (orf.Projection[T], error) // of a block

	sums     dense.Matrix[T] // of a block
	damped   float64         // the a of rff.SoftmaxOptimal
	first    pooled          // the features of Y₀, and of the first half
	second   pooled          // those of the second half
	base     dense.Matrix[float64]
	a, b, ab dense.Matrix[float64]
}

// decay is r. The variance needs 4^(−n)/rⁿ to be summable, the cost 2ⁿrⁿ; this is the
// geometric mean of the bounds ¼ and ½.
const decay = 0.3535533905932738

// NewUnbiased returns the estimator for queries and keys of dimension d, which will
// draw from src. An error reports d < 1, a scale that is not a positive number in the
// range of T, a negative number of features, one too large for memory, fewer than two
// replicates or more than 2⁴⁰, a negative MaxCost or NaN, a nil src, and the error of a first
// draw of Frequencies.
func NewUnbiased[T dense.Float](d int, opts UnbiasedOptions, src rand.Source) (*Unbiased[T], error) {
	if d < 1 {
		return nil, fmt.Errorf("estimate: d = %d, want at least 1", d)
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
		return nil, fmt.Errorf("estimate: d = %d, Features = %d: %w", d, opts.Features, err)
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
	u := &Unbiased[T]{d: d, opts: opts, src: src, rng: rand.New(src)}
	u.frequencies = func(m int) (orf.Projection[T], error) { return orf.Draw[T](opts.Frequencies, m, d, src) }
	if _, err := u.draw(max(opts.Features, 1)); err != nil {
		return nil, err
	}
	return u, nil
}

// Estimate writes the mean of the replicates of attention of the queries q (Lq×d) over
// the keys k (Lk×d) and values v (Lk×dv) into mean, and its standard errors element by
// element into stderr, both Lq×dv; it returns them, and a zero Matrix is allocated. The
// square of a standard error is an unbiased estimate of the variance. An element is within
// 2 standard errors of exact attention about as often as for a t law with R − 1 degrees of
// freedom, which is 94.6 % for 32 replicates: for 64 tokens of R^8 with elements N(0, σ²)
// it was 95, 94 and 94 % at σ = 0.5, 0.8 and 1.1. It is less often if Features is less
// than a Pilot returns, or if the Pilot that Estimate begins with is not Settled: Estimate
// then takes 4096 features. A call of Pilot beforehand says so.
//
// It takes O(R·(Lq+Lk)·m₀·(d+dv)) time on average beside the Pilot, and O(Lq·dv)
// memory that is kept for later calls. Large norms neither overflow nor underflow. Without keys
// the output is zero; NaN and ±Inf in q, k or v reach every row that depends on them.
//
// mean and stderr must not overlap each other nor q, k or v. An error is ErrCost, that of a ctx that
// has ended, or one of Frequencies; mean and stderr are not written then. ctx is looked at between
// blocks of features, each of which goes over all tokens, and between queries of a pilot. Estimate panics if ctx is nil, and with the shapes
// if they do not fit.
func (u *Unbiased[T]) Estimate(ctx context.Context, mean, stderr, q, k, v dense.Matrix[T]) (dense.Matrix[T], dense.Matrix[T], error) {
	u.check(q, k, v)
	mean, stderr = dense.Ensure(mean, q.Rows, v.Cols), dense.Ensure(stderr, q.Rows, v.Cols)
	if err := ended(ctx); err != nil {
		return mean, stderr, err
	}
	if q.Rows == 0 || k.Rows == 0 || v.Cols == 0 {
		clearRows(mean)
		clearRows(stderr)
		return mean, stderr, nil
	}
	m := u.opts.Features
	if m == 0 {
		p, err := u.Pilot(ctx, q, k, v)
		if err != nil {
			return mean, stderr, err
		}
		m = p.Features
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
		u.progress(int(s.n))
	}
	writeMoments(mean, stderr, s)
	return mean, stderr, nil
}

// replicate draws Y₀, a level n, and the estimates of that level with m₀ = m, which
// it leaves in u.
func (u *Unbiased[T]) replicate(ctx context.Context, m int, q, k, v dense.Matrix[T]) (n int, err error) {
	for _, y := range []*dense.Matrix[float64]{&u.base, &u.a, &u.b, &u.ab} {
		*y = sized(*y, q.Rows, v.Cols)
	}
	if err := u.half(ctx, &u.first, 1, m, q, k, v); err != nil {
		return 0, err
	}
	u.first.quotients(u.base)
	n = u.level()
	return n, u.halves(ctx, 1<<(n-1), m, q, k, v)
}

// halves computes the outputs Y_a and Y_b of two sets of so many blocks of m features,
// and Y of both together.
func (u *Unbiased[T]) halves(ctx context.Context, blocks, m int, q, k, v dense.Matrix[T]) error {
	if err := u.half(ctx, &u.first, blocks, m, q, k, v); err != nil {
		return err
	}
	if err := u.half(ctx, &u.second, blocks, m, q, k, v); err != nil {
		return err
	}
	u.first.quotients(u.a)
	u.second.quotients(u.b)
	u.first.add(&u.second)
	u.first.quotients(u.ab)
	return nil
}

// half makes p the sums over so many blocks of m features. One block is summed after
// another, so that memory does not depend on how many there are.
func (u *Unbiased[T]) half(ctx context.Context, p *pooled, blocks, m int, q, k, v dense.Matrix[T]) error {
	p.empty(q.Rows, v.Cols)
	for range blocks {
		if err := ended(ctx); err != nil {
			return err
		}
		a, err := u.draw(m)
		if err != nil {
			return err
		}
		u.sums = addSums(p, a, u.sums, q, k, v)
	}
	return nil
}

// ended returns why to end early, if so. A nil ctx panics.
func ended(ctx context.Context) error {
	if err := argument.Context("estimate", ctx); err != nil {
		return fmt.Errorf("estimate: %w", err)
	}
	return nil
}

// progress reports so many replicates.
func (u *Unbiased[T]) progress(done int) {
	if u.opts.Progress != nil {
		u.opts.Progress(done, u.opts.Replicates)
	}
}

// draw returns attention with a fresh block of m features.
func (u *Unbiased[T]) draw(m int) (performer.Linear[T], error) {
	w, err := u.frequencies(m)
	if err != nil {
		return nil, err
	}
	phi, err := rff.SoftmaxOptimal(w, u.opts.Scale, u.damped)
	if err != nil {
		return nil, err
	}
	return performer.NewLinear[T](phi, performer.LinearOptions{Causal: u.opts.Causal})
}

// level draws N.
func (u *Unbiased[T]) level() int {
	return 1 + int(math.Log(1-u.rng.Float64())/math.Log(decay))
}

// probability returns P(N = n).
func probability(n int) float64 { return (1 - decay) * math.Pow(decay, float64(n-1)) }

// combine returns Y₀ + Δ/p of the last replicate, in the memory of Y₀.
func (u *Unbiased[T]) combine(p float64) dense.Matrix[float64] {
	for i, a := range u.a.Data {
		u.base.Data[i] += (u.ab.Data[i] - (a+u.b.Data[i])/2) / p
	}
	return u.base
}

// check panics unless q (Lq×d), k (Lk×d) and v (Lk×dv) fit together and d.
func (u *Unbiased[T]) check(q, k, v dense.Matrix[T]) {
	checkShapes(q, k, v, u.opts.Causal)
	if q.Cols != u.d {
		panic(fmt.Sprintf("estimate: q is %d×%d, k is %d×%d, want points of R^%d", q.Rows, q.Cols, k.Rows, k.Cols, u.d))
	}
}

// checkShapes panics unless q (Lq×d), k (Lk×d) and v (Lk×dv) fit together.
func checkShapes[T dense.Float](q, k, v dense.Matrix[T], causal bool) {
	q.Check()
	k.Check()
	v.Check()
	switch {
	case q.Cols != k.Cols:
		panic(fmt.Sprintf("estimate: q is %d×%d, k is %d×%d, want queries and keys of one dimension", q.Rows, q.Cols, k.Rows, k.Cols))
	case k.Rows != v.Rows:
		panic(fmt.Sprintf("estimate: k is %d×%d, v is %d×%d, want as many values as keys", k.Rows, k.Cols, v.Rows, v.Cols))
	case causal && q.Rows != k.Rows:
		panic(fmt.Sprintf("estimate: q is %d×%d, k is %d×%d, want as many queries as keys for causal attention", q.Rows, q.Cols, k.Rows, k.Cols))
	}
}

// clearRows sets every element of m to zero.
func clearRows[T dense.Float](m dense.Matrix[T]) {
	for i := range m.Rows {
		clear(m.Row(i))
	}
}

// sized returns m if it is r×c, or a new matrix.
func sized(m dense.Matrix[float64], r, c int) dense.Matrix[float64] {
	if m.Rows == r && m.Cols == c {
		return m
	}
	return dense.New[float64](r, c)
}
