package clusters

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Options are the parameters of [New]. The zero value of Options selects the default of each field.
type Options struct {
	// Scale, finite and not negative, multiplies q_iᵀk_j of query i and key j. Zero means 1/√d.
	Scale float64

	// EightBits computes scores, weights and values in integers of 8 bits. EightBits halves the
	// time of Forward on processors that multiply 8-bit integers, and adds relative errors of about
	// 1 %.
	EightBits bool

	// Clusters is the number of clusters into which k-means divides n keys, at most n. Zero means,
	// for n keys, the smaller of n/16 and 2·√n clusters.
	Clusters int

	// Threshold is the number τ in the condition on which a query computes the weight of every key
	// of a cluster, in place of one weight for the whole cluster:
	//
	//	(w/D)·√((e^2u − 1)/n) > τ
	//
	// In (w/D)·√((e^2u − 1)/n) > τ, w is the weight of the cluster, D the sum of all weights of the
	// query, n the number of keys of the cluster, and 2u a variance of their scores, taken as at
	// most 16. A smaller Threshold τ takes more time and gives a smaller error. Zero means 0.0003.
	Threshold float64

	// Iterations is the number of iterations of k-means, which reads a random sample of 16 keys per
	// cluster. Zero means 3.
	Iterations int
}

// Attention approximates softmax attention without a mask by clusters of keys: a cluster that
// matters little to a query has one weight and the mean of its values.
//
// Every weight is positive, and outputs are weighted averages of the values of keys and of the mean
// values of clusters. If there are no keys, every output is zero. A query whose weights or sums
// overflow, underflow or are NaN, as with NaN and Inf in the input, has the output of exact
// attention. dst of Forward may be q itself where shapes allow, and must not overlap k or v.
//
// Backward computes gradients in T, even with EightBits; docs/laws.md has the formulas. A query
// whose output is exact has exact gradients. CanBackward returns nil. NewState returns an error.
type Attention[T dense.Float] struct {
	performer.Batch[T]
	of sweeper[T]
}

// sweeper is an *attention[T] behind an interface, so that importers do not compile it.
type sweeper[T dense.Float] interface {
	forwardThresholds(q, k, v dense.Matrix[T], thresholds []float64) (outs []dense.Matrix[T], scored [][]int)
}

// ForwardThresholds returns in outs[t] the result that Forward has with Options.Threshold =
// thresholds[t], to rounding. The result scored[t][i] is the number of keys whose weights query i
// computes one by one with the threshold thresholds[t]. ForwardThresholds takes the time of one
// call of Forward with the last, smallest threshold, and of additions for the other thresholds.
// ForwardThresholds panics if shapes do not fit, and unless thresholds are positive and descending.
func (a Attention[T]) ForwardThresholds(q, k, v dense.Matrix[T], thresholds []float64) (outs []dense.Matrix[T], scored [][]int) {
	if a.of == nil {
		panic("clusters: the attention is zero, want one of New")
	}
	return a.of.forwardThresholds(q, k, v, thresholds)
}

// attention is what stands behind an Attention.
type attention[T dense.Float] struct {
	Options
	seed [2]uint64
}

// New returns softmax attention that is approximated by clusters of keys. The random source src
// seeds the choice of the keys from which k-means starts. A call of Forward with at most 256 keys
// computes exact attention.
//
// New returns an error for a negative field of Options, a Scale or a Threshold that is not finite,
// and a nil src.
func New[T dense.Float](o Options, src rand.Source) (Attention[T], error) {
	return door.Choose[T, Attention[T]](new32, new64, arguments{o, src})
}

type arguments struct {
	Options
	src rand.Source
}

//go:noinline
func new32(args any) (any, error) { return open[float32](args.(arguments)) }

//go:noinline
func new64(args any) (any, error) { return open[float64](args.(arguments)) }

func open[T dense.Float](args arguments) (Attention[T], error) {
	a, err := newAttention[T](args.Options, args.src)
	if err != nil {
		return Attention[T]{}, err
	}
	b, err := performer.NewBatch[T](performer.BatchOptions{Heads: 1}, sequence.Head[T]{Of: a})
	return Attention[T]{b, a}, err
}

func newAttention[T dense.Float](o Options, src rand.Source) (*attention[T], error) {
	switch {
	case src == nil:
		return nil, errors.New("clusters: src is nil")
	case !(o.Scale >= 0) || T(o.Scale)-T(o.Scale) != 0:
		return nil, fmt.Errorf("clusters: Scale = %v, want a finite %T of at least 0", o.Scale, T(0))
	case !(o.Threshold >= 0) || math.IsInf(o.Threshold, 1):
		return nil, fmt.Errorf("clusters: Threshold = %v, want a finite number of at least 0", o.Threshold)
	case o.Clusters < 0 || o.Iterations < 0:
		return nil, fmt.Errorf("clusters: Clusters = %d, Iterations = %d, want at least 0", o.Clusters, o.Iterations)
	case o.Iterations > limit.Repeats:
		return nil, fmt.Errorf("clusters: Iterations = %d, want at most %d", o.Iterations, limit.Repeats)
	}
	o.Threshold, o.Iterations = cmp.Or(o.Threshold, 0.0003), cmp.Or(o.Iterations, 3)
	return &attention[T]{Options: o, seed: [2]uint64{src.Uint64(), src.Uint64()}}, nil
}

var _ sequence.Attention[float32] = (*attention[float32])(nil)

func (a *attention[T]) Describe() sequence.Description {
	return sequence.Description{IndependentQueries: true, Masks: true, SharesKeys: true}
}

func (a *attention[T]) Alike(sequence.Attention[T]) bool { return false }

func (a *attention[T]) NewStore(sequence.Run[T]) (*store.Store[T], error) {
	return nil, errors.New("clusters: attention by clusters has no state, want Linear or Exact attention")
}

func (a *attention[T]) Forward(c sequence.Call[T]) {
	if c.Q.Rows == 0 || c.V.Cols == 0 {
		return
	}
	x := c.ByPlace()
	c, copies := c.ValidKeys()
	if c.K.Rows > exactKeys {
		a.attend(x.Out, x.Q, c.K, c.V, nil)
	} else {
		a.exact(x.Out, x.Q, c.K, c.V)
	}
	x.Release()
	copies.Release()
}

// exact computes exact attention.
func (a *attention[T]) exact(dst, q, k, v dense.Matrix[T]) {
	tiles.Attend(tiles.Attention[T]{Dst: dst, Q: q, K: k, V: v, Scores: tiles.Scores{Scale: a.scale(q.Cols)}})
}

// exactKeys is a number of keys for which exact attention takes no longer than clusters.
const exactKeys = 256

// check panics unless q, k and v fit together.
func (a *attention[T]) check(q, k, v dense.Matrix[T]) {
	q.Check()
	k.Check()
	v.Check()
	if q.Cols != k.Cols || k.Rows != v.Rows {
		panic(fmt.Sprintf("clusters: q is %d×%d, k is %d×%d, v is %d×%d, which do not fit", q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols))
	}
}

// clustersOf returns the number of clusters that k-means finds for n keys.
func (a *attention[T]) clustersOf(n int) int {
	return min(cmp.Or(a.Clusters, max(min(n/16, int(2*math.Sqrt(float64(n)))), 1)), n)
}

// codes reports whether keys of dimension d have codes.
func (a *attention[T]) codes(d int) bool { return a.EightBits && canCode(d) }

// scale returns the factor of products of d-dimensional queries and keys.
func (a *attention[T]) scale(d int) float64 {
	return cmp.Or(a.Scale, 1/math.Sqrt(float64(d)))
}
