package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// causalLandmarks is causal attention of one head with landmarks that are given: exact attention
// over the keys of two blocks, and landmarks for the keys before.
type causalLandmarks[T dense.Float] struct {
	request[T]
	form   Exact[T]
	window int
	stride int // keys that become far at a time
	call   *landmarkCall[T]

	far, mixed *accumulator[T] // S of the keys before near, and G⁻¹·S
	packed     matmul.Packed[T]
	absorbed   int  // keys in S, those that do not count too
	seen       bool // some of them count

	lo, hi int // queries with the same near keys
	near   int // the first key with exact weights
}

// attendCausal answers a causal request.
func (l *Landmarks[T]) attendCausal(p request[T]) {
	p = p.trimmed()
	if p.q.Rows == 0 || p.v.Cols == 0 {
		return
	}
	c := l.call(p.k)
	window := min(l.window, p.q.Rows+p.past) // all keys are near then, and sums of a huge window would overflow
	for h := range p.heads {
		w := pool.Get[causalLandmarks[T]](&causalLandmarkMemories)
		w.request, w.form, w.window, w.stride, w.call = p.head(h), l.exact, window, max(window, l.n), c
		w.run()
		packed := w.packed
		*w = causalLandmarks[T]{packed: packed}
		pool.Put(&causalLandmarkMemories, w)
	}
	l.calls.Put(c)
}

// run answers all queries, those with the same first near key together.
func (w *causalLandmarks[T]) run() {
	a := &w.call.a
	w.far, w.mixed = a.accumulator(w.v.Cols), a.accumulator(w.v.Cols)
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
	a.accumulators.Put(w.far)
	a.accumulators.Put(w.mixed)
}

// mix makes S ready for queries.
func (w *causalLandmarks[T]) mix() {
	w.call.set.solve(w.mixed, w.far)
	matmul.Pack(&w.packed, w.mixed.sums())
}

// absorb adds the next stride keys, up to near, to S.
func (w *causalLandmarks[T]) absorb() {
	a := &w.call.a
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
		w.far.add(logs, v.RowRange(lo, hi), s.scratch)
	}
	a.workspaces.Put(s)
	w.seen = w.seen || k.Rows > 0
	if copies != nil {
		pool.Put(&rowMemories, copies)
	}
	w.absorbed = end
}

// Piece answers some of the queries lo ≤ i < hi.
func (w *causalLandmarks[T]) Piece(i int) {
	lo := w.lo + i*block
	hi := min(lo+block, w.hi)
	q, dst := w.q.RowRange(lo, hi), w.dst.RowRange(lo, hi)
	k, v := w.k.RowRange(w.near, w.k.Rows), w.v.RowRange(w.near, w.v.Rows)
	t := pool.Get[tile[T]](&tiles)
	t.prepare(hi-lo, w.v.Cols, w.form, w.k.Cols)
	if w.valid != nil {
		t.valid = w.valid[w.near:]
	}
	if w.seen {
		t.align(q.Rows, lo+w.past-w.near)
		t.sum(q, k, v)
		w.join(t, dst, q)
	} else {
		t.attend(dst, q, k, v, lo+w.past-w.near)
	}
	t.valid = nil
	pool.Put(&tiles, t)
}

// join adds the sums of the near keys to the sums by landmarks, and writes the outputs.
func (w *causalLandmarks[T]) join(t *tile[T], dst, q dense.Matrix[T]) {
	a := &w.call.a
	s := a.workspace(w.v.Cols)
	for lo := 0; lo < q.Rows; lo += a.rows {
		hi := min(lo+a.rows, q.Rows)
		queries, sums := s.features.Rows(hi-lo), s.sums.Rows(hi-lo)
		a.mapQueries(queries, q.RowRange(lo, hi))
		w.mixed.scaleQueries(queries, s.scales)
		matmul.MulPacked(1, queries, &w.packed, 0, sums, nil)
		for i := range sums.Rows {
			w.joinRow(t, lo+i, dst.Row(lo+i), sums.Row(i), s.scales[i])
		}
	}
	a.workspaces.Put(s)
}

// joinRow writes the output of query i, with the sums far by landmarks, which are relative to
// relative.
func (w *causalLandmarks[T]) joinRow(t *tile[T], i int, dst, far []T, relative scale) {
	near, peak := t.sums.Rows(i+1).Row(i), float64(t.peaks[i])
	// Both are brought to the larger of the two references.
	inverse := newScale(-peak, 0)
	ratio := ldexp(relative.factor*inverse.factor, relative.exponent+inverse.exponent)
	byNear, byFar := T(1), T(ratio)
	if ratio > 1 {
		byNear, byFar = T(1/ratio), 1
	} else {
		relative = newScale(peak, 0)
	}
	for j := range dst {
		far[j] = byNear*near[j] + byFar*far[j]
	}
	if w.form.Unnormalised {
		applyScale(dst, far, relative)
		return
	}
	total := byNear*t.total[i] + byFar*far[len(dst)]
	divide(dst, far, total)
}

var causalLandmarkMemories pool.Both[causalLandmarks[float32], causalLandmarks[float64]]
