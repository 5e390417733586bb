package performer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
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
// [NewLandmarksAt] takes landmarks that are given, for causal attention too. Where queries and keys
// have means far apart, [Landmarks.Centred] makes errors many times smaller.
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
// and its factor are float64 for both T. For float32 points of at most 4 dimensions all of
// bidirectional attention is computed in float64, on copies of inputs and outputs: landmarks are so
// close there that G⁻¹ magnifies the rounding of float32. A landmark that is a key enters with its exact weight and
// not through G⁻¹. Landmarks that others span to rounding, such as duplicates, are left out.
// Nothing is added to denominators.
//
// Denominators are sums of one term a landmark, φ_z(q_i) times an element of G⁻¹·Σ_j φ(k_j). Where a
// query is unlike all landmarks, or landmarks are those of other texts, the terms cancel, and Â is
// nothing but error. A normalised row is therefore answered with the positive weights
// φ(q_i)ᵀ·D⁻¹·φ(k_j), D = diag(G·1) in place of G, if its denominator is below a quarter of the sum of
// |terms| and ρ_i is above a tenth of κ(q_i, q_i). Such a row is an average of values, though a coarse
// one, in which long keys count too much. Causal attention and a [State] do the same with the keys
// that have no exact weights. Unnormalised rows are Â·V, and a [Corrected] that is not causal divides
// by what it has. The time for ρ_i is O(r·(r+d)) for each query whose terms cancel.
//
// A Landmarks does not change after construction (it keeps scratch memory between calls, in a way
// that is safe) and may be shared by goroutines. The same seed and keys give the same landmarks,
// and outputs do not depend on GOMAXPROCS. Methods of the zero Landmarks panic.
type Landmarks[T dense.Float] struct {
	exact  Exact[T]
	n      int
	seed   [2]uint64
	z      dense.Matrix[T]     // landmarks that are given
	given  *Attention[T]       // nil if landmarks are chosen
	means  *landmarkMeans[T]   // nil if points are not centred
	d      int                 // of landmarks that are given and of means
	double *Landmarks[float64] // for float32 points of few dimensions, or nil
	sums   bool                // calls leave numerators and denominators undivided
	calls  pool.Of[landmarkCall[T]]
}

// NewLandmarks returns attention that approximates exact with r landmarks chosen among the keys of
// each call. src seeds the choice.
//
// The error reports an exact with Causal, because a landmark may come after a query, an exact.Scale
// that is negative or not finite, an exact.Softcap, an r below 1 or too large for memory, and a nil src.
func NewLandmarks[T dense.Float](exact Exact[T], r int, src rand.Source) (*Landmarks[T], error) {
	if exact.Causal {
		return nil, errors.New("performer: exact.Causal is set, but landmarks are chosen among later keys too: want NewLandmarksAt")
	}
	if err := checkLandmarkKernel(exact); err != nil {
		return nil, err
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
	l := &Landmarks[T]{exact: exact, n: r, seed: [2]uint64{src.Uint64(), src.Uint64()}}
	l.setDouble()
	return l, nil
}

// NewLandmarksAt returns attention that approximates exact with the landmarks z (r×d), which are
// copied. Landmarks that others span to rounding, such as duplicates, count as one.
//
// With exact.Causal query i sees the keys j ≤ i only. Attention goes by blocks of r keys: keys of
// its own block have exact weights, those of the blocks before have weights by landmarks. As the
// base of a [Corrected], causal landmarks have exact weights for a window of keys. Landmarks must
// not depend on keys that come after a query: landmarks.Pivoted with
// kernels.Gaussian{LengthScale: 1/√s} chooses them among keys of the past or of other texts. The
// time is O(L·r·(d+dv)). A change of later tokens changes no bit of earlier outputs.
//
// The error reports an exact.Scale that is negative or not finite, an exact.Softcap, a z without rows or columns, too
// large for memory or not finite, and a landmark with s·‖z‖²/2 out of the range of T.
func NewLandmarksAt[T dense.Float](exact Exact[T], z dense.Matrix[T]) (*Landmarks[T], error) {
	z.Check()
	if err := checkLandmarkKernel(exact); err != nil {
		return nil, err
	}
	if z.Rows < 1 || z.Cols < 1 {
		return nil, fmt.Errorf("performer: z is %d×%d, want at least 1×1", z.Rows, z.Cols)
	}
	if err := limit.Memory[float64](z.Rows, max(z.Rows, z.Cols)); err != nil {
		return nil, fmt.Errorf("performer: z is %d×%d: %w", z.Rows, z.Cols, err)
	}
	for i := range z.Rows {
		for j, x := range z.Row(i) {
			if x-x != 0 {
				return nil, fmt.Errorf("performer: z[%d][%d] = %v, want a finite number", i, j, x)
			}
		}
	}
	z = z.Clone()
	set, err := givenLandmarks(exact.scale(z.Cols), z, nil)
	if err != nil {
		return nil, err
	}
	l := &Landmarks[T]{exact: exact, n: z.Rows, z: z, d: z.Cols, sums: exact.Causal}
	l.give(set)
	l.setDouble()
	return l, nil
}

// givenLandmarks returns the set of the finite landmarks z.
func givenLandmarks[T dense.Float](scale float64, z dense.Matrix[T], means *landmarkMeans[T]) (*landmarkSet[T], error) {
	set := &landmarkSet[T]{scale: scale, means: means}
	points := set.prepare(z.Rows, z.Cols)
	for i := range z.Rows {
		set.centreKey(points.Row(i), z.Row(i))
		if half := T(scale * vecmath.HalfSquaredNorm(points.Row(i))); half-half != 0 {
			return nil, fmt.Errorf("performer: z[%d] has a squared norm outside the range of %T", i, half)
		}
	}
	set.build(z.Rows)
	return set, nil
}

// checkLandmarkKernel returns an error unless exp(Scale·xᵀy) is a kernel.
func checkLandmarkKernel[T dense.Float](exact Exact[T]) error {
	if !(exact.Scale >= 0) || math.IsInf(exact.Scale, 1) {
		return fmt.Errorf("performer: exact.Scale = %v, want a finite number of at least 0", exact.Scale)
	}
	if exact.Softcap != 0 {
		return fmt.Errorf("performer: exact.Softcap = %v, want 0: landmarks need exp(Scale·qᵀk)", exact.Softcap)
	}
	return nil
}

// Forward computes attention of the queries q (Lq×d) over the keys k (Lk×d) and values v (Lk×dv)
// into dst (Lq×dv), which Forward returns; a zero dst is allocated.
//
// Without keys the output is zero, normalised or not. A NaN or Inf in k reaches every row that sees
// it, and one in v reaches its column of these rows; a NaN in q reaches its row. Keys that are not
// finite are never landmarks. Unnormalised outputs beyond the range of T are ±Inf.
//
// dst may be exactly q where shapes allow; dst must not overlap k or v. Forward panics with the
// shapes if they do not fit; causal attention needs Lq = Lk.
func (l *Landmarks[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	l.check(q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	l.attend(request[T]{gradients: gradients[T]{q: q, k: k, v: v}, dst: dst, heads: 1})
	return dst
}

// check panics unless a constructor has made l, and q, k and v fit together and the landmarks.
func (l *Landmarks[T]) check(q, k, v dense.Matrix[T]) {
	l.checkMade()
	checkShapes(q, k, v, l.exact.Causal)
	if l.d != 0 && q.Cols != l.d {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, but the landmarks are points of R^%d", q.Rows, q.Cols, k.Rows, k.Cols, l.d))
	}
}

func (l *Landmarks[T]) checkMade() {
	if l.n == 0 {
		panic("performer: the Landmarks is zero, want one of NewLandmarks")
	}
}

func (l *Landmarks[T]) dimension() int { return l.d }

func (l *Landmarks[T]) shares() bool { return !l.exact.Causal }

func (l *Landmarks[T]) attend(p request[T]) {
	if l.exact.Causal {
		attendCausal(p, l.given, l.exact, 0)
		return
	}
	k, v, copies := validOnly(p.k, p.v, p.valid)
	switch {
	case p.q.Rows == 0 || p.v.Cols == 0:
	case l.isExact(k.Rows):
		p.k, p.v, p.valid = k, v, nil
		l.exact.attend(p)
	case l.inDouble(k.Cols):
		l.attendDouble(p.heads, p.dst, p.q, k, v)
	default:
		a, chosen := l.attention(k)
		a.bidirectional(p.heads, p.dst, p.q, k, v)
		l.release(chosen)
	}
	if copies != nil {
		pool.Put(&rowMemories, copies)
	}
}

// isExact reports whether attention over n keys is exact attention.
func (l *Landmarks[T]) isExact(n int) bool { return n == 0 || l.given == nil && n <= l.n }

// give makes attention with the landmarks of set, which is not built again, that of all calls.
func (l *Landmarks[T]) give(set *landmarkSet[T]) {
	l.given = new(Attention[T])
	l.setAttention(l.given, set)
	l.given.d = l.d
}

// setAttention makes a attention with the landmarks of set.
func (l *Landmarks[T]) setAttention(a *Attention[T], set *landmarkSet[T]) {
	a.opts, a.logs, a.sums = Options{Unnormalised: l.exact.Unnormalised}, true, l.sums
	a.landmarks, a.m, a.rows = set, l.n, blockRows(l.n)
	a.mapQueries, a.mapKeys = set.logQueries, set.logKeys
}

// attention returns attention with the landmarks that are given, or with landmarks chosen among the
// keys of a call, which are more than l.n. chosen is for release.
func (l *Landmarks[T]) attention(k dense.Matrix[T]) (a *Attention[T], chosen *landmarkCall[T]) {
	if l.given != nil {
		return l.given, nil
	}
	c := l.calls.Get()
	if c.a.landmarks == nil {
		l.setAttention(&c.a, &c.set)
		c.rng = rand.New(&c.pcg)
	}
	c.a.d, c.set.scale, c.set.means = k.Cols, l.exact.scale(k.Cols), l.means
	c.choose(k, l.seed)
	return &c.a, c
}

// release gives the memory of chosen landmarks back to its pool.
func (l *Landmarks[T]) release(chosen *landmarkCall[T]) {
	if chosen != nil {
		l.calls.Put(chosen)
	}
}
