package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// ChooseOptions adjusts [Choose]. The zero ChooseOptions, with all defaults, is a good choice.
type ChooseOptions struct {
	// Confidence is the statistical confidence with which a chosen approximation has an error
	// within the tolerance, above 0 and at most 0.999. A Confidence of 0 stands for 0.95.
	Confidence float64

	// Calls is the number of calls of the chosen attention that the caller will make: a search that
	// finds an approximation costs no more than the approximation is predicted to save in so many
	// Calls. Calls of 0 stands for 1.
	Calls int

	// Budget is the largest cost of a search by Choose, relative to a call of exact attention, but
	// for the calls that measure the time of an approximation within the tolerance: at most three of
	// each, and of at most six approximations. A search ends at half of the Budget if no
	// approximation has an error below twice the tolerance.
	// With a Budget of at least 4, Choose compares attention over blocks of keys and attention in 8
	// bits with exact attention in all rows of up to 16,384 queries, not in samples of rows, and a
	// search may spend all of the Budget. The error of an attention that Choose has chosen with all
	// rows may be just within the tolerance on the rows of the choice, and above on others: on the
	// other half of the tokens of six heads of SmolLM2, 5 of 24 choices were above, by up to 14 %.
	// A Budget of 0 stands for ½.
	Budget float64

	// Reproducible makes Choose compare predicted costs and no measured times, so that equal seeds
	// give equal choices on fast, slow and busy machines. Even with Reproducible, processors that
	// round differently may give different choices if an error is very close to the tolerance.
	// Without Reproducible, Choose also rejects an approximation whose shortest call, of three in
	// turns with exact attention, is no shorter than that of exact attention, and ends a search that
	// takes longer than the Budget.
	Reproducible bool
}

// sampledRows returns the number of choosing rows, and of rows of each test, for rows of q. A sweep
// gives the outputs of all sizes, so that a large budget is enough for all rows, whose errors need
// no tests in other rows.
func sampledRows(rows int, budget float64, sweeps bool) int {
	const least, most = 4, 1 << 14 // the sweep holds the outputs of all sizes
	if sweeps && budget >= least && rows <= most {
		return rows
	}
	return max(min(rows/24, int(2.5*math.Sqrt(float64(rows)))), 64)
}

// Choose returns the cheapest approximation of attention that it finds with an error within the
// tolerance, or else exact attention. The argument tolerance bounds the relative error of outputs
// in the Frobenius norm over all rows: ‖out − exact‖_F ≤ tolerance·‖exact‖_F. q (Lq×d), k (Lk×d)
// and v (Lk×dv) are the queries, keys and values of one head. For several heads, call Choose for
// each head and make a performer.Batch of the chosen attention of each.
//
// Choose tries attention over some blocks of keys (package blocks), and then exact attention in 8
// bits. Choose accepts an approximation if a new random sample of rows shows with the given
// Confidence an error within the tolerance. Choose does not guarantee the tolerance: samples may
// miss rare large errors.
//
// A search that finds no approximation within the tolerance costs at most the Budget, for any
// number of Calls. Below about a thousand tokens one trial of an approximation costs more than the
// default Budget, and Choose returns exact attention without a trial.
//
// If softmax.Causal is true, the chosen attention is causal, but the choice depends on all tokens.
// With the option Reproducible, equal random sources src give equal choices, whatever GOMAXPROCS
// is.
//
// Choose returns an error for a tolerance that is not positive and finite, a softmax.Scale that is
// not finite, a nil src, an option out of range, a q without rows, and shapes of q, k and v that do
// not fit. If the context ctx ends, Choose returns the error of ctx before the next block of rows
// of exact attention or the next approximation. Choose panics if ctx is nil.
func Choose[T dense.Float](ctx context.Context, softmax performer.Softmax, q, k, v dense.Matrix[T], tolerance float64, opts ChooseOptions, src rand.Source) (Choice[T], error) {
	var c any
	var err error
	x := input[T]{q, k, v}
	switch any(*new(T)).(type) {
	case float32:
		c, err = choose32(ctx, softmax, x, tolerance, opts, src)
	case float64:
		c, err = choose64(ctx, softmax, x, tolerance, opts, src)
	}
	return c.(Choice[T]), err
}

//go:noinline
func choose32(ctx context.Context, softmax performer.Softmax, x any, tolerance float64, opts ChooseOptions, src rand.Source) (any, error) {
	return choose(ctx, softmax, x.(input[float32]), tolerance, opts, nil, src)
}

//go:noinline
func choose64(ctx context.Context, softmax performer.Softmax, x any, tolerance float64, opts ChooseOptions, src rand.Source) (any, error) {
	return choose(ctx, softmax, x.(input[float64]), tolerance, opts, nil, src)
}

// choose returns the choice among kinds of attention and exact attention. Nil kinds are all.
func choose[T dense.Float](ctx context.Context, softmax performer.Softmax, x input[T], tolerance float64, opts ChooseOptions, kinds []kind[T], src rand.Source) (Choice[T], error) {
	start := time.Now()
	none := Choice[T]{}
	if err := contextError(ctx); err != nil {
		return none, err
	}
	if err := checkChoose(tolerance, &opts, src); err != nil {
		return none, err
	}
	exact, err := performer.NewExact[T](performer.ExactOptions{Softmax: softmax})
	if err != nil {
		return none, fmt.Errorf("audit: %w", err)
	}
	batch, err := exactBatch(exact)
	if err != nil {
		return none, err
	}
	if err := checkShapes(0, exact, batch, x); err != nil {
		return none, err
	}
	rng := rand.New(src)
	if kinds == nil {
		kinds = allKinds[T]()
	}
	sweeps := slices.ContainsFunc(kinds, func(k kind[T]) bool { return k.sweep != nil })
	sample, err := newSample(batch, x, sampledRows(x.q.Rows, opts.Budget, sweeps), rng)
	if err != nil {
		return none, err
	}
	s := newSearch(sample.heads[0], tolerance, opts, kinds, rng)
	c := Choice[T]{Attention: exact, Name: "exact attention", Exact: true, Tolerance: tolerance}
	affordable := s.cheapest() != nil
	s.start, s.clock = start, newClock(s.head, s.exactWork)
	if affordable {
		if err := s.run(ctx, &c); err != nil {
			return none, err
		}
	}
	c.ExactTime = s.clock.time(s.exactWork)
	if c.Exact {
		c.Time = c.ExactTime
	}
	c.Choosing = time.Since(start)
	return c, nil
}

func checkChoose(tolerance float64, o *ChooseOptions, src rand.Source) error {
	if o.Calls == 0 {
		o.Calls = 1
	}
	if o.Budget == 0 {
		o.Budget = 0.5
	}
	switch {
	case !(tolerance > 0 && tolerance <= math.MaxFloat64):
		return fmt.Errorf("audit: tolerance = %v, want a positive number", tolerance)
	case !(o.Budget > 0 && o.Budget <= math.MaxFloat64):
		return fmt.Errorf("audit: Budget = %v, want a positive number, or 0 for ½", o.Budget)
	case o.Calls < 0:
		return fmt.Errorf("audit: Calls = %d, want at least 1, or 0 for 1", o.Calls)
	case src == nil:
		return errors.New("audit: src is nil")
	}
	return checkConfidence(&o.Confidence)
}
