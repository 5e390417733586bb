package performer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/kernels"
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
// and with random features it nearly always is: [Audit] tells. [Corrected.Variances] has the law.
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
type Corrected[T dense.Float] struct {
	opts      CorrectedOptions
	exact     Exact[T]      // what the base approximates
	a         *Attention[T] // the base, with sums, or nil
	landmarks *Landmarks[T] // the base, with sums, or nil
	seed      [2]uint64
	calls     pool.Of[correctedCall[T]]
}

// NewCorrected returns attention that corrects base: an [Attention] whose map estimates
// [kernels.Softmax], or a [Landmarks]. Corrected is causal and unnormalised if base is. src seeds the
// samples; it may be nil without samples.
//
// The error reports another base or a base that is zero, negative options or both zero, Samples for
// a causal base, and a nil src where there are samples.
func NewCorrected[T dense.Float](base Form[T], opts CorrectedOptions, src rand.Source) (*Corrected[T], error) {
	c := &Corrected[T]{opts: opts}
	switch b := base.(type) {
	case *Attention[T]:
		if b == nil || b.query == nil {
			return nil, errors.New("performer: base is a nil or zero Attention, want one of New")
		}
		kernel, ok := b.query.Kernel().(kernels.Softmax)
		if !ok {
			return nil, fmt.Errorf("performer: base has a map of the kernel %v, want kernels.Softmax", b.query.Kernel())
		}
		a, err := newAttention(b.query, b.key, Options{Unnormalised: b.opts.Unnormalised})
		if err != nil {
			return nil, err
		}
		a.sums = true
		if kernel.Scale == 0 {
			kernel.Scale = 1
		}
		c.a, c.exact = a, Exact[T]{Scale: kernel.Scale, Causal: b.opts.Causal, Unnormalised: b.opts.Unnormalised}
	case *Landmarks[T]:
		if b == nil || b.n == 0 {
			return nil, errors.New("performer: base is a nil or zero Landmarks, want one of NewLandmarks")
		}
		c.landmarks, c.exact = b.withSums(), b.exact
	default:
		return nil, fmt.Errorf("performer: base is a %T, want an *Attention or a *Landmarks", base)
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
	return c, nil
}

// withSums returns a copy of l whose calls leave numerators and denominators undivided.
func (l *Landmarks[T]) withSums() *Landmarks[T] {
	to := &Landmarks[T]{exact: l.exact, n: l.n, seed: l.seed, z: l.z, d: l.d, sums: true}
	if l.means != nil {
		to.means = &landmarkMeans[T]{query: l.means.query, key: l.means.key, absolute: true}
	}
	if l.given != nil {
		set := *l.given.landmarks
		set.means = to.means
		to.give(&set)
	}
	return to
}

var _ describedForm = (*Corrected[float32])(nil)

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
	c.check(q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	c.attend(request[T]{gradients: gradients[T]{q: q, k: k, v: v}, dst: dst, heads: 1, processors: runtime.GOMAXPROCS(0)})
	return dst
}

// check panics unless a constructor has made c, and q, k and v fit together and the base.
func (c *Corrected[T]) check(q, k, v dense.Matrix[T]) {
	d := c.dimension()
	checkShapes(q, k, v, c.exact.Causal)
	if d != 0 && q.Cols != d {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, but the base takes points of R^%d", q.Rows, q.Cols, k.Rows, k.Cols, d))
	}
}

// dimension returns that of the points of the base. It panics unless a constructor has made c.
func (c *Corrected[T]) dimension() int {
	switch {
	case c.landmarks != nil:
		return c.landmarks.d
	case c.a != nil:
		return c.a.d
	}
	panic("performer: the Corrected is zero, want one of NewCorrected")
}

func (c *Corrected[T]) shares() bool { return !c.exact.Causal }

func (c *Corrected[T]) options() Options { return c.exact.options() }

// rowwise reports that samples depend on keys alone. Which keys are near depends on the number of a
// query.
func (c *Corrected[T]) rowwise() bool { return c.opts.Window == 0 }

func (c *Corrected[T]) attend(p request[T]) {
	if c.exact.Causal {
		if c.a != nil {
			attendCausal(p, c.a, c.exact, c.opts.Window)
			return
		}
		attendCausal(p, c.landmarks.given, c.exact, c.opts.Window)
		return
	}
	if p.q.Rows == 0 || p.v.Cols == 0 {
		return
	}
	k, v, copies := validOnly(p.k, p.v, p.valid)
	if c.isExact(max(p.q.Rows, p.k.Rows), k.Rows) {
		p.k, p.v, p.valid = k, v, nil
		c.exact.attend(p)
	} else {
		c.run(p, k, v)
	}
	if copies != nil {
		pool.Put(&rowMemories, copies)
	}
}

// isExact reports whether bidirectional attention is exact attention, for rows up to the given number
// and so many keys that count.
func (c *Corrected[T]) isExact(rows, keys int) bool {
	return keys == 0 || c.opts.Window >= rows || c.opts.Samples >= keys || c.landmarks != nil && c.landmarks.isExact(keys)
}

// CanBackward returns an error: a Corrected has no derivatives.
func (c *Corrected[T]) CanBackward() error {
	return errors.New("performer: Corrected has no derivatives")
}

// Backward panics with the text of CanBackward.
func (c *Corrected[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	panic(c.CanBackward().Error())
}

func (c *Corrected[T]) attendBackward(request[T]) { panic(c.CanBackward().Error()) }

// NewState returns an empty [State] of one head, for queries and keys of dimension d and values of
// dimension dv: it keeps the keys and values of Window + max(Window, m) tokens at most, and sums of
// m×(dv+1) over the tokens before. It returns an error if there are samples, or no window, if
// landmarks are not causal, if d is not the dimension of the base, if dv is below 1, or if the State
// takes more memory than the machine has.
func (c *Corrected[T]) NewState(d, dv int) (*State[T], error) {
	return newState[T](1, 1, d, dv, []Form[T]{c})
}
