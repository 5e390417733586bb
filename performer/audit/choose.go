package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// ChooseOptions adjusts [Choose]. The zero ChooseOptions, with all defaults, is a good choice.
type ChooseOptions struct {
	// Confidence is the statistical confidence with which a chosen approximation has an error
	// within the tolerance, above 0 and at most 0.999. Zero means 0.95.
	Confidence float64

	// Calls is the number of calls that the caller will make of the chosen attention. The search by
	// Choose costs no more than the chosen attention is predicted to save in that number of Calls.
	// Zero means 1.
	Calls int

	// Budget is the largest cost of a search by Choose, in calls of exact attention. A search that
	// finds no error near the tolerance ends at half of the Budget. Zero means ½.
	Budget float64

	// Reproducible makes Choose compare predicted costs and no measured times, so that the same
	// seed gives the same choice on fast, slow and busy machines. Even with Reproducible,
	// processors that round differently may give different choices if an error is very close to the
	// tolerance. Without Reproducible, Choose also rejects an approximation that takes as long as
	// exact attention or longer, and ends a search that takes longer than the Budget.
	Reproducible bool
}

// sampledRows returns the number of choosing rows for a number of rows of q, and of the rows of
// each test.
func sampledRows(rows int) int {
	return max(min(rows/24, int(2.5*math.Sqrt(float64(rows)))), 64)
}

// Choose returns the cheapest approximation of attention that it finds with an error within the
// tolerance, or else exact attention. The error of the outputs is within the tolerance if
//
//	‖out − exact‖_F ≤ tolerance·‖exact‖_F over all rows.
//
// q (Lq×d), k (Lk×d) and v (Lk×dv) are the queries, keys and values of one head. For several heads,
// call Choose for each head and make a performer.Batch of the chosen attention of each.
//
// In the order of predicted costs, Choose tries blocks of keys in 8 bits (package blocks), exact
// attention in 8 bits, trigonometric features, and positive features that are fitted to queries and
// keys (rff.SDERF), in several sizes. Choose accepts an approximation if a random sample of rows that it has not used before
// shows, with the Confidence of the options, that the error is within the tolerance. Choose does
// not guarantee the tolerance: it does not find errors in rare rows that are the same for all
// random numbers of an approximation. docs/laws.md of this module describes the statistical tests
// by which Choose accepts approximations.
//
// A search that ends with the choice of exact attention costs at most the Budget of the options,
// for any number of Calls. Below about a thousand tokens one trial of an approximation costs more
// than the default Budget, and Choose returns exact attention without a trial. If softmax is
// causal, the chosen attention is causal, but the choice depends on all tokens. Choose does not
// change the matrices q, k and v. With the option Reproducible, the same random source src gives
// the same choice, whatever GOMAXPROCS is.
//
// Choose returns an error for a tolerance that is not positive and finite, a softmax.Scale that is
// not finite, a nil src, an option out of range, a q without rows, and shapes of q, k and v that do
// not fit. Choose also returns the error of the context ctx, which it checks between blocks of rows
// of exact attention and between approximations. A nil ctx panics.
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
	sample, err := newSample(batch, x, sampledRows(x.q.Rows), rng)
	if err != nil {
		return none, err
	}
	if kinds == nil {
		kinds = allKinds[T]()
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

// checkChoose returns an error if an argument is out of range. Options of zero become the defaults.
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
