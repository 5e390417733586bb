package tiles

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
	gradientQueries  = 2 * grain // queries of a tile of gradients; it has Keys keys
	gradientSegments = 8         // the most segments of queries
)

// HeadGradients holds the inputs of Backward for one head, and the gradients DQ, DK and DV that
// Backward writes. DOut (Lq×dv) is the gradient with respect to the outputs.
type HeadGradients[T dense.Float] struct {
	DQ, DK, DV, Q, K, V, DOut dense.Matrix[T]
	Scores                    Scores
	Mask                      Mask[T]
	LogSink                   *float64 // unless nil, set to the gradient of log Scores.Sink

	// Weights are given with their own denominators if Shifts, Logs and Means are not nil, with a
	// number for each query: P_ij = exp(S_ij − Shifts_i − Logs_i), and δ_i = Means_i.
	Shifts, Logs, Means []T
}

// Backward writes the gradients. With the weights P_ij, which are A_ij over their sum, and the rows
// g_i of DOut,
//
//	dv_j = Σ_i P_ij g_i,  dS_ij = P_ij·(g_i·v_j − δ_i),  δ_i = g_i·out_i,
//	dq_i = Scale·Σ_j dS_ij k_j,  dk_j = Scale·Σ_i dS_ij q_i.
//
// With a Softcap the derivative 1 − tanh² of a score multiplies dS_ij in the last line. Backward
// computes P again a tile at a time.
//
// Gradients of keys that no query sees and of queries that see no key are zero. Bits do not depend
// on GOMAXPROCS.
func Backward[T dense.Float](g HeadGradients[T]) {
	b := pool.Get[backward[T]](&backwards)
	b.HeadGradients = g
	b.prepare()
	if g.Shifts == nil {
		b.do(statistics, (g.Q.Rows+gradientQueries-1)/gradientQueries)
		if g.LogSink != nil {
			*g.LogSink = b.logSink()
		}
	}
	for b.lo = 0; b.lo < g.K.Rows; b.lo += Keys {
		b.hi = min(b.lo+Keys, g.K.Rows)
		b.seeing = g.Mask.seeing(b.lo, b.hi, g.Q.Rows)
		b.segments = segmentsOfQueries(b.seeing.to - b.seeing.from)
		b.do(segments, b.segments)
		b.collect()
	}
	b.HeadGradients = HeadGradients[T]{}
	pool.Put(&backwards, b)
}

// For each tile of keys, segments of the queries add to the gradients of their queries. Each
// segment has its own gradients of keys and values, which are then summed in order.
type backward[T dense.Float] struct {
	HeadGradients[T]
	stage backwardStage

	// One element for each query: P_ij is exp((S_ij − shift_i) − log_i).
	shift, log, mean []T

	lo, hi   int // keys of the tile
	seeing   run // queries that see one of them
	segments int
	dks, dvs [gradientSegments]scratch.Buffer[T] // Keys×d and Keys×dv
}

type backwardStage int

const (
	statistics backwardStage = iota // the forward pass of gradientQueries queries
	segments                        // a segment of the queries that see a tile of keys
)

func (b *backward[T]) do(stage backwardStage, pieces int) {
	b.stage = stage
	parallel.Do(pieces, b)
}

func (b *backward[T]) Piece(i int) {
	if b.stage == statistics {
		b.forward(i)
	} else {
		b.segment(i)
	}
}

func (b *backward[T]) prepare() {
	for _, x := range []*[]T{&b.shift, &b.log, &b.mean} {
		*x = scratch.Resize(*x, b.Q.Rows)
		clear(*x)
	}
	copy(b.shift, b.Shifts)
	copy(b.log, b.Logs)
	copy(b.mean, b.Means)
	for s := range segmentsOfQueries(b.Q.Rows) {
		b.dks[s].Shape(Keys, b.K.Cols)
		b.dvs[s].Shape(Keys, b.V.Cols)
	}
	for i := range b.DQ.Rows {
		clear(b.DQ.Row(i))
	}
}

// The number depends on n alone, so that sums do not depend on the number of processors.
func segmentsOfQueries(n int) int {
	return min((n+gradientQueries-1)/gradientQueries, gradientSegments)
}

func (b *backward[T]) collect() {
	for j := range b.hi - b.lo {
		dk, dv := b.DK.Row(b.lo+j), b.DV.Row(b.lo+j)
		if b.segments == 0 {
			clear(dk)
			clear(dv)
			continue
		}
		copy(dk, b.dks[0].Rows(j+1).Row(j))
		copy(dv, b.dvs[0].Rows(j+1).Row(j))
		for s := 1; s < b.segments; s++ {
			vecmath.AddScaled(dk, b.dks[s].Rows(j+1).Row(j), 1)
			vecmath.AddScaled(dv, b.dvs[s].Rows(j+1).Row(j), 1)
		}
	}
}

func (b *backward[T]) forward(piece int) {
	lo := piece * gradientQueries
	hi := min(lo+gradientQueries, b.Q.Rows)
	w := pool.Get[gradientTile[T]](&gradientTiles)
	w.out.Shape(gradientQueries, b.V.Cols)
	out := w.out.Rows(hi - lo)
	t := NewTile(b.Scores, b.Q.RowRange(lo, hi), b.V.Cols)
	t.AddSeen(b.K, b.V, b.Mask, lo)
	t.Finish(out)
	copy(b.shift[lo:hi], t.shift)
	for i := range out.Rows {
		b.log[lo+i] = T(math.Log(b.Scores.Total(float64(t.total[i]), float64(t.shift[i]))))
		b.mean[lo+i] = vecmath.Dot(b.DOut.Row(lo+i), out.Row(i))
	}
	t.Release()
	pool.Put(&gradientTiles, w)
}

// logSink returns −Σ_i P_i·δ_i with the share P_i of the sink in the weights of query i.
func (b *backward[T]) logSink() (sum float64) {
	for i, mean := range b.mean {
		sum -= float64(mean) * math.Exp(math.Log(b.Scores.Sink)-float64(b.shift[i])-float64(b.log[i]))
	}
	return sum
}

func (b *backward[T]) segment(s int) {
	w := pool.Get[gradientTile[T]](&gradientTiles)
	w.weights.Shape(Keys, gradientQueries)
	w.slopes.Shape(Keys, gradientQueries)
	n := b.seeing.to - b.seeing.from
	lo, hi := b.seeing.from+parallel.Share(n, b.segments, s), b.seeing.from+parallel.Share(n, b.segments, s+1)
	for at := lo; at < hi; at += gradientQueries {
		w.beta = 1
		if at == lo {
			w.beta = 0
		}
		b.tile(w, s, at, min(at+gradientQueries, hi))
	}
	pool.Put(&gradientTiles, w)
}

type gradientTile[T dense.Float] struct {
	weights, slopes scratch.Buffer[T] // Keys×gradientQueries: P and dS, transposed
	out             scratch.Buffer[T] // gradientQueries×dv
	changes, clean  scratch.Buffer[T] // of the mask
	distances       slopes[T]
	caps, memory    []T // gradientQueries: the derivatives of softcap for a key
	beta            T   // 0 for the first queries of a segment, and 1 for later ones
}

func (b *backward[T]) tile(w *gradientTile[T], s, lo, hi int) {
	n, factor := b.hi-b.lo, T(b.Scores.Scale)
	q, g := b.Q.RowRange(lo, hi), b.DOut.RowRange(lo, hi)
	k, v := b.K.RowRange(b.lo, b.hi), b.V.RowRange(b.lo, b.hi)
	p, ds := w.weights.Rows(n).ColRange(0, hi-lo), w.slopes.Rows(n).ColRange(0, hi-lo)
	matmul.MulT(factor, k, q, 0, p)
	matmul.MulT(1, v, g, 0, ds)
	seen := b.Mask.view(lo, hi, b.lo, b.hi, &w.changes, &w.distances)
	for j := range n {
		x, y := p.Row(j), ds.Row(j)
		if b.Scores.Softcap != 0 {
			w.cap(x, capIn[T](b.Scores.Softcap))
		}
		seen.apply(j, x)
		vecmath.ExpDiff(x, x, b.shift[lo:hi], b.log[lo:hi])
		vecmath.AddScaled(y, b.mean[lo:hi], -1)
		vecmath.Multiply(y, x)
		seen.clear(j, x)
		seen.clear(j, y)
		b.Mask.Pairs.learn(y, lo, b.lo+j)
		if b.Scores.Softcap != 0 {
			vecmath.Multiply(y, w.caps)
			seen.clear(j, y)
		}
	}
	beta := w.beta
	seen.product(func(ds, k, dq dense.Matrix[T]) { matmul.TMul(factor, ds, k, 1, dq) }, b.DQ.RowRange(lo, hi), ds, k, factor, false, &w.clean)
	seen.product(func(ds, q, dk dense.Matrix[T]) { matmul.Mul(factor, ds, q, beta, dk) }, b.dks[s].Rows(n), ds, q, factor, true, &w.clean)
	seen.product(func(p, g, dv dense.Matrix[T]) { matmul.Mul(1, p, g, beta, dv) }, b.dvs[s].Rows(n), p, g, 1, true, &w.clean)
}

func (w *gradientTile[T]) cap(x []T, c T) {
	w.caps, w.memory = scratch.Resize(w.caps, len(x)), scratch.Resize(w.memory, len(x))
	softcap(x, c, w.memory)
	for i, s := range x {
		t := s / c
		w.caps[i] = (1 - t) * (1 + t)
	}
}

var (
	backwards     pool.Pair[backward[float32], backward[float64]]
	gradientTiles pool.Pair[gradientTile[float32], gradientTile[float64]]
)
