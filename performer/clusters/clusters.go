package clusters

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
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
// [performer.Attention]. It never changes and may be shared by goroutines. It is also a
// [performer.Streaming], a [performer.PrefixAttention] and a [performer.Differentiable]. New and NewAt make one.
type Attention[T dense.Float] interface {
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
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]

	// ForwardPrefixes is Forward for queries that see the first keys only, see [performer.PrefixAttention]: query i
	// sees the keys j < prefixes[i]. A query that sees no key gets zero. Clusters are those of causal
	// attention, whether or not a is causal. ForwardPrefixes panics as Forward does, and for a prefixes that does
	// not have an ascending number of at least 0 and at most Lk for each query.
	ForwardPrefixes(dst, q, k, v dense.Matrix[T], prefixes []int) dense.Matrix[T]

	// Backward writes the gradients of L = Σ_ic dout_ic·out_ic with respect to q (Lq×d), k (Lk×d) and v
	// (Lk×dv) into dq, dk and dv, and returns them; zero ones are allocated. out is the result of
	// Forward. Let g_i be the rows of dout, δ_i = g_i·out_i, and D_i the denominator of row i. With the
	// shares P_ij = exp(s·q_iᵀk_j)/D_i of scored keys and W_ic = w_ic/D_i of other clusters,
	//
	//	dS_ij = P_ij·(g_i·v_j − δ_i),  A_ic = W_ic·(g_i·v̄_c − δ_i),
	//	dq_i  = s·Σ_j dS_ij·k_j + s·Σ_c A_ic·(μ_c + s·t_c·q_i),
	//	dk_j  = s·Σ_i dS_ij·q_i + s·Σ_i A_ic·(q_i + s·‖q_i‖²·(k_j − μ_c)/d)/n_c,
	//	dv_j  = Σ_i P_ij·g_i + Σ_i W_ic·g_i/n_c.
	//
	// The clusters of keys and the choice of scored clusters count as constants: the result is the
	// gradient of Forward wherever small changes alter neither. What is left out is that other choices
	// would be made further away. As τ → 0 the gradients are those of exact attention. Those of queries
	// err more than outputs, because keys and values do not vary together within a cluster that is not
	// scored: on clustered keys, with outputs 6 % off, dq was 19 % off, dk 10 % and dv 6 %.
	//
	// The cost is about four times that of Forward, and the memory beyond the gradients up to eight
	// times that of keys and values. Bits do not depend on GOMAXPROCS. NaN and Inf reach every gradient
	// that depends on them and may reach others.
	//
	// dq, dk and dv must not overlap each other or an input. Backward panics with the shapes if they do
	// not fit, and if CanBackward returns an error.
	Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T])

	// CanBackward returns nil for bidirectional attention, and an error for causal attention, which has
	// no gradients.
	CanBackward() error

	// NewState returns an empty [performer.State] of one head, for queries and keys of dimension d and
	// values of dimension dv. It keeps all keys and values, those before the last 128 to 255 tokens by
	// cluster. A step looks at all clusters, and scores the keys of a few and the last tokens. Clusters
	// are found anew among all keys before the last 128 when 1024, 2048, 4096 … tokens have come. The
	// first 1023 tokens have exact attention.
	//
	// Outputs do not have the bits of a causal Forward, but errors of the same size. They depend on the
	// tokens alone, not on how a stream is cut into calls, so two States merge as if one had taken in the
	// tokens of the other. A Rollback over a number of tokens at which clusters were found finds the
	// earlier clusters again, which takes as long as then.
	//
	// If several heads of queries read one head of keys, as in a [performer.Batch], the keys of a cluster
	// that one of them asks for are scored for all.
	//
	// The error reports a d or dv below 1 or beyond the memory of the machine, and a d
	// that is not the dimension of the centres of [NewAt].
	NewState(d, dv int) (*performer.State[T], error)

	// Describe says that attention is causal if exact is, and that outputs of bidirectional attention do
	// not depend on other queries.
	Describe() performer.Description
}

// attention is the Attention of a width.
type attention[T dense.Float] struct {
	options   performer.ExactOptions
	exact     performer.Exact[T] // bidirectional
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
func New[T dense.Float](exact performer.ExactOptions, opts Options, src rand.Source) (Attention[T], error) {
	if src == nil {
		return nil, errors.New("clusters: src is nil")
	}
	return made[T](exact, opts, src, nil)
}

// NewAt returns attention that approximates exact with clusters around centres (C×d), which are
// copied: the keys of a call belong to the nearest centre. Centres of an earlier call, or of other
// texts, serve as well where keys are alike, and save the time of k-means.
//
// The error reports what New reports, an opts.Clusters that is neither 0 nor C, and centres without
// rows or columns or that are not finite.
func NewAt[T dense.Float](exact performer.ExactOptions, centres dense.Matrix[T], opts Options) (Attention[T], error) {
	return made[T](exact, opts, nil, centres)
}

// made returns attention with centres, a dense.Matrix[T], or without if src is not nil.
func made[T dense.Float](exact performer.ExactOptions, opts Options, src rand.Source, centres any) (Attention[T], error) {
	var a any
	var err error
	switch any(*new(T)).(type) {
	case float32:
		a, err = made32(exact, opts, src, centres)
	case float64:
		a, err = made64(exact, opts, src, centres)
	}
	if err != nil {
		return nil, err
	}
	return a.(Attention[T]), nil
}

//go:noinline
func made32(exact performer.ExactOptions, opts Options, src rand.Source, centres any) (any, error) {
	return newAttention[float32](exact, opts, src, centres)
}

//go:noinline
func made64(exact performer.ExactOptions, opts Options, src rand.Source, centres any) (any, error) {
	return newAttention[float64](exact, opts, src, centres)
}

func newAttention[T dense.Float](exact performer.ExactOptions, opts Options, src rand.Source, centres any) (*attention[T], error) {
	a, err := prepare[T](exact, opts)
	if err != nil {
		return nil, err
	}
	if src != nil {
		a.seed = [2]uint64{src.Uint64(), src.Uint64()}
		return a, nil
	}
	return a, a.setCentres(centres.(dense.Matrix[T]))
}

// setCentres sets the centres to a copy.
func (a *attention[T]) setCentres(centres dense.Matrix[T]) error {
	centres.Check()
	if centres.Rows < 1 || centres.Cols < 1 {
		return fmt.Errorf("clusters: centres is %d×%d, want at least 1×1", centres.Rows, centres.Cols)
	}
	if given := a.opts.Clusters; given != 0 && given != centres.Rows {
		return fmt.Errorf("clusters: opts.Clusters = %d, but there are %d centres", given, centres.Rows)
	}
	for i := range centres.Rows {
		for j, x := range centres.Row(i) {
			if x-x != 0 {
				return fmt.Errorf("clusters: centres[%d][%d] = %v, want a finite number", i, j, x)
			}
		}
	}
	a.centres = centres.Clone()
	return nil
}

// prepare returns attention without centres.
func prepare[T dense.Float](exact performer.ExactOptions, opts Options) (*attention[T], error) {
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
	bidirectional := exact
	bidirectional.Causal = false
	one, err := performer.NewExact[T](bidirectional)
	if err != nil {
		return nil, err
	}
	return &attention[T]{options: exact, exact: one, opts: opts, threshold: T(opts.Threshold)}, nil
}

func (a *attention[T]) Describe() performer.Description {
	return performer.Description{Causal: a.options.Causal, IndependentQueries: !a.options.Causal, Dim: a.centres.Cols}
}

var (
	_ performer.Streaming[float32]       = Attention[float32](nil)
	_ performer.PrefixAttention[float32] = Attention[float32](nil)
	_ performer.Differentiable[float32]  = Attention[float32](nil)
)

func (a *attention[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	check(a, q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	switch {
	case a.options.Causal:
		causal(a, dst, q, k, v, nil)
	case a.isExact(q, k, v):
		a.exact.Forward(dst, q, k, v)
	default:
		bidirectional(a, dst, q, k, v)
	}
	return dst
}

func (a *attention[T]) ForwardPrefixes(dst, q, k, v dense.Matrix[T], prefixes []int) dense.Matrix[T] {
	checkSides(a, q, k, v)
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
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	causal(a, dst, q, k, v, prefixes)
	return dst
}

// exactKeys is a number of keys over which exact attention takes no longer.
const exactKeys = 256

// isExact reports whether exact attention answers all queries of a bidirectional call.
func (a *attention[T]) isExact(q, k, v dense.Matrix[T]) bool {
	return k.Rows <= exactKeys || q.Rows == 0 || v.Cols == 0
}

// check panics unless q, k and v fit together and the centres.
func check[T dense.Float](a *attention[T], q, k, v dense.Matrix[T]) {
	checkSides(a, q, k, v)
	if a.options.Causal && q.Rows != k.Rows {
		panicOfShapes(q, k, v)
	}
}

// checkSides panics unless points and values fit together and the centres.
func checkSides[T dense.Float](a *attention[T], q, k, v dense.Matrix[T]) {
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
func (a *attention[T]) scale(d int) float64 {
	if a.options.Scale == 0 {
		return 1 / math.Sqrt(float64(d))
	}
	return a.options.Scale
}

// clustersFor returns the number of clusters of n keys.
func (a *attention[T]) clustersFor(n int) int {
	c := a.opts.Clusters
	if c == 0 {
		c = int(4 * math.Sqrt(float64(n)))
	}
	return min(max(c, 1), n)
}

// bidirectional computes the outputs of queries that see all keys.
func bidirectional[T dense.Float](a *attention[T], dst, q, k, v dense.Matrix[T]) {
	call := pool.Get[call[T]](&calls)
	call.a, call.dst, call.q, call.k, call.v = a, dst, q, k, v
	call.sorted.build(a, k, v, a.options.Bits != 0 && takes(k.Cols))
	parallel.Do(blocksOf(q.Rows), call)
	call.a, call.dst, call.q, call.k, call.v = nil, dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}
	pool.Put(&calls, call)
}

// call is one call of bidirectional attention. A piece is a block of queries.
type call[T dense.Float] struct {
	a            *attention[T]
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
func (b *block[T]) answer(s *whole[T], a *attention[T], q dense.Matrix[T], dv int) {
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
