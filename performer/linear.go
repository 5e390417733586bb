package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	segmentRows  = 128  // keys that are worth an accumulator of their own
	fewSegments  = 8    // the most segments of segmentRows keys
	longSegments = 1024 // keys of a segment if there are more
	maxSegments  = 64
	answerRows   = 128 // queries that are mapped and answered at a time
	mergeGrain   = 1 << 13
)

// bidirectional is one call of bidirectional attention. It sums the keys in segments, merges the
// segments, and answers the queries block by block.
type bidirectional[T dense.Float] struct {
	a            *Attention[T]
	heads        int // of queries and outputs, side by side, for the same keys
	dst, q, k, v dense.Matrix[T]

	direct           bool // the sums are of features, not of their exponentials
	segments, groups int
	segmentSums      [maxSegments]*accumulator[T]
	total            matmul.Packed[T]
	positive         positiveSums[T] // by landmarks
}

// bidirectional accumulates all keys, then answers the queries of the given number of heads, which
// are column blocks of q and dst.
func (a *Attention[T]) bidirectional(heads int, dst, q, k, v dense.Matrix[T]) {
	b := a.bidirectionals.Get()
	b.a, b.heads = a, heads
	b.dst, b.q, b.k, b.v = dst, q, k, v
	b.segments = segmentsOf(k.Rows)
	b.direct = a.direct && !a.opts.Causal // later keys must not count
	b.sum()
	if b.direct && !b.segmentSums[0].allInRange() {
		b.direct = false
		b.drop()
		b.sum()
	}
	if a.landmarks != nil {
		b.positive.take(a, b.segmentSums[0], v)
		a.landmarks.mix(b.segmentSums[0], v, 0, 0)
		b.positive.measure(b.segmentSums[0])
	}
	matmul.Pack(&b.total, b.segmentSums[0].sums())
	parallel.Do(heads*b.blocks(), (*answering[T])(b))

	b.drop()
	b.positive.drop(a)
	*b = bidirectional[T]{total: b.total, positive: b.positive}
	a.bidirectionals.Put(b)
}

// blocks returns the number of blocks of the queries of a head.
func (b *bidirectional[T]) blocks() int { return (b.q.Rows + answerRows - 1) / answerRows }

// sum computes the sums over all keys in the sums of the first segment.
func (b *bidirectional[T]) sum() {
	parallel.Do(b.segments, (*summarising[T])(b))
	b.merge()
}

// merge adds the sums of all segments to the sums of the first segment.
func (b *bidirectional[T]) merge() {
	if b.segments > 1 {
		b.groups = max(1, min(b.a.m/4, b.a.m*b.segmentSums[0].sum.Rows(1).Stride*b.segments/mergeGrain))
		parallel.Do(b.groups, (*merging[T])(b))
	}
}

// drop returns the sums to their pool.
func (b *bidirectional[T]) drop() {
	for s, p := range b.segmentSums[:b.segments] {
		b.a.accumulators.Put(p)
		b.segmentSums[s] = nil
	}
}

// segmentsOf returns the number of segments of n keys. It depends on n alone, so that sums do not
// depend on the number of processors.
func segmentsOf(n int) int {
	return max(1, min(n/segmentRows, max(fewSegments, n/longSegments), maxSegments))
}

// summarising is the task of accumulating segments of keys.
type summarising[T dense.Float] bidirectional[T]

func (b *summarising[T]) Piece(s int) {
	a := b.a
	acc, w := a.accumulator(b.v.Cols), a.workspace(b.v.Cols)
	if b.direct {
		acc.ref.setAll(0)
	}
	lo, hi := parallel.Share(b.k.Rows, b.segments, s), parallel.Share(b.k.Rows, b.segments, s+1)
	for ; lo < hi; lo += a.rows {
		end := min(lo+a.rows, hi)
		prefetchAfter(b.k, end, hi, a.rows)
		prefetchAfter(b.v, end, hi, a.rows)
		keys, values := w.features.Rows(end-lo), b.v.RowRange(lo, end)
		if b.direct {
			a.key.Transform(keys, b.k.RowRange(lo, end))
			totalsOf(w.scratch, keys, nil)
			addProducts(1, acc.sums(), keys, values, w.scratch)
			continue
		}
		a.mapKeys(keys, b.k.RowRange(lo, end))
		if a.landmarks != nil {
			a.landmarks.hide(keys, lo)
		}
		acc.add(keys, values, nil, w.scratch)
	}
	b.segmentSums[s] = acc
	a.workspaces.Put(w)
}

// prefetchAfter asks for the rows from on of x, at most n and below to. Rows of one of several
// heads have gaps between them, across which processors do not look ahead.
func prefetchAfter[T dense.Float](x dense.Matrix[T], from, to, n int) {
	if x.Stride > x.Cols && from < to {
		matmul.Prefetch(x.RowRange(from, min(from+n, to)))
	}
}

// merging is the task of adding up the segments in order. A piece is some features.
type merging[T dense.Float] bidirectional[T]

func (b *merging[T]) Piece(g int) {
	lo, hi := parallel.Share(b.a.m, b.groups, g), parallel.Share(b.a.m, b.groups, g+1)
	for _, p := range b.segmentSums[1:b.segments] {
		b.segmentSums[0].mergeFeatures(p, lo, hi)
	}
}

// answering is the task of computing outputs. A piece is a block of queries of one head.
type answering[T dense.Float] bidirectional[T]

func (b *answering[T]) Piece(i int) {
	a := b.a
	blocks := (*bidirectional[T])(b).blocks()
	head, lo := i/blocks, i%blocks*answerRows
	hi := min(lo+answerRows, b.q.Rows)
	dst, q := layout.Head(b.dst, head, b.heads), layout.Head(b.q, head, b.heads)
	w := a.workspace(b.v.Cols)
	for ; lo < hi; lo += a.rows {
		end := min(lo+a.rows, hi)
		prefetchAfter(dst, lo, hi, a.rows)
		prefetchAfter(q, end, q.Rows, a.rows)
		queries, out := w.features.Rows(end-lo), w.sums.Rows(end-lo)
		if b.direct {
			a.query.Transform(queries, q.RowRange(lo, end))
		} else {
			a.mapQueries(queries, q.RowRange(lo, end))
			b.segmentSums[0].scaleQueries(queries, w.scales)
		}
		matmul.MulPacked(1, queries, &b.total, 0, out, nil)
		if b.direct {
			b.amend(w, q.RowRange(lo, end), out)
		}
		b.positive.mend(a, q.RowRange(lo, end), queries, out, w.scales, nil)
		a.finish(dst.RowRange(lo, end), out, w.scales)
	}
	a.workspaces.Put(w)
}

// workspace is the scratch memory of one goroutine: the (log-)features of a block of queries or
// keys, the sums of queries, and scratch for a row. It does not grow with the number of tokens.
type workspace[T dense.Float] struct {
	features scratch.Buffer[T] // a.rows×m
	sums     scratch.Buffer[T] // a.rows×width
	scratch  []T               // m
	scales   []scale           // a.rows if unnormalised or sums
}

// workspace takes a workspace for values of dimension dv from the pool.
func (a *Attention[T]) workspace(dv int) *workspace[T] {
	w := a.workspaces.Get()
	if w.scratch == nil {
		w.scratch = make([]T, a.m)
		if a.opts.Unnormalised || a.sums {
			w.scales = make([]scale, a.rows)
		}
		w.features.Shape(a.rows, a.m)
	}
	w.sums.Shape(a.rows, a.width(dv))
	return w
}

// width returns the number of columns of the sums for values of dimension dv.
func (a *Attention[T]) width(dv int) int {
	if a.opts.Unnormalised {
		return dv
	}
	return dv + 1
}
