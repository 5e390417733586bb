package performer

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/stream"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/rff"
)

// Form is a form of attention: exact or linear. Forward maps queries q (Lq×d),
// keys k (Lk×d) and values v (Lk×dv) to outputs (Lq×dv), which it writes into
// dst and returns; a zero dst is allocated. [Attention] and [Exact] are Forms.
type Form[T dense.Float] interface {
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]
}

// Options selects what linear attention computes. The zero value is
// bidirectional, normalised attention.
type Options struct {
	// Causal lets query i see the keys j ≤ i only; as many queries as keys
	// are required then.
	Causal bool

	// Unnormalised leaves out the division by the sum of the weights: the
	// output is A·V with A_ij = φ_Q(q_i)ᵀφ_K(k_j).
	Unnormalised bool
}

// Attention is linear attention: with weights A_ij = φ_Q(q_i)ᵀφ_K(k_j),
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij
//
// computed in O(L·m·(d + dv)) as φ_Q(q_i)ᵀ(Σ_j φ_K(k_j) v_jᵀ), where m is the
// number of features [Katharopoulos et al. 2020]. With positive random
// features of the softmax kernel it is the attention of the Performer
// [Choromanski et al. 2021].
//
// An Attention does not change after construction (the scratch memory that it
// keeps between calls is safe for concurrent use) and may be shared by goroutines. Methods of the
// zero Attention panic.
type Attention[T dense.Float] struct {
	query, key          rff.Map[T]
	mapQueries, mapKeys func(dst, x dense.Matrix[T]) dense.Matrix[T] // the features, or their logarithms
	logs                bool                                         // logarithms, as both maps are LogMaps
	direct              bool                                         // the features are worth trying before their logarithms
	sums                bool                                         // rows are left as sums with their scales, see summing
	opts                Options
	landmarks           *landmarkSet[T] // the maps, if weights are φ_Qᵀ·G⁻¹·φ_K; nil for φ_Qᵀ·φ_K
	d, m                int
	rows                int // of a block that is mapped, then consumed
	fingerprint         stream.Fingerprint

	workspaces             pool.Of[workspace[T]]
	accumulators           pool.Of[accumulator[T]]
	bidirectionals         pool.Of[bidirectional[T]]
	causals                pool.Of[causal[T]]
	gradientWorkspaces     pool.Of[gradientWorkspace[T]]
	bidirectionalGradients pool.Of[bidirectionalGradient[T]]
}

// New returns linear attention with the features φ_Q = phi of queries and φ_K =
// [rff.Keys](phi) of keys, so that φ_Q(q)ᵀφ_K(k) estimates phi.Kernel(). φ_K is phi itself
// unless phi is [rff.Paired], as the asymmetric estimators rff.SADERF, rff.ADERF and
// rff.SoftmaxHybrid are.
//
// Where both are [rff.LogMap]s, attention works on the logarithms of the features and can
// neither overflow nor underflow; otherwise it works on the features.
//
// New returns an error if phi or its Keys is nil, or if the two maps differ in the
// dimension of their points or in the number of their features.
func New[T dense.Float](phi rff.Map[T], opts Options) (*Attention[T], error) {
	if phi == nil {
		return nil, errors.New("performer: phi is nil")
	}
	return newAttention(phi, rff.Keys(phi), opts)
}

// newAttention returns linear attention with a map for queries and one for keys.
func newAttention[T dense.Float](query, key rff.Map[T], opts Options) (*Attention[T], error) {
	if key == nil {
		return nil, fmt.Errorf("performer: Keys of phi, a %T, is nil", query)
	}
	d, m := query.Dims()
	if dk, mk := key.Dims(); d != dk || m != mk {
		return nil, fmt.Errorf("performer: phi maps points of R^%d to %d features, its Keys points of R^%d to %d, want the same", d, m, dk, mk)
	}
	a := &Attention[T]{opts: opts, d: d, m: m, rows: blockRows(m)}
	a.setMaps(query, key)
	a.direct = a.logs && !opts.Unnormalised && isELU(query) && isELU(key)
	return a, nil
}

// setMaps makes query and key the maps of a.
func (a *Attention[T]) setMaps(query, key rff.Map[T]) {
	a.query, a.key, a.logs = query, key, false
	a.mapQueries, a.mapKeys = shaped(query, query.Transform), shaped(key, key.Transform)
	lq, queryIsLog := query.(rff.LogMap[T])
	lk, keyIsLog := key.(rff.LogMap[T])
	if queryIsLog && keyIsLog {
		a.mapQueries, a.mapKeys, a.logs = shaped(query, lq.LogTransform), shaped(key, lk.LogTransform), true
	}
}

// shaped returns transform, a method of phi, with a panic that names phi where the features do not
// have the shape that Dims of phi tells, or are not in dst.
func shaped[T dense.Float](phi rff.Map[T], transform func(dst, x dense.Matrix[T]) dense.Matrix[T]) func(dst, x dense.Matrix[T]) dense.Matrix[T] {
	_, m := phi.Dims()
	return func(dst, x dense.Matrix[T]) dense.Matrix[T] {
		features := transform(dst, x)
		if features.Rows != x.Rows || features.Cols != m {
			panic(fmt.Sprintf("performer: features of %T are %d×%d for points of %d×%d, want %d×%d", phi, features.Rows, features.Cols, x.Rows, x.Cols, x.Rows, m))
		}
		if len(dst.Data) > 0 && len(features.Data) > 0 && &dst.Data[0] != &features.Data[0] {
			panic(fmt.Sprintf("performer: %T returns its features in other memory, want them in dst", phi))
		}
		return features
	}
}

// Dims returns the dimension of queries and keys and the number of features.
func (a *Attention[T]) Dims() (d, m int) { return a.d, a.m }

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
func (a *Attention[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	a.check(q, k, v)
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	a.attend(request[T]{gradients: gradients[T]{q: q, k: k, v: v}, dst: dst, heads: 1, processors: runtime.GOMAXPROCS(0)})
	return dst
}

// blockRows returns the number of rows whose m features, up to 2¹⁶ of them, stay in second caches of
// 512 KiB. The order of sums over keys depends on the number, which therefore follows no cache.
func blockRows(m int) int { return min(max(1<<16/max(m, 1), block), 4*block) }

// check panics unless q (Lq×d), k (Lk×d) and v (Lk×dv) fit together and the maps.
func (a *Attention[T]) check(q, k, v dense.Matrix[T]) {
	if a.query == nil {
		panic("performer: the Attention is zero, want one of New")
	}
	checkShapes(q, k, v, a.opts.Causal)
	if q.Cols != a.d {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, but the maps take points of R^%d",
			q.Rows, q.Cols, k.Rows, k.Cols, a.d))
	}
}

// checkShapes panics unless q (Lq×d), k (Lk×d) and v (Lk×dv) fit together.
func checkShapes[T dense.Float](q, k, v dense.Matrix[T], causal bool) {
	checkPoints(q, k, causal)
	v.Check()
	if k.Rows != v.Rows {
		panic(fmt.Sprintf("performer: k is %d×%d, v is %d×%d, want as many values as keys", k.Rows, k.Cols, v.Rows, v.Cols))
	}
}

// checkPoints panics unless q (Lq×d) and k (Lk×d) fit together.
func checkPoints[T dense.Float](q, k dense.Matrix[T], causal bool) {
	q.Check()
	k.Check()
	if q.Cols != k.Cols {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, want queries and keys of one dimension", q.Rows, q.Cols, k.Rows, k.Cols))
	}
	if causal && q.Rows != k.Rows {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, want as many queries as keys for causal attention", q.Rows, q.Cols, k.Rows, k.Cols))
	}
}

// zero sets every element of m to zero.
func zero[T dense.Float](m dense.Matrix[T]) {
	for i := range m.Rows {
		clear(m.Row(i))
	}
}

// block is the number of rows that is worth handing to another processor.
const block = 64
