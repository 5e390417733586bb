package coded

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// OpenQueries is the number of places whose queries use the same codes, see [Open.Sums].
const OpenQueries = 128

// Open holds the codes of a growing sequence of keys and values for causal attention that is added
// up with attention over other keys. The zero value holds no codes.
type Open[T dense.Float] struct {
	store   store[T]
	encoded int // tiles
}

// Reset forgets all codes, and makes room for n keys (d) and values (dv).
func (o *Open[T]) Reset(n, d, dv int) {
	o.store.shape(n/tiles.Keys, d, dv)
	o.encoded = 0
}

// Encode encodes the complete tiles of k and v that are not encoded yet. k and v begin with the
// rows of the previous call.
func (o *Open[T]) Encode(k, v dense.Matrix[T]) {
	o.store.k, o.store.v = k, v
	first := o.encoded
	o.encoded = k.Rows / tiles.Keys
	for t := first; t < o.encoded; t++ {
		o.store.Piece(t)
	}
	o.store.k, o.store.v = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// Sums sets row i of sums (n×(dv+1)) to Σ_j A_ij·v_j and Σ_j A_ij, both over exp(peaks[i]), for the
// query q_i at places[i], which sees the keys up to this place. Places ascend, and belong to one
// block of OpenQueries places. The codes of tiles that end before the block are used, and keys and
// values themselves otherwise, or if coded is false. Bits of a row do not depend on other queries.
// The last column is NaN where sums are not finite.
func (o *Open[T]) Sums(sums dense.Matrix[T], peaks []T, q, k, v dense.Matrix[T], places []int, scores tiles.Scores, coded bool) {
	first := 0
	if coded {
		first = places[0] / tiles.Keys * tiles.Keys
	}
	dv, end := v.Cols, places[len(places)-1]+1
	m := openScratches.Get()
	m.places = scratch.Resize(m.places, len(places))
	for i, place := range places {
		m.places[i] = place - first
	}
	t := tiles.NewTile(scores, q, dv)
	t.AddSeen(k.RowRange(first, end), v.RowRange(first, end), tiles.Mask[T]{Causal: true, Places: m.places}, 0)
	openScratches.Put(m)
	if first == 0 {
		for i := range q.Rows {
			row, total, peak := t.Sums(i)
			copy(sums.Row(i), row)
			sums.Row(i)[dv], peaks[i] = total, T(peak)
		}
		t.Release()
		return
	}
	c := call[T]{Attention: tiles.Attention[T]{Q: q, K: k.RowRange(0, first), V: v.RowRange(0, first), Scores: scores}, store: o.store}
	b := pool.Get[block[T]](&blocks)
	b.begin(&c, 0, q.Rows)
	b.exact = t
	for n := range first / tiles.Keys {
		p := tiles.Part{From: n * tiles.Keys, To: (n + 1) * tiles.Keys}
		if c.store.usual[n] {
			b.add(&c, n, p)
		} else {
			t.AddPart(c.K, c.V, c.Mask, 0, p)
		}
	}
	for i := range q.Rows {
		total, peak := b.sumsOf(i, sums.Row(i)[:dv])
		sums.Row(i)[dv], peaks[i] = total, T(peak)
	}
	t.Release()
	b.exact = nil
	pool.Put(&blocks, b)
}

var openScratches pool.Of[struct{ places []int }]
