package clusters

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer"
)

// Options are the parameters of [New] and [NewAt]. The zero value is a good start.
type Options struct {
	// Clusters is the number C of clusters. Zero means 4·√n for n keys. There are never more
	// clusters than keys.
	Clusters int

	// Threshold is τ: the keys of a cluster are scored for a query if
	//
	//	(w/D)·√((e^2u − 1)/n) > τ
	//
	// where w/D is the share of the cluster in the weights of the query, 2u the variance
	// of the scores of its n keys, taken as at most 16. A smaller τ costs more
	// time and gives a smaller error. Zero means 0.003.
	Threshold float64

	// Rounds is the number of rounds of k-means, and Sample the number of keys, drawn at random,
	// that it looks at for each cluster. Zeros mean 3 and 16.
	Rounds, Sample int
}

// Attention is attention by clusters of keys, an approximation of exact softmax attention and a
// [performer.Attention]. It never changes and may be shared by goroutines. The zero value is of no use.
type Attention[T dense.Float] struct {
	exact     performer.Exact[T]
	opts      Options
	threshold T
	seed      [2]uint64
	centres   dense.Matrix[T] // given; zero if they are found
}

// New returns attention that approximates exact and finds clusters among the keys of each call. src
// seeds the choice of keys that k-means begins with. Without a mask, up to 256 keys have exact
// attention; a causal query has it that sees fewer than 1024 keys.
//
// With 8 Bits of exact, the scores, weights and values of near keys are integers of 8 bits, which takes
// about half the time where processors multiply such integers, and adds errors of about a percent. That
// is for Forward without a mask: streams, queries that see the first keys only, and gradients compute in T.
//
// The error reports an exact with Softcap, Window, Slope or Unnormalised, with other Bits, with Bits and
// Causal, or with a Scale that is negative or not finite; options that are negative or, as Threshold, not finite; and a nil src. A
// Window bounds the keys that a query sees, so that exact attention has few, and a Slope asks for the
// places of keys, which clusters do not know.
func New[T dense.Float](exact performer.Exact[T], opts Options, src rand.Source) (*Attention[T], error) {
	return instance.Of(&newAttentionBoth, New[T])(exact, opts, src)
}

var newAttentionBoth = instance.Both{newAttention[float32], newAttention[float64]}

func newAttention[T dense.Float](exact performer.Exact[T], opts Options, src rand.Source) (*Attention[T], error) {
	a, err := prepare(exact, opts)
	if err != nil {
		return nil, err
	}
	if src == nil {
		return nil, errors.New("clusters: src is nil")
	}
	a.seed = [2]uint64{src.Uint64(), src.Uint64()}
	return a, nil
}

// NewAt returns attention that approximates exact with clusters around centres (C×d), which are
// copied: the keys of a call belong to the nearest centre. Centres of an earlier call, or of other
// texts, serve as well where keys are alike, and save the time of k-means.
//
// The error reports what New reports, an opts.Clusters that is neither 0 nor C, and centres without
// rows or columns or that are not finite.
func NewAt[T dense.Float](exact performer.Exact[T], centres dense.Matrix[T], opts Options) (*Attention[T], error) {
	return instance.Of(&newAtBoth, NewAt[T])(exact, centres, opts)
}

var newAtBoth = instance.Both{newAt[float32], newAt[float64]}

func newAt[T dense.Float](exact performer.Exact[T], centres dense.Matrix[T], opts Options) (*Attention[T], error) {
	a, err := prepare(exact, opts)
	if err != nil {
		return nil, err
	}
	centres.Check()
	if centres.Rows < 1 || centres.Cols < 1 {
		return nil, fmt.Errorf("clusters: centres is %d×%d, want at least 1×1", centres.Rows, centres.Cols)
	}
	if opts.Clusters != 0 && opts.Clusters != centres.Rows {
		return nil, fmt.Errorf("clusters: opts.Clusters = %d, but there are %d centres", opts.Clusters, centres.Rows)
	}
	for i := range centres.Rows {
		for j, x := range centres.Row(i) {
			if x-x != 0 {
				return nil, fmt.Errorf("clusters: centres[%d][%d] = %v, want a finite number", i, j, x)
			}
		}
	}
	a.centres = centres.Clone()
	return a, nil
}

// prepare returns attention without centres.
func prepare[T dense.Float](exact performer.Exact[T], opts Options) (*Attention[T], error) {
	if !(exact.Scale >= 0) || math.IsInf(exact.Scale, 1) {
		return nil, fmt.Errorf("clusters: exact.Scale = %v, want a finite number of at least 0", exact.Scale)
	}
	if exact.Softcap != 0 {
		return nil, fmt.Errorf("clusters: exact.Softcap = %v, want 0", exact.Softcap)
	}
	if exact.Window != 0 || exact.Slope != 0 {
		return nil, fmt.Errorf("clusters: exact has Window = %d and Slope = %v, want none: a window bounds the keys, clusters are for many, and know no places", exact.Window, exact.Slope)
	}
	if exact.Bits != 0 && exact.Bits != 8 {
		return nil, fmt.Errorf("clusters: exact.Bits = %d, want 0 or 8", exact.Bits)
	}
	if exact.Bits != 0 && exact.Causal {
		return nil, fmt.Errorf("clusters: exact.Bits = %d with Causal, want 0: codes of a cluster depend on all of its keys", exact.Bits)
	}
	if exact.Unnormalised {
		return nil, errors.New("clusters: exact.Unnormalised is set, but outputs are averages of values")
	}
	for _, x := range []struct {
		name  string
		value int
	}{{"Clusters", opts.Clusters}, {"Rounds", opts.Rounds}, {"Sample", opts.Sample}} {
		if x.value < 0 {
			return nil, fmt.Errorf("clusters: opts.%s = %d, want at least 0", x.name, x.value)
		}
	}
	if opts.Rounds > limit.Repeats {
		return nil, fmt.Errorf("clusters: opts.Rounds = %d, want at most %d", opts.Rounds, limit.Repeats)
	}
	if !(opts.Threshold >= 0) || math.IsInf(opts.Threshold, 1) {
		return nil, fmt.Errorf("clusters: opts.Threshold = %v, want a finite number of at least 0", opts.Threshold)
	}
	if opts.Threshold == 0 {
		opts.Threshold = 0.003
	}
	if opts.Rounds == 0 {
		opts.Rounds = 3
	}
	if opts.Sample == 0 {
		opts.Sample = 16
	}
	return &Attention[T]{exact: exact, opts: opts, threshold: T(opts.Threshold)}, nil
}

// Describe says that attention is causal if exact is, and that outputs of bidirectional attention do
// not depend on other queries. It panics unless a constructor has made a.
func (a *Attention[T]) Describe() performer.Description {
	if a.opts.Rounds == 0 {
		panic(errNone)
	}
	return performer.Description{Causal: a.exact.Causal, Rowwise: !a.exact.Causal, Dim: a.centres.Cols}
}

var (
	_ performer.Streaming[float32] = (*Attention[float32])(nil)
	_ performer.Maskable[float32]  = (*Attention[float32])(nil)
)

const errNone = "clusters: the Attention is zero, want one of New"

// Forward computes attention of the queries q (Lq×d) over the keys k (Lk×d) and values v (Lk×dv)
// into dst (Lq×dv), which Forward returns; a zero dst is allocated. The bits do not depend on
// GOMAXPROCS, and those of a causal output do not depend on later tokens.
//
// Every weight is positive and outputs are averages of values and of means of values. Without keys
// the output is zero. A row whose weights are beyond the range of T, as NaN and Inf in queries and
// keys make them, is answered by exact attention.
//
// dst may be exactly q where shapes allow; dst must not overlap k or v. Forward panics with the
// shapes if they do not fit; causal attention needs Lq = Lk.
func (a *Attention[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	return instance.Of(&attentionForwardBoth, (*Attention[T]).Forward)(a, dst, q, k, v)
}

var attentionForwardBoth = instance.Both{attentionForward[float32], attentionForward[float64]}

func attentionForward[T dense.Float](a *Attention[T], dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	check(a, q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	switch {
	case a.exact.Causal:
		causal(a, dst, q, k, v, nil)
	case a.isExact(q, k, v):
		a.exact.Forward(dst, q, k, v)
	default:
		bidirectional(a, dst, q, k, v)
	}
	return dst
}

// ForwardSeen is Forward for queries that see the first keys only, see [performer.Maskable]: query i
// sees the keys j < seen[i]. A query that sees no key gets zero. Clusters are those of causal
// attention, whether or not a is causal. ForwardSeen panics as Forward does, and for a seen that does
// not have an ascending number of at least 0 and at most Lk for each query.
func (a *Attention[T]) ForwardSeen(dst, q, k, v dense.Matrix[T], seen []int) dense.Matrix[T] {
	return instance.Of(&attentionForwardSeenBoth, (*Attention[T]).ForwardSeen)(a, dst, q, k, v, seen)
}

var attentionForwardSeenBoth = instance.Both{attentionForwardSeen[float32], attentionForwardSeen[float64]}

func attentionForwardSeen[T dense.Float](a *Attention[T], dst, q, k, v dense.Matrix[T], seen []int) dense.Matrix[T] {
	checkSides(a, q, k, v)
	if len(seen) != q.Rows {
		panic(fmt.Sprintf("clusters: seen has length %d, want one number for each of %d queries", len(seen), q.Rows))
	}
	least := 0
	for i, n := range seen {
		if n < least || n > k.Rows {
			panic(fmt.Sprintf("clusters: seen[%d] = %d, want %d to %d", i, n, least, k.Rows))
		}
		least = n
	}
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	causal(a, dst, q, k, v, seen)
	return dst
}

// exactKeys is a number of keys over which exact attention takes no longer.
const exactKeys = 256

// isExact reports whether exact attention answers all queries of a bidirectional call.
func (a *Attention[T]) isExact(q, k, v dense.Matrix[T]) bool {
	return k.Rows <= exactKeys || q.Rows == 0 || v.Cols == 0
}

// check panics unless a constructor has made a, and q, k and v fit together and the centres.
func check[T dense.Float](a *Attention[T], q, k, v dense.Matrix[T]) {
	checkSides(a, q, k, v)
	if a.exact.Causal && q.Rows != k.Rows {
		panicOfShapes(q, k, v)
	}
}

// checkSides panics unless a constructor has made a, and points and values fit together and the
// centres.
func checkSides[T dense.Float](a *Attention[T], q, k, v dense.Matrix[T]) {
	if a.opts.Rounds == 0 {
		panic(errNone)
	}
	q.Check()
	k.Check()
	v.Check()
	if q.Cols != k.Cols || k.Rows != v.Rows {
		panicOfShapes(q, k, v)
	}
	if a.centres.Rows > 0 && a.centres.Cols != q.Cols {
		panic(fmt.Sprintf("clusters: q is %d×%d, but centres are points of R^%d", q.Rows, q.Cols, a.centres.Cols))
	}
}

func panicOfShapes[T dense.Float](q, k, v dense.Matrix[T]) {
	panic(fmt.Sprintf("clusters: q is %d×%d, k is %d×%d, v is %d×%d, which do not fit", q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols))
}

// scale returns the factor of products of d-dimensional points.
func (a *Attention[T]) scale(d int) float64 {
	if a.exact.Scale == 0 {
		return 1 / math.Sqrt(float64(d))
	}
	return a.exact.Scale
}

// clustersFor returns the number of clusters of n keys.
func (a *Attention[T]) clustersFor(n int) int {
	c := a.opts.Clusters
	if c == 0 {
		c = int(4 * math.Sqrt(float64(n)))
	}
	return min(max(c, 1), n)
}

// bidirectional computes the outputs of queries that see all keys.
func bidirectional[T dense.Float](a *Attention[T], dst, q, k, v dense.Matrix[T]) {
	call := pool.Get[call[T]](&calls)
	call.a, call.dst, call.q, call.k, call.v = a, dst, q, k, v
	call.sorted.build(a, k, v, a.exact.Bits != 0 && takes(k.Cols))
	parallel.Do(blocksOf(q.Rows), call)
	call.a, call.dst, call.q, call.k, call.v = nil, dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}
	pool.Put(&calls, call)
}

// call is one call of bidirectional attention. A piece is a block of queries.
type call[T dense.Float] struct {
	a            *Attention[T]
	dst, q, k, v dense.Matrix[T]
	sorted       whole[T]
}

const (
	farQueries  = 512 // queries whose weights of clusters stay in the second cache
	nearQueries = 8   // times farQueries: the most queries whose near keys are scored together
	nearBlocks  = 8   // blocks that are enough work for all processors
)

// blockSize returns the number of queries of a block of n, whose near keys are scored together.
func blockSize(n int) int {
	return farQueries * min((n+nearBlocks*farQueries-1)/(nearBlocks*farQueries), nearQueries)
}

// blocksOf returns the number of blocks of n queries.
func blocksOf(n int) int { return (n + blockSize(n) - 1) / blockSize(n) }

// blockOf returns the first query of block i of n, and the one after its last.
func blockOf(i, n int) (lo, hi int) {
	lo = i * blockSize(n)
	return lo, min(lo+blockSize(n), n)
}

func (c *call[T]) Piece(i int) {
	lo, hi := blockOf(i, c.q.Rows)
	w := pool.Get[block[T]](&blocks)
	q := c.q.RowRange(lo, hi)
	w.answer(&c.sorted, c.a, q, c.v.Cols)
	w.finish(c.dst.RowRange(lo, hi), func(i int) {
		c.a.exact.Forward(c.dst.RowRange(lo+i, lo+i+1), q.RowRange(i, i+1), c.k, c.v)
	})
	pool.Put(&blocks, w)
}

// answer sums what the keys weigh for the queries q, with values of dimension dv.
func (b *block[T]) answer(s *whole[T], a *Attention[T], q dense.Matrix[T], dv int) {
	b.begin(q.Rows, q.Cols, dv, a.scale(q.Cols), a.threshold)
	if s.coded {
		b.shared = true
		b.coding.begin(s.codes.rotation, q)
	}
	for at := 0; at < q.Rows; at += farQueries {
		b.far(&s.moments, q, at, min(at+farQueries, q.Rows))
	}
	for l := range s.clusters() {
		list := b.queriesOf(l, 0, b.parts())
		if s.coded && s.codes.has[l] {
			b.nearCoded(s, l, list)
		} else {
			b.near(list, q, s.keysOf(l), s.valuesOf(l), nil)
		}
	}
}

func getBlock[T dense.Float]() *block[T] { return pool.Get[block[T]](&blocks) }

func putBlock[T dense.Float](b *block[T]) { pool.Put(&blocks, b) }

// Memory of all calls.
var (
	calls  pool.Pair[call[float32], call[float64]]
	blocks pool.Pair[block[float32], block[float64]]
)
