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
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/store"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// LandmarkOptions selects what attention by landmarks computes.
type LandmarkOptions[T dense.Float] struct {
	// Landmarks is the number r of landmarks that are chosen among the keys of each call. Landmarks
	// is 0 if there are Points.
	Landmarks int

	// Points, unless zero, are given landmarks z_i (r×d), which are copied. Landmarks that others
	// span to rounding, such as duplicates, count as one. Function landmarks.Pivoted with
	// kernels.Gaussian{LengthScale: 1/√s} chooses landmarks.
	Points dense.Matrix[T]

	// Scale s multiplies the products q_iᵀk_j. Zero means 1/√d. Scale is finite and not negative.
	Scale float64

	// Unnormalised leaves out the division by the sum of the weights.
	Unnormalised bool

	// QueryMean b and KeyMean c, of length d, are subtracted from queries and keys. A nil mean
	// stands for 0. The weights compensate exactly: with κ(x, y) = exp(s·xᵀy) and landmarks z_i
	// among the keys less c,
	//
	//	Â_ij = κ(q_i−b, Z)·κ(Z, Z)⁻¹·κ(Z, k_j−c)·exp(s·q_iᵀc + s·bᵀk_j − s·bᵀc)
	//
	// estimates exp(s·q_iᵀk_j) for any means. b and c should be the means of queries and keys,
	// which [rff.SubtractMean] computes. If these means are far apart, as in trained transformers,
	// errors are many times smaller, because landmarks lie among the keys and weights of queries
	// far from the keys have large errors. Only b − c matters, except for rounding. The cost is
	// O((Lq+Lk)·d).
	//
	// b and c are constants, for gradients too. Means of the queries of each call would make an
	// output depend on other queries, on padding, and on how queries are divided into calls.
	// NewLandmarks also subtracts c from Points, which should lie near keys.
	QueryMean, KeyMean []T
}

// Landmarks is softmax attention by landmarks z_1 … z_r. It replaces the weights exp(s·q_iᵀk_j) of
// [Exact] by
//
//	Â_ij = κ(q_i, Z)·κ(Z, Z)⁻¹·κ(Z, k_j),  κ(x, y) = exp(s·xᵀy),
//
// the kernel between the projections of q_i and k_j onto the span of the landmarks [Williams &
// Seeger 2001]. Â_ij is exact if q_i or k_j is a landmark. If keys are close to each other, as the
// words of a text are, the errors of r landmarks are many times smaller than the errors of r random
// features.
//
// [NewLandmarks] chooses landmarks among the keys of each call, by randomly pivoted Cholesky [Chen,
// Epperly, Tropp & Webber 2023; Epperly, Tropp & Webber 2024], unless LandmarkOptions.Points has
// given landmarks. The same seed and keys give the same landmarks. With at most r keys, chosen
// landmarks have the outputs of [Exact], bit for bit, and the gradients of Exact. Goroutines may
// share a Landmarks.
//
// Forward takes O((Lq+Lk)·r·(d+dv) + r²·(r+d+dv)) time, and O(r·(r+d+dv)) memory and two numbers
// for each key beyond dst. dst may be exactly q where shapes allow, and must not overlap k or v.
// Backward takes the landmarks as constants, about three times as long as Forward, and memory that
// does not depend on lengths. CanBackward returns nil.
//
// Nothing overflows or underflows where ‖x‖² is finite. A normalised row whose query is unlike all
// landmarks may have positive weights instead of Â: the row is a coarse average of values. A NaN or
// Inf in k reaches every row that sees the key, one in v its column of these rows, and one in q its
// row. docs/laws.md of this module has the choice, the positive weights and the gradients.
type Landmarks[T dense.Float] struct{ Batch[T] }

// NewLandmarks returns attention by landmarks. src seeds the choice of landmarks, and is not used
// if there are Points.
//
// NewLandmarks returns an error for a number of Landmarks below 1, too large for memory, or given
// beside Points; for Points that are too large for memory, not finite or with s·‖z − c‖²/2 beyond
// the range of T; for a Scale that is negative or not finite; for means with different lengths,
// with other lengths than the Points, or with elements that are not finite; and for a nil src
// without Points.
func NewLandmarks[T dense.Float](o LandmarkOptions[T], src rand.Source) (Landmarks[T], error) {
	b, err := door.Choose[T, Batch[T]](landmarks32, landmarks64, landmarkArgs{o, src})
	return Landmarks[T]{b}, err
}

// landmarkArgs has LandmarkOptions and a source.
type landmarkArgs struct {
	o   any
	src rand.Source
}

//go:noinline
func landmarks32(args any) (any, error) { return openLandmarks[float32](args.(landmarkArgs)) }

//go:noinline
func landmarks64(args any) (any, error) { return openLandmarks[float64](args.(landmarkArgs)) }

func openLandmarks[T dense.Float](args landmarkArgs) (Batch[T], error) {
	l, err := newLandmarks(args.o.(LandmarkOptions[T]), args.src)
	if err != nil {
		return Batch[T]{}, err
	}
	return single[T](l), nil
}

type landmarks[T dense.Float] struct {
	exact  exact[T] // with the options of landmarks
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

func newLandmarks[T dense.Float](o LandmarkOptions[T], src rand.Source) (*landmarks[T], error) {
	z := o.Points
	z.Check()
	given := z.Rows != 0 || z.Cols != 0
	switch {
	case given && o.Landmarks != 0:
		return nil, fmt.Errorf("performer: Landmarks = %d with Points of %d×%d, want one of them", o.Landmarks, z.Rows, z.Cols)
	case given && (z.Rows < 1 || z.Cols < 1):
		return nil, fmt.Errorf("performer: Points is %d×%d, want at least 1×1", z.Rows, z.Cols)
	case !given && o.Landmarks < 1:
		return nil, fmt.Errorf("performer: Landmarks = %d, want at least 1", o.Landmarks)
	case !given && src == nil:
		return nil, errors.New("performer: src is nil")
	case !(o.Scale >= 0) || math.IsInf(o.Scale, 1):
		return nil, fmt.Errorf("performer: Scale = %v, want a finite number of at least 0", o.Scale)
	}
	l := &landmarks[T]{exact: exact[T]{ExactOptions{Scale: o.Scale, Unnormalised: o.Unnormalised}}, n: o.Landmarks}
	if err := check[T](l.exact.ExactOptions); err != nil {
		return nil, err
	}
	if err := l.subtract(o.QueryMean, o.KeyMean, z.Cols); err != nil {
		return nil, err
	}
	if given {
		if err := l.give(z); err != nil {
			return nil, err
		}
	} else {
		if err := limit.Memory[float64](l.n, max(l.n, nystroem.LeastPool)); err != nil {
			return nil, fmt.Errorf("performer: Landmarks = %d: %w", l.n, err)
		}
		l.seed = [2]uint64{src.Uint64(), src.Uint64()}
	}
	l.setEngine()
	l.setDouble()
	return l, nil
}

// subtract sets the means b of queries and c of keys, of dimension d, or of any dimension if d is
// 0.
func (l *landmarks[T]) subtract(b, c []T, d int) error {
	if len(b) == 0 && len(c) == 0 {
		return nil
	}
	if d == 0 {
		d = max(len(b), len(c))
	}
	l.d, l.means = d, &nystroem.Means[T]{Query: make([]T, d), Key: make([]T, d), Absolute: l.exact.Unnormalised}
	for _, v := range []struct {
		name     string
		from, to []T
	}{{"QueryMean", b, l.means.Query}, {"KeyMean", c, l.means.Key}} {
		if len(v.from) != 0 && len(v.from) != d {
			return fmt.Errorf("performer: %s has length %d, want %d", v.name, len(v.from), d)
		}
		for j, x := range v.from {
			if x-x != 0 {
				return fmt.Errorf("performer: %s[%d] = %v, want a finite number", v.name, j, x)
			}
		}
		copy(v.to, v.from)
	}
	return nil
}

// give sets the landmarks of l to z.
func (l *landmarks[T]) give(z dense.Matrix[T]) error {
	if err := limit.Memory[float64](z.Rows, max(z.Rows, z.Cols)); err != nil {
		return fmt.Errorf("performer: Points is %d×%d: %w", z.Rows, z.Cols, err)
	}
	for i := range z.Rows {
		for j, x := range z.Row(i) {
			if x-x != 0 {
				return fmt.Errorf("performer: Points[%d][%d] = %v, want a finite number", i, j, x)
			}
		}
	}
	var err error
	l.z, l.d, l.n = z.Clone(), z.Cols, z.Rows
	l.set, err = nystroem.At(l.exact.scale(z.Cols), l.z, l.means)
	return err
}

var _ sequence.Attention[float32] = (*landmarks[float32])(nil)

func (l *landmarks[T]) Describe() sequence.Description {
	return sequence.Description{
		Unnormalised: l.exact.Unnormalised, IndependentQueries: true, Dim: l.d, Masks: true, SharesKeys: true,
	}
}

func (l *landmarks[T]) Alike(sequence.Attention[T]) bool { return false }

func (l *landmarks[T]) NewStore(sequence.Run[T]) (*store.Store[T], error) {
	return nil, errors.New("performer: Landmarks have no state, want Linear or Exact attention")
}

// setEngine sets the engine of l.
func (l *landmarks[T]) setEngine() {
	o := sums.Operator[T]{D: l.d, M: l.n, Logs: true, Unnormalised: l.exact.Unnormalised}
	if l.set != nil {
		o.Features, o.Mixer = l.set, l.set
	}
	l.engine = sums.New(o)
}
