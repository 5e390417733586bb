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

// ChooseOptions adjusts [Choose]. The zero values are a good choice.
type ChooseOptions struct {
	// Confidence is the confidence that the error is within the tolerance, above 0 and at most
	// 0.999. Zero means 0.95.
	Confidence float64

	// Calls is the number of later calls of the chosen attention. The search costs no more than the
	// chosen attention is predicted to save in these calls. Zero means 1.
	Calls int

	// Budget is the largest cost of a search, in calls of exact attention. A search that finds no
	// approximation near the tolerance ends at half of the Budget. Zero means ½.
	Budget float64

	// Reproducible makes the choice depend on predicted costs alone, so that the same seed makes
	// the same choice on fast, slow and busy machines. Other processors round differently, so they
	// may choose otherwise if an error is very close to the tolerance. Without Reproducible, Choose
	// rejects an approximation that takes as long as exact attention or longer, and also ends a
	// search when its time exceeds the Budget.
	Reproducible bool
}

// sampledRows returns the number of choosing rows for a number of rows of q, and of the rows of
// each test.
func sampledRows(rows int) int {
	return max(min(rows/24, int(2.5*math.Sqrt(float64(rows)))), 64)
}

// Choose returns the cheapest attention that it finds whose error is within the tolerance,
//
//	‖out − exact‖_F ≤ tolerance·‖exact‖_F over all rows,
//
// or exact attention. q (Lq×d), k (Lk×d) and v (Lk×dv) are the arguments of Forward for one head.
// For several heads, call Choose for each head and make a performer.Batch of the results.
//
// In the order of predicted costs, Choose tries clusters of keys in 8 bits (package clusters), or
// blocks of keys for causal attention (package blocks), exact attention in 8 bits, trigonometric
// features, and positive features that are fitted to queries and keys (rff.SDERF), in several sizes.
// An approximation passes if a sample of rows, which Choose has not used before, shows that the
// error is within the tolerance with the Confidence. This is no guarantee: Choose does not find
// errors in rare rows that are the same in each draw of an approximation. docs/laws.md of this
// module has the tests.
//
// A search that ends in exact attention costs at most the Budget, for any number of Calls. Below
// about a thousand tokens one trial costs more than the default Budget, and Choose tries nothing.
// If softmax is causal, the chosen attention is causal, but Choose reads all tokens. Choose does
// not change q, k and v. With Reproducible, the same src makes the same choice, whatever GOMAXPROCS
// is.
//
// Choose returns an error for a tolerance that is not positive and finite, a Scale that is not
// finite, a nil src, an option out of range, no row, and shapes that do not fit. Choose also
// returns the error of ctx, which it checks between blocks of exact rows and between
// approximations. A nil ctx panics.
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
		kinds = allKinds[T](x.k.Rows, sample.heads[0].options.Causal)
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
