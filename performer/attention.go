package performer

import (
	"errors"
	"fmt"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/rff"
)

// Form is a form of attention: exact or linear. Forward maps queries q (Lq×d),
// keys k (Lk×d) and values v (Lk×dv) to outputs (Lq×dv), which it writes into
// dst and returns; a zero dst is allocated. [Attention] and [Exact] are Forms.
type Form[T dense.Float] interface {
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]
}

// Features pairs the feature map of queries with that of keys, so that
// Query(q)ᵀKey(k) estimates (or is) the kernel. Most estimators use one map
// for both; they differ where the estimator is asymmetric. When both are
// [rff.LogMap]s attention works on the logarithms of the features and can
// neither overflow nor underflow; otherwise it works on the features.
type Features[T dense.Float] struct {
	Query, Key rff.Map[T]
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
// An Attention does not change after construction (it keeps scratch memory
// between calls, in a way that is safe) and may be shared by goroutines.
type Attention[T dense.Float] struct {
	query, key       rff.Map[T]
	logQuery, logKey rff.LogMap[T] // nil unless both maps are LogMaps
	opts             Options
	d, m             int

	workspaces   sync.Pool // of *workspace[T]
	accumulators sync.Pool // of *accumulator[T]
}

// New returns linear attention with the given maps. It returns an error if a
// map is nil, or if the maps differ in the dimension of their points or in the
// number of their features.
func New[T dense.Float](f Features[T], opts Options) (*Attention[T], error) {
	if f.Query == nil {
		return nil, errors.New("performer: Features.Query is nil")
	}
	if f.Key == nil {
		return nil, errors.New("performer: Features.Key is nil")
	}
	d, m := f.Query.Dims()
	dk, mk := f.Key.Dims()
	if d != dk {
		return nil, fmt.Errorf("performer: Query maps points of R^%d, Key of R^%d, want the same", d, dk)
	}
	if m != mk {
		return nil, fmt.Errorf("performer: Query has %d features, Key has %d, want the same", m, mk)
	}
	a := &Attention[T]{query: f.Query, key: f.Key, opts: opts, d: d, m: m}
	lq, queryIsLog := f.Query.(rff.LogMap[T])
	lk, keyIsLog := f.Key.(rff.LogMap[T])
	if queryIsLog && keyIsLog {
		a.logQuery, a.logKey = lq, lk
	}
	return a, nil
}

// Dims returns the dimension of queries and keys and the number of features.
func (a *Attention[T]) Dims() (d, m int) { return a.d, a.m }

// Forward computes attention of the queries q (Lq×d) over the keys k (Lk×d)
// and values v (Lk×dv) into dst (Lq×dv), which it returns; a zero dst is
// allocated. It takes O((Lq+Lk)·m·(d+dv)) time and O(m·dv) memory beyond dst,
// whatever the lengths are, and gives the same bits whatever GOMAXPROCS is.
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
	checkShapes(q, k, v, a.opts.Causal)
	if q.Cols != a.d {
		panic(fmt.Sprintf("performer: q is %d×%d, k is %d×%d, but the maps take points of R^%d",
			q.Rows, q.Cols, k.Rows, k.Cols, a.d))
	}
	dst = dense.Ensure(dst, q.Rows, v.Cols)
	switch {
	case v.Cols == 0:
	case k.Rows == 0:
		zero(dst)
	case a.opts.Causal:
		a.causal(dst, q, k, v)
	default:
		a.bidirectional(dst, q, k, v)
	}
	return dst
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

const (
	block       = 64        // rows that are mapped, then consumed, at a time
	segmentRows = 2 * block // keys that are worth an accumulator of their own
	maxSegments = 8
)

// bidirectional accumulates all keys, then answers the queries block by block.
func (a *Attention[T]) bidirectional(dst, q, k, v dense.Matrix[T]) {
	total := a.summarise(k, v)
	defer a.accumulators.Put(total)
	parallel.Rows(q.Rows, block, func(lo, hi int) {
		w := a.workspace(v.Cols)
		defer a.workspaces.Put(w)
		queries := a.mapQueries(w, q.RowRange(lo, hi))
		out := w.out.rows(hi - lo)
		scales := w.scales[:hi-lo]
		total.scaleQueries(queries, scales)
		total.attend(out, queries)
		a.finish(dst.RowRange(lo, hi), out, scales)
	})
}

// summarise returns the accumulator of all keys and values. The keys are cut
// into segments by their number alone and merged in order, so that the sum
// does not depend on which goroutine took which.
func (a *Attention[T]) summarise(k, v dense.Matrix[T]) *accumulator[T] {
	segments := min(max(k.Rows/segmentRows, 1), maxSegments)
	var parts [maxSegments]*accumulator[T]
	parallel.Pieces(segments, func(s int) {
		acc := a.accumulator(v.Cols)
		w := a.workspace(v.Cols)
		defer a.workspaces.Put(w)
		lo, hi := segment(k.Rows, segments, s), segment(k.Rows, segments, s+1)
		for ; lo < hi; lo += block {
			end := min(lo+block, hi)
			keys := a.mapKeys(w, k.RowRange(lo, end))
			acc.add(w, keys, a.extend(w, v.RowRange(lo, end)))
		}
		parts[s] = acc
	})
	for _, p := range parts[1:segments] {
		parts[0].merge(p)
		a.accumulators.Put(p)
	}
	return parts[0]
}

// segment returns where segment s of n rows begins: n·s/segments, without the
// product, which overflows a 32-bit int.
func segment(n, segments, s int) int {
	return n/segments*s + n%segments*s/segments
}

// mapQueries writes the (log-)features of the queries q into w.
func (a *Attention[T]) mapQueries(w *workspace[T], q dense.Matrix[T]) dense.Matrix[T] {
	dst := w.queries.rows(q.Rows)
	if a.logQuery != nil {
		return a.logQuery.LogTransform(dst, q)
	}
	return a.query.Transform(dst, q)
}

// mapKeys writes the (log-)features of the keys k into w.
func (a *Attention[T]) mapKeys(w *workspace[T], k dense.Matrix[T]) dense.Matrix[T] {
	dst := w.keys.rows(k.Rows)
	if a.logKey != nil {
		return a.logKey.LogTransform(dst, k)
	}
	return a.key.Transform(dst, k)
}

// extend copies the values v into w, with a column of ones when a denominator
// is wanted: numerator and denominator then are sums of the same products in
// the same order, and values that are all one come out as exactly one.
func (a *Attention[T]) extend(w *workspace[T], v dense.Matrix[T]) dense.Matrix[T] {
	return extend(w.values.rows(v.Rows), v)
}

// finish turns sums into outputs: it divides by the last column, or, when
// unnormalised, multiplies row i by scales[i].
func (a *Attention[T]) finish(dst, out dense.Matrix[T], scales []scale) {
	for i := range dst.Rows {
		switch {
		case !a.opts.Unnormalised:
			divide(dst.Row(i), out.Row(i))
		case a.logKey != nil:
			applyScale(dst.Row(i), out.Row(i), scales[i])
		default:
			copy(dst.Row(i), out.Row(i))
		}
	}
}

// extend copies v into the first columns of dst and ones into the last, if dst
// has one more.
func extend[T dense.Float](dst, v dense.Matrix[T]) dense.Matrix[T] {
	for i := range v.Rows {
		row := dst.Row(i)
		copy(row, v.Row(i))
		for j := v.Cols; j < len(row); j++ {
			row[j] = 1
		}
	}
	return dst
}

// divide sets dst to the leading elements of sums over its last.
func divide[T dense.Float](dst, sums []T) {
	total := sums[len(dst)]
	for j := range dst {
		dst[j] = sums[j] / total
	}
}
