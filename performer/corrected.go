package performer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/performer/internal/near"
	"github.com/seed-feabd252/randfeat/performer/internal/nystroem"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// CorrectedOptions says what a [Corrected] corrects. At least one field is above 0.
type CorrectedOptions struct {
	// Window is W: keys j with |i − j| ≤ W, if causal those with i − W ≤ j ≤ i, have exact weights.
	// Rows are counted in each sequence, with those that do not count, if causal from the first key
	// that counts; Past aligns the queries then. Attention goes by blocks of t = max(W, m) keys, m
	// the number of features or landmarks: with c = max(0, ⌊(i − W)/t⌋), the near keys are t·c ≤ j <
	// t·(c+1) + 2·W, if causal those with t·c ≤ j ≤ i. Zero means no near keys.
	Window int

	// Samples is n, the number of keys that are drawn, in each call, to correct the weights of keys
	// that are not near. Zero means none. A causal base takes none: the probability of a key would
	// depend on later keys.
	Samples int
}

// Corrected is softmax attention that starts from a base form, a [Form]: weights near the query are
// exact, and the exact weights of sampled keys correct the others without bias. With the weights
// A_ij = exp(s·q_iᵀk_j) of [Exact] and Â_ij of the base, value j has the weight
//
//	A_ij                      if key j is near,
//	Â_ij + c_j·(A_ij − Â_ij)  if not,
//
// in numerator and denominator, with random c_j ≥ 0, E c_j = 1, that are zero for all but n keys
// and the same for all queries. So numerators and denominators have the expectations, given the
// base, Σ_j A_ij·[v_j, 1]: those of exact attention. Their ratio has a bias of the order of their
// variances. Nothing is added to denominators.
//
// A window helps any base where near keys have large weights, as a token has for itself. It never
// takes far keys out of sums, but leaves near keys out of them, so that with positive features
// outputs stay averages of values.
//
// Samples suit landmarks. Key j is drawn with the probability π_j = min(1, τ·w_j), where Σ π_j = n:
//
//   - w_j² = κ(k_j, k_j) − κ(k_j, Z)·κ(Z, Z)⁻¹·κ(Z, k_j) by landmarks, which bounds the error of the
//     key for all queries: |A_ij − Â_ij| ≤ √(ρ_i)·w_j, ρ_i the same number of the query;
//   - w_j² = κ(k_j, k_j) + |φ_Q(k_j)ᵀφ_K(k_j)| for features.
//
// w_j² is at least 2⁻³² of κ(k_j, k_j), so that every key may be drawn. Lay the π_j < 1 end to end,
// in the order of the keys: one point is drawn uniformly in each interval of length 1, and c_j is
// the number of points in the part of key j, over π_j. Keys with π_j = 1 have c_j = 1, and a key that
// is a landmark, whose weights are exact already, has c_j = 0. Where errors come from few keys, as in
// a text whose rare words are no landmarks, n samples leave almost no error. Where errors are spread
// over many more keys than n, the noise of the samples may be larger than the error that they mend,
// and with random features it nearly always is: package audit tells. [Corrected.Variances] has the law.
//
// # Cost and memory
//
// Near keys add at most the time of O(L·(t+2·W)·(d+dv)), samples O(L·n·(d+dv)), and O(L·r·(r+d))
// for the probabilities of keys by landmarks. Bidirectional attention with a window keeps up to
// three sums of m×(dv+1) for every t keys, which is about four times the memory of v; causal
// attention keeps one in all. With at least as many samples as keys, with a window that takes in all
// keys, and with at least as many chosen landmarks as keys, attention is [Exact] with its bits.
//
// Exact weights are as stable as in [Exact] and sums as in the base: each has a reference of its
// own, and they are joined under the larger. Without samples outputs are as stable as those of the
// base. Samples have signs, so that denominators may be near zero where noise is large.
//
// A Corrected does not change after construction (the scratch memory that it keeps between calls
// is safe for concurrent use) and may be shared by goroutines. The same seed and inputs give the same outputs,
// whatever GOMAXPROCS is. Methods of the zero Corrected panic.
type Corrected[T dense.Float] struct{ correctedForm[T] }

// correctedForm is what stands behind a Corrected, a *corrected; see package instance.
type correctedForm[T dense.Float] interface {
	maskedForm[T]
	Streaming[T]
	remembering[T]
	Described
	Variances(q, k, v dense.Matrix[T]) dense.Matrix[float64]
}

type corrected[T dense.Float] struct {
	opts      CorrectedOptions
	exact     Exact[T]        // what the base approximates
	engine    *sums.Engine[T] // of the base, undivided; without features if landmarks are chosen
	landmarks *landmarks[T]   // the base, undivided, or nil for features
	seed      [2]uint64
	calls     pool.Of[near.Call[T]]
}

// NewCorrected returns attention that corrects base: a [Linear] whose map estimates
// [kernels.Softmax], or a [Landmarks]. Corrected is causal and unnormalised if base is. src seeds the
// samples; it may be nil without samples.
//
// The error reports another base or a base that is zero, negative options or both zero, Samples for
// a causal base, and a nil src where there are samples.
func NewCorrected[T dense.Float](base Form[T], opts CorrectedOptions, src rand.Source) (*Corrected[T], error) {
	return instance.Of(&newCorrectedBoth, NewCorrected[T])(base, opts, src)
}

var newCorrectedBoth = instance.Both{newCorrected[float32], newCorrected[float64]}

func newCorrected[T dense.Float](base Form[T], opts CorrectedOptions, src rand.Source) (*Corrected[T], error) {
	c := &corrected[T]{opts: opts}
	switch base := base.(type) {
	case *Linear[T]:
		if base == nil || base.linearForm == nil {
			return nil, errors.New("performer: base is a nil or zero Linear, want one of NewLinear")
		}
		b := base.linearForm.(*linear[T])
		kernel, ok := b.query.Kernel().(kernels.Softmax)
		if !ok {
			return nil, fmt.Errorf("performer: base has a map of the kernel %v, want kernels.Softmax", b.query.Kernel())
		}
		o := b.engine.Operator
		o.Causal, o.Undivided = false, true
		if kernel.Gamma == 0 {
			kernel.Gamma = 1
		}
		c.engine, c.exact = sums.New(o), Exact[T]{Scale: kernel.Gamma, Causal: b.opts.Causal, Unnormalised: b.opts.Unnormalised}
	case *Landmarks[T]:
		if base == nil || base.landmarksForm == nil {
			return nil, errors.New("performer: base is a nil or zero Landmarks, want one of NewLandmarks")
		}
		b := base.landmarksForm.(*landmarks[T])
		c.landmarks, c.exact = b.undivided(), b.exact
		c.engine = c.landmarks.engine
	default:
		return nil, fmt.Errorf("performer: base is a %T, want a *Linear or a *Landmarks", base)
	}
	switch {
	case opts.Window < 0:
		return nil, fmt.Errorf("performer: Window = %d, want at least 0", opts.Window)
	case opts.Samples < 0:
		return nil, fmt.Errorf("performer: Samples = %d, want at least 0", opts.Samples)
	case opts == CorrectedOptions{}:
		return nil, errors.New("performer: Window and Samples are 0, want at least one of them above 0")
	case opts.Samples > 0 && c.exact.Causal:
		return nil, fmt.Errorf("performer: Samples = %d for a causal base, want 0: the probability of a key would depend on later keys", opts.Samples)
	case opts.Samples > 0 && src == nil:
		return nil, errors.New("performer: src is nil")
	case opts.Samples > 0:
		c.seed = [2]uint64{src.Uint64(), src.Uint64()}
	}
	return &Corrected[T]{c}, nil
}

// undivided returns a copy of l whose calls leave numerators and denominators undivided.
func (l *landmarks[T]) undivided() *landmarks[T] {
	to := &landmarks[T]{exact: l.exact, n: l.n, seed: l.seed, z: l.z, d: l.d}
	if l.means != nil {
		to.means = &nystroem.Means[T]{Query: l.means.Query, Key: l.means.Key, Absolute: true}
	}
	if l.set != nil {
		to.set = l.set.Under(to.means)
	}
	to.setEngine(true)
	return to
}

var (
	_ maskedForm[float32]  = (*Corrected[float32])(nil)
	_ Streaming[float32]   = (*Corrected[float32])(nil)
	_ remembering[float32] = (*Corrected[float32])(nil)
	_ Described            = (*Corrected[float32])(nil)
)

// Describe returns the Description of the base. Attention without a Window is Rowwise, as samples
// depend on keys alone. Which keys are near depends on the place of a query.
func (c *Corrected[T]) Describe() Description { return c.made().Describe() }

func (c *corrected[T]) Describe() Description {
	d := c.exact.Describe()
	d.Dim, d.Rowwise = c.engine.D, c.opts.Window == 0
	return d
}

// Forward computes attention of the queries q (Lq×d) over the keys k (Lk×d) and values v (Lk×dv)
// into dst (Lq×dv), which Forward returns; a zero dst is allocated.
//
// Without keys the output is zero, normalised or not. A NaN or Inf in k reaches every row that sees
// it, and one in v reaches its column of these rows; a NaN in q reaches its row. Keys that are not
// finite are never drawn. Unnormalised outputs beyond the range of T are ±Inf.
//
// dst may be exactly q where shapes allow; dst must not overlap k or v. Forward panics with the
// shapes if they do not fit; causal attention needs Lq = Lk.
func (c *Corrected[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	return c.made().Forward(dst, q, k, v)
}

func (c *corrected[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	c.check(q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	c.attend(request[T]{dst: dst, q: q, k: k, v: v, heads: 1, processors: runtime.GOMAXPROCS(0)})
	return dst
}

// check panics unless q, k and v fit together and the base.
func (c *corrected[T]) check(q, k, v dense.Matrix[T]) {
	checkShapes(q, k, v, c.exact.Causal)
	if d := c.engine.D; d != 0 && q.Cols != d {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, but the base takes points of R^%d", q.Rows, q.Cols, k.Rows, k.Cols, d))
	}
}

// made returns what a constructor made.
func (c *Corrected[T]) made() correctedForm[T] {
	if c.correctedForm == nil {
		panic("performer: the Corrected is zero, want one of NewCorrected")
	}
	return c.correctedForm
}

func (c *corrected[T]) shares() bool { return !c.exact.Causal }

func (c *corrected[T]) attend(p request[T]) {
	if c.exact.Causal {
		if c.landmarks != nil && c.landmarks.set == nil {
			c.landmarks.attendRenewed(p, c.opts.Window)
		} else {
			attendCausal(p, c.engine, c.exact, c.opts.Window)
		}
		return
	}
	if p.q.Rows == 0 || p.v.Cols == 0 {
		return
	}
	k, v, copies := layout.ValidOnly(p.k, p.v, p.valid)
	if c.isExact(max(p.q.Rows, p.k.Rows), k.Rows) {
		p.k, p.v, p.valid = k, v, nil
		c.exact.attend(p)
	} else {
		w, chosen := c.open(p, k, v)
		w.Answer()
		c.close(w, chosen)
	}
	copies.Release()
}

// open prepares a call for a bidirectional request with the keys k and values v that count, which
// close gives back, with landmarks chosen among the keys if the base chooses them.
func (c *corrected[T]) open(p request[T], k, v dense.Matrix[T]) (w *near.Call[T], chosen *landmarkCall[T]) {
	engine := c.engine
	if c.landmarks != nil {
		engine, chosen = c.landmarks.engineFor(k)
	}
	w = c.calls.Get()
	w.Open(nearOf(c.exact, engine, c.opts.Window, k.Cols), p.heads, p.dst, p.q, k, v, p.k.Rows, p.valid, c.opts.Samples, c.seed)
	return w, chosen
}

func (c *corrected[T]) close(w *near.Call[T], chosen *landmarkCall[T]) {
	w.Close()
	c.calls.Put(w)
	if c.landmarks != nil {
		c.landmarks.release(chosen)
	}
}

// isExact reports whether bidirectional attention is exact attention, for rows up to the given number
// and so many keys that count.
func (c *corrected[T]) isExact(rows, keys int) bool {
	return keys == 0 || c.opts.Window >= rows || c.opts.Samples >= keys || c.landmarks != nil && c.landmarks.isExact(keys)
}

// NewState returns an empty [State] of one head, for queries and keys of dimension d and values of
// dimension dv: it keeps the keys and values of Window + max(Window, m) tokens at most, and sums of
// m×(dv+1) over the tokens before. It returns an error if there are samples, or no window, if
// landmarks are not causal, if d is not the dimension of the base, if dv is below 1, or if the State
// takes more memory than the machine has.
func (c *Corrected[T]) NewState(d, dv int) (*State[T], error) { return c.made().NewState(d, dv) }

func (c *corrected[T]) NewState(d, dv int) (*State[T], error) {
	return newState[T](1, 1, d, dv, []Form[T]{c})
}

func (c *corrected[T]) newMemory(heads, keyHeads, d, dv int) (streams.Memory[T], error) {
	switch {
	case c.opts.Samples > 0 || c.opts.Window == 0:
		return nil, fmt.Errorf("performer: Window = %d, Samples = %d, want a window and no samples for a state", c.opts.Window, c.opts.Samples)
	case c.landmarks == nil && d != c.engine.D:
		return nil, fmt.Errorf("performer: d = %d, but the maps take points of R^%d", d, c.engine.D)
	case c.landmarks != nil:
		if err := c.landmarks.checkState(d); err != nil {
			return nil, err
		}
	}
	return memoryOf(streams.NewNear(nearOf(c.exact, c.engine, c.opts.Window, d), heads, keyHeads, d, dv))
}

// Variances returns the law of the sample: the variances of the numerators and denominators of
// Forward over the seeds, given the base and the probabilities, which are those of Forward. Column
// c < dv of row i has Var(Σ_j W_ij·v_jc)/D_i² for the weights W of [Corrected] and D_i = Σ_j A_ij,
// the last column (of dv+1) Var(Σ_j W_ij)/D_i². Where that is not far below 1, denominators may be
// near zero.
//
// With x_j = (A_ij − Â_ij)·v_jc/D_i, or 0 where key j is near, and the part π_js of key j in interval
// s of length 1, the variance is exactly
//
//	Σ_s [Σ_j π_js·(x_j/π_j)² − (Σ_j π_js·x_j/π_j)²],
//
// for the keys with 0 < π_j < 1. It is at most that of n keys drawn with replacement with the
// probabilities π_j/n. Without samples all variances are zero.
//
// Variances takes O(Lq·Lk·(m+d+dv)) time and O((m+Lq+Lk)·Lk) memory: it is for inspection. It panics
// with the shapes if they do not fit.
func (c *Corrected[T]) Variances(q, k, v dense.Matrix[T]) dense.Matrix[float64] {
	return c.made().Variances(q, k, v)
}

func (c *corrected[T]) Variances(q, k, v dense.Matrix[T]) dense.Matrix[float64] {
	c.check(q, k, v)
	variances := dense.New[float64](q.Rows, v.Cols+1)
	if q.Rows == 0 || c.opts.Samples == 0 || c.isExact(max(q.Rows, k.Rows), k.Rows) {
		return variances
	}
	w, chosen := c.open(request[T]{q: q, k: k, v: v, heads: 1}, k, v)
	w.Variances(variances)
	c.close(w, chosen)
	return variances
}
