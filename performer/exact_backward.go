package performer

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	gradientQueries  = 2 * block // queries of a tile of gradients; it has tileKeys keys
	gradientSegments = 8         // the most segments of queries
)

// Backward writes the gradients of L = Σ_ic dout_ic·out_ic with respect to q (Lq×d), k (Lk×d) and v
// (Lk×dv) into dq, dk and dv, and returns these; a zero matrix is allocated. out is the result of
// Forward. With the weights P_ij, which are A_ij over their sum, or A_ij when unnormalised, and the
// rows g_i of dout,
//
//	dv_j = Σ_i P_ij g_i,  dS_ij = P_ij·(g_i·v_j − δ_i),  δ_i = g_i·out_i or 0,
//	dq_i = Scale·Σ_j dS_ij k_j,  dk_j = Scale·Σ_i dS_ij q_i.
//
// With a Softcap the derivative 1 − tanh² of a score multiplies dS_ij in the last line.
//
// Backward forms P again a tile at a time [Dao et al. 2022]. The time is O(Lq·Lk·(d+dv)), three to
// four times the time of Forward, and the memory beyond the gradients is three numbers a query.
// Once that memory is there Backward allocates nothing. The bits do not depend on GOMAXPROCS.
//
// NaN and Inf reach every gradient that depends on them. In causal attention the bits of dq_i
// depend on rows up to i only. Unnormalised weights beyond the range of T make gradients ±Inf or
// NaN.
//
// dq, dk and dv must not overlap each other nor an input. Backward panics with the shapes if they
// do not fit; causal attention needs Lq = Lk.
func (e Exact[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	checkShapes(q, k, v, e.Causal)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	if g.empty() {
		return g.dq, g.dk, g.dv
	}
	exactBackward(request[T]{gradients: g}, e)
	return g.dq, g.dk, g.dv
}

// exactBackward writes the gradients of a request of one head, which are not empty. If the form is
// causal, the first key counts, and the last query sees the last key.
func exactBackward[T dense.Float](p request[T], form Exact[T]) {
	e := pool.Get[exactGradient[T]](&exactGradients)
	e.request, e.form = p, form
	e.prepare()
	if !form.Unnormalised {
		parallel.Do((e.q.Rows+gradientQueries-1)/gradientQueries, (*exactStatistics[T])(e))
	}
	for e.lo = 0; e.lo < e.k.Rows; e.lo += tileKeys {
		e.hi = min(e.lo+tileKeys, e.k.Rows)
		e.cut()
		parallel.Do(e.segments, (*exactSegments[T])(e))
		e.collect()
	}
	e.request = request[T]{}
	pool.Put(&exactGradients, e)
}

// CanBackward returns nil.
func (e Exact[T]) CanBackward() error { return nil }

// exactGradient is one call of Backward, which takes one tile of keys after the other. For each
// tile, segments of the queries add to the gradients of their queries. Each segment has its own
// gradients of keys and values, which are then summed in order.
type exactGradient[T dense.Float] struct {
	request[T]
	form Exact[T]

	// One element a query: P_ij is exp((S_ij − shift_i) − log_i).
	shift, log, mean []T

	lo, hi   int // keys of the tile
	from     int // the first query that sees one of them
	segments int
	dks, dvs [gradientSegments]scratch.Buffer[T] // tileKeys×d and tileKeys×dv
}

// prepare makes room for the segments and for statistics. The statistics are set for weights
// without a denominator.
func (e *exactGradient[T]) prepare() {
	for _, x := range []*[]T{&e.shift, &e.log, &e.mean} {
		*x = scratch.Resize(*x, e.q.Rows)
		clear(*x)
	}
	for s := range segmentsOfQueries(e.q.Rows) {
		e.dks[s].Shape(tileKeys, e.k.Cols)
		e.dvs[s].Shape(tileKeys, e.v.Cols)
	}
}

// segmentsOfQueries returns the number of segments of n queries. It depends on n alone, so that
// sums do not depend on the number of processors.
func segmentsOfQueries(n int) int {
	return min((n+gradientQueries-1)/gradientQueries, gradientSegments)
}

// cut cuts the queries that see a key of the tile into segments.
func (e *exactGradient[T]) cut() {
	e.from = 0
	if e.form.Causal {
		e.from = max(e.lo-e.past, 0)
	}
	e.segments = segmentsOfQueries(e.q.Rows - e.from)
}

// collect adds up the gradients of the segments.
func (e *exactGradient[T]) collect() {
	n := e.hi - e.lo
	dk, dv := e.dk.RowRange(e.lo, e.hi), e.dv.RowRange(e.lo, e.hi)
	dense.Copy(dk, e.dks[0].Rows(n))
	dense.Copy(dv, e.dvs[0].Rows(n))
	for s := 1; s < e.segments; s++ {
		moreK, moreV := e.dks[s].Rows(n), e.dvs[s].Rows(n)
		for j := range n {
			vecmath.AddScaled(dk.Row(j), moreK.Row(j), 1)
			vecmath.AddScaled(dv.Row(j), moreV.Row(j), 1)
		}
	}
}

// exactStatistics is the task of the statistics of queries: the forward pass.
type exactStatistics[T dense.Float] exactGradient[T]

func (e *exactStatistics[T]) Piece(i int) {
	lo := i * gradientQueries
	hi := min(lo+gradientQueries, e.q.Rows)
	t, w := pool.Get[tile[T]](&tiles), pool.Get[gradientTile[T]](&gradientTiles)
	w.out.Shape(gradientQueries, e.v.Cols)
	out := w.out.Rows(hi - lo)
	t.prepare(hi-lo, e.v.Cols, e.form, e.k.Cols)
	t.valid = e.valid
	if e.pairs.given {
		t.pairs, t.first = &e.pairs, lo
	}
	t.attend(out, e.q.RowRange(lo, hi), e.k, e.v, lo+e.past)
	t.valid, t.pairs = nil, nil
	copy(e.shift[lo:hi], t.shift)
	for i := range out.Rows {
		e.log[lo+i] = T(math.Log(float64(t.total[i])))
		e.mean[lo+i] = vecmath.Dot(e.dout.Row(lo+i), out.Row(i))
	}
	pool.Put(&tiles, t)
	pool.Put(&gradientTiles, w)
}

// exactSegments is the task of the gradients between the segments of queries and a tile of keys.
type exactSegments[T dense.Float] exactGradient[T]

func (e *exactSegments[T]) Piece(s int) {
	w := pool.Get[gradientTile[T]](&gradientTiles)
	w.weights.Shape(tileKeys, gradientQueries)
	w.slopes.Shape(tileKeys, gradientQueries)
	n := e.q.Rows - e.from
	lo, hi := e.from+parallel.Share(n, e.segments, s), e.from+parallel.Share(n, e.segments, s+1)
	for at := lo; at < hi; at += gradientQueries {
		var beta T = 1
		if at == lo {
			beta = 0
		}
		(*exactGradient[T])(e).tile(w, s, at, min(at+gradientQueries, hi), beta)
	}
	pool.Put(&gradientTiles, w)
}

// gradientTile is the scratch memory of one goroutine.
type gradientTile[T dense.Float] struct {
	weights, slopes scratch.Buffer[T] // tileKeys×gradientQueries: P and dS, transposed
	out             scratch.Buffer[T] // gradientQueries×dv
	changes         scratch.Buffer[T] // tileKeys×gradientQueries, of pairs
	caps, memory    []T               // gradientQueries: the derivatives of softcap for a key
}

// tile adds the gradients between the queries lo ≤ i < hi and the tile of keys. beta is 0 for the
// first queries of segment s, and 1 for later ones.
func (e *exactGradient[T]) tile(w *gradientTile[T], s, lo, hi int, beta T) {
	n, factor := e.hi-e.lo, T(e.form.scale(e.k.Cols))
	q, g := e.q.RowRange(lo, hi), e.dout.RowRange(lo, hi)
	k, v := e.k.RowRange(e.lo, e.hi), e.v.RowRange(e.lo, e.hi)
	p, ds := w.weights.Rows(n).ColRange(0, hi-lo), w.slopes.Rows(n).ColRange(0, hi-lo)
	matmul.MulT(factor, k, q, 0, p)
	matmul.MulT(1, v, g, 0, ds)
	diagonal := e.form.Causal && lo+e.past < e.hi-1
	var changes dense.Matrix[T]
	if e.pairs.given {
		w.changes.Shape(tileKeys, gradientQueries)
		changes = w.changes.Rows(n).ColRange(0, hi-lo)
		e.pairs.changes(changes, lo, e.lo)
	}
	for j := range n {
		x, y := p.Row(j), ds.Row(j)
		if e.form.Softcap != 0 {
			w.cap(x, capIn[T](e.form.Softcap))
		}
		if e.pairs.given {
			addChanges(p.RowRange(j, j+1), changes.RowRange(j, j+1))
		}
		vecmath.ExpDiff(x, x, e.shift[lo:hi], e.log[lo:hi])
		vecmath.AddScaled(y, e.mean[lo:hi], -1)
		vecmath.Multiply(y, x)
		if e.pairs.given {
			e.pairs.close(x, y, changes.Row(j))
			e.pairs.learn(y, lo, e.lo+j)
		}
		if e.form.Softcap != 0 {
			vecmath.Multiply(y, w.caps)
		}
		if diagonal {
			unseen := min(max(e.lo+j-e.past-lo, 0), hi-lo)
			clear(x[:unseen])
			clear(y[:unseen])
		}
		if e.valid != nil && !e.valid[e.lo+j] {
			clear(x)
			clear(y)
		}
		if e.pairs.given && e.form.Softcap != 0 {
			e.pairs.close(x, y, changes.Row(j))
		}
	}
	var old T = 1
	if e.lo == 0 {
		old = 0
	}
	dq, dk, dv := e.dq.RowRange(lo, hi), e.dks[s].Rows(n), e.dvs[s].Rows(n)
	if (diagonal || e.pairs.given) && !(finite(k) && finite(q) && finite(g)) {
		if e.pairs.given {
			e.openPairs(dq, dk, dv, p, ds, changes, lo, old, beta)
		} else {
			e.separately(dq, dk, dv, p, ds, lo, old, beta)
		}
		return
	}
	matmul.TMul(factor, ds, k, old, dq)
	matmul.Mul(factor, ds, q, beta, dk)
	matmul.Mul(1, p, g, beta, dv)
}

// cap applies Softcap to the scores x of a key, and sets w.caps to the derivatives.
func (w *gradientTile[T]) cap(x []T, c T) {
	w.caps, w.memory = scratch.Resize(w.caps, len(x)), scratch.Resize(w.memory, len(x))
	softcap(x, c, w.memory)
	for i, s := range x {
		t := s / c
		w.caps[i] = (1 - t) * (1 + t)
	}
}

// separately computes the products of a tile on the diagonal if rows are not finite. It leaves out
// products with weights that are set to zero.
func (e *exactGradient[T]) separately(dq, dk, dv, p, ds dense.Matrix[T], lo int, old, beta T) {
	factor := T(e.form.scale(e.k.Cols))
	for i := range dq.Rows {
		seen := min(lo+i+e.past+1-e.lo, dk.Rows)
		matmul.TMul(factor, ds.RowRange(0, seen).ColRange(i, i+1), e.k.RowRange(e.lo, e.lo+seen), old, dq.RowRange(i, i+1))
	}
	for j := range dk.Rows {
		first := min(max(e.lo+j-e.past-lo, 0), dq.Rows)
		q, g := e.q.RowRange(lo+first, lo+dq.Rows), e.dout.RowRange(lo+first, lo+dq.Rows)
		matmul.Mul(factor, ds.RowRange(j, j+1).ColRange(first, dq.Rows), q, beta, dk.RowRange(j, j+1))
		matmul.Mul(1, p.RowRange(j, j+1).ColRange(first, dq.Rows), g, beta, dv.RowRange(j, j+1))
	}
}

// Scratch memory of all calls of Backward.
var (
	exactGradients pool.Both[exactGradient[float32], exactGradient[float64]]
	gradientTiles  pool.Both[gradientTile[float32], gradientTile[float64]]
)
