package clusters

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/performer"
)

// Options are the parameters of [New]. The zero value selects the defaults.
type Options struct {
	// Clusters is the number of clusters of the n keys of a segment, at most n: of 256 keys in
	// causal attention, and of all keys otherwise. Zero means the smaller of n/16 and 2·√n.
	Clusters int

	// Threshold is τ. A query scores every key of a cluster if
	//
	//	(w/D)·√((e^2u' − 1)/n) > τ
	//
	// where w/D is the share of the cluster in the weights of the query, n the number of keys of
	// the cluster, and 2u' a variance of their scores, taken as at most 16. A smaller τ costs more
	// time and gives a smaller error. Zero means 0.0003.
	Threshold float64

	// Iterations is the number of iterations of k-means over 16 randomly drawn keys per cluster.
	// Zero means 3.
	Iterations int
}

// Attention approximates softmax attention by clusters of keys. Attention implements
// [performer.PrefixDifferentiable]. An Attention never changes, and goroutines may share it. New
// makes one.
type Attention[T dense.Float] interface {
	// Forward computes attention of the queries q (Lq×d) over the keys k (Lk×d) and values v
	// (Lk×dv) into dst (Lq×dv), which Forward returns; a zero dst is allocated. The bits do not
	// depend on GOMAXPROCS. The bits of a causal output do not depend on later tokens.
	//
	// Every weight is positive, and outputs are averages of values and of means of values. Without
	// keys the output is zero. A query whose weights or sums overflow, underflow or are NaN gets
	// exact attention, together with other such queries; NaN and Inf cause such weights.
	//
	// dst may be exactly q where shapes allow; dst must not overlap k or v. Forward panics with the
	// shapes if they do not fit; causal attention needs Lq = Lk.
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]

	// ForwardPrefixes is Forward for queries that see the first keys only, see
	// [performer.PrefixAttention]: query i sees the keys j < prefixes[i]. A query that sees no key
	// gets zero. ForwardPrefixes uses the segments of causal attention even if the Attention is
	// bidirectional. ForwardPrefixes panics as Forward does, and unless prefixes has Lq ascending
	// numbers from 0 to Lk.
	ForwardPrefixes(dst, q, k, v dense.Matrix[T], prefixes []int) dense.Matrix[T]

	// ForwardThresholds returns the outputs of ForwardPrefixes, or of Forward without a mask if
	// prefixes is nil, with each of several thresholds in place of that of the Options, to
	// rounding. scored[t][i] is the number of keys of clusters that query i scores with threshold t.
	// All thresholds together cost a call with the last one, and additions.
	// ForwardThresholds panics as ForwardPrefixes does, and unless thresholds are positive and
	// descend.
	ForwardThresholds(q, k, v dense.Matrix[T], prefixes []int, thresholds []float64) (outs []dense.Matrix[T], scored [][]int)

	// Backward writes the gradients of Forward, see [performer.Differentiable] and the package
	// comment, and BackwardPrefixes those of ForwardPrefixes. Both compute in T, also with 8 Bits.
	// The bits do not depend on GOMAXPROCS. Gradients of keys that no query sees are zero. A query
	// with exact attention has exact gradients. CanBackward returns nil. dq, dk and dv must not
	// overlap each other nor an input. Backward and BackwardPrefixes panic as Forward and
	// ForwardPrefixes do, and if dout has not the shape of the outputs.
	Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T])
	BackwardPrefixes(dq, dk, dv, q, k, v, dout dense.Matrix[T], prefixes []int) (_, _, _ dense.Matrix[T])
	CanBackward() error

	// Describe returns a Description that is causal if the ExactOptions are. Outputs of
	// bidirectional attention do not depend on other queries.
	Describe() performer.Description
}

// attention is the Attention of one element type.
type attention[T dense.Float] struct {
	options   performer.ExactOptions
	exact     performer.Exact[T] // bidirectional
	opts      Options
	threshold T
	seed      [2]uint64
}

// New returns attention that approximates exact. src seeds the choice of the keys that k-means
// starts from. A call without a mask has exact attention for up to 256 keys. A causal query has
// exact attention if it sees up to 256 keys.
//
// If exact has 8 Bits, scores, weights and values are integers of 8 bits. Forward then takes about
// half the time on processors that multiply such integers, and has additional errors of about a
// percent.
//
// New returns an error for an exact with Softcap, Window, Chunk, Slope, SinkWeight or Unnormalised;
// with KeyBits or ValueBits; with Bits other than 0 and 8; or with a Scale that is negative or not
// finite. New also returns an error for negative options, a Threshold that is not finite, and a nil
// src. Window, Chunk and Slope are excluded because clusters do not know the positions of keys.
func New[T dense.Float](exact performer.ExactOptions, opts Options, src rand.Source) (Attention[T], error) {
	var a any
	var err error
	switch any(*new(T)).(type) {
	case float32:
		a, err = new32(exact, opts, src)
	case float64:
		a, err = new64(exact, opts, src)
	}
	if err != nil {
		return nil, err
	}
	return a.(Attention[T]), nil
}

//go:noinline
func new32(exact performer.ExactOptions, opts Options, src rand.Source) (any, error) {
	return newAttention[float32](exact, opts, src)
}

//go:noinline
func new64(exact performer.ExactOptions, opts Options, src rand.Source) (any, error) {
	return newAttention[float64](exact, opts, src)
}

func newAttention[T dense.Float](exact performer.ExactOptions, opts Options, src rand.Source) (*attention[T], error) {
	switch {
	case src == nil:
		return nil, errors.New("clusters: src is nil")
	case !(exact.Scale >= 0) || math.IsInf(exact.Scale, 1):
		return nil, fmt.Errorf("clusters: exact.Scale = %v, want a finite number of at least 0", exact.Scale)
	case exact.Softcap != 0:
		return nil, fmt.Errorf("clusters: exact.Softcap = %v, want 0", exact.Softcap)
	case exact.Chunk != 0:
		return nil, fmt.Errorf("clusters: exact.Chunk = %d, want 0: clusters know no places", exact.Chunk)
	case exact.Window != 0 || exact.Slope != 0:
		return nil, fmt.Errorf("clusters: exact has Window = %d and Slope = %v, want none: a window bounds the keys, clusters are for many, and know no places", exact.Window, exact.Slope)
	case exact.KeyBits != 0 || exact.ValueBits != 0:
		return nil, fmt.Errorf("clusters: exact.KeyBits = %d and exact.ValueBits = %d, want 0: clusters have no state", exact.KeyBits, exact.ValueBits)
	case exact.Bits != 0 && exact.Bits != 8:
		return nil, fmt.Errorf("clusters: exact.Bits = %d, want 0 or 8", exact.Bits)
	case exact.SinkWeight != 0:
		return nil, fmt.Errorf("clusters: exact.SinkWeight = %v, want 0: only exact attention has sinks", exact.SinkWeight)
	case exact.Unnormalised:
		return nil, errors.New("clusters: exact.Unnormalised is set, but outputs are averages of values")
	case !(opts.Threshold >= 0) || math.IsInf(opts.Threshold, 1):
		return nil, fmt.Errorf("clusters: opts.Threshold = %v, want a finite number of at least 0", opts.Threshold)
	case opts.Iterations > limit.Repeats:
		return nil, fmt.Errorf("clusters: opts.Iterations = %d, want at most %d", opts.Iterations, limit.Repeats)
	}
	for _, x := range []struct {
		name  string
		value int
	}{{"Clusters", opts.Clusters}, {"Iterations", opts.Iterations}} {
		if x.value < 0 {
			return nil, fmt.Errorf("clusters: opts.%s = %d, want at least 0", x.name, x.value)
		}
	}
	opts.Threshold = cmp.Or(opts.Threshold, 0.0003)
	opts.Iterations = cmp.Or(opts.Iterations, 3)
	a := &attention[T]{options: exact, opts: opts, threshold: T(opts.Threshold), seed: [2]uint64{src.Uint64(), src.Uint64()}}
	exact.Causal, exact.Bits = false, 0
	var err error
	a.exact, err = performer.NewExact[T](exact)
	return a, err
}

func (a *attention[T]) Describe() performer.Description {
	return performer.Description{Causal: a.options.Causal, IndependentQueries: !a.options.Causal}
}

var _ performer.PrefixDifferentiable[float32] = Attention[float32](nil)

func (a *attention[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	a.check(q, k, v, a.options.Causal)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	switch {
	case a.options.Causal:
		a.attend(dst, q, k, v, true, nil, nil)
	case k.Rows <= exactKeys || q.Rows == 0 || v.Cols == 0:
		a.exact.Forward(dst, q, k, v)
	default:
		a.attend(dst, q, k, v, false, nil, nil)
	}
	return dst
}

// exactKeys is a number of keys for which exact attention takes no longer than clusters.
const exactKeys = 256

func (a *attention[T]) ForwardPrefixes(dst, q, k, v dense.Matrix[T], prefixes []int) dense.Matrix[T] {
	a.check(q, k, v, false)
	a.checkPrefixes(prefixes, q, k)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	a.attend(dst, q, k, v, true, prefixes, nil)
	return dst
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

// check panics unless q, k and v fit together, with as many queries as keys if square is set.
func (a *attention[T]) check(q, k, v dense.Matrix[T], square bool) {
	q.Check()
	k.Check()
	v.Check()
	if q.Cols != k.Cols || k.Rows != v.Rows || square && q.Rows != k.Rows {
		panic(fmt.Sprintf("clusters: q is %d×%d, k is %d×%d, v is %d×%d, which do not fit", q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols))
	}
}

// clustersOf returns the number of clusters that k-means finds for n keys.
func (a *attention[T]) clustersOf(n int) int {
	return min(cmp.Or(a.opts.Clusters, max(min(n/16, int(2*math.Sqrt(float64(n)))), 1)), n)
}

// codes reports whether keys of dimension d have codes.
func (a *attention[T]) codes(d int) bool { return a.options.Bits != 0 && canCode(d) }

// scale returns the factor of products of d-dimensional queries and keys.
func (a *attention[T]) scale(d int) float64 {
	return cmp.Or(a.options.Scale, 1/math.Sqrt(float64(d)))
}
