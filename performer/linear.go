package performer

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/rff"
)

// LinearOptions selects what linear attention computes. The zero value is
// bidirectional, normalised attention.
type LinearOptions struct {
	// Causal lets query i see the keys j ≤ i only; as many queries as keys
	// are required then.
	Causal bool

	// Unnormalised leaves out the division by the sum of the weights: the
	// output is A·V with A_ij = φ_Q(q_i)ᵀφ_K(k_j).
	Unnormalised bool
}

// Linear is linear attention: with weights A_ij = φ_Q(q_i)ᵀφ_K(k_j),
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij
//
// computed in O(L·m·(d + dv)) as φ_Q(q_i)ᵀ(Σ_j φ_K(k_j) v_jᵀ), where m is the
// number of features [Katharopoulos et al. 2020]. With positive random
// features of the softmax kernel it is the attention of the Performer
// [Choromanski et al. 2021].
//
// Goroutines may share a Linear. Two calls of NewLinear return two Linears that differ.
type Linear[T dense.Float] interface {
	// Dims returns the dimension of queries and keys and the number of features.
	Dims() (d, m int)

	// Forward computes attention of the queries q (Lq×d) over the keys k (Lk×d)
	// and values v (Lk×dv) into dst (Lq×dv), which it returns; a zero dst is
	// allocated. It takes O((Lq+Lk)·m·(d+dv)) time and O(m·dv) memory beyond dst,
	// whatever the lengths are, and gives the same bits whatever GOMAXPROCS is.
	//
	// With maps that are LogMaps a normalised row is an average of values, to rounding, wherever
	// log-features are numbers of T, whatever their size is. Features of the softmax and the Gaussian
	// kernel are zero at a point whose ‖x‖² is beyond the range of T, in float32 from norms of
	// about 10¹⁹ on, in float64 of 10¹⁵⁴: such a key has no weight, and such a query has nothing
	// but weights of zero.
	//
	// Without keys (Lk = 0) the output is zero, normalised or not. If keys there
	// are but every weight of a row is exactly zero, as can happen with features
	// that vanish, the normalised row is 0/0 = NaN and the unnormalised one zero.
	// Maps that are not LogMaps can have a denominator that is zero or negative:
	// the row is then what the division gives, ±Inf and NaN included. Unnormalised
	// outputs beyond the range of T are ±Inf. A NaN or Inf in q, k or v reaches
	// every row that depends on it, and, if causal, no row before it.
	//
	// dst may be exactly q, k or v where its shape allows, or disjoint from all of
	// them. Forward panics with the shapes if they do not fit; causal attention
	// needs Lq = Lk.
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]

	// Backward writes the gradients of L = Σ_ic dout_ic·out_ic, where Forward makes out of q (Lq×d), k
	// (Lk×d) and v (Lk×dv), with respect to q, k and v into dq, dk and dv, and returns them; zero ones
	// are allocated. The maps count as constants. Backward needs no outputs, because it computes them
	// anyway.
	//
	// Backward takes O((Lq+Lk)·m·(d + dv)) time, about three times as long as Forward, and memory
	// beyond the gradients that does not depend on the lengths. Once that memory is there, Backward
	// allocates nothing. It gives the same bits whatever GOMAXPROCS is.
	//
	// Gradients are the derivatives of Forward at any size of log-features. They are zero where one key
	// has all of the weight, except for rounding, which the derivatives of log-features multiply.
	// Causal, normalised attention with log-features beyond ±9·10⁷ computes the tokens up to the first
	// of them twice, and keeps 24 bytes for every growth of a reference until it returns: up to 24·L·m
	// bytes if every key exceeds all keys before it in all features.
	//
	// NaN and Inf reach every gradient that depends on them. In causal attention dq_i depends on rows
	// up to i only, and has the same bits whatever follows; dk_j and dv_j depend on the rows from j on
	// and, when normalised, on earlier rows by way of denominators. Where Forward has 0/0, all
	// gradients that depend on it are NaN. Gradients beyond the range of T are ±Inf, or NaN where they
	// are sums of such numbers; products of values and dout have to be in range too.
	//
	// dq, dk and dv must not overlap each other or an input. Backward panics with the shapes if they do
	// not fit, and with the text of CanBackward if CanBackward returns an error.
	Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T])

	// CanBackward returns nil if the maps can be differentiated, and an error that says
	// which cannot and why otherwise. They have to be [rff.Differentiable], or
	// [rff.DifferentiableLog] if attention works on their logarithms.
	CanBackward() error

	// NewState returns an empty [State] of one head, for queries and keys of dimension d and
	// values of dimension dv. It returns an error if d is not the dimension of the maps, if dv is
	// below 1, or if the sums take more memory than the machine has.
	NewState(d, dv int) (*State[T], error)

	// Describe returns the options and the dimension of the maps. Bidirectional attention is IndependentQueries.
	Describe() Description

	// Weights writes the implicit Lq×Lk matrix of attention into dst and returns dst, for inspection; a
	// zero dst is allocated. Element (i, j) is the weight of value j in output i: φ_Q(q_i)ᵀφ_K(k_j),
	// divided by its sum over j unless unnormalised, and zero for j > i if causal. With maps that are
	// not LogMaps weights may be negative.
	//
	// Weights is Forward with the identity for values, also for NaN: a key that is NaN makes all
	// weights of the rows that see it NaN. Weights takes O(L²·m) time and O(m·Lk + Lk²) memory. dst
	// must not overlap q or k. Weights panics with the shapes if they do not fit.
	Weights(dst, q, k dense.Matrix[T]) dense.Matrix[T]

	// Sums writes what Forward divides into dst (Lq×(dv+3)), which it returns; a zero dst is allocated.
	// Row i has the numerator in columns 0 … dv−1 and the denominator in column dv. Both are divided by
	// f·2ⁿ, where f is in column dv+1 and the integer n in column dv+2, so that sums of any size are
	// numbers of T. Sums over several sets of features add up: the quotient is the output of attention with
	// all of these features.
	//
	// Time, memory and bits are as those of Forward, and so are the panics for shapes. Without keys the
	// sums are zero. dst must not overlap q, k or v. Sums panics if the attention is unnormalised, whose
	// outputs are sums.
	Sums(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]
}

type linear[T dense.Float] struct {
	query, key rff.Map[T]
	opts       LinearOptions
	d, m       int
	engine     *sums.Engine[T]

	makeUndivided sync.Once
	sums          *sums.Engine[T] // for Sums
}

// NewLinear returns linear attention with the features φ_Q = phi of queries and φ_K =
// [rff.Keys](phi) of keys, so that φ_Q(q)ᵀφ_K(k) estimates phi.Kernel(). φ_K is phi itself
// unless phi is [rff.Paired], as the asymmetric estimators rff.SADERF, rff.ADERF and
// rff.SoftmaxHybrid are.
//
// Where both are [rff.LogMap]s, attention works on the logarithms of the features and can
// neither overflow nor underflow; otherwise it works on the features.
//
// NewLinear returns an error if phi or its Keys is nil, or if the two maps differ in the
// dimension of their points or in the number of their features.
func NewLinear[T dense.Float](phi rff.Map[T], opts LinearOptions) (Linear[T], error) {
	var a any
	var err error
	switch phi := any(phi).(type) {
	case rff.Map[float32]:
		a, err = linear32(phi, opts)
	case rff.Map[float64]:
		a, err = linear64(phi, opts)
	default:
		return nil, errors.New("performer: phi is nil")
	}
	if err != nil {
		return nil, err
	}
	return a.(Linear[T]), nil
}

//go:noinline
func linear32(phi rff.Map[float32], o LinearOptions) (any, error) { return newLinear(phi, o) }

//go:noinline
func linear64(phi rff.Map[float64], o LinearOptions) (any, error) { return newLinear(phi, o) }

func newLinear[T dense.Float](phi rff.Map[T], opts LinearOptions) (*linear[T], error) {
	return newAttention(phi, rff.Keys(phi), opts)
}

// newAttention returns linear attention with a map for queries and one for keys.
func newAttention[T dense.Float](query, key rff.Map[T], opts LinearOptions) (*linear[T], error) {
	if key == nil {
		return nil, fmt.Errorf("performer: Keys of phi, a %T, is nil", query)
	}
	d, m := query.Dims()
	if dk, mk := key.Dims(); d != dk || m != mk {
		return nil, fmt.Errorf("performer: phi maps points of R^%d to %d features, its Keys points of R^%d to %d, want the same", d, m, dk, mk)
	}
	f := newFeatures(query, key)
	o := sums.Operator[T]{
		D: d, M: m, Features: f, Logs: f.logs, Causal: opts.Causal, Unnormalised: opts.Unnormalised,
	}
	if f.logs && !opts.Unnormalised && isELU(query) && isELU(key) {
		o.Direct = f
	}
	return &linear[T]{query: query, key: key, opts: opts, d: d, m: m, engine: sums.New(o)}, nil
}

// isELU reports whether a map has the features elu+1. These mostly take an addition, and their
// logarithms a transcendental function.
func isELU[T dense.Float](m rff.Map[T]) bool {
	_, ok := m.Kernel().(kernels.ELU)
	return ok
}

// features are those of a map for queries and of one for keys, or their logarithms if both maps are
// LogMaps.
type features[T dense.Float] struct {
	query, key    rff.Map[T]
	queries, keys func(dst, x dense.Matrix[T]) dense.Matrix[T]
	logs          bool
}

func newFeatures[T dense.Float](query, key rff.Map[T]) *features[T] {
	lq, queryIsLog := query.(rff.LogMap[T])
	lk, keyIsLog := key.(rff.LogMap[T])
	if queryIsLog && keyIsLog {
		return &features[T]{query, key, lq.LogTransform, lk.LogTransform, true}
	}
	return &features[T]{query, key, query.Transform, key.Transform, false}
}

func (f *features[T]) Queries(dst, q dense.Matrix[T]) dense.Matrix[T] {
	return shaped(f.query, dst, q, f.queries(dst, q))
}

func (f *features[T]) Keys(dst, k dense.Matrix[T]) dense.Matrix[T] {
	return shaped(f.key, dst, k, f.keys(dst, k))
}

func (f *features[T]) DirectQueries(dst, q dense.Matrix[T]) { f.query.Transform(dst, q) }

func (f *features[T]) DirectKeys(dst, k dense.Matrix[T]) { f.key.Transform(dst, k) }

func (f *features[T]) PullQueries(dq, q, slopes dense.Matrix[T]) { f.pull(f.query, dq, q, slopes) }

func (f *features[T]) PullKeys(dk, k, slopes dense.Matrix[T]) { f.pull(f.key, dk, k, slopes) }

func (f *features[T]) pull(m rff.Map[T], dx, x, slopes dense.Matrix[T]) {
	if f.logs {
		m.(rff.DifferentiableLog[T]).LogBackward(dx, x, slopes)
	} else {
		m.(rff.Differentiable[T]).Backward(dx, x, slopes)
	}
}

// shaped returns the features of points x, which a map has written into dst. It panics, with the name of
// phi, where they do not have the shape that Dims of phi tells, or are not in dst.
func shaped[T dense.Float](phi rff.Map[T], dst, x, features dense.Matrix[T]) dense.Matrix[T] {
	if _, m := phi.Dims(); features.Rows != x.Rows || features.Cols != m {
		panic(fmt.Sprintf("performer: features of %T are %d×%d for points of %d×%d, want %d×%d", phi, features.Rows, features.Cols, x.Rows, x.Cols, x.Rows, m))
	}
	if len(dst.Data) > 0 && len(features.Data) > 0 && &dst.Data[0] != &features.Data[0] {
		panic(fmt.Sprintf("performer: %T returns its features in other memory, want them in dst", phi))
	}
	return features
}

func (a *linear[T]) Dims() (d, m int) { return a.d, a.m }

var (
	_ Linear[float32]               = (*linear[float32])(nil)
	_ maskedDifferentiable[float32] = (*linear[float32])(nil)
	_ Streaming[float32]            = (*linear[float32])(nil)
	_ remembering[float32]          = (*linear[float32])(nil)
	_ Described                     = (*linear[float32])(nil)
)

func (a *linear[T]) Describe() Description {
	return Description{Causal: a.opts.Causal, Unnormalised: a.opts.Unnormalised, IndependentQueries: !a.opts.Causal, Dim: a.d}
}

func (a *linear[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	a.check(q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	a.attend(request[T]{dst: dst, q: q, k: k, v: v, heads: 1, processors: runtime.GOMAXPROCS(0)})
	return dst
}

// check panics unless q (Lq×d), k (Lk×d) and v (Lk×dv) fit together and the maps.
func (a *linear[T]) check(q, k, v dense.Matrix[T]) {
	checkShapes(q, k, v, a.opts.Causal)
	if q.Cols != a.d {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, but the maps take points of R^%d",
			q.Rows, q.Cols, k.Rows, k.Cols, a.d))
	}
}

func (a *linear[T]) shares() bool { return !a.opts.Causal }

func (a *linear[T]) attend(p request[T]) {
	if !a.opts.Causal {
		a.answer(p)
		return
	}
	p = trimmed(p)
	switch {
	case p.q.Rows == 0 || p.v.Cols == 0:
	case p.past == 0:
		seeing := min(p.q.Rows, p.k.Rows)
		for h := range p.heads {
			one := p.head(h).queries(0, seeing)
			a.engine.ForwardCausal(p.processors, one.dst, one.q, one.k, one.v, one.valid)
		}
		a.answer(p.queries(seeing, p.q.Rows))
	case p.past >= p.k.Rows-1:
		a.answer(p)
	default:
		a.resume(p)
	}
}

// answer answers a request whose queries all see all of its keys.
func (a *linear[T]) answer(p request[T]) {
	if p.q.Rows == 0 || p.v.Cols == 0 {
		return
	}
	k, v, copies := layout.ValidOnly(p.k, p.v, p.valid)
	if k.Rows == 0 {
		layout.Zero(p.dst)
	} else {
		a.engine.Forward(p.heads, p.dst, p.q, k, v)
	}
	copies.Release()
}

// resume answers a causal request whose queries begin in the middle of its keys. It puts the
// queries at the end of a matrix with one row for each key.
func (a *linear[T]) resume(p request[T]) {
	aligned := p.k.Rows - p.past
	m, q, dst := layout.TokensOf[T](p.k.Rows, a.d, p.v.Cols)
	layout.Zero(q.RowRange(0, p.past))
	for h := range p.heads {
		one := p.head(h).queries(0, min(aligned, p.q.Rows))
		end := p.past + one.q.Rows
		dense.Copy(q.RowRange(p.past, end), one.q)
		valid := one.valid
		if valid != nil {
			valid = valid[:end]
		}
		a.engine.ForwardCausal(p.processors, dst.RowRange(0, end), q.RowRange(0, end), one.k.RowRange(0, end), one.v.RowRange(0, end), valid)
		dense.Copy(one.dst, dst.RowRange(p.past, end))
	}
	m.Release()
	a.answer(p.queries(min(aligned, p.q.Rows), p.q.Rows))
}

func (a *linear[T]) Sums(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	a.check(q, k, v)
	if a.opts.Unnormalised {
		panic("performer: the Linear is unnormalised, want outputs that are quotients")
	}
	dst = dense.Ensure(dst, q.Rows, v.Cols+1+sums.ExtraColumns)
	switch e := a.undivided(); {
	case k.Rows == 0 || q.Rows == 0:
		layout.Zero(dst)
		for i := range dst.Rows {
			dst.Set(i, v.Cols+1, 1)
		}
	case a.opts.Causal:
		e.ForwardCausal(runtime.GOMAXPROCS(0), dst, q, k, v, nil)
	default:
		e.Forward(1, dst, q, k, v)
	}
	return dst
}

// undivided returns an engine that leaves numerators and denominators undivided. It is made once.
func (a *linear[T]) undivided() *sums.Engine[T] {
	a.makeUndivided.Do(func() {
		o := a.engine.Operator
		o.Direct, o.Undivided = nil, true
		a.sums = sums.New(o)
	})
	return a.sums
}

func (a *linear[T]) Weights(dst, q, k dense.Matrix[T]) dense.Matrix[T] {
	checkPoints(q, k, a.opts.Causal)
	dst = a.Forward(dst, q, k, identity[T](k.Rows))
	if a.opts.Causal {
		clearFuture(dst)
	}
	return dst
}

// identity returns the n×n identity matrix.
func identity[T dense.Float](n int) dense.Matrix[T] {
	m := dense.New[T](n, n)
	for i := range n {
		m.Data[i*n+i] = 1
	}
	return m
}

func (a *linear[T]) NewState(d, dv int) (*State[T], error) {
	return newState[T](1, 1, d, dv, []Attention[T]{a})
}

func (a *linear[T]) newMemory(heads, keyHeads, d, dv int) (streams.Memory[T], error) {
	if d != a.d {
		return nil, fmt.Errorf("performer: d = %d, but the maps take points of R^%d", d, a.d)
	}
	return memoryOf(streams.NewFeatures(a.engine, heads, keyHeads, dv))
}
