package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/scratch"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// bandRows is the number of queries of a chunk whose scores are a product with the
// keys up to the last of them: of the square of all, three quarters.
const bandRows = chunkRows / 2

// chunk is a run of tokens of one slot that share a reference.
type chunk[T dense.Float] struct {
	slot     *slot[T]
	from, to int           // rows of the slot
	ref      *reference[T] // nil for features that are not logarithms
	before   []change      // of the reference since the sums before the chunk were made
	scratch  []T           // m

	scores scratch.Buffer[T] // bandRows×chunkRows
	out    scratch.Buffer[T] // chunkRows×width
	scales []scale           // chunkRows if unnormalised or sums
	sums   scratch.Buffer[T] // m×width: what the chunk adds, then the sums after it
}

func newChunk[T dense.Float](a *Attention[T]) *chunk[T] {
	ch := &chunk[T]{scratch: make([]T, a.m)}
	ch.scores.Shape(bandRows, chunkRows)
	if a.logKey != nil {
		ch.ref = newReference[T](a.m)
	}
	if a.opts.Unnormalised || a.sums {
		ch.scales = make([]scale, chunkRows)
	}
	return ch
}

// queries, keys and values are those of the chunk.

func (ch *chunk[T]) queries() dense.Matrix[T] { return ch.of(&ch.slot.queries) }
func (ch *chunk[T]) keys() dense.Matrix[T]    { return ch.of(&ch.slot.keys) }
func (ch *chunk[T]) values() dense.Matrix[T]  { return ch.of(&ch.slot.values) }

func (ch *chunk[T]) of(b *scratch.Buffer[T]) dense.Matrix[T] {
	return b.Rows(ch.slot.rows).RowRange(ch.from, ch.to)
}

// score scales queries and keys and computes what the chunk's own keys give its
// queries.
func (ch *chunk[T]) score(a *Attention[T]) {
	queries, keys := ch.queries(), ch.keys()
	if ch.ref != nil {
		ch.ref.scaleKeys(keys)
		ch.ref.scaleQueries(queries, ch.scales)
	}
	n, out, values := keys.Rows, ch.out.Rows(keys.Rows), ch.values()
	for lo := 0; lo < n; lo += bandRows {
		hi := min(lo+bandRows, n)
		scores := ch.scores.Rows(hi-lo).ColRange(0, hi)
		matmul.MulT(1, queries.RowRange(lo, hi), keys.RowRange(0, hi), 0, scores)
		mulLower(out.RowRange(lo, hi), scores, values.RowRange(0, hi), lo)
	}
}

// emit adds what the sums before the chunk give its queries and writes the outputs.
func (ch *chunk[T]) emit(a *Attention[T], dst, before dense.Matrix[T]) {
	n := ch.to - ch.from
	out := ch.out.Rows(n)
	matmul.Mul(1, ch.queries(), before, 1, out)
	lo := ch.slot.lo + ch.from
	a.finish(dst.RowRange(lo, lo+n), out, ch.scales)
}

// addTo sets sums to beta, 0 or 1, times what they are, plus the products of the keys
// and values.
func (ch *chunk[T]) addTo(beta T, sums dense.Matrix[T]) {
	addProducts(beta, sums, ch.keys(), ch.values().ColRange(0, ch.slot.dv), ch.scratch)
}

// mulLower sets out to s·x without what comes after the diagonal, where row 0 has
// element first of s on it. Elements of s after it are set to zero. Row i depends on
// rows j ≤ first + i of x alone, but for the sign of a zero.
//
// When all x are finite, the zeros of s add zeros to the sums of a product. If not,
// row 0 shows it, which has products with all x, and every row becomes a product of its
// own, whose sums are the same.
func mulLower[T dense.Float](out, s, x dense.Matrix[T], first int) {
	for i := range s.Rows {
		clear(s.Row(i)[first+i+1:])
	}
	matmul.Mul(1, s, x, 0, out)
	if finite(out.RowRange(0, 1)) {
		return
	}
	for i := range s.Rows {
		seen := first + i + 1
		matmul.Mul(1, s.RowRange(i, i+1).ColRange(0, seen), x.RowRange(0, seen), 0, out.RowRange(i, i+1))
	}
}

// carry adds the sums before a chunk, after the changes of reference that come between,
// to its own, in features lo ≤ f < hi.
func carry[T dense.Float](sums, before dense.Matrix[T], changes []change, lo, hi int) {
	rescale(before, changes, lo, hi)
	addRows(sums, before, lo, hi)
}

// addRows adds rows lo ≤ i < hi of x to those of y, of the same shape and stride.
func addRows[T dense.Float](y, x dense.Matrix[T], lo, hi int) {
	n := (hi - lo) * y.Stride
	vecmath.AddScaled(y.Data[lo*y.Stride:][:n], x.Data[lo*x.Stride:][:n], 1)
}

// finite reports whether the elements of m are numbers, of which the squares can be
// added.
func finite[T dense.Float](m dense.Matrix[T]) bool {
	for i := range m.Rows {
		if s := vecmath.HalfSquaredNorm(m.Row(i)); s-s != 0 {
			return false
		}
	}
	return true
}
