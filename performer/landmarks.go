package performer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// Landmarks is softmax attention by landmarks, a [Form]: with the weights A_ij = exp(s·q_iᵀk_j) of
// [Exact] and landmarks z_1 … z_r, it replaces A by
//
//	Â_ij = κ(q_i, Z)·κ(Z, Z)⁻¹·κ(Z, k_j),  κ(x, y) = exp(s·xᵀy),
//
// the kernel between the projections of q_i and k_j onto the span of the landmarks [Williams &
// Seeger 2001]. Â_ij equals A_ij if q_i or k_j is a landmark. Otherwise the error is at most
// √(ρ_i·ρ_j), where ρ is κ(x, x) less its projection. Where keys are near each other, as words of a
// text are, r landmarks have errors many times smaller than r random features.
//
// NewLandmarks chooses landmarks among the keys of each call, by randomly pivoted Cholesky on the
// kernel exp(−s·‖x − y‖²/2)·exp(s·‖x‖²/4 + s·‖y‖²/4) [Chen, Epperly, Tropp & Webber 2023; Epperly,
// Tropp & Webber 2024]. This kernel lies between the Gaussian kernel, which ignores that long keys
// have large weights, and κ, which leaves short keys without landmarks. With more than 16·r keys,
// the choice is among 16·r (at least 1024) of them, drawn with probabilities proportional to
// exp(s·‖k‖²/2). There are fewer than r landmarks if fewer span all keys to rounding.
//
// # Cost and memory
//
// The time is O((Lq+Lk)·r·(d+dv) + r²·(r+d+dv)), and the memory beyond outputs O(r·(r+d+dv)) and two
// numbers for each key, which is kept for later calls. With at most r keys, attention with chosen
// landmarks is [Exact] with its bits.
//
// # Stability
//
// With a_x = s·‖x‖²/2, the weights are Â_ij = φ(q_i)ᵀ·G⁻¹·φ(k_j) with φ_z(x) = exp(s·zᵀx − a_z) and
// the Gaussian matrix G_yz = exp(−s·‖y − z‖²/2), whose diagonal is 1. φ enters as log φ, with the
// references of [Attention], so that nothing overflows or underflows at any norm of finite ‖x‖². G
// and its factor are float64 for both T. A landmark that is a key enters with its exact weight and
// not through G⁻¹. Landmarks that others span to rounding, such as duplicates, are left out.
// Nothing is added to denominators.
//
// Denominators are positive where Â is near A, and can be zero or negative where a query is unlike
// all keys: the output is then the result of the division.
//
// A Landmarks does not change after construction (it keeps scratch memory between calls, in a way
// that is safe) and may be shared by goroutines. The same seed and keys give the same landmarks,
// and outputs do not depend on GOMAXPROCS. Methods of the zero Landmarks panic.
type Landmarks[T dense.Float] struct {
	exact Exact[T]
	n     int
	seed  [2]uint64
	calls pool.Of[landmarkCall[T]]
}

// NewLandmarks returns attention that approximates exact with r landmarks chosen among the keys of
// each call. src seeds the choice.
//
// The error reports an exact with Causal, because a landmark may come after a query, an exact.Scale
// that is negative or not finite, an r below 1 or too large for memory, and a nil src.
func NewLandmarks[T dense.Float](exact Exact[T], r int, src rand.Source) (*Landmarks[T], error) {
	if exact.Causal {
		return nil, errors.New("performer: exact.Causal is set, but landmarks are chosen among later keys too")
	}
	if !(exact.Scale >= 0) || math.IsInf(exact.Scale, 1) {
		return nil, fmt.Errorf("performer: exact.Scale = %v, want a finite number of at least 0", exact.Scale)
	}
	if r < 1 {
		return nil, fmt.Errorf("performer: r = %d, want at least 1", r)
	}
	if err := limit.Memory[float64](r, max(r, landmarkPool)); err != nil {
		return nil, fmt.Errorf("performer: r = %d: %w", r, err)
	}
	if src == nil {
		return nil, errors.New("performer: src is nil")
	}
	return &Landmarks[T]{exact: exact, n: r, seed: [2]uint64{src.Uint64(), src.Uint64()}}, nil
}

// Forward computes attention of the queries q (Lq×d) over the keys k (Lk×d) and values v (Lk×dv)
// into dst (Lq×dv), which Forward returns; a zero dst is allocated.
//
// Without keys the output is zero, normalised or not. A NaN or Inf in k or v reaches every row,
// because every row depends on every key; a NaN in q reaches its row. Keys that are not finite are
// never landmarks. Unnormalised outputs beyond the range of T are ±Inf.
//
// dst may be exactly q where shapes allow; dst must not overlap k or v. Forward panics with the
// shapes if they do not fit.
func (l *Landmarks[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	l.check(q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	l.attend(request[T]{gradients: gradients[T]{q: q, k: k, v: v}, dst: dst, heads: 1})
	return dst
}

// check panics unless NewLandmarks has made l, and q, k and v fit together.
func (l *Landmarks[T]) check(q, k, v dense.Matrix[T]) {
	if l.n == 0 {
		panic("performer: the Landmarks is zero, want one of NewLandmarks")
	}
	checkShapes(q, k, v, false)
}

func (l *Landmarks[T]) dimension() int { return 0 }

func (l *Landmarks[T]) shares() bool { return true }

func (l *Landmarks[T]) attend(p request[T]) {
	k, v, copies := validOnly(p.k, p.v, p.valid)
	switch {
	case p.q.Rows == 0 || p.v.Cols == 0:
	case k.Rows <= l.n:
		p.k, p.v, p.valid = k, v, nil
		l.exact.attend(p)
	default:
		c := l.call(k)
		c.a.bidirectional(p.heads, p.dst, p.q, k, v)
		l.calls.Put(c)
	}
	if copies != nil {
		pool.Put(&rowMemories, copies)
	}
}

// call takes memory for a call from the pool, and chooses landmarks among the keys, which are more
// than l.n.
func (l *Landmarks[T]) call(k dense.Matrix[T]) *landmarkCall[T] {
	c := l.calls.Get()
	if c.a.landmarks == nil {
		c.a = Attention[T]{opts: Options{Unnormalised: l.exact.Unnormalised}, logs: true, landmarks: &c.set, m: l.n, rows: blockRows(l.n)}
		c.a.mapQueries, c.a.mapKeys = c.set.logTransform, c.set.logTransform
		c.rng = rand.New(&c.pcg)
	}
	c.a.d, c.set.scale = k.Cols, l.exact.scale(k.Cols)
	c.choose(k, l.seed)
	return c
}
