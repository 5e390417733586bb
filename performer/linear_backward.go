package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// bidirectionalGradient is one call of Backward of bidirectional attention. It sums the keys as in
// Forward. Then it sums the queries in segments, which gives the gradients of queries as well. The
// gradients of keys and values follow block by block.
//
// In normalised attention a feature x_if of a query and the denominator D_i of the query are
// relative to the references N_f of the keys and to M_i. So are the contributions of the query to
//
//	R_f = Σ_i x_if·[g_i, −δ_i]/D_i,
//
// These are at most twice g_i, and features of keys relative to N_f multiply R_f. In unnormalised
// attention no D_i cancels M_i, and R_f has a reference of its own, as if queries were keys.
type bidirectionalGradient[T dense.Float] struct {
	gradients[T]
	a              *Attention[T]
	keys, queries  *bidirectional[T] // only the sums of segments are in use
	sums           matmul.Packed[T]  // S without its last column, transposed
	total          []T               // the last column of S
	sizes          []T               // of the last column of G⁻¹·S
	pulled, mixing matmul.Packed[T]  // R without its last column, transposed and not
	shift          []T               // the last column of R
}

func (a *Attention[T]) bidirectionalBackward(g *gradients[T]) {
	b := a.bidirectionalGradients.Get()
	b.gradients, b.a = *g, a
	b.total, b.shift = scratch.Resize(b.total, a.m), scratch.Resize(b.shift, a.m)

	b.keys = a.bidirectionals.Get()
	b.keys.a, b.keys.k, b.keys.v = a, g.k, g.v
	b.keys.segments = segmentsOf(g.k.Rows)
	b.keys.sum()
	if a.landmarks != nil {
		a.landmarks.mix(b.keys.segmentSums[0], g.v, 0, 0)
	}
	b.split(b.keys, b.total)
	b.noteSizes()
	matmul.PackT(&b.sums, b.valueSums(b.keys))

	b.queries = a.bidirectionals.Get()
	b.queries.a = a
	b.queries.segments = segmentsOf(g.q.Rows)
	parallel.Do(b.queries.segments, (*queryGradients[T])(b))
	b.queries.merge()
	if a.landmarks != nil {
		b.mixQueries()
	}
	b.split(b.queries, b.shift)
	matmul.PackT(&b.pulled, b.valueSums(b.queries))
	matmul.Pack(&b.mixing, b.valueSums(b.queries))
	parallel.Do((g.k.Rows+answerRows-1)/answerRows, (*keyGradients[T])(b))

	for _, s := range []*bidirectional[T]{b.keys, b.queries} {
		s.drop()
		*s = bidirectional[T]{total: s.total}
		a.bidirectionals.Put(s)
	}
	b.gradients, b.keys, b.queries = gradients[T]{}, nil, nil
	a.bidirectionalGradients.Put(b)
}

// mixQueries replaces R by G⁻¹·R. With denominators R_f is relative to the reference −N_f: the
// features of queries are relative to N_f, and the features of keys multiply R_f under references
// of its own.
func (b *bidirectionalGradient[T]) mixQueries() {
	acc := b.queries.segmentSums[0]
	if !b.a.opts.Unnormalised {
		for f, n := range b.keys.segmentSums[0].ref.exponent {
			if n != none {
				n = -n
			}
			acc.ref.set(f, n)
		}
	}
	b.a.landmarks.solve(acc, acc)
}

// split copies the last column of merged sums, if there are denominators.
func (b *bidirectionalGradient[T]) split(s *bidirectional[T], last []T) {
	if !b.a.opts.Unnormalised {
		column(last, s.segmentSums[0].sums())
	}
}

// valueSums returns the columns of merged sums for the values.
func (b *bidirectionalGradient[T]) valueSums(s *bidirectional[T]) dense.Matrix[T] {
	return s.segmentSums[0].sums().ColRange(0, b.v.Cols)
}

// queryGradients is the task of the gradients of segments of queries and of their part of R.
type queryGradients[T dense.Float] bidirectionalGradient[T]

func (b *queryGradients[T]) Piece(s int) {
	a := b.a
	acc, w := a.accumulator(b.v.Cols), a.gradientWorkspace()
	if acc.ref != nil && !a.opts.Unnormalised {
		acc.ref.setAll(0)
	}
	lo, hi := parallel.Share(b.q.Rows, b.queries.segments, s), parallel.Share(b.q.Rows, b.queries.segments, s+1)
	for ; lo < hi; lo += w.rows {
		end := min(lo+w.rows, hi)
		queries, slopes := w.features.Rows(end-lo), w.slopes.Rows(end-lo)
		q, g := b.q.RowRange(lo, end), b.dout.RowRange(lo, end)
		a.mapQueries(queries, q)
		summed := queries
		if acc.ref != nil && a.opts.Unnormalised {
			summed = dense.Copy(w.logs.Rows(end-lo), queries)
		}
		b.keys.segmentSums[0].scaleQueries(queries, w.scales)
		(*bidirectionalGradient[T])(b).leaveConstant(q, queries)
		matmul.MulPacked(1, g, &b.sums, 0, slopes, nil)
		for i := range slopes.Rows {
			if a.opts.Unnormalised {
				a.sumSlope(slopes.Row(i), queries.Row(i), w.scales[i])
				continue
			}
			if a.landmarks != nil && vecmath.Dot(queries.Row(i), b.sizes) == 0 {
				clear(slopes.Row(i))
				w.weights[i] = 0
				continue
			}
			total, mean := a.quotientSlope(slopes.Row(i), queries.Row(i), b.total)
			vecmath.Scale(queries.Row(i), 1/total)
			w.weights[i] = -mean
		}
		a.pullQueries(b.dq.RowRange(lo, end), q, slopes)
		if a.opts.Unnormalised {
			acc.add(summed, g, nil, w.scratch)
		} else {
			totalsOf(w.scratch, queries, w.weights)
			addProducts(1, acc.sums(), queries, g, w.scratch)
		}
	}
	b.queries.segmentSums[s] = acc
	a.gradientWorkspaces.Put(w)
}

// keyGradients is the task of the gradients of keys and values.
type keyGradients[T dense.Float] bidirectionalGradient[T]

func (b *keyGradients[T]) Piece(i int) {
	a := b.a
	lo := i * answerRows
	hi := min(lo+answerRows, b.k.Rows)
	w := a.gradientWorkspace()
	for ; lo < hi; lo += w.rows {
		end := min(lo+w.rows, hi)
		keys, slopes := w.features.Rows(end-lo), w.slopes.Rows(end-lo)
		k, v, dv := b.k.RowRange(lo, end), b.v.RowRange(lo, end), b.dv.RowRange(lo, end)
		a.mapKeys(keys, k)
		switch {
		case a.opts.Unnormalised, a.landmarks != nil:
			b.queries.segmentSums[0].scaleQueries(keys, w.scales)
		case a.logs:
			b.keys.segmentSums[0].ref.scaleKeys(keys, w.scratch)
		}
		matmul.MulPacked(1, v, &b.pulled, 0, slopes, nil)
		matmul.MulPacked(1, keys, &b.mixing, 0, dv, nil)
		for j := range slopes.Rows {
			s := scale{factor: 1}
			if a.opts.Unnormalised || a.landmarks != nil {
				s = w.scales[j]
				multiply(dv.Row(j), s)
			}
			if !a.opts.Unnormalised {
				vecmath.AddScaled(slopes.Row(j), b.shift, 1)
			}
			a.sumSlope(slopes.Row(j), keys.Row(j), s)
		}
		a.pullKeys(b.dk.RowRange(lo, end), k, slopes)
	}
	a.gradientWorkspaces.Put(w)
}

// gradientWorkspace is the scratch memory of one goroutine for a block of queries or keys.
type gradientWorkspace[T dense.Float] struct {
	rows             int
	features, slopes scratch.Buffer[T] // rows×m
	logs             scratch.Buffer[T] // rows×m if unnormalised: the features before they are scaled
	weights          []T               // rows
	scratch          []T               // m
	scales           []scale           // rows
}

// gradientWorkspace takes a workspace from the pool.
func (a *Attention[T]) gradientWorkspace() *gradientWorkspace[T] {
	w := a.gradientWorkspaces.Get()
	if w.rows == 0 {
		w.rows = blockRows(2 * a.m)
		w.features.Shape(w.rows, a.m)
		w.slopes.Shape(w.rows, a.m)
		if a.opts.Unnormalised {
			w.logs.Shape(w.rows, a.m)
		}
		w.weights, w.scratch, w.scales = make([]T, w.rows), make([]T, a.m), make([]scale, w.rows)
		for i := range w.scales {
			w.scales[i] = scale{factor: 1}
		}
	}
	return w
}
