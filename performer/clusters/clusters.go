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

// Options are the parameters of [New]. The zero value selects the defaults.
type Options struct {
	// The Scale is not negative.
	performer.Softmax

	// EightBits computes scores, weights and values in integers of 8 bits. EightBits halves the
	// time of Forward on processors that multiply such integers, and adds errors of about a
	// percent.
	EightBits bool

	// Clusters is the number of clusters of a segment of n keys, at most n. A segment is 256 keys
	// in causal attention, and all keys otherwise. Zero means the smaller of n/16 and 2·√n.
	Clusters int

	// Threshold is τ. A query computes the weight of every key of a cluster if
	//
	//	(w/D)·√((e^2u − 1)/n) > τ
	//
	// where w is the weight of the cluster, D the sum of all weights of the query, n the number of
	// keys of the cluster, and 2u a variance of the scores of these keys, taken as at most 16. A
	// smaller τ costs more time and gives a smaller error. Zero means 0.0003.
	Threshold float64

	// Iterations is the number of iterations of k-means over 16 randomly drawn keys per cluster.
	// Zero means 3.
	Iterations int
}

// Attention approximates softmax attention by clusters of keys. The bits of a causal output do not
// depend on later tokens.
//
// Every weight is positive, and outputs are averages of values and of means of values. Without keys
// the output is zero. If weights or sums of a query overflow, underflow or are NaN, as with NaN and
// Inf in the input, its output is that of exact attention. dst of Forward may be exactly q where
// shapes allow; dst must not overlap k or v.
//
// Backward computes in T, also with EightBits; the package comment has the formulas. A query with
// exact attention has exact gradients. CanBackward returns nil. NewState returns an error.
type Attention[T dense.Float] struct {
	performer.Batch[T]
	of prefixes[T]
}

// prefixes is an *attention[T] behind an interface, so that importers do not compile it.
type prefixes[T dense.Float] interface {
	forwardPrefixes(dst, q, k, v dense.Matrix[T], prefixes []int) dense.Matrix[T]
	forwardThresholds(q, k, v dense.Matrix[T], prefixes []int, thresholds []float64) (outs []dense.Matrix[T], scored [][]int)
}

// ForwardPrefixes is Forward for queries that see the first keys only: query i sees the keys j <
// prefixes[i]. The output of a query that sees no key is zero. ForwardPrefixes uses the segments of
// causal attention even if the Attention is bidirectional. ForwardPrefixes panics as Forward does,
// and unless prefixes has Lq ascending numbers from 0 to Lk.
func (a Attention[T]) ForwardPrefixes(dst, q, k, v dense.Matrix[T], prefixes []int) dense.Matrix[T] {
	return a.made().forwardPrefixes(dst, q, k, v, prefixes)
}

// ForwardThresholds returns, for each of several thresholds, the outputs of ForwardPrefixes with
// this threshold, or of Forward without a mask if prefixes is nil, to rounding. scored[t][i] is the
// number of keys whose own weights query i computes with threshold t. All thresholds together cost
// a call with the last one, and additions. ForwardThresholds panics as ForwardPrefixes does, and
// unless thresholds are positive and descend.
func (a Attention[T]) ForwardThresholds(q, k, v dense.Matrix[T], prefixes []int, thresholds []float64) (outs []dense.Matrix[T], scored [][]int) {
	return a.made().forwardThresholds(q, k, v, prefixes, thresholds)
}

func (a Attention[T]) made() prefixes[T] {
	if a.of == nil {
		panic("clusters: the attention is zero, want one of New")
	}
	return a.of
}

// attention is what stands behind an Attention.
type attention[T dense.Float] struct {
	Options
	seed [2]uint64
}

// New returns attention by clusters of keys. src seeds the choice of the keys from which k-means
// starts. A call without a mask has exact attention for up to 256 keys. A causal query has exact
// attention if it sees up to 256 keys.
//
// New returns an error for negative options, a Scale or a Threshold that is not finite, and a nil
// src.
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
	return sequence.Description{Causal: a.Causal, IndependentQueries: !a.Causal, Masks: true, SharesKeys: true}
}

func (a *attention[T]) Alike(sequence.Attention[T]) bool { return false }

func (a *attention[T]) NewStore(sequence.Run[T]) (*store.Store[T], error) {
	return nil, errors.New("clusters: attention by clusters has no state, want Linear or Exact attention")
}

func (a *attention[T]) Forward(c sequence.Call[T]) {
	if a.Causal {
		c = c.TrimCausal()
	}
	if c.Q.Rows == 0 || c.V.Cols == 0 {
		return
	}
	var prefixes []int
	x := c.ByPlace()
	if a.Causal && (c.Valid != nil || c.Past != 0 || x.Q.Rows != c.K.Rows) {
		prefixes = x.Prefixes()
	}
	c, copies := c.ValidKeys()
	if a.Causal || c.K.Rows > exactKeys {
		a.attend(x.Out, x.Q, c.K, c.V, a.Causal, prefixes, nil)
	} else {
		a.exact(x.Out, x.Q, c.K, c.V)
	}
	x.Release()
	copies.Release()
}

// exact computes exact attention without a mask.
func (a *attention[T]) exact(dst, q, k, v dense.Matrix[T]) {
	tiles.Attend(tiles.Attention[T]{Dst: dst, Q: q, K: k, V: v, Scores: tiles.Scores{Scale: a.scale(q.Cols)}})
}

// exactKeys is a number of keys for which exact attention takes no longer than clusters.
const exactKeys = 256

func (a *attention[T]) forwardPrefixes(dst, q, k, v dense.Matrix[T], prefixes []int) dense.Matrix[T] {
	a.check(q, k, v)
	a.checkPrefixes(prefixes, q, k)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	a.attend(dst, q, k, v, true, prefixes, nil)
	return dst
}

// check panics unless q, k and v fit together.
func (a *attention[T]) check(q, k, v dense.Matrix[T]) {
	q.Check()
	k.Check()
	v.Check()
	if q.Cols != k.Cols || k.Rows != v.Rows {
		panic(fmt.Sprintf("clusters: q is %d×%d, k is %d×%d, v is %d×%d, which do not fit", q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols))
	}
}

// checkPrefixes panics unless prefixes has a number of the keys k for each query, in ascending
// order.
func (a *attention[T]) checkPrefixes(prefixes []int, q, k dense.Matrix[T]) {
	if len(prefixes) != q.Rows {
		panic(fmt.Sprintf("clusters: prefixes has length %d, want one number for each of %d queries", len(prefixes), q.Rows))
	}
	least := 0
	for i, n := range prefixes {
		if n < least || n > k.Rows {
			panic(fmt.Sprintf("clusters: prefixes[%d] = %d, want %d to %d", i, n, least, k.Rows))
		}
		least = n
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
