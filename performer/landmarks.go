package performer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/nystroem"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// Landmarks is softmax attention by landmarks. It replaces the weights A_ij = exp(s·q_iᵀk_j) of
// [Exact], with landmarks z_1 … z_r, by
//
//	Â_ij = κ(q_i, Z)·κ(Z, Z)⁻¹·κ(Z, k_j),  κ(x, y) = exp(s·xᵀy),
//
// the kernel between the projections of q_i and k_j onto the span of the landmarks [Williams &
// Seeger 2001]. Â_ij equals A_ij if q_i or k_j is a landmark. Otherwise the error is at most
// √(ρ_i·ρ_j), where ρ is κ(x, x) less its projection. If keys are close to each other, as the words
// of a text are, the errors of r landmarks are many times smaller than the errors of r random
// features.
//
// [NewLandmarks] chooses landmarks among the keys of each call, by randomly pivoted Cholesky on the
// kernel exp(−s·‖x − y‖²/2)·exp(s·‖x‖²/4 + s·‖y‖²/4) [Chen, Epperly, Tropp & Webber 2023; Epperly,
// Tropp & Webber 2024]. The Gaussian kernel would ignore that long keys have large weights, and κ
// would leave short keys without landmarks; this kernel lies between the two. With more than 16·r
// keys, the choice is among 16·r (at least 1024) of them, drawn with probabilities proportional to
// exp(s·‖k‖²/2). The number of landmarks is smaller than r if fewer span all keys to rounding.
// [NewLandmarksAt] takes given landmarks.
//
// Goroutines may share a Landmarks. The same seed and keys give the same landmarks.
//
// # Cost and memory
//
// The time is O((Lq+Lk)·r·(d+dv) + r²·(r+d+dv)), and the memory beyond outputs O(r·(r+d+dv)) and
// two numbers for each key. With at most r keys, attention with chosen landmarks is [Exact] with
// its bits. dst of Forward may be exactly q where shapes allow, and must not overlap k or v.
//
// # Stability
//
// With a_x = s·‖x‖²/2, the weights are Â_ij = φ(q_i)ᵀ·G⁻¹·φ(k_j) with φ_z(x) = exp(s·zᵀx − a_z) and
// the Gaussian matrix G_yz = exp(−s·‖y − z‖²/2), whose diagonal is 1. Like [Linear], Landmarks
// computes with log φ, so that nothing overflows or underflows at any norm of finite ‖x‖². G and
// its factor are float64 for both T. For float32 points of at most 4 dimensions Forward and
// Backward compute in float64, on copies of inputs and outputs: landmarks are so close there that
// G⁻¹ magnifies the rounding of float32. A landmark that is a key
// has its exact weight and does not use G⁻¹. Landmarks that others span to rounding, such as
// duplicates, are left out. Nothing is added to denominators.
//
// A denominator is a sum of one term a landmark, φ_z(q_i) times an element of G⁻¹·Σ_j φ(k_j). If a
// query is unlike all landmarks, or landmarks come from other texts, the terms cancel and Â is
// dominated by error. A normalised row has the positive weights φ(q_i)ᵀ·D⁻¹·φ(k_j), D = diag(G·1),
// instead if its denominator is below a quarter of the sum of |terms| and ρ_i is above a tenth of
// κ(q_i, q_i). Such a row is an average of values, but a coarse one, in which long keys count too
// much. Unnormalised rows are Â·V. The time for ρ_i is O(r·(r+d)) for each query whose terms cancel.
//
// A NaN or Inf in k reaches every row that sees it, one in v reaches its column of these rows, and
// one in q reaches its row. Keys that are not finite are never landmarks.
//
// # Backward
//
// Landmarks are the landmarks of Forward and count as constants. With C = G⁻¹, D_i the denominator
// of row i, and the rows g_i of dout,
//
//	∂L/∂φ(q_i) = C·Σ_j φ(k_j)·(v_j·g_i − δ_i)/D_i,  δ_i = g_i·out_i
//	∂L/∂φ(k_j) = C·R·[v_j, 1],  R = Σ_i φ(q_i)/D_i·[g_i, −δ_i]ᵀ
//	∂L/∂v_j    = Rᵀ·C·φ(k_j), without its last element
//
// and unnormalised the same without D_i and δ_i. A landmark that is a key has the gradient of a key
// with its value. A row with positive weights counts as a constant: its gradients are zero. The
// cost is about three times the cost of Forward, and the memory beyond the gradients does not
// depend on the lengths. With at most r keys the gradients are the gradients of [Exact].
// CanBackward returns nil.
type Landmarks[T dense.Float] interface {
	Differentiable[T]
	Described // with the options of exact, and the dimension of given landmarks or of means

	// Chosen returns the rows of k, in ascending order, that are landmarks of a call with the keys
	// k: at most r rows, and fewer if these span the others to rounding. Chosen returns all rows if
	// there are no more than r, and nil if the landmarks are given. Chosen panics if k has another
	// dimension than l.
	Chosen(k dense.Matrix[T]) []int

	// Centred returns landmarks for queries less b and keys less c. The weights compensate exactly:
	// with κ(x, y) = exp(s·xᵀy) and landmarks z_i among the keys less c,
	//
	//	Â_ij = κ(q_i−b, Z)·κ(Z, Z)⁻¹·κ(Z, k_j−c)·exp(s·q_iᵀc + s·bᵀk_j − s·bᵀc).
	//
	// Â estimates the same attention. b and c should be the means of queries and keys, which
	// [rff.SubtractMean] computes. Errors are many times smaller if these means are far apart, as
	// in trained transformers: landmarks lie among the keys, and a query far from the keys has a
	// large residual ρ. Only b − c matters, except for rounding. A nil b or c stands for 0.
	//
	// b and c are constants, for gradients too. Means of the queries of each call would make an
	// output depend on other queries, on padding, and on how queries are divided into calls. Given
	// landmarks stay the same points, near keys. If l has means already, b and c replace them.
	//
	// The cost is the cost of l and O((Lq+Lk)·d). The error reports lengths of b and c that differ
	// from each other or from the dimension of given landmarks, an element that is not finite, and
	// a given landmark z with s·‖z − c‖²/2 beyond the range of T.
	Centred(b, c []T) (Landmarks[T], error)
}

type landmarks[T dense.Float] struct {
	exact  exact[T]
	n      int
	seed   [2]uint64
	z      dense.Matrix[T]     // given landmarks
	means  *nystroem.Means[T]  // nil if points are not centred
	d      int                 // dimension of given landmarks and of means; 0 for any
	double *landmarks[float64] // for float32 points of few dimensions, or nil
	set    *nystroem.Set[T]    // features of given landmarks, or nil
	engine *sums.Engine[T]     // with set, or without features
	calls  pool.Of[landmarkCall[T]]
}

// landmarkCall is the memory of a call with chosen landmarks, and an engine with these landmarks.
type landmarkCall[T dense.Float] struct {
	choice nystroem.Choice[T]
	engine *sums.Engine[T]
}

// NewLandmarks returns attention that approximates exact with r landmarks chosen among the keys of
// each call. src seeds the choice.
//
// The error reports an exact that is causal, because all queries share the landmarks, an exact.Scale that is negative or not finite, an exact.Softcap, an r below 1
// or too large for memory, and a nil src.
func NewLandmarks[T dense.Float](exact ExactOptions, r int, src rand.Source) (Landmarks[T], error) {
	if r < 1 {
		return nil, fmt.Errorf("performer: r = %d, want at least 1", r)
	}
	if src == nil {
		return nil, errors.New("performer: src is nil")
	}
	return openLandmarks(landmarkPoints[T]{options: exact, r: r, src: src})
}

// NewLandmarksAt returns attention that approximates exact with the landmarks z (r×d), which are
// copied. Landmarks that others span to rounding, such as duplicates, count as one.
//
// landmarks.Pivoted with kernels.Gaussian{LengthScale: 1/√s} chooses landmarks.
//
// The error reports an exact that is causal, an exact.Scale that is negative or not finite, an
// exact.Softcap, a z without rows or columns, too large for memory or not finite, and a landmark
// with s·‖z‖²/2 beyond the range of T.
func NewLandmarksAt[T dense.Float](exact ExactOptions, z dense.Matrix[T]) (Landmarks[T], error) {
	z.Check()
	if z.Rows < 1 || z.Cols < 1 {
		return nil, fmt.Errorf("performer: z is %d×%d, want at least 1×1", z.Rows, z.Cols)
	}
	return openLandmarks(landmarkPoints[T]{options: exact, r: z.Rows, z: z})
}

// landmarkPoints holds given landmarks z, or r and src for chosen landmarks.
type landmarkPoints[T dense.Float] struct {
	options ExactOptions
	r       int
	src     rand.Source
	z       dense.Matrix[T]
}

func openLandmarks[T dense.Float](p landmarkPoints[T]) (Landmarks[T], error) {
	return door.Choose[T, Landmarks[T]](landmarks32, landmarks64, p)
}

//go:noinline
func landmarks32(p any) (any, error) { return newLandmarks(p.(landmarkPoints[float32])) }

//go:noinline
func landmarks64(p any) (any, error) { return newLandmarks(p.(landmarkPoints[float64])) }

func newLandmarks[T dense.Float](p landmarkPoints[T]) (*landmarks[T], error) {
	o := p.options
	if err := o.checkLandmarks(); err != nil {
		return nil, err
	}
	l := &landmarks[T]{exact: exact[T]{o}, n: p.r}
	if p.src != nil {
		if err := limit.Memory[float64](p.r, max(p.r, nystroem.LeastPool)); err != nil {
			return nil, fmt.Errorf("performer: r = %d: %w", p.r, err)
		}
		l.seed = [2]uint64{p.src.Uint64(), p.src.Uint64()}
	} else if err := l.give(p.z); err != nil {
		return nil, err
	}
	l.setEngine()
	l.setDouble()
	return l, nil
}

// give sets the landmarks of l to z.
func (l *landmarks[T]) give(z dense.Matrix[T]) error {
	if err := limit.Memory[float64](z.Rows, max(z.Rows, z.Cols)); err != nil {
		return fmt.Errorf("performer: z is %d×%d: %w", z.Rows, z.Cols, err)
	}
	for i := range z.Rows {
		for j, x := range z.Row(i) {
			if x-x != 0 {
				return fmt.Errorf("performer: z[%d][%d] = %v, want a finite number", i, j, x)
			}
		}
	}
	var err error
	l.z, l.d = z.Clone(), z.Cols
	l.set, err = nystroem.At(l.exact.scale(z.Cols), l.z, nil)
	return err
}

// checkLandmarks returns an error unless exp(Scale·xᵀy) is a kernel between all queries and keys.
func (o ExactOptions) checkLandmarks() error {
	if o.Causal {
		return errors.New("performer: exact is causal, want attention without a mask: all queries share the landmarks")
	}
	if !(o.Scale >= 0) || math.IsInf(o.Scale, 1) {
		return fmt.Errorf("performer: exact.Scale = %v, want a finite number of at least 0", o.Scale)
	}
	if err := o.refuse(); err != nil {
		return err
	}
	if o.Softcap != 0 {
		return fmt.Errorf("performer: exact.Softcap = %v, want 0: landmarks need exp(Scale·qᵀk)", o.Softcap)
	}
	return nil
}

var (
	_ Landmarks[float32]            = (*landmarks[float32])(nil)
	_ maskedDifferentiable[float32] = (*landmarks[float32])(nil)
)

func (l *landmarks[T]) Describe() Description {
	d := l.exact.Describe()
	d.Dim = l.d
	return d
}

// setEngine sets the engine of l.
func (l *landmarks[T]) setEngine() {
	o := sums.Operator[T]{D: l.d, M: l.n, Logs: true, Unnormalised: l.exact.Unnormalised}
	if l.set != nil {
		o.Features, o.Mixer = l.set, l.set
	}
	l.engine = sums.New(o)
}

func (l *landmarks[T]) Chosen(k dense.Matrix[T]) []int {
	k.Check()
	if l.d != 0 && k.Cols != l.d {
		panic(fmt.Sprintf("performer: k is %d×%d, but the landmarks are points of R^%d", k.Rows, k.Cols, l.d))
	}
	switch {
	case l.set != nil:
		return nil
	case k.Rows <= l.n:
		rows := make([]int, k.Rows)
		for i := range rows {
			rows[i] = i
		}
		return rows
	}
	_, c := l.engineFor(k)
	rows := c.choice.Chosen()
	l.release(c)
	return rows
}

func (l *landmarks[T]) Centred(b, c []T) (Landmarks[T], error) {
	d := l.z.Cols
	if l.set == nil {
		d = max(len(b), len(c))
	}
	m := &nystroem.Means[T]{Query: make([]T, d), Key: make([]T, d), Absolute: l.exact.Unnormalised}
	for _, v := range []struct {
		name string
		from []T
		to   []T
	}{{"b", b, m.Query}, {"c", c, m.Key}} {
		if len(v.from) != 0 && len(v.from) != d {
			return nil, fmt.Errorf("performer: %s has length %d, want %d", v.name, len(v.from), d)
		}
		for j, x := range v.from {
			if x-x != 0 {
				return nil, fmt.Errorf("performer: %s[%d] = %v, want a finite number", v.name, j, x)
			}
		}
		copy(v.to, v.from)
	}
	if len(b) == 0 && len(c) == 0 {
		m = nil
	}
	to := &landmarks[T]{exact: l.exact, n: l.n, seed: l.seed, z: l.z, d: d, means: m}
	if l.set != nil {
		set, err := nystroem.At(l.exact.scale(d), l.z, m)
		if err != nil {
			return nil, err
		}
		to.set = set
	}
	to.setEngine()
	to.setDouble()
	return to, nil
}
