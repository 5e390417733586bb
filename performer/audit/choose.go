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

	// Calls is the number of later calls of the attention. The search costs no more than the
	// attention is predicted to save in these calls. Zero means 1.
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

// sampledRows returns the number of choosing rows for a number of rows of q, and of the rows of each
// test.
func sampledRows(rows int) int {
	return max(min(rows/24, int(2.5*math.Sqrt(float64(rows)))), 64)
}

// Choose returns the cheapest attention that it finds whose error is within the tolerance,
//
//	‖out − exact‖_F ≤ tolerance·‖exact‖_F over all rows.
//
// Choose returns exact attention if no cheaper approximation is known to be within the tolerance. q
// (Lq×d), k (Lk×d) and v (Lk×dv) are the arguments of Forward for one head. For several heads, call
// Choose for each head and make a performer.Batch of the results.
//
//	c, err := audit.Choose(ctx, exact, q, k, v, 0.02, audit.ChooseOptions{}, src)
//	fmt.Println(c) // 256 landmarks: error 1.6 % (95 %: 1.3 … 1.9 %), 14 times as fast as exact attention; …
//	out := c.Attention.Forward(dense.Matrix[float32]{}, q, k, v)
//
// # Approximations
//
// Choose tries these kinds of attention, in several sizes, in the order of their predicted costs:
//
//   - clusters of keys (package clusters) in 8 bits: the smaller of n/64 and 2·√n clusters of n keys,
//     or 8 of each 256 keys of causal attention, with thresholds from 4 to 16/n in steps of 1.25;
//   - exact attention in 8 bits (performer.ExactOptions.Bits), unless exact has a Softcap;
//   - landmarks among the keys of each call (performer.NewLandmarks), unless exact is causal;
//   - trigonometric features, which are accurate at small norms;
//   - positive features that are fitted to queries and keys (rff.SDERF).
//
// Landmarks and features subtract the means of queries and keys (performer.LandmarkOptions,
// rff.Centred). Features have orthogonal frequencies. If exact is causal, means and fits come from
// the first 1024 tokens.
//
// # Tests
//
// Choose samples choosing rows as [Measure] does: the smaller of L/24 and 2.5·√L of L rows, at least
// 64. Choosing rows say which approximation deserves a test, and never judge it. Each test samples
// as many rows again. An approximation passes test j if the upper end of the t interval of its error
// (see [Report]) is within the tolerance with the confidence 1 − (1−Confidence)/(j·(j+1)), so that all
// tests together have the Confidence. There are six tests at most.
//
// Choose computes the outputs of the choosing rows with all thresholds of clusters at once
// (clusters.Attention.ForwardThresholds). The error falls with the threshold, so Choose tests the
// largest threshold that is within the tolerance on the choosing rows. If it fails, Choose tests a
// threshold that is smaller accordingly, on new rows.
//
// A sample misses rows that are too rare. Therefore a test makes the approximation a second time
// with new random numbers, and compares the outputs of both in all rows, or in at least an eighth of
// the rows and 1024 if the Budget allows no more. Half of the rows of the test are sampled in
// proportion to the squared differences of the outputs, because two independent errors are seldom
// large and equal. The estimate takes the probabilities of both samples into account [Särndal et al.
// 1992, chapter 9]. The outputs of all rows also show an approximation that is less accurate with
// many queries than with few. Choose tests clusters without a comparison if the Budget does not
// allow one, and exact attention in 8 bits, which has no random numbers, always.
//
// # Cost of a search
//
// A search that ends in exact attention costs at most the Budget, for any number of Calls. The
// default Budget is half a call of exact attention. A search without clusters costs a quarter of a
// call if no error on the choosing rows is within two tolerances. Costs are predicted. Without
// Reproducible, the times keep to the Budget as well, except for the last step.
//
// Choose never tries an approximation whose predicted cost is that of exact attention or more. An
// approximation computes outputs of the sampled rows alone if its performer.Description says
// IndependentQueries, or if it is causal and has clusters. For 512 clusters of 16384
// keys these outputs took 3 to 7 % of the time of exact attention. Other approximations compute all
// outputs. Choose tries clusters first, then other approximations that cost less. Choose
// extrapolates errors to larger sizes, like 1/√m for features, and at the measured rate for
// landmarks. Choose drops a kind of attention if the largest affordable size is not expected to be
// within the tolerance.
//
// Exact attention of n sampled rows costs about 2·n/Lq calls. For less than about a thousand tokens
// this is half a call. The search then ends at once unless the Budget is larger.
//
// # Limits
//
// Choose gives no guarantee. Choose cannot find errors in rare rows that are the same in each draw
// of an approximation. For example, Choose accepted attention that is exact but for 4 of 1024 rows,
// the same rows in each draw, at a tolerance of 5 %. The error was 10 to 38 % on normal points and
// on heads with sharp queries. The predicted cost of clusters holds for peaked attention.
//
// Choose reads all tokens even if exact is causal. The chosen attention is causal then.
//
// With Reproducible, the same src makes the same choice, whatever GOMAXPROCS is. Without
// Reproducible, Choose returns exact attention more often on a busy machine. Choose does not change
// q, k and v.
//
// Choose returns an error for a tolerance that is not positive and finite, a nil exact or src, an
// option out of range, exact attention with a Window, a Chunk, a Slope, a SinkWeight or Bits, no
// row, and shapes that do not fit. Choose also returns the error of ctx, which it checks between
// blocks of exact rows and between approximations. A nil ctx panics.
func Choose[T dense.Float](ctx context.Context, exact performer.Exact[T], q, k, v dense.Matrix[T], tolerance float64, opts ChooseOptions, src rand.Source) (Choice[T], error) {
	var c any
	var err error
	x := input[T]{exact, q, k, v}
	switch any(*new(T)).(type) {
	case float32:
		c, err = choose32(ctx, x, tolerance, opts, src)
	case float64:
		c, err = choose64(ctx, x, tolerance, opts, src)
	}
	return c.(Choice[T]), err
}

//go:noinline
func choose32(ctx context.Context, x any, tolerance float64, opts ChooseOptions, src rand.Source) (any, error) {
	return choose(ctx, x.(input[float32]), tolerance, opts, nil, src)
}

//go:noinline
func choose64(ctx context.Context, x any, tolerance float64, opts ChooseOptions, src rand.Source) (any, error) {
	return choose(ctx, x.(input[float64]), tolerance, opts, nil, src)
}

// choose returns the choice among kinds of attention and exact attention. Nil kinds are all.
func choose[T dense.Float](ctx context.Context, x input[T], tolerance float64, opts ChooseOptions, kinds []kind[T], src rand.Source) (Choice[T], error) {
	start := time.Now()
	none := Choice[T]{}
	if err := contextError(ctx); err != nil {
		return none, err
	}
	if err := checkChoose(tolerance, &opts, src); err != nil {
		return none, err
	}
	exact, err := exactBatch(x.exact)
	if err != nil {
		return none, err
	}
	if err := checkShapes(0, x.exact, exact, x); err != nil {
		return none, err
	}
	rng := rand.New(src)
	sample, err := newSample(exact, x, sampledRows(x.q.Rows), rng)
	if err != nil {
		return none, err
	}
	if kinds == nil {
		kinds = allKinds[T](x.k.Rows, sample.heads[0].options.Causal)
	}
	s := newSearch(sample.heads[0], tolerance, opts, kinds, rng)
	c := Choice[T]{Attention: x.exact, Name: "exact attention", Exact: true, Tolerance: tolerance}
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
