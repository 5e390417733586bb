package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// nearAndFar is causal attention of one head: exact attention over the near keys, and features of a
// base for the keys before.
type nearAndFar[T dense.Float] struct {
	request[T]
	a      *Attention[T] // the base, with sums
	form   Exact[T]
	window int
	stride int // keys that become far at a time

	far, mixed *accumulator[T] // S of the keys before near, and what queries ask, see mix
	packed     matmul.Packed[T]
	positive   positiveSums[T] // by landmarks
	absorbed   int             // keys in S, those that do not count too
	seen       bool            // some of them count

	lo, hi int // queries with the same near keys
	near   int // the first key with exact weights
}

// strideOf returns the number of keys that become far at a time. With as many keys as features,
// near keys cost no more than features do, nor does a product with G⁻¹.
func strideOf[T dense.Float](a *Attention[T], window int) int { return max(window, a.m) }

// attendCausal answers a causal request with exact weights for the last keys, at least window, and
// those of a for the keys before.
func attendCausal[T dense.Float](p request[T], a *Attention[T], form Exact[T], window int) {
	p = p.trimmed()
	if p.q.Rows == 0 || p.v.Cols == 0 {
		return
	}
	window = min(window, p.q.Rows+p.past) // all keys are near then, and sums of a huge window would overflow
	for h := range p.heads {
		w := pool.Get[nearAndFar[T]](&nearAndFars)
		w.request, w.a, w.form, w.window, w.stride = p.head(h), a, form, window, strideOf(a, window)
		w.run()
		*w = nearAndFar[T]{packed: w.packed, positive: w.positive}
		pool.Put(&nearAndFars, w)
	}
}

// run answers all queries, those with the same first near key together.
func (w *nearAndFar[T]) run() {
	w.prepare(w.v.Cols)
	for w.lo = 0; w.lo < w.q.Rows; w.lo = w.hi {
		at := max(w.lo+w.past-w.window, 0) / w.stride
		w.hi = min(w.window+(at+1)*w.stride-w.past, w.q.Rows)
		w.near = min(at*w.stride, w.k.Rows)
		if w.absorbed < w.near {
			for w.absorbed < w.near {
				w.absorb()
			}
			w.mix()
		}
		parallel.Do((w.hi-w.lo+block-1)/block, w)
	}
	w.a.accumulators.Put(w.far)
	if w.mixed != w.far {
		w.a.accumulators.Put(w.mixed)
	}
	w.positive.drop(w.a)
}

// prepare empties the sums, for values of dimension dv.
func (w *nearAndFar[T]) prepare(dv int) {
	w.far = w.a.accumulator(dv)
	if w.mixed = w.far; w.a.landmarks != nil {
		w.mixed = w.a.accumulator(dv)
	}
}

// mix makes S ready for queries, which ask S itself or, by landmarks, G⁻¹·S.
func (w *nearAndFar[T]) mix() {
	if w.a.landmarks != nil {
		w.a.landmarks.solve(w.mixed, w.far)
		w.positive.take(w.a, w.far, dense.Matrix[T]{})
		w.positive.measure(w.mixed)
	}
	matmul.Pack(&w.packed, w.mixed.sums())
}

// absorb adds the next stride keys, up to near, to S.
func (w *nearAndFar[T]) absorb() {
	a := w.a
	end := min(w.absorbed+w.stride, w.near)
	valid := w.valid
	if valid != nil {
		valid = valid[w.absorbed:end]
	}
	k, v, copies := validOnly(w.k.RowRange(w.absorbed, end), w.v.RowRange(w.absorbed, end), valid)
	s := a.workspace(w.v.Cols)
	for lo := 0; lo < k.Rows; lo += a.rows {
		hi := min(lo+a.rows, k.Rows)
		logs := s.features.Rows(hi - lo)
		a.mapKeys(logs, k.RowRange(lo, hi))
		w.far.add(logs, v.RowRange(lo, hi), nil, s.scratch)
	}
	a.workspaces.Put(s)
	w.seen = w.seen || k.Rows > 0
	if copies != nil {
		pool.Put(&rowMemories, copies)
	}
	w.absorbed = end
}

// Piece answers some of the queries lo ≤ i < hi.
func (w *nearAndFar[T]) Piece(i int) {
	lo := w.lo + i*block
	hi := min(lo+block, w.hi)
	q, dst := w.q.RowRange(lo, hi), w.dst.RowRange(lo, hi)
	k, v := w.k.RowRange(w.near, w.k.Rows), w.v.RowRange(w.near, w.v.Rows)
	mask := tiles.Mask[T]{Causal: w.form.Causal, Past: lo + w.past - w.near}
	if w.valid != nil {
		mask.Valid = w.valid[w.near:]
	}
	t := tiles.NewTile(w.form.scores(w.k.Cols), q, w.v.Cols)
	t.AddSeen(k, v, mask, 0)
	if w.seen {
		w.join(t, dst, q)
	} else {
		t.Finish(dst)
	}
	t.Release()
}

// join adds the sums of the near keys to those of the far keys, and writes the outputs.
func (w *nearAndFar[T]) join(t *tiles.Tile[T], dst, q dense.Matrix[T]) {
	s := w.a.workspace(w.v.Cols)
	for lo := 0; lo < q.Rows; lo += w.a.rows {
		hi := min(lo+w.a.rows, q.Rows)
		queries, sums := s.features.Rows(hi-lo), s.sums.Rows(hi-lo)
		w.a.mapQueries(queries, q.RowRange(lo, hi))
		w.mixed.scaleQueries(queries, s.scales)
		matmul.MulPacked(1, queries, &w.packed, 0, sums, nil)
		w.positive.mend(w.a, q.RowRange(lo, hi), queries, sums, s.scales, func(i int) T {
			_, total, peak := t.Sums(lo + i)
			own := newScale(peak, 0)
			return total * T(ldexp(own.factor/s.scales[i].factor, own.exponent-s.scales[i].exponent))
		})
		w.a.join(t, lo, dst.RowRange(lo, hi), sums, s.scales)
	}
	w.a.workspaces.Put(s)
}

// join writes the outputs of queries from query first of a tile on: their sums of near keys, with
// the sums far, which are relative to scales if a has logarithms. It overwrites far.
func (a *Attention[T]) join(t *tiles.Tile[T], first int, dst, far dense.Matrix[T], scales []scale) {
	for i := range dst.Rows {
		out, row := dst.Row(i), far.Row(i)
		near, total, peak := t.Sums(first + i)
		relative := scale{factor: 1}
		if a.logs {
			relative = scales[i]
		}
		// Both are brought to the larger of the two references.
		own := newScale(peak, 0)
		ratio := ldexp(relative.factor/own.factor, relative.exponent-own.exponent)
		byNear, byFar := T(1), T(ratio)
		if ratio > 1 {
			byNear, byFar = T(1/ratio), 1
		} else {
			relative = own
		}
		for j := range out {
			row[j] = byNear*near[j] + byFar*row[j]
		}
		if a.opts.Unnormalised {
			applyScale(out, row, relative)
			continue
		}
		divide(out, row, byNear*total+byFar*row[len(out)])
	}
}

var nearAndFars pool.Both[nearAndFar[float32], nearAndFar[float64]]
