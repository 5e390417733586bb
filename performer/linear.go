package performer

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/rff"
)

// LinearOptions selects what linear attention computes. The zero value is bidirectional, normalised
// attention.
type LinearOptions struct {
	// Causal lets query i see the keys j ≤ i only. The numbers of queries and keys must be equal
	// then.
	Causal bool

	// Unnormalised leaves out the division by the sum of the weights: the output is A·V with A_ij =
	// φ_Q(q_i)ᵀφ_K(k_j).
	Unnormalised bool
}

// Linear is linear attention [Katharopoulos et al. 2020]: with weights A_ij = φ_Q(q_i)ᵀφ_K(k_j),
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij
//
// is computed as φ_Q(q_i)ᵀ(Σ_j φ_K(k_j) v_jᵀ). With positive random features of the softmax kernel
// a Linear is the attention of the Performer [Choromanski et al. 2021]. [NewLinear] makes a Linear.
// Goroutines may share a Linear. Two calls of NewLinear return two Linears that differ.
//
// # Forward
//
// With m features Forward takes O((Lq+Lk)·m·(d+dv)) time, and O(m·dv) memory beyond dst whatever
// the lengths are. dst may be exactly q, k or v where its shape allows, or disjoint from all of
// them.
//
// With maps that are LogMaps a normalised row is an average of values, to rounding, wherever
// log-features are numbers of T, whatever their size is. Features of the softmax and the Gaussian
// kernel are zero at a point whose ‖x‖² is beyond the range of T. Norms beyond about 10¹⁹ in
// float32, and 10¹⁵⁴ in float64, have such squares. A key beyond has the weight zero, and a query
// beyond sees weights of zero only.
//
// If there are keys but every weight of a row is exactly zero, which takes features that are zero,
// the normalised row is 0/0 = NaN and the unnormalised row is zero. Maps that are not LogMaps may
// have denominators that are zero or negative. The row is then the result of the division, which
// may be ±Inf or NaN. A NaN or Inf in q, k or v reaches every row that depends on it.
//
// # Backward
//
// The maps count as constants. Backward takes about three times as long as Forward, and memory
// beyond the gradients that does not depend on the lengths.
//
// Gradients are the derivatives of Forward at any size of log-features. If one key has all of the
// weight, gradients are zero except for rounding, which the derivatives of log-features multiply.
// Causal, normalised attention computes the tokens up to the first log-feature beyond ±9·10⁷ twice.
// It then keeps 24 bytes for every growth of a reference until Backward returns: up to 24·L·m bytes
// if every key exceeds all earlier keys in all features.
//
// NaN and Inf reach every gradient that depends on them. In causal attention dq_i depends on rows
// up to i only. dk_j and dv_j depend on the rows from j on and, when normalised, through
// denominators on earlier rows. If a row of Forward is 0/0, all gradients that depend on the row
// are NaN. Gradients beyond the range of T are ±Inf, or NaN if they are sums of such numbers.
// Products of values and dout must be in the range of T.
//
// CanBackward returns an error unless both maps are [rff.Differentiable], or
// [rff.DifferentiableLog] if the attention uses logarithms of features.
//
// # State
//
// NewState returns an error if d is not the dimension of the maps, if dv is below 1, or if the sums
// take more memory than the machine has.
type Linear[T dense.Float] interface {
	Differentiable[T]
	Streaming[T]
	Described // with the dimension of the maps

	// Dims returns the dimension of queries and keys and the number of features.
	Dims() (d, m int)

	// Fractions computes the numerators and denominators of Forward into the memory of dst, and
	// returns them; a zero dst is allocated. Time, bits and panics for shapes are those of Forward.
	// Fractions panics if the attention is unnormalised.
	Fractions(dst Fractions[T], q, k, v dense.Matrix[T]) Fractions[T]
}

// Fractions holds outputs of normalised linear attention before the division: output i is
// Numerators_i/Denominators_i. A numerator of any size is a number of T because row i of Numerators
// and of Denominators stands for itself times Factors_i·2^Exponents_i. Numerators and denominators
// of several sets of features add up to the fractions of attention with all of these features.
// Without keys numerators and denominators are zero. The fields are views of one matrix.
type Fractions[T dense.Float] struct {
	Numerators         dense.Matrix[T] // Lq×dv
	Denominators       dense.Matrix[T] // Lq×1
	Factors, Exponents dense.Matrix[T] // Lq×1; exponents are integers

	columns dense.Matrix[T] // Lq×(dv+3)
}

type linear[T dense.Float] struct {
	query, key rff.Map[T]
	opts       LinearOptions
	d, m       int
	engine     *sums.Engine[T]

	makeUndivided sync.Once
	undivided     *sums.Engine[T] // of Fractions
}

// NewLinear returns linear attention with the features φ_Q = phi of queries and φ_K =
// [rff.Keys](phi) of keys, so that φ_Q(q)ᵀφ_K(k) estimates phi.Kernel(). φ_K is phi unless phi is
// [rff.Paired], as the asymmetric estimators rff.SADERF and rff.ADERF are.
//
// If both maps are [rff.LogMap]s, attention uses the logarithms of the features and neither
// overflows nor underflows. Otherwise attention uses the features.
//
// NewLinear returns an error if phi or its Keys is nil, or if the two maps differ in the dimension
// of their points or in the number of their features.
func NewLinear[T dense.Float](phi rff.Map[T], opts LinearOptions) (Linear[T], error) {
	return door.Choose[T, Linear[T]](linear32, linear64, linearArguments[T]{phi, opts})
}

// linearArguments has the arguments of NewLinear.
type linearArguments[T dense.Float] struct {
	phi  rff.Map[T]
	opts LinearOptions
}

//go:noinline
func linear32(a any) (any, error) { return newLinear(a.(linearArguments[float32])) }

//go:noinline
func linear64(a any) (any, error) { return newLinear(a.(linearArguments[float64])) }

func newLinear[T dense.Float](a linearArguments[T]) (*linear[T], error) {
	if a.phi == nil {
		return nil, errors.New("performer: phi is nil")
	}
	return newLinearOf(a.phi, rff.Keys(a.phi), a.opts)
}

// newLinearOf returns linear attention with a map for queries and one for keys.
func newLinearOf[T dense.Float](query, key rff.Map[T], opts LinearOptions) (*linear[T], error) {
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

var (
	_ Linear[float32]               = (*linear[float32])(nil)
	_ maskedDifferentiable[float32] = (*linear[float32])(nil)
)

func (a *linear[T]) Dims() (d, m int) { return a.d, a.m }

func (a *linear[T]) Describe() Description {
	return Description{Causal: a.opts.Causal, Unnormalised: a.opts.Unnormalised, IndependentQueries: !a.opts.Causal, Dim: a.d}
}

func (a *linear[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	a.check(q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	switch {
	case q.Rows == 0 || v.Cols == 0:
	case k.Rows == 0:
		layout.Zero(dst)
	case a.opts.Causal:
		a.engine.ForwardCausal(runtime.GOMAXPROCS(0), dst, q, k, v, nil)
	default:
		a.engine.Forward(1, dst, q, k, v)
	}
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

func (a *linear[T]) sharesKeys() bool { return !a.opts.Causal }

func (a *linear[T]) forwardSequence(s sequence.Forward[T]) {
	if !a.opts.Causal {
		a.forwardAll(s)
		return
	}
	s = s.TrimCausal()
	switch {
	case s.Q.Rows == 0 || s.V.Cols == 0:
	case s.Past == 0:
		aligned := min(s.Q.Rows, s.K.Rows)
		for h := range s.Heads {
			head := s.Head(h).Queries(0, aligned)
			a.engine.ForwardCausal(s.Processors, head.Dst, head.Q, head.K, head.V, head.Valid)
		}
		a.forwardAll(s.Queries(aligned, s.Q.Rows))
	case s.Past >= s.K.Rows-1:
		a.forwardAll(s)
	default:
		a.forwardPast(s)
	}
}

// forwardAll computes the outputs of queries that all see all keys that count.
func (a *linear[T]) forwardAll(s sequence.Forward[T]) {
	if s.Q.Rows == 0 || s.V.Cols == 0 {
		return
	}
	k, v, copies := layout.ValidOnly(s.K, s.V, s.Valid)
	if k.Rows == 0 {
		layout.Zero(s.Dst)
	} else {
		a.engine.Forward(s.Heads, s.Dst, s.Q, k, v)
	}
	copies.Release()
}

// forwardPast computes the outputs of causal queries with 0 < Past < Lk−1. It copies the queries to
// the end of a matrix with one row for each key.
func (a *linear[T]) forwardPast(s sequence.Forward[T]) {
	aligned := min(s.K.Rows-s.Past, s.Q.Rows)
	m, q, dst := layout.TokensOf[T](s.K.Rows, a.d, s.V.Cols)
	layout.Zero(q.RowRange(0, s.Past))
	end := s.Past + aligned
	q, dst = q.RowRange(0, end), dst.RowRange(0, end)
	for h := range s.Heads {
		head := s.Head(h).Queries(0, aligned).KeyRange(0, end)
		dense.Copy(q.RowRange(s.Past, end), head.Q)
		a.engine.ForwardCausal(s.Processors, dst, q, head.K, head.V, head.Valid)
		dense.Copy(head.Dst, dst.RowRange(s.Past, end))
	}
	m.Release()
	a.forwardAll(s.Queries(aligned, s.Q.Rows))
}

func (a *linear[T]) Fractions(dst Fractions[T], q, k, v dense.Matrix[T]) Fractions[T] {
	a.check(q, k, v)
	if a.opts.Unnormalised {
		panic("performer: the Linear is unnormalised, want outputs that are quotients")
	}
	n := v.Cols
	x := dense.Ensure(dst.columns, q.Rows, n+1+sums.ExtraColumns)
	a.makeUndivided.Do(func() {
		o := a.engine.Operator
		o.Direct, o.Undivided = nil, true
		a.undivided = sums.New(o)
	})
	switch {
	case k.Rows == 0 || q.Rows == 0:
		layout.Zero(x)
		for i := range x.Rows {
			x.Set(i, n+1, 1)
		}
	case a.opts.Causal:
		a.undivided.ForwardCausal(runtime.GOMAXPROCS(0), x, q, k, v, nil)
	default:
		a.undivided.Forward(1, x, q, k, v)
	}
	return Fractions[T]{
		Numerators: x.ColRange(0, n), Denominators: x.ColRange(n, n+1),
		Factors: x.ColRange(n+1, n+2), Exponents: x.ColRange(n+2, n+3), columns: x,
	}
}

func (a *linear[T]) NewState(d, dv int) (*State[T], error) {
	return newState[T](1, 1, d, dv, []Attention[T]{a})
}

// newStore returns the sums of a stream.
func (a *linear[T]) newStore(heads, keyHeads, d, dv int) (*store.Store[T], error) {
	if d != a.d {
		return nil, fmt.Errorf("performer: d = %d, but the maps take points of R^%d", d, a.d)
	}
	return store.NewSums(a.engine, heads, keyHeads, dv)
}

func (a *linear[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	if err := a.CanBackward(); err != nil {
		panic(err.Error())
	}
	a.check(q, k, v)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	switch {
	case g.Empty():
	case a.opts.Causal:
		a.engine.BackwardCausal(runtime.GOMAXPROCS(0), &g, nil, nil)
	default:
		a.engine.Backward(&g)
	}
	return g.DQ, g.DK, g.DV
}

func (a *linear[T]) CanBackward() error {
	if err := a.canBackward(a.query); err != nil {
		return fmt.Errorf("performer: queries: %w", err)
	}
	if err := a.canBackward(a.key); err != nil {
		return fmt.Errorf("performer: keys: %w", err)
	}
	return nil
}

func (a *linear[T]) canBackward(m rff.Map[T]) error {
	d, ok := m.(rff.Differentiable[T])
	if !ok {
		return fmt.Errorf("%T has no derivatives, want an rff.Differentiable", m)
	}
	if _, ok := m.(rff.DifferentiableLog[T]); a.engine.Logs && !ok {
		return fmt.Errorf("%T has logarithms without derivatives, want an rff.DifferentiableLog", m)
	}
	return d.CanBackward()
}

func (a *linear[T]) backwardSequence(s sequence.Backward[T]) {
	x := sequence.Select(s, a.opts.Causal)
	all := !a.opts.Causal // all queries see all keys
	if !all {
		past, seen := x.Overlap()
		if all = past > 0 && past >= seen-1; all {
			x.Shift()
			x.DropNoRows()
		}
	}
	switch notEmpty := x.Gather(s); {
	case !notEmpty:
	case all:
		a.engine.Backward(&x.Gradients)
	default:
		a.engine.BackwardCausal(s.Processors, &x.Gradients, x.ValidKeys, x.ValidQueries)
	}
	x.Scatter(s)
}
