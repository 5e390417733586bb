// Package linear computes attention with weights that are products of features.
package linear

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/rff"
)

type Options struct{ Causal bool }

type FeatureAttention[T dense.Float] struct {
	Query, Key rff.Map[T]
	Options
	Engine *sums.Engine[T]

	makeUndivided sync.Once
	undivided     *sums.Engine[T] // of Fractions
}

// Fractional is a FeatureAttention behind an interface, so that importers do not compile it.
type Fractional[T dense.Float] interface {
	sequence.Kind[T]

	// Fractions computes numerators and denominators into the memory of
	// dst, and returns them; a zero dst is allocated.
	Fractions(dst Fractions[T], q, k, v dense.Matrix[T]) Fractions[T]
}

// Fractions holds outputs of linear attention before the division: output i is
// Numerators_i/Denominators_i. A numerator of any size is a number of T because row i of Numerators
// and of Denominators stands for itself times Factors_i·2^Exponents_i. Numerators and denominators
// of several sets of features add up to the fractions of attention with all of these features.
// Without keys numerators and denominators are zero.
type Fractions[T dense.Float] struct {
	Numerators         dense.Matrix[T] // Lq×dv
	Denominators       dense.Matrix[T] // Lq×1
	Factors, Exponents dense.Matrix[T] // Lq×1; exponents are integers

	columns dense.Matrix[T] // Lq×(dv+3)
}

// New returns linear attention with a map for queries and one for keys.
func New[T dense.Float](query, key rff.Map[T], opts Options) (Fractional[T], error) {
	return door.Choose[T, Fractional[T]](new32, new64, arguments{query, key, opts})
}

// arguments has maps of features of float32 or float64, and options.
type arguments struct {
	query, key any
	opts       Options
}

//go:noinline
func new32(args any) (any, error) { return newOf[float32](args.(arguments)) }

//go:noinline
func new64(args any) (any, error) { return newOf[float64](args.(arguments)) }

func newOf[T dense.Float](args arguments) (*FeatureAttention[T], error) {
	query, _ := args.query.(rff.Map[T])
	key, _ := args.key.(rff.Map[T])
	opts := args.opts
	if key == nil {
		return nil, fmt.Errorf("performer: Keys of phi, a %T, is nil", query)
	}
	d, m := query.Dims()
	if dk, mk := key.Dims(); d != dk || m != mk {
		return nil, fmt.Errorf("performer: phi maps points of R^%d to %d features, its Keys points of R^%d to %d, want the same", d, m, dk, mk)
	}
	f := newFeatures(query, key)
	o := sums.Operator[T]{
		D: d, M: m, Features: f, Logs: f.logs, Causal: opts.Causal,
	}
	if f.logs && isELU(query) && isELU(key) {
		o.Direct = f
	}
	return &FeatureAttention[T]{Query: query, Key: key, Options: opts, Engine: sums.New(o)}, nil
}

func (a *FeatureAttention[T]) Describe() sequence.Description {
	return sequence.Description{
		Causal: a.Causal, IndependentQueries: !a.Causal, Dim: a.Engine.D,
		Masks: true, SharesKeys: !a.Causal,
	}
}

func (a *FeatureAttention[T]) Forward(c sequence.Call[T]) {
	if !a.Causal {
		a.forwardAll(c)
		return
	}
	c = c.TrimCausal()
	switch {
	case c.Q.Rows == 0 || c.V.Cols == 0:
	case c.Past == 0:
		aligned := min(c.Q.Rows, c.K.Rows)
		first := c.Queries(0, aligned)
		a.Engine.ForwardCausal(c.Processors, first.Output(0), first.Query(0), c.K, c.V, c.Valid)
		a.forwardAll(c.Queries(aligned, c.Q.Rows))
	case c.Past >= c.K.Rows-1:
		a.forwardAll(c)
	default:
		a.forwardPast(c)
	}
}

func (a *FeatureAttention[T]) forwardAll(c sequence.Call[T]) {
	if c.Q.Rows == 0 || c.V.Cols == 0 {
		return
	}
	c, copies := c.ValidKeys()
	if c.K.Rows == 0 {
		c.Zero()
	} else {
		a.Engine.Forward(c.Out, c.Q, c.K, c.V)
	}
	copies.Release()
}

// forwardPast computes the outputs of causal queries with 0 < Past < Lk−1. It copies the queries to
// the end of a matrix with one row for each key.
func (a *FeatureAttention[T]) forwardPast(c sequence.Call[T]) {
	aligned := min(c.K.Rows-c.Past, c.Q.Rows)
	end := c.Past + aligned
	m, q, dst := layout.TokensOf[T](end, c.Q.Cols, c.V.Cols)
	layout.Zero(q.RowRange(0, c.Past))
	first := c.Queries(0, aligned).Keys(0, end)
	dense.Copy(q.RowRange(c.Past, end), first.Query(0))
	a.Engine.ForwardCausal(c.Processors, dst, q, first.K, first.V, first.Valid)
	dense.Copy(first.Output(0), dst.RowRange(c.Past, end))
	m.Release()
	a.forwardAll(c.Queries(aligned, c.Q.Rows))
}

func (a *FeatureAttention[T]) Fractions(dst Fractions[T], q, k, v dense.Matrix[T]) Fractions[T] {
	n := v.Cols
	x := dense.Ensure(dst.columns, q.Rows, n+1+sums.ExtraColumns)
	a.makeUndivided.Do(func() {
		o := a.Engine.Operator
		o.Direct, o.Undivided = nil, true
		a.undivided = sums.New(o)
	})
	switch {
	case k.Rows == 0 || q.Rows == 0:
		layout.Zero(x)
		for i := range x.Rows {
			x.Set(i, n+1, 1)
		}
	case a.Causal:
		a.undivided.ForwardCausal(runtime.GOMAXPROCS(0), x, q, k, v, nil)
	default:
		a.undivided.Forward(dense.SplitHeads(x, 1, 1), dense.SplitHeads(q, 1, 1), k, v)
	}
	return Fractions[T]{
		Numerators: x.ColRange(0, n), Denominators: x.ColRange(n, n+1),
		Factors: x.ColRange(n+1, n+2), Exponents: x.ColRange(n+2, n+3), columns: x,
	}
}

func (a *FeatureAttention[T]) Alike(other sequence.Kind[T]) bool {
	return other == sequence.Kind[T](a)
}

func (a *FeatureAttention[T]) NewStore(run sequence.Run[T]) (store.TokenStore[T], error) {
	if run.D != a.Engine.D {
		return nil, fmt.Errorf("performer: d = %d, but the attention takes points of R^%d", run.D, a.Engine.D)
	}
	return store.NewSums(store.Sums[T]{Engine: a.Engine, Heads: run.Count, KeyHeads: run.KeyHeads, DV: run.DV})
}

func (a *FeatureAttention[T]) CanBackward() error {
	if err := a.canBackward(a.Query); err != nil {
		return fmt.Errorf("performer: queries: %w", err)
	}
	if err := a.canBackward(a.Key); err != nil {
		return fmt.Errorf("performer: keys: %w", err)
	}
	return nil
}

func (a *FeatureAttention[T]) canBackward(m rff.Map[T]) error {
	d, ok := m.(rff.Differentiable[T])
	if !ok {
		return fmt.Errorf("%T has no derivatives, want an rff.Differentiable", m)
	}
	if _, ok := m.(rff.DifferentiableLog[T]); a.Engine.Logs && !ok {
		return fmt.Errorf("%T has logarithms without derivatives, want an rff.DifferentiableLog", m)
	}
	return d.CanBackward()
}

func (a *FeatureAttention[T]) Backward(c sequence.Call[T]) {
	x := sequence.Select(c, a.Causal)
	all := !a.Causal // all queries see all keys
	if !all {
		past, seen := x.Overlap()
		if all = past > 0 && past >= seen-1; all {
			x.Shift()
			x.DropNoRows()
		}
	}
	switch notEmpty := x.Gather(c); {
	case !notEmpty:
	case all:
		a.Engine.Backward(&x.HeadGradients)
	default:
		a.Engine.BackwardCausal(c.Processors, &x.HeadGradients, x.ValidKeys, x.ValidQueries)
	}
	x.Scatter(c)
}

type features[T dense.Float] struct {
	query, key rff.Map[T]
	logs       bool
}

func newFeatures[T dense.Float](query, key rff.Map[T]) *features[T] {
	_, queryIsLog := query.(rff.LogMap[T])
	_, keyIsLog := key.(rff.LogMap[T])
	return &features[T]{query, key, queryIsLog && keyIsLog}
}

func (f *features[T]) Queries(dst, q dense.Matrix[T]) dense.Matrix[T] {
	return f.transform(f.query, dst, q)
}

func (f *features[T]) Keys(dst, k dense.Matrix[T]) dense.Matrix[T] { return f.transform(f.key, dst, k) }

// transform writes the (log-)features of points x into dst. It panics if the features do not have
// the shape of Dims of phi, or are not in the memory of dst.
func (f *features[T]) transform(phi rff.Map[T], dst, x dense.Matrix[T]) dense.Matrix[T] {
	var y dense.Matrix[T]
	if f.logs {
		y = phi.(rff.LogMap[T]).LogTransform(dst, x)
	} else {
		y = phi.Transform(dst, x)
	}
	if _, m := phi.Dims(); y.Rows != x.Rows || y.Cols != m {
		panic(fmt.Sprintf("performer: features of %T are %d×%d for points of %d×%d, want %d×%d", phi, y.Rows, y.Cols, x.Rows, x.Cols, x.Rows, m))
	}
	if len(dst.Data) > 0 && len(y.Data) > 0 && &dst.Data[0] != &y.Data[0] {
		panic(fmt.Sprintf("performer: %T returns its features in other memory, want them in dst", phi))
	}
	return y
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

// Most features elu+1 take one addition, and their logarithms take a transcendental function.
func isELU[T dense.Float](m rff.Map[T]) bool {
	_, ok := m.Kernel().(kernels.ELU)
	return ok
}
